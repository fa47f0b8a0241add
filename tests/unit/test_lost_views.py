"""What became of a view whose table is gone may stay unknown for a while. All else is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import A1
from py4j.protocol import Py4JJavaError
from test_unlocked import Engine

from headwater.model.event import Changed, Dropped, Event, Unreadable
from headwater.model.reason import Code, Reason
from headwater.model.seen import Seen
from headwater.spark.jvm.wire import Hint
from headwater.spark.observing import observer
from headwater.spark.observing.hints import Target


class Strange(Py4JJavaError):
    """What Spark says of a metastore with a table that it cannot convert."""

    def __init__(self) -> None:
        pass

    def __str__(self) -> str:
        return "\nthe table default.strange has no columns"


def fails(*_: object) -> None:
    raise Strange


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """``default.v`` reads ``t``, and its table is gone; Spark cannot list the tables."""
    made = Engine(tmp_path / "store.db")
    made.driver.tables = {"t": Seen("t", schema="s", incarnation=1, partitions={A1: "new"})}
    monkeypatch.setattr(made.driver, "views", fails, raising=False)
    yield made
    made.loop.close()
    made.store.close()


def recorded(engine: Engine, kind: type) -> list[Event]:
    return [entry.event for entry in engine.store.read() if isinstance(entry.event, kind)]


@pytest.mark.parametrize("together", [1, 100])
def test_changes_of_other_tables_are_recorded(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, together: int
):
    monkeypatch.setattr(observer, "TOGETHER", together)
    with pytest.raises(Strange):
        engine.observer.look(Target({"default.v": None, "t": None}))
    assert [each.table for each in recorded(engine, Changed)] == ["t", "t"], "the first one is of the fixture"
    assert not recorded(engine, Dropped)
    assert "the table of default.v is gone, and the next look finds out why: the table default.strange" in caplog.text
    monkeypatch.undo()
    engine.observer.look(Target({"default.v": None, "t": None}))
    assert [each.view for each in recorded(engine, Dropped)] == ["default.v"]


def test_a_look_for_another_command_does_not_wait_for_the_next_check(engine: Engine):
    """The one for the first command fails twice, and is left to that check."""
    engine.observer.hints.notice(Hint("DROP TABLE", table="default.v"))
    engine.observer.hints.notice(Hint("INSERT INTO", table="t"))
    for _ in range(2):
        with pytest.raises(Strange):
            engine.observer.hinted()
    assert engine.observer.hints.noticed.is_set()
    engine.observer.hinted()
    assert recorded(engine, Changed)[-1].verb == "appeared (INSERT INTO)"
    assert not engine.observer.hints.noticed.is_set()


def test_a_refresh_that_waits_for_the_table_to_be_readable_does_not_make_it_anew(engine: Engine):
    away = Reason(Code.SOURCE_UNREADABLE, "the metastore did not answer")
    engine.recorder.record(lambda _: Unreadable(1, "default.v", away))
    with pytest.raises(Strange):
        engine.observer.look(Target({"default.v": None}))
    assert engine.recorder.state.unreadable == {"default.v": away}


def test_a_check_analyses_views_all_the_same(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    analysed: list[str] = []
    monkeypatch.setattr(engine.observer._reanalysis, "retry", lambda: analysed.append("retried"))
    with pytest.raises(Strange):
        engine.observer.check()
    assert analysed


def test_a_failure_of_one_table_does_not_hold_up_the_others(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(observer, "TOGETHER", 1)
    monkeypatch.setattr(engine.observer._reanalysis, "of_readers", fails)
    engine.driver.tables = {"s": Seen("s", exists=False), **engine.driver.tables}
    with pytest.raises(Strange):
        engine.observer.look(Target({"s": None, "t": None}))
    assert [each.table for each in recorded(engine, Changed)] == ["t", "s", "t"]
