"""Thirty views under load: the weighted staleness that each of four schedulers leaves.

Twelve sources are appended to by writers, the quickest 150 times as often as the slowest. Thirty Delta views in three
levels have the priorities 1, 10 and 100. Each scheduler has a Spark application of its own, and they take turns:

- ``headwater``: as it is by default;
- ``first come``: a refresh after each append, first come, first served, four at a time;
- ``two threads``, ``four threads``: cycles over all that changed since the last one, as a scheduler of models does.

A load of 100 % is what four threads of bare statements do: appends, and a refresh of all views downstream of each. The
periods are scaled to that. Staleness is found in the logs of the tables afterwards, the same way for all. What comes
after the load does not count, but each view has to equal its query then.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.parts import lakes
from benchmarks.parts.harness import Goal, Row, Size, Worker, bar, console, main, parser, scratch
from benchmarks.parts.overload.commits import commits, staleness
from benchmarks.parts.overload.plot import draw
from benchmarks.parts.overload.warehouse import LEVELS, PRIORITIES, View, appends, demand, periods, warehouse
from headwater.simulate.staleness import Staleness

OURS, BARE = "headwater", ("first come", "two threads", "four threads")
SIDES = (OURS, *BARE)

PARSER = parser(__doc__)
PARSER.add_argument("--seconds", type=float, help="of each load (600; 120 with --quick)")
PARSER.add_argument("--loads", type=float, nargs="+", help="parts of the capacity (0.6 0.9 1.2; 0.9 1.2 with --quick)")
PARSER.add_argument("--sides", nargs="+", choices=SIDES, help="some of the sides, one of them bare (all)")


def run(size: Size) -> dict[str, Any]:
    told = PARSER.parse_args()
    seconds = told.seconds or size.of(600.0, 120.0, 3.0)
    loads, rounds = told.loads or size.of((0.6, 0.9, 1.2), (0.9, 1.2), (0.9,)), size.of(3, 1, 1)
    sides = [each for each in SIDES if not told.sides or each in told.sides]
    views = warehouse(counts := size.of(LEVELS, LEVELS, (2, 1, 1)))
    with scratch() as home:
        console.log(f"making {len(views)} views for each of {len(sides)} sides")
        workers = _workers(home, sides, counts)
        capacity = (len(views) + len(periods(views))) / workers[sides[-1]].call("pass_seconds")
        console.log(
            f"capacity: {capacity:.2f} statements a second; each append would refresh all with {demand(views):.1f}"
        )
        found: list[Row] = []
        with bar(console, "loads", len(loads) * rounds * len(sides)) as step:
            for turn in range(rounds):
                for load in loads:
                    lasting = periods(views, demand(views) / capacity / load)
                    times = appends(lasting, seconds, seed=turn)
                    for side in (*sides[turn % len(sides) :], *sides[: turn % len(sides)]):
                        found.append(
                            {"load": load, "side": side, **_played(workers[side], views, side, times, seconds)}
                        )
                        console.log(_told(found[-1]))
                        step()
        for worker in workers.values():
            worker.close()
    if told.json:
        draw(found, sides, told.json.with_suffix(".png"))
    return {"seconds": seconds, "capacity": capacity, "found": found, "goals": goals(found, loads)}


def goals(found: Sequence[Row], loads: Sequence[float]) -> list[Goal]:
    """At each load the weighted staleness beside the others', and whether each side did its work."""

    def median(side: str, load: float) -> float:
        return statistics.median(each["weighted"] for each in found if each["side"] == side and each["load"] == load)

    made, there = [], {each["side"] for each in found}
    for load in loads:
        first = [median(side, load) for side in BARE[:1] if side in there]
        threads = [median(side, load) for side in BARE[1:] if side in there]
        for said, others, most in (("first come, first served", first, 0.5), ("the better threads", threads, 0.8)):
            if OURS not in there or not others:
                continue
            ours, other = median(OURS, load), min(others)
            share = ours / other if other else 0.0
            name = f"weighted staleness at {load:.0%} load, beside {said}"
            made.append(Goal(name, f"{most:.2f} times", f"{share:.2f} ({ours:.0f}, {other:.0f})", share <= most))
    bad = [each for each in found if each["failures"] or each["differing"] or each["appends"] != each["asked"]]
    said = "; ".join(
        f"{each['side']} at {each['load']:.0%}: {each['differing'] or each['failures'][:1]}" for each in bad
    )
    made.append(
        Goal("all appends came, and all views equal their queries after the load", "yes", said or "yes", not bad)
    )
    return made


def _workers(home: Path, sides: Sequence[str], counts: Sequence[int]) -> dict[str, Worker]:
    module = "benchmarks.parts.overload.side"
    workers = {side: Worker(home / side.replace(" ", "-"), _settings(home, side), module) for side in sides}
    with ThreadPoolExecutor(len(sides)) as pool:
        list(pool.map(lambda each: each[1].call("make", each[0] == OURS, counts), workers.items()))
    return workers


def _settings(home: Path, side: str) -> dict[str, str]:
    return lakes.settings(home / "lake" / side.replace(" ", "-"), side == OURS) | {
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.driver.memory": "2g",
    }


def _played(worker: Worker, views: Sequence[View], side: str, times: dict[str, list[float]], seconds: float) -> Row:
    told = worker.call("play", side, times, seconds)
    places = {name: Path(place) for name, place in worker.call("places").items()}
    appended = {source: commits(places[source]) for source in times}
    stale, weighted = {each: list[Staleness]() for each in PRIORITIES}, 0.0
    for view in views:
        bases = {base: appended[base] for base in view.bases}
        found = staleness(bases, commits(places[view.name]), told["began"], told["ended"])
        stale[view.priority].append(found)
        weighted += view.priority * found.mean / 1000
    pooled = {str(each): Staleness.pooled(some) for each, some in stale.items()}
    return {
        "weighted": weighted,
        "mean": {each: some.mean / 1000 for each, some in pooled.items()},
        "p99": {each: some.quantile(0.99) / 1000 for each, some in pooled.items()},
        "asked": sum(map(len, times.values())),
        **{key: told[key] for key in ("appends", "late", "drained", "failures")},
        "differing": worker.call("differing"),
    }


def _told(row: Row) -> str:
    classes = ", ".join(f"{each}: {row['p99'][each]:.1f} s" for each in row["p99"])
    return f"{row['load']:.0%} {row['side']}: weighted staleness {row['weighted']:.0f}; 99th percentile {classes}"


if __name__ == "__main__":
    main(run, PARSER)
