"""Snapshots of the state and compaction of the journal, on each kind of database."""

from __future__ import annotations

import threading

import pytest
from attrs import evolve
from test_store_contract import Clock, execute, put_back

from headwater.engine.record.transition import transition
from headwater.model.error import StatementError, StoreError
from headwater.model.event import Changed, Hurried, Observed
from headwater.model.partition import Slice
from headwater.model.state import PartitionRecord, State, TableRecord, copied
from headwater.spark.jvm.settings import Settings
from headwater.store import pieces, snapshots
from headwater.store.journal import Compacted, RemovedEntries
from headwater.store.journal_end import JournalEnd
from headwater.store.recovery import caught_up, replay, restored, resumed
from headwater.store.snapshots import DAY, Keeper, Mark

FORMAT = pieces.FORMAT


@pytest.fixture
def clock() -> Clock:
    return Clock(0)


@pytest.fixture
def store(stores, clock):
    return stores(clock=clock)


def record(store, count: int) -> State:
    """Appends so many changes. The state then, from the whole journal or what is left of it."""
    for _ in range(count):
        seq = store.last()
        seen = (Observed(Slice.of({"day": str(seq % 7), "place": None}), f"f{seq}"),)
        build = lambda v, seq=seq, seen=seen: Changed(seq, v, f"t{seq % 3}", seen, "", 1, "changed")  # noqa: E731
        store.append(build, seq)
    return restored(store)[0]


def keep(store) -> None:
    state, seq = restored(store)
    assert store.keep_snapshot(seq, state)


def kept(store) -> tuple[int, State]:
    """The newest snapshot, and the number of the entry that it is as of."""
    end, state = store.snapshot()
    return end.seq, state


def folded(store, state: State, after: JournalEnd) -> State:
    return replay(store, copied(state), after)[0]


def test_a_snapshot_is_the_state_that_was_kept(store, clock):
    assert store.snapshot() is None and store.newest() is None and store.base() == (JournalEnd(), State())
    expected = record(store, 20)
    clock.at = 5
    keep(store)
    assert kept(store) == (20, expected) and store.newest() == Mark(20, 5)
    newer = record(store, 3)
    keep(store)
    assert kept(store) == (23, newer)


def test_a_table_of_many_partitions_is_kept_in_pieces(store, monkeypatch):
    monkeypatch.setattr(pieces, "CHUNK", 7)
    found = {
        Slice.of({"day": str(n)} if n % 3 else {"day": str(n), "place": None}): PartitionRecord(
            n, None if n % 4 else f"f{n}", n or None, (("t", n % 2),), "" if n % 2 else "c"
        )
        for n in range(50)
    }
    state = State(tables={"t": TableRecord("s", 1, 49, found), "empty": TableRecord()})
    record(store, 1)
    store.keep_snapshot(1, state)
    assert kept(store) == (1, state)
    assert list(store.snapshot()[1].tables["t"].partitions) == list(found), "in their order"


def test_compaction_removes_what_a_snapshot_from_before_that_time_covers(store, clock):
    record(store, 10)
    clock.at = 100
    keep(store)
    expected = record(store, 10)
    clock.at = 200
    keep(store)
    store.compact(before=100)
    assert store.gone() is None and len(list(store.read())) == 20, "neither snapshot is old enough"
    store.compact(before=101)
    assert store.gone() == RemovedEntries(10, 0)
    assert [entry.seq for entry in store.read(10)] == list(range(11, 21))
    for after in (0, 9):
        with pytest.raises(Compacted):
            list(store.read(after))
    base, state = store.base()
    assert base.seq == 10 and folded(store, state, base) == expected == restored(store)[0]
    store.compact(before=201)
    assert store.gone() == RemovedEntries(20, 100) and list(store.read(20)) == []
    assert (store.last(), restored(store)) == (20, (expected, 20))
    assert store.append(lambda v: Hurried(1, v), 20).seq == 21


def test_removing_goes_in_batches_and_can_be_interrupted(store, clock, monkeypatch):
    monkeypatch.setattr("headwater.store.snapshots.BATCH", 4)
    record(store, 5)
    keep(store)
    expected = record(store, 5)
    keep(store)
    clock.at = 1
    assert store._removed_some(10)
    assert store.gone().seq == 4 and restored(store) == (expected, 10)
    store.compact(before=1)
    assert store.gone().seq == 10 and restored(store) == (expected, 10)


