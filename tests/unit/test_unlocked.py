"""Nothing is asked of Spark, the metastore or the files while the recorder's lock is held, and readers of the record
keep nothing that changes under it."""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from attrs import asdict, evolve, frozen, has
from cases import A1, view

import headwater
from headwater.engine.decide.schedule import InOrder, Planned, Question, pending_of
from headwater.model.costs import RefreshCosts
from headwater.model.error import DefinitionError, HeadwaterError, StatementError, StoreError
from headwater.model.event import (
    FRESH,
    Changed,
    Declared,
    Dropped,
    Event,
    Hurried,
    Made,
    Published,
    Renamed,
    Requested,
    Started,
)
from headwater.model.index import Index
from headwater.model.name import TableName, split
from headwater.model.partition import WHOLE
from headwater.model.reason import Code, Reason
from headwater.model.seen import Seen, TableQuestion
from headwater.model.state import State, TableRecord, ViewState
from headwater.model.view import Definition, Query
from headwater.model.work import WholeView
from headwater.runtime.loop import Loop
from headwater.runtime.recorder import Recorder
from headwater.spark.jvm.facts import CatalogView
from headwater.spark.jvm.wire import Hint, Session, Statement, StatementKind
from headwater.spark.observing.hints import Target
from headwater.spark.observing.observer import Observer
from headwater.spark.process.sweep import Sweeper
from headwater.spark.statements.dispatch import Statements
from headwater.spark.tables import catalog
from headwater.spark.tables.registry import Formats
from headwater.store.sql_store import SqlStore

SOURCE = Path(headwater.__file__).parent
LOCKING = ("runtime/recorder.py", "runtime/loop.py", "runtime/wait.py")
CHANGING = (State, ViewState, RefreshCosts, TableRecord, Index, dict, set)

V = evolve(view("default.v", "a", "t"), owner="me", root="file:/w/v")
W = evolve(view("default.w", "a", "default.v"), owner="you", root="file:/w/w")
THERE = Seen("default.v", schema="s", incarnation=1, partitions={A1: "published"}, owner="me")


class Driver:
    """Stands for the shim, a table format, a session and the warehouse. Every call finds out whether another thread
    could take the lock meanwhile.

    Attributes:
        tables: as a look finds them; others are not there.
        meanwhile: done within the next look.
        stored: the format of all tables.
    """

    def __init__(self) -> None:
        self.lock: threading.RLock | None = None
        self.tables = {"default.v": THERE}
        self.calls: list[str] = []
        self.stored = "files"
        self.meanwhile: Callable[[], object] = lambda: None

    def _called(self, name: str) -> None:
        self.calls.append(name)
        taken: list[bool] = []

        def take() -> None:
            taken.append(self.lock.acquire(timeout=1))
            if taken[0]:
                self.lock.release()

        other = threading.Thread(target=take)
        other.start()
        other.join()
        assert taken == [True], f"{name} was called while the lock was held"

    def require(self, definition: Definition) -> None:
        self._called("require")

    def altered(self, definition: Definition, before: Definition) -> None:
        self._called("altered")

    def look(self, looks: Sequence[TableQuestion]) -> list[Seen]:
        found = [self.tables.get(each.table, Seen(each.table, exists=False)) for each in looks]
        self._called("look")
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        return found

    def views(self) -> list[CatalogView]:
        self._called("views")
        return [
            CatalogView(name, 1, {"headwater.owner": each.owner}) for name, each in self.tables.items() if each.owner
        ]

    def owner(self, table: str) -> str | None:
        self._called("owner")
        return self.tables[table].owner if table in self.tables else None

    def format(self, table: str) -> str:
        self._called("format")
        return self.stored if table in self.tables else ""

    def rename(self, table: str, to: str) -> None:
        self._called("rename")
        self.tables[to] = evolve(self.tables.pop(table), table=to)

    def sql(self, text: str) -> None:
        self._called("sql")
        if text.startswith("DROP TABLE"):
            del self.tables[TableName.whole(split(text.split()[-1])).key]

    def of_table(self, settings=()):
        return self

    def analysed(self, definition: Definition) -> Definition:
        self._called("analysed")
        return definition

    def __getattr__(self, name: str):
        return lambda *_, **__: self._called(name) or []


