"""The calls of an engine, as ``benchmarks/traced`` writes them down."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

TRACED = Path(__file__).parent / "traced"


@frozen
class Call:
    """A call of the engine: its seconds from start to end."""

    thread: str
    name: str
    began: float
    ended: float

    @property
    def seconds(self) -> float:
        return self.ended - self.began


@contextmanager
def traced(file: Path, *, driver_alone: bool = False) -> Iterator[None]:
    """Programs started inside write the calls of their engines to a file; ``driver_alone``: those of the driver."""
    before = dict(os.environ)
    os.environ["BENCHMARK_TRACE_DRIVER" if driver_alone else "BENCHMARK_TRACE"] = str(file)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(TRACED), *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def recorded(file: Path) -> list[Call]:
    return [_call(line) for line in file.read_text().splitlines()]


def _call(line: str) -> Call:
    thread, name, began, ended = line.split("\t")
    return Call(thread, name, float(began), float(ended))
