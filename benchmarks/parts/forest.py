"""A forest of random graphs of three levels without Spark, and how fast the core follows its changes.

Each table is read by three views, partitioned by day; 30 % of the changes are to a partition that is pending already.
Each table has changed once before, so the plan of what it reaches is there.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.parts.evaluations import beside_a_cone, days, per_change
from benchmarks.parts.harness import scratch
from headwater.engine.decide.readiness import Choice, ready
from headwater.engine.decide.starting import decided
from headwater.engine.record.transition import transition
from headwater.model.dependency import Dependency, Occurrence, Same
from headwater.model.event import Changed, Declared, Made, Observed, Published
from headwater.model.partition import Slice
from headwater.model.state import State
from headwater.model.view import Definition
from headwater.store.sql_store import SqlStore

FAN_OUT = 3
MERGING = 0.3
BATCH = 100
"""Changes that one look finds and one transaction records."""
DAYS = [f"{year}-{month:02d}-{day:02d}" for year in (2023, 2024) for month in range(1, 13) for day in range(1, 29)]


def warehouse(tables: int) -> tuple[State, list[str]]:
    """Views in three levels over base tables, ``tables`` in all, and the names of the base tables."""
    state, bases, version = State(), [], 0
    tree = 1 + FAN_OUT + FAN_OUT**2
    for number in range(max(1, tables // tree)):
        base = f"base.t{number}"
        bases.append(base)
        level = [base]
        for depth in (1, 2):
            below = []
            for parent in level:
                for child in range(FAN_OUT):
                    name = f"{parent}_{child}" if depth > 1 else f"mart.v{number}_{child}"
                    day = (Occurrence((("day", Same("day")),)),)
                    definition = Definition(name, "", (), ("day",), dependencies=(Dependency(parent, day),))
                    version += 1
                    state = transition(state, Declared(0, version, definition, "was created", fill=False))
                    below.append(name)
            level = below
    return state, bases


def changes(bases: list[str], count: int, first: int, seed: int) -> Iterator[Changed]:
    """Changes of one partition each; 30 % are to the one changed before."""
    rng = random.Random(seed)
    table, day = bases[0], DAYS[0]
    for number in range(count):
        if rng.random() >= MERGING:
            table, day = rng.choice(bases), rng.choice(DAYS)
        seen = (Observed(Slice((("day", day),)), str(number)),)
        yield Changed(number, first + number, table, seen, "", 0, "changed")


def rates(jobs: int, count: int, rounds: int) -> tuple[list[float], list[float]]:
    """Changes and refreshes a second, in each round."""
    changed, refreshed = [], []
    for seed in range(rounds):
        state, bases = warehouse(jobs)
        for base in bases:  # the first change of a table lays the plan for those that follow
            state = transition(state, next(changes([base], 1, state.highest + 1, 0)))
        todo = list(changes(bases, count, state.highest + 1, seed))
        gc.collect()
        began = time.perf_counter()
        for event in todo:
            state = transition(state, event)
        changed.append(count / (time.perf_counter() - began))
        refreshed.append(_drained(state))
    return changed, refreshed


def _drained(state: State) -> float:
    """Refreshes a second while everything pending runs, two hundred runs at most."""
    now, done = 10_000_000, 0
    began = time.perf_counter()
    while done < 200 and (found := ready(state, now)):
        for chosen in found[: 200 - done]:
            begin = decided(state, Choice(chosen), state.highest + 1, now).event
            state = transition(state, begin)
            made = tuple(Made(each, 1, "f") for each in begin.slices)
            state = transition(state, Published(now, begin.version, begin.view, made, (), 1.0))
            done += 1
    return done / (time.perf_counter() - began)


def with_journal(jobs: int, count: int) -> float:
    """Changes a second with the journal on SQLite."""
    state, bases = warehouse(jobs)
    todo = list(changes(bases, count, state.highest + 1, 0))
    with scratch() as place:
        store = SqlStore(place / "store.db")
        began = time.perf_counter()
        for first in range(0, count, BATCH):
            builds = [lambda _, event=event: event for event in todo[first : first + BATCH]]
            for entry in store.append_all(builds, first):
                state = transition(state, entry.event)
        taken = time.perf_counter() - began
        store.close()
    return count / taken


def wide(partitions: int, readers: int, rounds: int) -> list[float]:
    """Seconds for one write of many partitions with many readers."""
    taken = []
    for _ in range(rounds):
        state = State()
        day = (Occurrence((("day", Same("day")),)),)
        for number in range(readers):
            definition = Definition(f"v{number}", "", (), ("day",), dependencies=(Dependency("t", day),))
            state = transition(state, Declared(0, number + 1, definition, "was created", fill=False))
        seen = tuple(Observed(Slice((("day", str(number)),)), "f") for number in range(partitions))
        event = Changed(0, 100, "t", seen, "", 0, "changed")
        began = time.perf_counter()
        state = transition(state, event)
        taken.append(time.perf_counter() - began)
    return taken


def evaluations(jobs: int, count: int) -> dict[str, Any]:
    """Partition maps evaluated for a change: in the warehouse of three levels, and beside cones of growing size."""
    state, bases = warehouse(jobs)
    found = {"three levels": per_change(state, list(changes(bases, count, state.highest + 1, 0)))}
    for views in (10, 1_000):
        state = beside_a_cone(views)
        found[f"beside a cone of {views:,} views"] = per_change(state, days("base.t", count, state.highest + 1))
    return found
