"""The calls of an engine, as ``benchmarks/parts/traced`` writes them down."""

from __future__ import annotations

import shlex
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

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


def of_runs(calls: list[Call]) -> list[list[Call]]:
    """The calls of each run: those in its steps, of which the last one publishes. Steps are in several threads."""
    runs: list[list[Call]] = [[]]
    steps = [each for each in calls if each.name == "Loop._carry_out"]
    for step in sorted(steps, key=lambda each: each.ended):
        runs[-1] += [each for each in calls if holds(step, each)]
        if any(each.name == "SparkWarehouse.publish" for each in runs[-1]):
            runs.append([])
    return runs[:-1]


def by_name(runs: list[list[Call]]) -> list[dict[str, Any]]:
    """Medians over runs, by the name of a call: how often, its milliseconds, and those of calls inside it."""
    times, millis, below = defaultdict(list), defaultdict(list), defaultdict(list)
    for calls in runs:
        for name in {each.name for each in calls}:
            mine = [each for each in calls if each.name == name]
            times[name].append(len(mine))
            millis[name].append(1000 * sum(each.seconds for each in mine))
            below[name].append(1000 * sum(each.seconds for one in mine for each in children(one, calls)))
    found = [
        {
            "name": name,
            "times": statistics.median(times[name]),
            "millis": statistics.median(millis[name]),
            "below": statistics.median(below[name]),
        }
        for name in times
    ]
    return sorted(found, key=lambda each: each["millis"], reverse=True)


def children(parent: Call, calls: Iterable[Call]) -> list[Call]:
    """The outermost calls inside another one."""
    inside = [each for each in calls if each is not parent and holds(parent, each)]
    return [each for each in inside if not any(holds(other, each) for other in inside if other is not each)]


def holds(outer: Call, inner: Call) -> bool:
    return outer.thread == inner.thread and outer.began <= inner.began and inner.ended <= outer.ended