def test_a_reader_that_was_away_takes_the_snapshot(store, clock):
    state, seq = restored(store)
    record(store, 5)
    keep(store)
    clock.at = 1
    store.compact(before=1)
    expected = record(store, 1)
    with pytest.raises(Compacted):
        replay(store, state, seq)
    assert caught_up(store, state, seq) == restored(store) == (expected, 6)
    assert caught_up(store, *store.base()[::-1]) == (expected, 6)


def test_a_snapshot_that_is_replaced_while_somebody_starts_is_read_again(stores, store, clock):
    record(store, 5)
    keep(store)
    expected, taken = record(store, 5), store.snapshot()
    keep(store)
    clock.at = 1
    store.compact(before=1)
    starting = stores(clock=clock)
    answers = [taken]
    starting.snapshot = lambda: answers.pop() if answers else store.snapshot()
    assert restored(starting) == (expected, 10)


def test_of_the_snapshots_between_the_oldest_and_the_newest_few_stay(store, clock):
    for clock.at in range(0, 100, 10):
        record(store, 1)
        keep(store)
        store.compact(before=25, apart=30)
    assert [each.at for each in store._marks()] == [20, 50, 80, 90]
    assert store.gone().seq == store._marks()[0].seq == store.base()[0].seq


def test_a_state_is_not_kept_after_an_older_copy_took_the_store_s_place(store):
    """Engines that start later would go on from it."""
    record(store, 4)
    state, end = resumed(store)
    put_back(store, 3)
    expected = record(store, 1)
    with pytest.raises(StoreError, match="has another entry 4 than before"):
        store.keep_snapshot(end, state)
    assert store.snapshot() is None and restored(store) == (expected, 4)
    put_back(store, 3)
    with pytest.raises(StoreError, match="ends at entry 3, but entry 4 was read before"):
        store.keep_snapshot(end, state)


def test_the_last_entry_that_is_removed_is_told_from_another_one(store, clock):
    record(store, 4)
    state, end = resumed(store)
    keep(store)
    clock.at = 1
    store.compact(before=1)
    expected = record(store, 2)
    assert store.gone().seq == end.seq == 4
    assert [entry.seq for entry in store.read(end)] == [5, 6] and store.snapshot()[0] == end
    assert resumed(store)[0] == expected
    with pytest.raises(StoreError, match="has another entry 4 than before"):
        list(store.read(evolve(end, token="another")))
    assert store.keep_snapshot(end, state), "it is the base"


def test_a_state_whose_entry_is_removed_is_not_kept(store, clock):
    """Another engine was faster. The journal does not go on from there."""
    record(store, 4)
    state, end = resumed(store)
    expected = record(store, 2)
    keep(store)
    clock.at = 1
    store.compact(before=1)
    assert not store.keep_snapshot(end, state)
    assert store.base()[0].seq == 6 and restored(store) == (expected, 6)


@pytest.mark.parametrize("damage", ["UPDATE snapshot SET format = 99", "DELETE FROM piece WHERE number > 1"])
def test_a_snapshot_that_cannot_be_read_is_not_needed_while_the_journal_is_complete(store, damage):
    expected = record(store, 5)
    keep(store)
    execute(store, damage)
    if "format" in damage:
        assert store.snapshot() is None and store.newest() is None
        store.compact(before=1)
        assert store.gone() is None
    assert restored(store) == (expected, 5)


def test_where_the_journal_is_compacted_a_snapshot_that_cannot_be_read_is_an_error(store, clock):
    expected = record(store, 5)
    keep(store)
    clock.at = 1
    store.compact(before=1)
    assert restored(store) == (expected, 5)
    execute(store, "UPDATE snapshot SET format = 99")
    with pytest.raises(StoreError, match="use the one that wrote it, or move the store away"):
        restored(store)


def test_an_older_snapshot_serves_where_the_newest_is_damaged(store, clock):
    record(store, 5)
    keep(store)
    clock.at = 10
    store.compact(before=10)
    expected = record(store, 5)
    keep(store)
    execute(store, "DELETE FROM piece WHERE at = 10 AND number > 1")
    assert restored(store) == (expected, 10)


def test_a_snapshot_that_is_not_completed_is_none(store, clock):
    record(store, 5)
    assert not store.keep_snapshot(5, State(), going=lambda: False)
    steps = iter((True, False))
    assert not store.keep_snapshot(5, restored(store)[0], going=lambda: next(steps))
    assert store.newest() is None
    clock.at = 2 * DAY
    keep(store)
    with store._read() as connection:
        assert connection.exec_driver_sql("SELECT count(DISTINCT token) FROM piece").scalar() == 1


