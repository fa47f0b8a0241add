"""The engine by itself: its core without Spark, large and old stores, many views, and two engines on one store."""

from __future__ import annotations

import gc
import statistics
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from benchmarks.parts import forest, many_views, old_store
from benchmarks.parts.harness import by_turns, console, ratios, scratch
from benchmarks.parts.large_store import large_store
from benchmarks.parts.results import Report, figure, none
from benchmarks.parts.services import has_postgresql
from benchmarks.parts.shared_store import side

KEPT = 1_000_000
"""Entries of the last 30 days: half a minute lies between two refreshes of a view. Those before are compacted."""
STORES = ("sqlite", "postgresql")


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--views", type=int, help="for many, in all levels together; 500 unless quick")
    parser.add_argument(
        "--store",
        choices=STORES,
        default=STORES[has_postgresql()],
        help="for pair; postgresql needs the package pgserver",
    )


def core(asked: Namespace) -> Report:
    """Changes a second, and how that grows with the warehouse. One core, no Spark."""
    sizes, rounds = asked.size.of((1_000, 10_000, 100_000), (1_000, 10_000), (100, 200)), asked.size.of(5, 3, 1)
    events, partitions = asked.size.of(20_000, 5_000, 100), asked.size.of(10_000, 10_000, 100)
    rates = {}
    for tables in sizes:
        console.log(f"{tables:,} tables: {rounds} rounds of {events:,} changes")
        rates[tables] = forest.rates(tables, events, rounds)
    console.log("the journal, a wide write, and maps evaluated for a change")
    journal = forest.with_journal(sizes[0], asked.size.of(3_000, 500, 100))
    wide = forest.wide(partitions, 20, rounds)
    evaluated = forest.evaluations(sizes[0], asked.size.of(5_000, 500, 100))
    few, many = (evaluated[f"beside a cone of {views} views"] for views in ("10", "1,000"))
    slower = statistics.median(rates[sizes[0]][0]) / statistics.median(rates[sizes[-1]][0])
    maps = evaluated["three levels"]
    return Report(
        [
            figure(f"changes a second, {sizes[0]:,} tables", rates[sizes[0]][0], least=20_000),
            figure(f"changes a second, {sizes[0]:,} tables, with the journal", journal, least=5_000),
            figure(
                f"the time of a change among {sizes[-1]:,} tables, beside {sizes[0]:,} tables", slower, "times", most=2
            ),
            *(figure(f"refreshes a second, {tables:,} tables", each[1]) for tables, each in rates.items()),
            figure(f"a write of {partitions:,} partitions with 20 readers", wide, "s", most=1),
            figure(
                "maps evaluated for a change, views of the same partitions in three levels",
                maps["misses"]["map"],
                most=0,
                note=_told(maps),
            ),
            figure(
                "maps evaluated for a change beside 1,000 uncovered views, more than beside 10",
                many["misses"]["map"] - few["misses"]["map"],
                most=0,
                note=_told(many),
            ),
        ],
        {"rates": rates, "journal": journal, "wide": wide, "evaluations": evaluated},
    )


def _told(counts: Mapping[str, Any]) -> str:
    return f"{sum(counts['hits'].values()):.1f} hits, {sum(counts['misses'].values()):.1f} misses"


def store(asked: Namespace) -> Report:
    """A store with many partitions and many pending requests: memory, the start, and ``headwater status``."""
    partitions, requests = asked.size.of((1_000_000, 100_000), (100_000, 10_000), (1_000, 100))
    found = large_store(partitions, requests, runs=asked.size.of(5, 5, 1))
    said = f"the start with {partitions:,} partitions"
    return Report(
        [
            figure(f"{said} and {requests:,} pending requests", found["start"], "s", most=10),
            figure(f"{said}, and none pending", found["start_partitions"], "s"),
            figure("`headwater status` on that store", found["status"], "s", most=1),
            figure("the same, of a processor", found["status_processor"], "s"),
            figure("the same with `--json`", found["status_json"], "s"),
            figure("resident for a partition with its version", found["bytes_per_partition"], "bytes", most=1024),
            figure("resident for a pending request", found["bytes_per_request"], "bytes", most=2048),
        ],
        found,
    )


