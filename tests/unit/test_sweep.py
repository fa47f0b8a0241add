"""What is removed of old versions, and what stays."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest
from attrs import evolve
from cases import machine, view
from py4j.protocol import Py4JError

from headwater.model.error import RefreshFailed
from headwater.model.event import Started
from headwater.model.state import Run
from headwater.model.work import LeftTotals, Totals, WholeView
from headwater.spark.jvm.facts import Asked, Fact, FoundPartition
from headwater.spark.jvm.wire import Failure, FailureKind
from headwater.spark.process import sweep
from headwater.spark.process.sweep import Sweeper
from headwater.spark.tables.files import FileTables
from headwater.spark.tables.registry import Formats
from headwater.store.sql_store import SqlStore

NOW, HOUR = 100_000_000, 3_600_000


class Files:
    """Directories of versions in place of a warehouse, and where the catalog points."""

    def __init__(self, published: dict[str, list[str]], there: dict[str, list[str]]) -> None:
        self.published, self.there, self.deleted = published, there, []

    def names(self, root: str) -> list[str]:
        if root not in self.there:
            raise RefreshFailed(f"{root} cannot be reached")
        return self.there[root]

    def observe(self, asked: list[Asked]) -> list[Fact]:
        places = self.published[asked[0].table]
        partitions = tuple(FoundPartition({}, "f", location=each) for each in places)
        return [Fact(asked[0].table, partitions=partitions)]

    def is_gone(self, error: Exception) -> bool:
        return isinstance(error, ConnectionError)

    def failure(self, error: Exception) -> Failure:
        return Failure(FailureKind.OTHER, str(error))

    def delete(self, path: str) -> None:
        self.deleted.append(path)

    def delete_versions(self, _root: str, _owner: str, paths: list[str]) -> None:
        self.deleted += paths


def sweeper(store: SqlStore, files: Files, left: int = 0, totals: Totals | None = None) -> Sweeper:
    """``left``: bytes of totals that a run of ``v`` left once; ``totals``: those that it has."""
    made = machine({"t": "a"}, *(evolve(view(name, "a", "t"), root=f"file:/w/{name}") for name in files.published))
    made.state.highest = 50
    made.state.views["v"].costs.totals, made.state.views["v"].totals = left, totals
    clock = SimpleNamespace(now=lambda: NOW)
    recorder = SimpleNamespace(read=lambda ask: ask(made.state), clock=clock)
    return Sweeper(recorder, SimpleNamespace(leads=True), store, Formats(files, FileTables(files, None)), files)


@pytest.fixture
def store(tmp_path):
    made = SqlStore(tmp_path / "store.db")
    yield made
    made.close()


def test_what_the_catalog_points_to_or_into_stays(store):
    files = Files({"v": ["file:///w/v/.v3/data/a=1", "file:/w/v/.v4/data"]}, {"file:/w/v": []})
    old = [
        "file:/w/v/.v1/data",
        "file:/w/v/.v3",
        "file:/w/v/.v3/data/a=1",
        "file:/w/v/.v3/data/a=11",
        "file:///w/v/.v4",
    ]
    store.discard("v", old, NOW - HOUR - 1)
    store.discard("v", ["file:/w/v/.v2"], NOW - HOUR)
    sweeper(store, files).sweep()
    assert sorted(files.deleted) == ["file:/w/v/.v1/data", "file:/w/v/.v3/data/a=11"]
    assert store.discarded("v", NOW) == ["file:/w/v/.v2"], "its hour is not over"


def test_orphans_are_noted_and_go_later(store):
    files = Files({"v": ["file:/w/v/.v4/data"]}, {"file:/w/v": [".v4", ".v7", ".v60", "other"]})
    sweeper(store, files).sweep()
    assert store.discarded("v", NOW + 1) == ["file:/w/v/.v7"] and not files.deleted


def test_the_list_of_the_newest_version_stays_also_if_it_made_no_partition(store):
    files = Files({"v": ["file:/w/v/.v4/data"]}, {"file:/w/v": [".v4", ".v7"]})
    made = sweeper(store, files)
    made._recorder.read(lambda state: state).tables["v"].highest = 7
    made.sweep()
    assert store.discarded("v", NOW + 1) == []


def test_what_an_epoch_names_stays_however_long_that_is(store, monkeypatch):
    """``v`` was replaced twice, three hours and one hour ago. An epoch names the version between."""
    monkeypatch.setattr(sweep, "kept_since", lambda state, view, now: NOW - 2 * HOUR)
    files = Files({"v": ["file:/w/v/.v4/data"]}, {"file:/w/v": []})
    store.discard("v", ["file:/w/v/.v1/data"], NOW - 3 * HOUR)
    store.discard("v", ["file:/w/v/.v2/data"], NOW - HOUR - 1)
    sweeper(store, files).sweep()
    assert files.deleted == ["file:/w/v/.v1/data"]


@pytest.mark.parametrize(
    ("left", "totals", "gone"), [(0, None, []), (7, Totals(3, (), LeftTotals("d", 7)), []), (7, None, ["v3", "v50"])]
)
def test_totals_that_were_given_up_go(left: int, totals: Totals | None, gone: list[str], store) -> None:
    there = {"file:/w/v": [], "file:/w/v/.totals": ["v3", "v50", "v51", "other"]}
    files = Files({"v": []}, there)
    sweeper(store, files, left, totals).sweep()
    assert files.deleted == [f"file:/w/v/.totals/{each}" for each in gone], "version 51 is of a run that starts now"


def test_a_view_that_cannot_be_reached_holds_up_no_other(store, caplog):
    files = Files({"v": [], "w": []}, {"file:/w/w": []})
    for name in ("v", "w"):
        store.discard(name, [f"file:/w/{name}/.v1"], NOW - HOUR - 1)
    sweeper(store, files).sweep()
    assert files.deleted == ["file:/w/w/.v1"]
    assert "old versions of v stay until the next check: file:/w/v cannot be reached" in caplog.text


@pytest.mark.parametrize("error", [OverflowError("too large"), Py4JError("no such method")])
def test_a_fault_with_one_view_holds_up_no_other(store, caplog, error: Exception) -> None:
    files = Files({"v": [], "w": []}, {"file:/w/v": [], "file:/w/w": []})
    for name in ("v", "w"):
        store.discard(name, [f"file:/w/{name}/.v1"], NOW - HOUR - 1)
    made = sweeper(store, files)
    due = made._store.discarded
    made._store = SimpleNamespace(discarded=fails(due, error), removed=store.removed, discard=store.discard)
    made.sweep()
    assert files.deleted == ["file:/w/w/.v1"]
    assert f"old versions of v stay until the next check: {error}" in caplog.text
    [record] = [each for each in caplog.records if each.name == "headwater"]
    assert bool(record.exc_info) == isinstance(error, OverflowError), "a stack is shown of what nobody foresaw"


def test_a_sweep_ends_with_its_driver(store) -> None:
    made = sweeper(store, Files({"v": []}, {"file:/w/v": []}))
    made._store = SimpleNamespace(discarded=fails(store.discarded, ConnectionError()))
    with pytest.raises(ConnectionError):
        made.sweep()


def fails(discarded: Callable[[str, int], list[str]], error: Exception) -> Callable[[str, int], list[str]]:
    """The same, but for ``v``."""

    def asked(view: str, before: int) -> list[str]:
        if view == "v":
            raise error
        return discarded(view, before)

    return asked


def test_a_hundred_thousand_are_no_trouble(store):
    places = [f"file:/w/v/.v9/data/a={n}" for n in range(100_000)]
    files = Files({"v": places}, {"file:/w/v": []})
    old = [each.replace(".v9", ".v8") for each in places]
    store.discard("v", old, NOW - HOUR - 1)
    sweeper(store, files).sweep()
    assert len(files.deleted) == len(old) and not store.discarded("v", NOW)


@pytest.mark.parametrize(
    ("format", "began", "cleaned"),
    [
        ("delta", None, True),
        ("delta", NOW - HOUR // 2 + 1, True),
        ("delta", NOW - HOUR // 2 - 1, False),
        ("parquet", NOW - HOUR, True),
    ],
)
def test_files_that_a_run_writes_for_long_are_not_cleaned_up(store, format: str, began: int | None, cleaned: bool):
    """A clean-up takes files that no version names for left after the retention time. The run may be of any engine."""
    made = sweeper(store, Files({"v": []}, {"file:/w/v": []}))
    state, asked = made._recorder.read(lambda state: state), []
    state.views["v"].definition = evolve(state.views["v"].definition, format=format)
    if began is not None:
        state.running["v"] = Run(Started(began, 9, "v", (), (), WholeView(), ""))
    tables = SimpleNamespace(expire=lambda *_: bool(asked.append("v")), location=lambda _: "", published=lambda _: None)
    made._formats = SimpleNamespace(of_view=lambda _: tables)
    made.sweep()
    assert bool(asked) == cleaned
