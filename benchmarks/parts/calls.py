"""The calls of an engine, as ``benchmarks/parts/traced`` writes them down."""

from __future__ import annotations

import shlex
import sys
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


def traced(file: Path, *, driver_alone: bool = False) -> dict[str, str]:
    """Settings of an application whose engines write their calls to a file; ``driver_alone``: those of the driver.

    An engine starts an isolated Python, which reads no PYTHONPATH. So another program stands for that Python: it
    installs the tracing, and then runs what the engine's Python was asked to run.
    """
    python = file.with_name(f"{file.name}-python")
    command = [sys.executable, "-I", "-u", str(TRACED / "start.py"), str(file), "driver" if driver_alone else "engine"]
    python.write_text(f'#!/bin/sh\nshift 3\nexec {shlex.join(command)} "$@"\n')
    python.chmod(0o700)
    return {"spark.headwater.python": str(python)}


def recorded(file: Path) -> list[Call]:
    return [_call(line) for line in file.read_text().splitlines()]


def _call(line: str) -> Call:
    thread, name, began, ended = line.split("\t")
    return Call(thread, name, float(began), float(ended))
