"""A statement that names one partition and writes others, too: the one that it named may be without a row now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from attrs import evolve
from cases import A1, A2
from test_unlocked import THERE, Engine

from headwater.model.seen import CommandKind, Seen, TableQuestion
from headwater.spark.jvm.wire import Hint

FULL = Seen("t", schema="s", incarnation=1, partitions={A1: "x", A2: "y"}, columns=frozenset("a"))
EMPTIED = evolve(FULL, partitions={A1: "none", A2: "z"}, empty=frozenset([A1]), away={A1: "/t/a=1"})


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """``default.v`` reads ``t``, which has two partitions."""
    made = Engine(tmp_path / "store.db")
    made.driver.tables = {"default.v": THERE, "t": FULL}
    made.observer.check()
    yield made
    made.loop.close()
    made.store.close()


def named(*partitions: str) -> Hint:
    return Hint("INSERT OVERWRITE", CommandKind.INSERT, table="t", partitions=tuple({"a": each} for each in partitions))


@pytest.mark.parametrize("hints", [(named("1"), named()), (named(), named("1"))], ids=["named first", "named last"])
def test_it_is_empty_and_its_table_is_readable(engine: Engine, hints: tuple[Hint, ...]) -> None:
    asked: list[TableQuestion] = []

    def look(looks: Sequence[TableQuestion]) -> list[Seen]:
        asked.extend(looks)
        return [evolve(EMPTIED, asked=each.slices or each.named) for each in looks]

    engine.driver.look = look
    for each in hints:
        engine.observer.hints.notice(each)
    engine.observer.hinted()
    assert [(each.slices, each.named) for each in asked] == [(None, (A1,))]
    assert not engine.recorder.state.unreadable
    assert engine.last().verb == "changed (INSERT OVERWRITE)"
    assert {each.slice for each in engine.last().partitions} == {A1, A2}


def test_where_nobody_named_it_its_files_are_missed(engine: Engine) -> None:
    engine.driver.tables["t"] = EMPTIED
    engine.observer.hints.notice(named())
    engine.observer.hinted()
    assert "/t/a=1 is not there" in str(engine.recorder.state.unreadable["t"])
