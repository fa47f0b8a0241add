"""What every store promises to the engines that share it, on each kind of database."""

from __future__ import annotations

import threading
import time

import pytest

from headwater.engine.tell.refreshes import Outcome, refreshes
from headwater.engine.tell.status import Condition, Summary, ViewStatus
from headwater.engine.tell.why_it_waits import Phase
from headwater.model.error import JournalError, StillAlive, StoreError, TakenOver
from headwater.model.event import Dropped, EngineLost, Failed, Hurried, Published, Reworked, Started
from headwater.model.partition import WHOLE
from headwater.model.reason import Code, Reason
from headwater.model.work import WholeView
from headwater.store.board import Kept
from headwater.store.journal import Stale
from headwater.store.schema import NEWEST

MINUTE = 60_000


@pytest.fixture
def store(stores):
    return stores()


class Clock:
    """A time that only the test moves."""

    def __init__(self, at: int = 1_000) -> None:
        self.at = at

    def __call__(self) -> int:
        return self.at


def execute(store, statement: str) -> None:
    with store._engine.begin() as connection:
        connection.exec_driver_sql(statement)


def restarted(at: int = 1):
    return lambda _version: EngineLost(at, 0)


def hurried(version: int) -> Hurried:
    return Hurried(1, version)


# --- the journal


def test_entries_come_back_in_order_and_survive_reopening(stores, store):
    for n in range(5):
        assert store.append(lambda _, n=n: Dropped(n, f"v{n}"), n).seq == n + 1
    again = stores()
    assert [entry.seq for entry in again.read()] == [1, 2, 3, 4, 5]
    assert [entry.event.view for entry in again.read(3)] == ["v3", "v4"]


def test_a_version_from_the_future_names_its_position(store):
    entry = store.append(hurried, 0)
    execute(store, "UPDATE meta SET highest = 4")
    with pytest.raises(JournalError, match="from the future: the highest ever given is 4") as caught:
        list(store.read())
    assert caught.value.position == entry.seq


def test_a_malformed_entry_names_its_position(store):
    store.append(restarted(), 0)
    store.append(restarted(), 1)
    execute(store, "UPDATE journal SET body = '{' WHERE seq = 2")
    with pytest.raises(JournalError) as caught:
        list(store.read())
    assert caught.value.position == 2


def test_an_append_onto_a_journal_that_has_grown_is_stale(stores, store):
    other = stores()
    store.append(restarted(), 0)
    with pytest.raises(Stale):
        other.append(restarted(), 0)
    assert other.append(restarted(), 1).seq == 2


def test_a_refused_append_leaves_nothing_behind(stores):
    def refuses(version):
        raise ValueError("no")

    store = stores(clock=Clock(10))
    with pytest.raises(ValueError, match="no"):
        store.append(refuses, 0)
    assert list(store.read()) == [] and store.last() == 0
    assert store.append(hurried, 0).event.version == 10