class Planning(Planned):
    def explained(self, view: str) -> list[str]:
        return [f"a plan for {view}"]


@frozen
class Plans(InOrder):
    """A schedule that needs a plan, which the driver makes."""

    driver: Driver

    def question(self, state: State, last: Planned | None) -> Question:
        return Question(pending_of(state))

    def solve(self, question: Question) -> Planned:
        self.driver.planned()
        return Planning(question.pending)


class Watched(Recorder):
    """A recorder that finds out whether an answer is a part of the state that changes."""

    def read(self, ask):
        answer = super().read(ask)
        with self.lock:
            changing = {id(each) for each in parts(self.state) if isinstance(each, CHANGING)}
            kept = [type(each).__name__ for each in parts(answer) if id(each) in changing]
        assert not kept, f"a reader keeps {', '.join(kept)} of the state"
        return answer


def parts(value: object) -> Iterator[object]:
    yield value
    inner: Iterable[object] = ()
    if has(type(value)):
        inner = asdict(value, recurse=False).values()
    elif isinstance(value, Mapping):
        inner = (*value.keys(), *value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        inner = value
    for each in inner:
        yield from parts(each)


class Engine:
    """An engine with one view, which is published."""

    def __init__(self, path) -> None:
        self.driver, self.store = Driver(), SqlStore(path, clock=lambda: 1_000_000)
        self.recorder = Watched(self.store, self.driver, SimpleNamespace(now=lambda: 1_000_000))
        self.loop = Loop(self.recorder, self.driver, self.driver, "me", acts=False, schedule=Plans(self.driver))
        self.driver.lock = self.recorder.lock
        self.observer = Observer(self.recorder, self.driver, self.driver, self.driver, self.driver)
        self.statements = Statements(
            self.recorder,
            self.loop,
            self.store,
            self.observer,
            *[self.driver] * 4,
            pins=lambda snapshots: {},
            commits=self.driver,
        )
        self.record(lambda version: Changed(1, version, "t", (), "", 0, "appeared", True))
        self.record(lambda version: Declared(1, version, V, "was declared"))
        self.refresh()

    def record(self, build: Callable[[int], Event]) -> Event:
        return self.recorder.record(lambda _: build(FRESH))

    def start(self) -> Event:
        needs = ((WHOLE, tuple(self.recorder.state.origins)),)
        return self.record(
            lambda version: Started(1, version, V.view, needs, (), WholeView(), Reason(Code.SOURCE_CHANGED, "because"))
        )

    def refresh(self, fingerprint: str = "published") -> None:
        run = self.start()
        made = (Made(A1, 1, fingerprint),)
        self.record(lambda _: Published(1, run.version, V.view, made, (), 1.0))

    def look(self) -> None:
        self.observer.look(Target({"default.v": None}))

    def last(self) -> Event:
        return list(self.store.read())[-1].event

    def say(self, kind: StatementKind, text: str):
        return self.statements.answer(Statement(1, Session("spark_catalog", "default", {}), kind, text)).rows


@pytest.fixture
def engine(tmp_path) -> Iterator[Engine]:
    made = Engine(tmp_path / "store.db")
    yield made
    made.loop.close()
    made.store.close()


def test_only_the_recorder_the_loop_and_the_waits_take_the_lock():
    """All others ask ``Recorder.read``."""
    for file in SOURCE.rglob("*.py"):
        if file.relative_to(SOURCE).as_posix() in LOCKING:
            continue
        used = [each for each in ast.walk(ast.parse(file.read_text())) if isinstance(each, ast.Attribute)]
        for each in used:
            of_recorder = ast.unparse(each.value).endswith("recorder")
            assert not of_recorder or each.attr not in ("lock", "changed", "state"), f"{file}:{each.lineno}"


@pytest.mark.parametrize("ask", [lambda s: s, lambda s: [s.views["default.v"]], lambda s: s.tables["t"].partitions])
def test_a_reader_that_keeps_a_part_of_the_state_is_found_out(engine: Engine, ask: Callable[[State], object]):
    with pytest.raises(AssertionError, match="a reader keeps "):
        engine.recorder.read(ask)


def test_an_event_is_built_once_and_nothing_is_asked_of_the_store_for_none(engine: Engine, monkeypatch):
    built, asked, append = [], [], engine.store.append_all

    def appending(builds, after):
        asked.append(len(builds))
        return append(builds, after)

    def build(event: Event | None) -> Callable[[State], Event | None]:
        return lambda state: built.append(event) or event

    monkeypatch.setattr(engine.store, "append_all", appending)
    assert engine.recorder.record_all([build(None), build(None)]) == [None, None] and not asked
    hurried, none = engine.recorder.record_all([build(Hurried(1, FRESH)), build(None)])
    assert hurried.version > 0 and none is None
    assert asked == [1] and len(built) == 4


def test_a_view_that_is_as_it_was_published_is_left_alone(engine: Engine):
    engine.look()
    assert isinstance(engine.last(), Published)


def test_a_view_whose_table_is_gone_was_dropped(engine: Engine):
    engine.record(lambda version: Declared(1, version, W, "was declared"))
    engine.driver.tables.clear()
    engine.look()
    assert Dropped(1_000_000, "default.v") in [entry.event for entry in engine.store.read()]
    assert {"look", "views", "release", "analysed"} <= set(engine.driver.calls)


def test_a_view_whose_table_has_another_name_goes_by_that(engine: Engine):
    engine.driver.tables = {"default.w": evolve(THERE, table="default.w")}
    engine.look()
    assert engine.last() == Renamed(
        1_000_000, engine.last().version, "default.v", "default.w", evolve(V, view="default.w")
    )


def test_properties_of_a_view_that_was_redefined_meanwhile(engine: Engine, monkeypatch):
    """Another statement redefines it while this one is carried out. The catalog has the newer query afterwards."""
    newer = evolve(V, made_by=Query("SELECT 2 AS x"))
    stored: list[Definition] = []

    def analysed(definition: Definition) -> Definition:
        engine.record(lambda version: Declared(2, version, newer, "was redefined"))
        return definition

    monkeypatch.setattr(engine.driver, "analysed", analysed)
    monkeypatch.setattr(catalog, "store", lambda _, definition, before=None: stored.append(definition))
    with pytest.raises(StatementError, match="changed meanwhile; alter it again"):
        engine.say(
            StatementKind.ALTER, "ALTER MATERIALIZED VIEW v SET TBLPROPERTIES ('headwater.freshness' = '1 hour')"
        )
    assert stored[-1] == newer and engine.recorder.state.views["default.v"].definition == newer


def test_a_method_that_cannot_follow_the_view_is_refused_as_create_does(engine: Engine, monkeypatch):
    stored: list[Definition] = []
    monkeypatch.setattr(catalog, "store", lambda _, definition, before=None: stored.append(definition))
    alter = "ALTER MATERIALIZED VIEW v SET TBLPROPERTIES"
    with pytest.raises(DefinitionError, match="set it to 'incremental, full', or leave it out") as refused:
        engine.say(StatementKind.ALTER, f"{alter} ('headwater.method' = 'incremental')")
    assert refused.value.code == "METHOD" and not stored
    engine.say(StatementKind.ALTER, f"{alter} ('headwater.method' = 'incremental, full')")
    asked = engine.recorder.state.views["default.v"].definition.policy.method
    assert [each.value for each in asked] == ["incremental", "full"]


def test_other_properties_of_a_view_that_cannot_be_followed_any_more_are_set(engine: Engine, monkeypatch):
    monkeypatch.setattr(catalog, "store", lambda *_: None)
    lost = evolve(V, properties={"headwater.method": "incremental"})
    engine.record(lambda version: Declared(1, version, lost, "a source has no snapshots any more"))
    engine.say(StatementKind.ALTER, "ALTER MATERIALIZED VIEW v SET TBLPROPERTIES ('headwater.priority' = '2')")
    assert engine.recorder.state.views["default.v"].definition.policy.priority == 2
    engine.say(StatementKind.ALTER, "ALTER MATERIALIZED VIEW v UNSET TBLPROPERTIES ('headwater.method')")
    assert engine.recorder.state.views["default.v"].definition.policy.method is None


def test_who_alters_a_view_hears_of_other_engines_first(engine: Engine, tmp_path, monkeypatch):
    newer = evolve(V, made_by=Query("SELECT 2 AS x"))
    entries = engine.store.append_all(
        [lambda version: Declared(2, version, newer, "was redefined")], engine.recorder.seq
    )
    assert entries and engine.recorder.state.views["default.v"].definition == V
    stored: list[Definition] = []
    monkeypatch.setattr(catalog, "store", lambda _, definition, before=None: stored.append(definition))
    engine.say(StatementKind.ALTER, "ALTER MATERIALIZED VIEW v SET TBLPROPERTIES ('headwater.freshness' = '1 hour')")
    assert [each.query for each in stored] == ["SELECT 2 AS x"]


def test_a_view_that_was_written_by_hand_is_repaired(engine: Engine):
    engine.driver.tables["default.v"] = evolve(THERE, partitions={A1: "by hand"})
    engine.look()
    assert engine.last().verb == "was written past Headwater (by another program)"


def test_a_swap_that_was_cut_off_drops_nothing(engine: Engine):
    """The replacement is filled then, and has the owner of the view."""
    engine.driver.tables = {"default.v__headwater": evolve(THERE, table="default.v__headwater")}
    engine.look()
    assert isinstance(engine.last(), Published)


@pytest.mark.parametrize("format", ["", "delta"])
def test_a_view_is_dropped_whose_replacement_is_not_filled_or_is_its_earlier_table(engine: Engine, format: str):
    owner = "me" if format else ""
    engine.driver.tables = {"default.v__headwater": evolve(THERE, table="default.v__headwater", owner=owner)}
    engine.driver.stored = format
    engine.look()
    assert engine.last() == Dropped(1_000_000, "default.v")


def test_a_view_that_is_dropped_while_it_runs_is_dropped(engine: Engine):
    engine.start()
    engine.driver.tables.clear()
    engine.look()
    assert engine.last() == Dropped(1_000_000, "default.v") and not engine.recorder.state.running


def test_a_view_that_is_published_while_a_look_finds_it_gone_is_asked_after_again(engine: Engine):
    """The look saw the moment between two statements of a swap."""
    engine.driver.tables.clear()

    def meanwhile() -> None:
        engine.driver.meanwhile = swapped

    def swapped() -> None:
        engine.refresh()
        engine.driver.tables["default.v"] = THERE

    engine.driver.meanwhile = meanwhile
    engine.look()
    assert isinstance(engine.last(), Published) and engine.driver.calls.count("look") == 3


def test_a_publication_during_a_look_is_no_write_by_hand(engine: Engine):
    engine.driver.meanwhile = lambda: engine.refresh("newer")
    engine.look()
    assert isinstance(engine.last(), Published)


def test_statements_ask_without_the_lock(engine: Engine):
    assert engine.say(StatementKind.ALTER, "ALTER MATERIALIZED VIEW v RENAME TO w") == [["default.v is now default.w"]]
    assert set(engine.driver.tables) == {"default.w"}
    assert engine.say(StatementKind.DROP, "DROP MATERIALIZED VIEW w") == [["default.w dropped"]]
    assert {"rename", "owner", "release", "sql"} <= set(engine.driver.calls)


def test_an_explanation_searches_for_a_plan_without_the_lock(engine: Engine):
    text = "EXPLAIN REFRESH MATERIALIZED VIEW v"
    assert engine.say(StatementKind.EXPLAIN, text)[0] == ["default.v: nothing to do, 1 of 1 partitions are fresh"]
    assert "planned" not in engine.driver.calls
    engine.record(lambda version: Requested(1, version, V.view, (WHOLE,), "was to be refreshed"))
    assert engine.say(StatementKind.EXPLAIN, text)[-1] == ["a plan for default.v"]
    assert "planned" in engine.driver.calls


def test_a_view_that_is_read_is_not_dropped(engine: Engine):
    engine.record(lambda version: Declared(1, version, W, "was declared"))
    with pytest.raises(StatementError, match=r"default\.v is read by default\.w; drop it first"):
        engine.say(StatementKind.DROP, "DROP MATERIALIZED VIEW v")
    assert "default.v" in engine.recorder.state.views


def test_a_view_that_starts_to_run_while_its_table_gets_another_name_keeps_its_own(engine: Engine):
    rename = engine.driver.rename

    def renaming(table: str, to: str) -> None:
        rename(table, to)
        if to == "default.w":
            engine.start()

    engine.driver.rename = renaming
    with pytest.raises(HeadwaterError, match="is being refreshed; rename it when"):
        engine.say(StatementKind.ALTER, "ALTER MATERIALIZED VIEW v RENAME TO w")
    assert set(engine.driver.tables) == {"default.v"} and set(engine.recorder.state.views) == {"default.v"}


def test_a_sweep_asks_without_the_lock(engine: Engine):
    engine.store.discard("default.v", ["file:/w/v/.v1"], 0)
    driver = engine.driver
    Sweeper(engine.recorder, SimpleNamespace(leads=True), engine.store, Formats(None, driver), driver).sweep()
    assert {"names", "expire"} <= set(engine.driver.calls)


def shown(engine: Engine) -> list:
    [row] = engine.say(StatementKind.SHOW_VIEWS, "SHOW MATERIALIZED VIEWS")
    return row


def test_show_looks_before_it_says_that_a_view_is_fresh(engine: Engine):
    """Nobody told of this write: its driver was killed, or another program made it."""
    assert shown(engine)[2] == "fresh"
    engine.driver.tables["default.v"] = evolve(THERE, partitions={A1: "by hand"})
    assert shown(engine)[2] == "behind"


def test_show_says_that_the_store_does_not_answer(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    assert shown(engine)[-2:] == ["", ""]

    def away(*_: object) -> None:
        raise StoreError("the store does not answer")

    for each in ("read", "engines", "append_all"):
        monkeypatch.setattr(engine.store, each, away)
    row = shown(engine)
    assert row[2] == "fresh" and row[-2].startswith("the store does not answer; the last look at them was ")
    assert row[-1] == "look.missed"


def test_a_write_that_came_while_the_store_was_away_is_recorded_when_it_is_back(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    def away(*_: object) -> None:
        raise StoreError("the store does not answer")

    engine.driver.tables["default.v"] = evolve(THERE, partitions={A1: "by hand"})
    engine.observer.hints.notice(Hint("INSERT INTO", table="default.v"))
    with monkeypatch.context() as outage:
        outage.setattr(engine.store, "append_all", away)
        for _ in range(2):
            with pytest.raises(StoreError):
                engine.observer.hinted()
    assert engine.observer.hints.noticed.is_set(), "it is looked at again"
    engine.observer.hinted()
    assert engine.last().verb == "was written past Headwater (INSERT INTO)"


@pytest.mark.parametrize(("times", "told"), [(1, "INSERT INTO"), (2, "by another program")])
def test_a_look_that_failed_is_made_once_more_for_its_command(engine: Engine, times: int, told: str):
    """A catalog did not answer. What fails twice is found by the next check, which knows of no command."""
    engine.driver.tables["default.v"] = evolve(THERE, partitions={A1: "by hand"})
    engine.observer.hints.notice(Hint("INSERT INTO", table="default.v"))

    def fail() -> None:
        raise OSError("the catalog does not answer")

    for _ in range(times):
        engine.driver.meanwhile = fail
        with pytest.raises(OSError, match="does not answer"):
            engine.observer.hinted()
    engine.observer.hinted()
    engine.look()
    assert engine.last().verb == f"was written past Headwater ({told})"
