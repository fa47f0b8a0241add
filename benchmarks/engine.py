"""The core by itself: how many changes a second, how that grows with the warehouse, and how much memory.

The workload is a forest of random graphs of three levels, each table read by three views, partitioned
by day; 30 % of the changes are to a partition that is pending already. Each table has changed once
before, so the plan of what it reaches is there. One core, no Spark.
"""

from __future__ import annotations

import gc
import random
import sys
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

from benchmarks.harness import Goal, console, main, scratch, spread
from headwater.engine.choose import ready, started
from headwater.engine.transition import transition
from headwater.model.dependency import Dependency, Occurrence, Same
from headwater.model.event import Changed, Declared, Event, Made, Observed, Published
from headwater.model.partition import Slice
from headwater.model.state import State
from headwater.model.view import Definition
from headwater.store.replay import replay
from headwater.store.sql import SqlStore

FAN_OUT = 3
MERGING = 0.3
BATCH = 100
"""Changes that one look finds and one transaction records."""
DAYS = [f"{year}-{month:02d}-{day:02d}" for year in (2023, 2024) for month in range(1, 13) for day in range(1, 29)]


def run(quick: bool) -> dict[str, Any]:
    sizes = (1_000, 10_000) if quick else (1_000, 10_000, 100_000)
    events = 5_000 if quick else 20_000
    rounds = 3 if quick else 5
    growth = {}
    for jobs in sizes:
        console.log(f"{jobs:,} tables: {rounds} rounds of {events:,} changes")
        growth[jobs] = _rates(jobs, events, rounds)
    console.log("with the journal on SQLite")
    journal = _journal(1_000, 500 if quick else 3_000)
    console.log("one write of 10,000 partitions with 20 readers")
    wide = _wide(10_000, 20, rounds)
    console.log("memory and start")
    size = _size(*((100_000, 10_000) if quick else (1_000_000, 100_000)))
    base = growth[sizes[0]]
    slower = base["changes_per_second"]["median"] / growth[sizes[-1]]["changes_per_second"]["median"]
    rate = base["changes_per_second"]["median"]
    goals = [
        Goal("changes a second through the core, 1,000 tables", ">= 20,000", f"{rate:,.0f}", rate >= 20_000),
        Goal("changes a second with the journal on SQLite", ">= 5,000", f"{journal:,.0f}", journal >= 5_000),
        Goal(f"cost of a change, {sizes[-1]:,} against 1,000 tables", "<= 2x", f"{slower:.2f}x", slower <= 2),
        Goal("a write of 10,000 partitions with 20 readers", "< 1 s", f"{wide['median']:.2f} s", wide["median"] < 1),
        Goal(
            "resident for a partition with its version",
            "<= 1 KB",
            f"{size['bytes_per_partition']:.0f} bytes",
            size["bytes_per_partition"] <= 1024,
        ),
        Goal(
            "resident for a pending request",
            "<= 2 KB",
            f"{size['bytes_per_request']:.0f} bytes",
            size["bytes_per_request"] <= 2048,
        ),
        Goal(
            f"start from the store with {size['partitions']:,} partitions",
            "< 10 s",
            f"{size['start']:.1f} s",
            size["start"] < 10,
        ),
    ]
    return {"growth": growth, "journal": journal, "wide": wide, "size": size, "goals": goals}


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
                    state, _ = transition(state, Declared(0, version, definition, "was created", fill=False))
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
            state, _ = transition(state, next(changes([base], 1, state.highest + 1, 0)))
        todo = list(changes(bases, count, state.highest + 1, seed))
        gc.collect()
        began = time.perf_counter()
        for event in todo:
            state, _ = transition(state, event)
        rates.append(count / (time.perf_counter() - began))
        whole.append(_drained(state))
    return {"changes_per_second": spread(rates), "refreshes_per_second": spread(whole)}


def _drained(state: State) -> float:
    """Refreshes a second while everything pending runs, two hundred runs at most."""
    now, done = 10_000_000, 0
    began = time.perf_counter()
    while done < 200 and (found := ready(state, now)):
        for chosen in found[: 200 - done]:
            begin = started(state, chosen, state.highest + 1, now)
            state, _ = transition(state, begin)
            made = tuple(Made(each, 1, "f") for each in begin.slices)
            state, _ = transition(state, Published(now, begin.version, begin.view, made, (), 1.0))
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
            for entry in store.append_all(builds, 0, first):
                state, _ = transition(state, entry.event)
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
            state, _ = transition(state, Declared(0, number + 1, definition, "was created", fill=False))
        seen = tuple(Observed(Slice((("day", str(number)),)), "f") for number in range(partitions))
        event = Changed(0, 100, "t", seen, "", 0, "changed")
        began = time.perf_counter()
        state, _ = transition(state, event)
        taken.append(time.perf_counter() - began)
    return spread(taken)


def _size(partitions: int, requests: int) -> dict[str, Any]:
    tables = 100
    each = partitions // tables
    events: list[Event] = []
    for number in range(tables):
        seen = tuple(Observed(Slice((("p", f"{part:07d}"),)), f"{part:032x}") for part in range(each))
        events.append(Changed(0, number + 1, f"base.t{number}", seen, "", 0, "was first seen", baseline=True))
    with scratch() as place:
        store = SqlStore(place / "store.db")
        for seq, event in enumerate(events):
            store.append(lambda _, event=event: event, 0, seq)
        events.clear()
        began = time.perf_counter()
        state, _ = replay(store, State())
        start = time.perf_counter() - began
        del state
        gc.collect()
        tracemalloc.start()
        state, _ = replay(store, State())
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
        for number in range(tables):
            part = (Occurrence((("p", Same("p")),)),)
            definition = Definition(f"v{number}", "", (), ("p",), dependencies=(Dependency(f"base.t{number}", part),))
            state, _ = transition(state, Declared(0, state.highest + 1, definition, "was created", fill=False))
        before = tracemalloc.get_traced_memory()[0]
        for number in range(tables):
            slices = list(state.tables[f"base.t{number}"].partitions)[: requests // tables]
            for slice_ in slices:
                event = Changed(0, state.highest + 1, f"base.t{number}", (Observed(slice_, "g"),), "", 0, "changed")
                state, _ = transition(state, event)
        del event
        gc.collect()
        pending = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        store.close()
    return {
        "partitions": partitions,
        "requests": requests,
        "bytes_per_partition": held / partitions,
        "bytes_per_request": pending / requests,
        "start": start,
        "resident_python": sys.version.split()[0],
    }


if __name__ == "__main__":
    main(run, __doc__ or "")