def test_appends_of_many_threads_make_one_history(stores, store):
    def append(name):
        mine, last = stores(), 0
        for n in range(10):
            while True:
                try:
                    last = mine.append(lambda _, n=n: Dropped(n, name), last).seq
                    break
                except Stale:
                    last = mine.last()

    threads = [threading.Thread(target=append, args=(f"t{n}",)) for n in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    entries = list(store.read())
    assert [entry.seq for entry in entries] == list(range(1, 31))
    for n in range(3):
        assert [entry.event.at for entry in entries if entry.event.view == f"t{n}"] == list(range(10))


def test_several_events_are_appended_in_one_transaction_with_versions_of_their_own(stores):
    clock = Clock(100)
    store = stores(clock=clock)
    builds = [lambda v: Hurried(1, v), lambda v: None, lambda v: Hurried(2, v)]
    entries = store.append_all(builds, 0)
    assert [(entry.seq, entry.event.version) for entry in entries] == [(1, 100), (2, 102)]
    assert list(store.read()) == entries
    assert store.append_all([lambda v: None], 2) == []
    clock.at = 50
    assert store.append(hurried, 2).event.version == 103
    with pytest.raises(Stale):
        store.append_all(builds, 2)


def test_when_one_of_several_cannot_be_made_none_is_appended(store):
    def refuses(version):
        raise TakenOver("no")

    with pytest.raises(TakenOver):
        store.append_all([hurried, refuses], 0)
    assert list(store.read()) == []


def test_the_last_entry(store):
    assert store.last() == 0
    store.append(restarted(), 0)
    store.append(restarted(), 1)
    assert store.last() == 2


def test_history_is_of_runs_and_newest_first(store):
    events = [
        Started(1, 5, "v", ((WHOLE, (1,)),), (), WholeView(), Reason(Code.SOURCE_CHANGED, "x")),
        Dropped(2, "x"),
        Started(3, 6, "w", ((WHOLE, (1,)),), (), WholeView(), Reason(Code.SOURCE_CHANGED, "x")),
        Failed(4, 6, "w", Reason(Code.RUN_FAILED, "no"), 0.1),
        Reworked(5, 5, "v", WholeView(), Reason(Code.SOURCE_COLUMNS_CHANGED, "columns changed")),
        Published(6, 5, "v", (), (), 0.1),
    ]
    for n, event in enumerate(events):
        store.append(lambda _, event=event: event, n)
    assert [entry.event for entry in store.history()] == [events[5], events[4], events[3], events[2], events[0]]
    assert [entry.event for entry in store.history("v")] == [events[5], events[4], events[0]]
    assert [entry.event for entry in store.history(ended_after=5)] == [events[5], events[4], events[0]]
    assert [entry.event for entry in store.history(limit=1)] == [events[5]]
    assert store.history(limit=10**30) == store.history()


NONE = Reason(Code.SOURCE_CHANGED, "")


def test_history_has_what_ended_over_a_run(store):
    """Of one view, too: an engine that ended over its run ended over all of them."""
    store.append(lambda version: Started(1, version, "v", ((WHOLE, (1,)),), (), WholeView(), NONE), 0)
    store.append(restarted(2), 1)
    assert [type(entry.event) for entry in store.history("v")] == [EngineLost, Started]
    assert [each.status for each in refreshes(entry.event for entry in store.history("v"))] == [Outcome.CANCELLED]


def test_a_store_that_went_back_to_an_older_copy_is_an_error(store):
    """An engine that knows more would wait for ever."""
    store.append(restarted(), 0)
    assert list(store.read(1)) == []
    with pytest.raises(StoreError, match="ends at entry 1, but entry 2 was read before"):
        list(store.read(2))


def put_back(store, last: int) -> None:
    """What is left is an older copy of the store, whose journal ended at that entry."""
    execute(store, f"DELETE FROM journal WHERE seq > {last}")
    execute(store, f"UPDATE meta SET last = {last}, token = (SELECT token FROM journal WHERE seq = {last})")


def test_so_is_one_whose_journal_is_as_long_again(stores, store):
    """It has another entry of the number that an engine read."""
    ends = [store.append(restarted(n), n).end for n in range(3)]
    put_back(store, 2)
    other = stores()
    assert list(store.read(ends[1])) == [], "an engine that read no more goes on"
    entry = other.append(restarted(9), ends[1])
    assert list(other.read(ends[1])) == [entry] and other.beat("one", MINUTE).end == entry.end != ends[2]
    another = r"has another entry 3 than before: an older copy took its place; start the application again"
    with pytest.raises(StoreError, match=another):
        list(store.read(ends[2]))
    with pytest.raises(StoreError, match=another):
        store.append(restarted(), ends[2])
    with pytest.raises(StoreError, match=another):
        store.append_all([restarted()], ends[2])
    later = other.append(restarted(), entry.end)
    with pytest.raises(Stale):
        store.append(restarted(), ends[2])
    with pytest.raises(StoreError, match=another):
        list(store.read(ends[2]))
    assert list(other.read(entry.end)) == [later]


def test_entries_of_one_append_are_told_from_those_of_others(stores, store):
    first = store.append_all([hurried, hurried], 0)
    put_back(store, 1)
    second = store.append(hurried, first[0].end)
    assert first[1].end != second.end and [entry.end for entry in store.read()] == [first[0].end, second.end]
    assert store.last() == 2 and stores().beat("one", MINUTE).end == second.end


# --- time and versions


def test_versions_rise_whatever_the_clock_says(stores):
    clock = Clock()
    store, versions = stores(clock=clock), []
    for n, clock.at in enumerate((100, 50, 100, 200)):
        versions.append(store.append(hurried, n).event.version)
    assert versions == [100, 101, 102, 200]


def test_versions_rise_above_one_that_somebody_saw(stores):
    store = stores(clock=Clock(100))
    store.raise_version(500)
    assert store.append(hurried, 0).event.version == 501
    store.raise_version(300)
    assert store.append(hurried, 1).event.version == 502


def test_time_is_the_store_s(store, monkeypatch):
    truth = time.time_ns() // 1_000_000
    monkeypatch.setattr(time, "time", lambda: truth / 1000 + 600)
    monkeypatch.setattr(time, "time_ns", lambda: (truth + 10 * MINUTE) * 1_000_000)
    assert abs(store.now() - truth) < MINUTE
    assert abs(store.append(hurried, 0).event.version - truth) < MINUTE
    assert abs(store.beat("one", MINUTE).at - truth) < MINUTE


def test_an_engine_whose_clock_is_ten_minutes_behind_gives_later_versions_all_the_same(stores):
    here, there = stores(clock=Clock(20 * MINUTE)), stores(clock=Clock(10 * MINUTE))
    versions = []
    for n, each in enumerate((here, there, here)):
        versions.append(each.append(hurried, n).event.version)
    assert versions == [20 * MINUTE, 20 * MINUTE + 1, 20 * MINUTE + 2]


# --- engines


def test_an_engine_keeps_its_number_and_writes_at_half_time_only(stores):
    clock = Clock(0)
    store = stores(clock=clock)
    untils = []
    for clock.at in (0, 4, 5, 14, 3):  # at last the clock went back
        beat = store.beat("one", 10)
        assert (beat.number, beat.at, beat.leads, beat.overdue) == (1, clock.at, True, ())
        untils += [each.until for each in store.engines()]
    assert untils == [10, 10, 15, 24, 13]


def test_of_the_engines_that_are_alive_the_one_of_the_lowest_number_leads(stores):
    clock = Clock(0)
    store = stores(clock=clock)
    assert [store.beat(name, 10).leads for name in ("one", "two", "three")] == [True, False, False]
    clock.at = 8
    assert not store.beat("two", 10).leads and not store.beat("three", 10).leads
    clock.at = 10
    beat = store.beat("three", 10)
    assert (beat.number, beat.overdue, beat.leads) == (3, (1,), False)
    beat = store.beat("two", 10)
    assert (beat.number, beat.overdue, beat.leads) == (2, (1,), True)
    assert [(each.name, each.alive) for each in store.engines()] == [("one", False), ("two", True), ("three", True)]
    beat = store.beat("one", 10)
    assert (beat.number, beat.leads) == (1, True), "nobody evicted it, so it goes on"


def test_an_engine_that_leaves_or_is_known_to_be_gone_is_overdue_at_once(stores):
    store = stores(clock=Clock(5))
    for name in ("one", "two", "three"):
        store.beat(name, 10)
    store.leave("one")
    store.expire(2)
    beat = store.beat("three", 10)
    assert beat.leads and beat.overdue == (1, 2)


def test_a_beat_says_how_far_the_journal_is(store):
    assert store.beat("one", MINUTE).last == 0
    store.append(restarted(), 0)
    assert store.beat("one", MINUTE).last == 1


def test_an_evicted_engine_appends_nothing_and_comes_back_under_another_number(stores):
    clock = Clock(0)
    store = stores(clock=clock)
    store.beat("one", 10), store.beat("two", 20)
    store.append(restarted(), 0, by=1)
    clock.at = 10
    store.append(restarted(), 1, by=2, evicting=1)
    with pytest.raises(TakenOver):
        store.append(restarted(), 2, by=1)
    with pytest.raises(TakenOver):
        store.append_all([restarted()], 2, by=1)
    assert store.last() == 2
    beat = store.beat("one", 10)
    assert (beat.number, beat.leads) == (3, False)
    assert store.append(restarted(), 2, by=3).seq == 3
    assert store.append(restarted(), 3).seq == 4, "who does not act needs no number"


def test_nobody_is_evicted_before_the_time_is_up(stores):
    clock = Clock(0)
    store = stores(clock=clock)
    store.beat("one", 10), store.beat("two", 20)
    clock.at = 9
    with pytest.raises(StillAlive):
        store.append(restarted(), 0, by=2, evicting=1)
    assert store.last() == 0 and [each.number for each in store.engines()] == [1, 2]
    store.append(restarted(), 0, by=2, evicting=7), "an engine without a row was evicted before"


def test_an_append_that_fails_evicts_nobody(stores):
    clock = Clock(0)
    store = stores(clock=clock)
    store.beat("one", 10), store.beat("two", 20)
    clock.at = 10

    def refuses(version):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        store.append(refuses, 0, by=2, evicting=1)
    assert store.append(restarted(), 0, by=1).seq == 1


# --- the board


def test_orders_wait_in_order_until_they_are_carried_out(store):
    one, two = store.beat("one", MINUTE).number, store.beat("two", MINUTE).number
    assert store.take_orders(one) == []
    store.order("cancel", "v")
    store.order("cancel", "w")
    [first, second] = store.take_orders(one)
    assert [(each.kind, each.subject) for each in (first, second)] == [("cancel", "v"), ("cancel", "w")]
    assert store.take_orders(two) == [], "another engine carries them out"
    store.carried_out(first)
    assert store.orders() == store.take_orders(one) == [second]
    store.expire(one)
    store.append(restarted(), 0, by=two, evicting=one)
    assert store.take_orders(two) == [second], "that engine is gone"
    store.carried_out(second)
    assert store.orders() == []


def test_garbage_keeps_the_time_since_which_it_is_garbage(store):
    store.discard("v", ["a", "b"], 100)
    store.discard("v", ["a"], 200)
    store.discard("w", ["c"], 100)
    store.discard("w", [], 100)
    assert store.discarded("v", 100) == []
    assert sorted(store.discarded("v", 101)) == ["a", "b"]
    store.removed(["a"])
    assert store.discarded("v", 101) == ["b"]


def test_a_note_is_replaced_and_a_first_one_is_not(store):
    assert store.noted("means") is None
    store.note("means", "a")
    store.note("means", "b")
    assert store.noted("means") == "b"
    assert store.note_first("catalog", "x") == store.note_first("catalog", "y") == store.noted("catalog") == "x"


def said(behind: int) -> Summary:
    reason = (
        Phase(5, Reason(Code.WAIT_MORE_CHANGES, "starts in"), 5, ", when …"),
        Phase(None, Reason(Code.WAIT_READY, "ready")),
    )
    return Summary((ViewStatus("a.v", Condition.BEHIND, 3, behind, None, None, None, None, 0, None, reason),), 4, 0.5)


def test_a_summary_is_kept_until_there_is_a_newer_or_a_fuller_one(store):
    assert store.summary(0, detailed=True) is None
    store.summarise(4, said(1))
    assert store.summary(4, detailed=True) == Kept(said(1), None)
    assert store.summary(5, detailed=False) is None
    store.summarise(3, said(9), "of an older entry")
    store.summarise(4, said(9))
    assert store.summary(3, detailed=True) == Kept(said(1), None)
    store.summarise(4, said(1), "[]")
    assert store.summary(4, detailed=True) == Kept(said(1), "[]")
    assert store.summary(4, detailed=False) == Kept(said(1), None)
    store.summarise(5, said(2))
    assert store.summary(4, detailed=True) == Kept(said(2), None)


# --- schemas


def test_a_store_of_an_older_headwater_is_refused(stores, store):
    """Its events have other fields. A run would be read with some of them left out."""
    execute(store, f"UPDATE meta SET schema_version = {NEWEST - 1}")
    with pytest.raises(StoreError, match=f"has schema {NEWEST - 1}, older than .* remove this one"):
        stores()


def test_a_store_of_a_newer_headwater_is_refused(stores, store):
    execute(store, f"UPDATE meta SET schema_version = {NEWEST + 1}")
    with pytest.raises(StoreError, match="upgrade Headwater"):
        stores()
