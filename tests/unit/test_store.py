"""The store: what it promises to engines that share it, and what it says when it cannot be used."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading

import pytest
import sqlalchemy as sa

from headwater.engine.history import Outcome, refreshes
from headwater.engine.status import Phase, Summary, ViewStatus
from headwater.model.error import JournalError, LeaseLost, StoreError
from headwater.model.event import Dropped, Failed, Hurried, Published, Restarted, Started
from headwater.model.partition import WHOLE
from headwater.store.schema import MIGRATIONS
from headwater.store.sql import Kept, SqlStore, Stale


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "store.db"


@pytest.fixture
def store(path):
    made = SqlStore(path)
    yield made
    made.close()


def restarted(at: int = 1):
    return lambda _version: Restarted(at)


def test_the_file_is_private_and_in_wal_mode(path, store):
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    store.append(restarted(), 1, 0)
    for each in path.parent.iterdir():
        assert stat.S_IMODE(each.stat().st_mode) == 0o600, each
    with store._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_a_store_of_a_newer_headwater_is_refused(path, store):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET schema_version = ?", (len(MIGRATIONS) + 1,))
    with pytest.raises(StoreError, match="upgrade Headwater"):
        SqlStore(path)


def test_a_corrupt_file_is_a_store_error(path):
    path.parent.mkdir()
    path.write_bytes(b"this is not a database, whatever its name says" * 100)
    with pytest.raises(StoreError, match=str(path)):
        SqlStore(path)


def test_a_truncated_file_is_a_store_error(path, store):
    for n in range(50):
        store.append(lambda _, n=n: Dropped(n, "v" * 1000), n, n)
    store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError):
        list(SqlStore(path).read())


def test_a_directory_that_cannot_be_written_is_a_store_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"spark\.headwater\.store"):
        SqlStore(tmp_path / "file" / "store.db")


def test_entries_come_back_in_order_and_survive_reopening(path, store):
    for n in range(5):
        assert store.append(lambda _, n=n: Dropped(n, f"v{n}"), n, n).seq == n + 1
    again = SqlStore(path)
    assert [entry.seq for entry in again.read()] == [1, 2, 3, 4, 5]
    assert [entry.event.view for entry in again.read(3)] == ["v3", "v4"]
    again.close()


def test_a_version_from_the_future_names_its_position(path, store):
    entry = store.append(lambda version: Hurried(5, version), 5, 0)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET highest = 4")
    with pytest.raises(JournalError, match="from the future: the highest ever given is 4") as caught:
        list(store.read())
    assert caught.value.position == entry.seq


def test_a_malformed_entry_names_its_position(path, store):
    store.append(restarted(), 1, 0)
    store.append(restarted(), 1, 1)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE journal SET body = '{' WHERE seq = 2")
    with pytest.raises(JournalError) as caught:
        list(store.read())
    assert caught.value.position == 2


def test_an_append_onto_a_journal_that_has_grown_is_stale(path, store):
    other = SqlStore(path)
    store.append(restarted(), 1, 0)
    with pytest.raises(Stale):
        other.append(restarted(), 1, 0)
    assert other.append(restarted(), 1, 1).seq == 2
    other.close()


def test_versions_rise_whatever_the_clock_says(store):
    versions = [
        store.append(lambda v: Hurried(1, v), now, n).event.version for n, now in enumerate((100, 50, 100, 200))
    ]
    assert versions == [100, 101, 102, 200]


def test_a_refused_append_leaves_nothing_behind(store):
    def refuses(version):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        store.append(refuses, 500, 0)
    assert list(store.read()) == []
    assert store.append(lambda v: Hurried(1, v), 10, 0).event.version == 10


def test_appends_of_many_threads_make_one_history(path, store):
    def append(name):
        mine, last = SqlStore(path), 0
        for n in range(10):
            while True:
                try:
                    last = mine.append(lambda _, n=n: Dropped(n, name), n, last).seq
                    break
                except Stale:
                    last = max(entry.seq for entry in mine.read())
        mine.close()

    threads = [threading.Thread(target=append, args=(f"t{n}",)) for n in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    entries = list(store.read())
    assert [entry.seq for entry in entries] == list(range(1, 31))
    for n in range(3):
        assert [entry.event.at for entry in entries if entry.event.view == f"t{n}"] == list(range(10))


def test_the_lease_has_one_holder_and_a_new_epoch_for_each(store):
    assert store.acquire("one", 0, 10) == 1
    assert store.acquire("two", 9, 10) is None
    assert store.acquire("one", 4, 10) == 1 and store.holder() == ("one", 10), "it is renewed at half time"
    assert store.acquire("one", 9, 10) == 1
    assert store.acquire("two", 18, 10) is None
    assert store.holder() == ("one", 19)
    assert store.acquire("one", 3, 10) == 1 and store.holder() == ("one", 13), "the clock went back"
    assert store.acquire("two", 19, 10) == 2
    assert store.acquire("one", 20, 10) is None
    store.release("one")
    assert store.acquire("one", 20, 10) is None
    store.release("two")
    assert store.acquire("one", 20, 10) == 3


def test_only_the_epoch_of_the_lease_may_append_runs(store):
    store.acquire("one", 0, 10)
    store.append(restarted(), 1, 0, epoch=1)
    store.acquire("two", 10, 10)
    with pytest.raises(LeaseLost):
        store.append(restarted(), 1, 1, epoch=1)
    store.append(restarted(), 1, 1, epoch=2)
    store.append(restarted(), 1, 2)


def test_orders_wait_in_order_until_they_are_carried_out(store):
    assert store.orders() == []
    store.order("cancel", "v")
    store.order("cancel", "w")
    [first, second] = store.orders()
    assert [(each.kind, each.subject) for each in (first, second)] == [("cancel", "v"), ("cancel", "w")]
    store.carried_out(first)
    assert store.orders() == [second]
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


def test_history_is_of_runs_and_newest_first(store):
    events = [
        Started(1, 5, "v", ((WHOLE, (1,)),), (), "full", "x"),
        Dropped(2, "x"),
        Started(3, 6, "w", ((WHOLE, (1,)),), (), "full", "x"),
        Failed(4, 6, "w", "no", 0.1),
        Published(5, 5, "v", (), (), 0.1),
    ]
    for n, event in enumerate(events):
        store.append(lambda _, event=event: event, n, n)
    assert [entry.event for entry in store.history()] == [events[4], events[3], events[2], events[0]]
    assert [entry.event for entry in store.history("v")] == [events[4], events[0]]
    assert [entry.event for entry in store.history(limit=1)] == [events[4]]


def test_an_existing_store_is_not_made_anew(path, store):
    store.append(restarted(), 7, 0)
    before = os.stat(path).st_ino
    again = SqlStore(path)
    assert len(list(again.read())) == 1 and os.stat(path).st_ino == before
    with again._engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM lease")) == 1
    again.close()


def test_several_events_are_appended_in_one_transaction_with_versions_of_their_own(store):
    builds = [lambda v: Hurried(1, v), lambda v: None, lambda v: Hurried(2, v)]
    entries = store.append_all(builds, 100, 0)
    assert [(entry.seq, entry.event.version) for entry in entries] == [(1, 100), (2, 102)]
    assert list(store.read()) == entries
    assert store.append_all([lambda v: None], 100, 2) == []
    assert store.append(lambda v: Hurried(3, v), 50, 2).event.version == 103
    with pytest.raises(Stale):
        store.append_all(builds, 100, 2)


def test_when_one_of_several_cannot_be_made_none_is_appended(store):
    def refuses(version):
        raise LeaseLost("no")

    with pytest.raises(LeaseLost):
        store.append_all([lambda v: Hurried(1, v), refuses], 100, 0)
    assert list(store.read()) == []


def said(behind: int) -> Summary:
    reason = (Phase(5, "starts in", 5, ", when …"), Phase(None, "ready"))
    return Summary((ViewStatus("a.v", "behind", 3, behind, None, reason),), {"same origin": 2})


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


def test_the_last_entry(store):
    assert store.last() == 0
    store.append(restarted(), 1, 0)
    store.append(restarted(), 1, 1)
    assert store.last() == 2


def of_schema_1(path):
    """A store as it was before there were summaries."""
    SqlStore(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE summary")
        connection.execute("UPDATE meta SET schema_version = 1")


def test_an_older_store_is_brought_to_the_newest_schema(path):
    of_schema_1(path)
    for _ in range(2):
        again = SqlStore(path)
        again.summarise(1, said(1))
        assert again.summary(1, detailed=False) == Kept(said(1), None)
        again.close()


def test_a_reader_changes_nothing(path, store):
    store.append(restarted(), 1, 0)
    store.summarise(1, said(1))
    reader = SqlStore(path, reads_only=True)
    assert (reader.last(), len(list(reader.read())), reader.holder()) == (1, 1, ("", 0))
    assert reader.summary(1, detailed=False) == Kept(said(1), None)
    store.append(restarted(), 1, 1)
    assert reader.last() == 2, "it sees what is written meanwhile"
    with pytest.raises(StoreError, match="readonly"):
        reader.summarise(2, said(2))
    reader.close()


def test_a_reader_needs_the_newest_schema(path):
    of_schema_1(path)
    with pytest.raises(StoreError, match="has schema 1 .* cannot be written here"):
        SqlStore(path, reads_only=True)


def test_a_reader_holds_no_writer_up(path, store):
    with store._read() as connection:
        connection.execute(sa.text("SELECT * FROM meta"))
        other = SqlStore(path)
        other.append(restarted(), 1, 0)
        other.close()
    assert store.last() == 1


def test_history_has_what_ended_over_a_run(tmp_path):
    """Of one view, too: an engine that ended over its run ended over all of them."""
    store = SqlStore(tmp_path / "store.db")
    store.append(lambda version: Started(1, version, "v", ((WHOLE, (1,)),), (), "full", ""), 1, 0)
    store.append(lambda _: Restarted(2), 2, 1)
    assert [type(entry.event) for entry in store.history("v")] == [Restarted, Started]
    assert [each.status for each in refreshes(entry.event for entry in store.history("v"))] == [Outcome.CANCELLED]