def start(asked: Namespace) -> Report:
    """The start of an engine on an old store: a million partitions and ten million past events."""
    partitions, events = asked.size.of((1_000_000, 10_000_000), (100_000, 200_000), (1_000, 2_000))
    gc.disable()  # a million values are made, and all of them stay
    try:
        with scratch() as place:
            path, began = place / "store.db", time.perf_counter()
            tail = old_store.old_store(path, partitions, events, min(KEPT, events // 2) // 3 * 3)
            console.log(f"a store of {path.stat().st_size / 1e6:,.0f} MB in {time.perf_counter() - began:.0f} s")
            runs = [old_store.started(path) for _ in range(asked.size.of(5, 3, 1))]
    finally:
        gc.enable()
    said = f"a start, {partitions:,} partitions, {events:,} past events"
    return Report(
        [
            figure(said, [each["seconds"] for each in runs], "s", most=10),
            figure("the same, until the state is there", [each["restored"] for each in runs], "s"),
            figure("the same, of a processor", [each["processor"] for each in runs], "s"),
            figure("resident then", [each["megabytes"] for each in runs], "MB"),
        ],
        {"replayed": tail, "runs": runs},
    )


def many(asked: Namespace) -> Report:
    """500 small views in ten levels, refreshed after one write that reaches all of them."""
    levels = asked.size.of(10, 10, 2)
    views = many_views.warehouse(levels, asked.views // levels if asked.views else asked.size.of(50, 6, 2))
    with scratch() as place:
        found = many_views.measured(place, views)
    declared, starts, wave, own = (found[each] for each in ("declare", "start", "wave", "own"))
    note = (
        f"{own['processor']:.0f} ms of the engine's processor, {own['calls']:.0f} ms in {own['times']:.0f} calls of "
        f"the driver, {own['metastore']:.0f} ms of them with the metastore"
    )
    return Report(
        [
            figure(f"to declare {len(views)} views, to be filled later", declared["seconds"], "s"),
            figure("a view of the first tenth", declared["first"], "s"),
            figure("a view of the last tenth", declared["last"], "s"),
            figure(f"to start an engine with {len(views)} views", starts["filled"], "s"),
            figure("the same, with all to be filled", starts["pending"], "s"),
            figure("the same without views", starts["empty"], "s"),
            figure("from a write that reaches all to the end of the first refresh", wave["first"], "s"),
            figure("the same, to the end of the last refresh", wave["last"], "s"),
            figure("a look at all views and tables", found["check"], "s"),
            figure("refreshes of each view after that write", wave["often"], most=1),
            figure("resident memory of the engine", found["resident"] / 1e6, "MB"),
            figure("Headwater's own share of a refresh", own["own"], "ms", most=20, note=note),
        ],
        found,
    )


def pair(asked: Namespace) -> Report:
    """Two engines on one store beside one: refreshes a second of 200 independent views that change at once.

    Both sides have a metastore and a store of their own, and take turns. The storage takes half a second to open a
    file, so a refresh mostly waits. Each engine has two tracks. The time of a round is from the start of its first
    refresh to the end of its last one. The journal tells whether each view was refreshed once.
    """
    views, rounds = asked.size.of((200, 5), (20, 1), (2, 1))
    engines, millis = asked.size.of((1, 2), (1, 2), (1,)), asked.size.of(500, 500, 10)
    with scratch() as place, ExitStack() as open_sides:
        sides = {
            str(count): open_sides.enter_context(side(place / f"engines-{count}", asked.store, count, views, millis))
            for count in engines
        }
        found = by_turns({count: lambda _, each=each: each.round() for count, each in sides.items()}, 0, rounds)
    seconds = {count: [each["seconds"] for each in rows] for count, rows in found.items()}
    often = sorted({times for rows in found.values() for each in rows for times in each["often"]})
    first, last = str(engines[0]), str(engines[-1])
    name = f"refreshes a second of {last} engines, beside one; the store is {asked.store}"
    return Report(
        [
            figure(name, ratios(seconds[first], seconds[last]), "times", least=1.7),
            *(
                figure(f"refreshes a second, engines: {count}", [views / each for each in some])
                for count, some in seconds.items()
            ),
            none("views that were not refreshed once", [f"{each} times" for each in often if each != 1]),
        ],
        found,
    )


CASES = {"core": core, "store": store, "start": start, "many": many, "pair": pair}