# --- when


def test_the_history_is_a_setting():
    assert Settings.of({}).history == snapshots.HISTORY == 30 * DAY
    assert Settings.of({"spark.headwater.history": "7 days"}).history == 7 * DAY
    with pytest.raises(StatementError, match="spark.headwater.history: 'for ever' is not a duration"):
        Settings.of({"spark.headwater.history": "for ever"})


class Wait:
    """A keeper whose snapshots a test waits for."""

    def __init__(self, store, **options) -> None:
        self.keeper, self._store = Keeper(store, **options), store

    def __call__(self) -> Mark | None:
        state, seq = restored(self._store)
        self.keeper.keep(state, seq)
        self.keeper._thread.submit(lambda: None).result()
        return self._store.newest()


@pytest.fixture
def monotonic(monkeypatch) -> Clock:
    made = Clock(1_000_000)
    monkeypatch.setattr(snapshots, "time", type("", (), {"monotonic": made}))
    return made


def test_a_snapshot_is_kept_after_many_entries_or_a_day(store, clock, monotonic, monkeypatch):
    monkeypatch.setattr(snapshots, "ENTRIES", 5)
    wait = Wait(store)
    record(store, 4)
    assert wait() is None
    record(store, 1)
    assert wait() == Mark(5, 0)
    record(store, 1)
    monotonic.at += DAY / 1000 - 1
    assert wait() == Mark(5, 0)
    monotonic.at += 2
    clock.at = DAY
    assert wait() == Mark(6, DAY)
    monotonic.at += DAY
    assert wait() == Mark(6, DAY), "nothing was appended"
    wait.keeper.close()
    record(store, 9)
    assert wait.keeper.keep(State(), 15) is None


def test_an_engine_that_starts_goes_on_where_the_one_before_ended(store, clock, monotonic):
    record(store, 1)
    keep(store)
    record(store, 1)
    clock.at = DAY + 1
    wait = Wait(store)
    assert wait() == Mark(2, DAY + 1)
    wait.keeper.close()


def test_a_snapshot_of_before_the_clock_went_back_is_a_day_old_after_a_day(store, clock, monotonic):
    clock.at = 10 * DAY
    record(store, 1)
    keep(store)
    clock.at = 0
    wait = Wait(store)
    record(store, 1)
    monotonic.at += DAY / 1000 + 1
    assert wait() == Mark(2, 0)
    wait.keeper.close()


def test_history_that_is_over_is_removed_with_the_snapshot(store, clock, monotonic, monkeypatch):
    monkeypatch.setattr(snapshots, "ENTRIES", 5)
    wait = Wait(store, history=100)
    for n, clock.at in enumerate((0, 50, 200)):
        record(store, 5)
        monotonic.at += 60
        assert wait() == Mark(5 * n + 5, clock.at)
    assert store.gone().seq == 10 and store.base()[0].seq == 10
    wait.keeper.close()


def test_what_cannot_be_kept_is_tried_again_and_holds_nothing_up(store, monotonic, monkeypatch, caplog):
    monkeypatch.setattr(snapshots, "ENTRIES", 5)
    wait, failing = Wait(store), [StoreError("the disk is full"), ValueError("no")]
    keeping = store.keep_snapshot

    def keep_snapshot(*arguments):
        if failing:
            raise failing.pop()
        return keeping(*arguments)

    store.keep_snapshot = keep_snapshot
    record(store, 5)
    for _ in range(2):
        assert wait() is None
        assert wait() is None, "not at once"
        monotonic.at += 60
    assert wait().seq == 5
    assert "the disk is full" in caplog.text
    wait.keeper.close()


def test_the_caller_does_not_wait_for_a_snapshot(store, monkeypatch):
    monkeypatch.setattr(snapshots, "ENTRIES", 5)
    going = threading.Event()
    keeping = store.keep_snapshot
    store.keep_snapshot = lambda *arguments: going.wait(20) and keeping(*arguments)
    wait = Keeper(store)
    state = record(store, 5)
    wait.keep(state, 5)
    expected = copied(state)
    later = Changed(9, 9, "t0", (Observed(Slice.of(day="1"), "later"),), "", 1, "changed")
    transition(state, later)
    going.set()
    wait._thread.submit(lambda: None).result()
    assert kept(store) == (5, expected)
    wait.close()
