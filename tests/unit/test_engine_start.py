"""The start of an engine on a store that others used before."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace

import pytest
from attrs import evolve
from cases import view
from py4j.protocol import Py4JJavaError

from headwater.spark.observing.adopt import highest_written
from headwater.spark.process.engine_process import EngineProcess
from headwater.spark.tables.files import FileTables
from headwater.spark.tables.registry import Formats
from headwater.store.members import Member

ALIVE, LOST = 3, 4


class Unreached(Py4JJavaError):
    def __init__(self) -> None:
        pass

    def __str__(self) -> str:
        return "no such host"


def definitions(*names: str) -> list:
    return [evolve(view(name, "a", "t"), root=f"/w/{name}") for name in names]


def shim(**names: Iterable[str] | Exception) -> SimpleNamespace:
    def listed(root: str) -> Iterable[str]:
        found = names[root.removeprefix("/w/")]
        if isinstance(found, Exception):
            raise found
        return found

    return SimpleNamespace(names=listed)


def formats(**names: Iterable[str] | Exception) -> Formats:
    driver = shim(**names)
    return Formats(driver, FileTables(driver, None))


def test_the_highest_version_is_that_of_any_directory():
    seen = formats(v=[".headwater", ".v7", ".v30"], w=[".v9", "data", ".vx"], x=[])
    assert highest_written(seen, definitions("v", "w", "x")) == 30
    assert highest_written(seen, []) == 0


def test_a_view_that_cannot_be_reached_hides_no_other(caplog: pytest.LogCaptureFixture):
    assert highest_written(formats(v=Unreached(), w=[".v9"]), definitions("v", "w")) == 9
    assert "the versions of v stay unknown: no such host" in caplog.text


def test_only_runs_of_lost_engines_are_stopped():
    running = {name: SimpleNamespace(view=name, version=n, engine=n) for name, n in (("v", ALIVE), ("w", LOST))}
    stopped: list[tuple[str, int]] = []
    engine = EngineProcess.__new__(EngineProcess)
    engine.store = SimpleNamespace(engines=lambda: [Member("elsewhere:1:app", ALIVE, 1, True)])
    engine.recorder = SimpleNamespace(read=lambda ask: ask(SimpleNamespace(running=running)))
    engine.warehouse = SimpleNamespace(cancel=lambda *run: stopped.append(run))
    engine._end_the_lost("mine")
    assert stopped == [("w", LOST)]
