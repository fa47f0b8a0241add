"""The core by itself: how many changes a second, how that grows with the warehouse, and how much memory;
and how soon a start and `headwater status` are done on a large store.

The workload is a forest of random graphs of three levels, each table read by three views, partitioned
by day; 30 % of the changes are to a partition that is pending already. Each table has changed once
before, so the plan of what it reaches is there. One core, no Spark.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.parts.evaluations import beside_a_cone, days, per_change
from benchmarks.parts.harness import Goal, Size, console, main, parser, scratch, spread
from benchmarks.parts.large_store import large_store
from headwater.engine.decide.readiness import Choice, ready, started
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


PARSER = parser(__doc__)


def run(size: Size) -> dict[str, Any]:
    sizes = size.of((1_000, 10_000, 100_000), (1_000, 10_000), (100, 200))
    events = size.of(20_000, 5_000, 100)
    rounds = size.of(5, 3, 1)
    growth = {}
    for jobs in sizes:
        console.log(f"{jobs:,} tables: {rounds} rounds of {events:,} changes")
        growth[jobs] = _rates(jobs, events, rounds)
    console.log("with the journal on SQLite")
    journal = _journal(sizes[0], size.of(3_000, 500, 100))
    partitions = size.of(10_000, 10_000, 100)
    console.log(f"one write of {partitions:,} partitions with 20 readers")
    wide = _wide(partitions, 20, rounds)
    console.log("maps evaluated for a change")
    evaluations = _evaluations(sizes[0], size.of(5_000, 500, 100))
    console.log("memory, start and status")
    large = large_store(*size.of((1_000_000, 100_000), (100_000, 10_000), (1_000, 100)), runs=size.of(5, 5, 1))
    few, many = (evaluations[f"beside a cone of {views} views"] for views in ("10", "1,000"))
    base = growth[sizes[0]]
    slower = base["changes_per_second"]["median"] / growth[sizes[-1]]["changes_per_second"]["median"]
    rate = base["changes_per_second"]["median"]
    goals = [
        Goal(f"changes a second through the core, {sizes[0]:,} tables", ">= 20,000", f"{rate:,.0f}", rate >= 20_000),
        Goal("changes a second with the journal on SQLite", ">= 5,000", f"{journal:,.0f}", journal >= 5_000),
        Goal(f"cost of a change, {sizes[-1]:,} against {sizes[0]:,} tables", "<= 2x", f"{slower:.2f}x", slower <= 2),
        Goal(
            f"a write of {partitions:,} partitions with 20 readers",
            "< 1 s",
            f"{wide['median']:.2f} s",
            wide["median"] < 1,
        ),
        Goal(
            "resident for a partition with its version",
            "<= 1 KB",
            f"{large['bytes_per_partition']:.0f} bytes",
            large["bytes_per_partition"] <= 1024,
        ),
        Goal(
            "resident for a pending request",
            "<= 2 KB",
            f"{large['bytes_per_request']:.0f} bytes",
            large["bytes_per_request"] <= 2048,
        ),
        Goal(
            f"start from the store with {large['partitions']:,} partitions and {large['requests']:,} requests",
            "< 10 s",
            f"{_seconds(large['start'])}; {large['start_partitions']:.1f} s without requests",
            large["start"]["median"] < 10,
        ),
        Goal(
            "headwater status on that store",
            "< 1 s",
            f"{_seconds(large['status'])}, of which {large['status_processor']['median']:.2f} s of a processor",
            large["status"]["median"] < 1,
        ),
        Goal(
            "maps evaluated for a change, views of the same partitions in three levels",
            "none",
            _told(evaluations["three levels"]),
            not evaluations["three levels"]["misses"]["map"],
        ),
        Goal(
            "maps evaluated for a change beside 1,000 uncovered views",
            "as beside 10",
            f"{_told(many)}; beside 10: {_told(few)}",
            many == few,
        ),
    ]
    return {
        "growth": growth,
        "journal": journal,
        "wide": wide,
        "evaluations": evaluations,
        "large": large,
        "goals": goals,
    }


def _seconds(measured: dict[str, float]) -> str:
    return f"{measured['median']:.2f} s ({measured['min']:.2f} s to {measured['max']:.2f} s)"


def _told(counts: dict[str, Any]) -> str:
    hits, misses = sum(counts["hits"].values()), sum(counts["misses"].values())
    return f"{counts['misses']['map']:g} ({hits:.1f} hits, {misses:.1f} misses)"


# --- workload


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


def _rates(jobs: int, count: int, rounds: int) -> dict[str, Any]:
    rates, whole = [], []
    for seed in range(rounds):
        state, bases = warehouse(jobs)
        for base in bases:  # the first change of a table lays the plan for those that follow
            state = transition(state, next(changes([base], 1, state.highest + 1, 0)))
        todo = list(changes(bases, count, state.highest + 1, seed))
        gc.collect()
        began = time.perf_counter()
        for event in todo:
            state = transition(state, event)
        rates.append(count / (time.perf_counter() - began))
        whole.append(_drained(state))
    return {"changes_per_second": spread(rates), "refreshes_per_second": spread(whole)}


def _drained(state: State) -> float:
    """Refreshes a second while everything pending runs, two hundred runs at most."""
    now, done = 10_000_000, 0
    began = time.perf_counter()
    while done < 200 and (found := ready(state, now)):
        for chosen in found[: 200 - done]:
            begin = started(state, Choice(chosen), state.highest + 1, now)
            state = transition(state, begin)
            made = tuple(Made(each, 1, "f") for each in begin.slices)
            state = transition(state, Published(now, begin.version, begin.view, made, (), 1.0))
            done += 1
    return done / (time.perf_counter() - began)


def _journal(jobs: int, count: int) -> float:
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


def _wide(partitions: int, readers: int, rounds: int) -> dict[str, float]:
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
    return spread(taken)


def _evaluations(jobs: int, count: int) -> dict[str, Any]:
    """Partition maps evaluated for a change: in the warehouse of three levels, and beside cones of growing size."""
    state, bases = warehouse(jobs)
    found = {"three levels": per_change(state, list(changes(bases, count, state.highest + 1, 0)))}
    for views in (10, 1_000):
        state = beside_a_cone(views)
        found[f"beside a cone of {views:,} views"] = per_change(state, days("base.t", count, state.highest + 1))
    return found


if __name__ == "__main__":
    main(run, PARSER)
