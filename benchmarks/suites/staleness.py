"""How stale views are under load: beside other schedulers on Spark, and beside the best order that a solver finds."""

from __future__ import annotations

import statistics
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.parts import lakes
from benchmarks.parts.harness import Row, Worker, bar, console, rotated, scratch
from benchmarks.parts.order import compared, drawn
from benchmarks.parts.overload.commits import commits, staleness
from benchmarks.parts.overload.warehouse import LEVELS, PRIORITIES, View, appends, demand, periods, warehouse
from benchmarks.parts.results import Figure, Report, figure, none
from headwater.simulate.staleness import Staleness

OURS, BARE = "headwater", ("first come", "two threads", "four threads")
SIDES = (OURS, *BARE)
QUEUES = (5, 10, 20, 30)
"""Views of a queue of pending refreshes."""


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, help="of each load (600; 120 with --quick)")
    parser.add_argument(
        "--loads", type=float, nargs="+", help="parts of the capacity (0.6 0.9 1.2; 0.9 1.2 with --quick)"
    )
    parser.add_argument("--sides", nargs="+", choices=SIDES, help="some of the sides, one of them bare (all)")


def load(asked: Namespace) -> Report:
    """Thirty views under load: the weighted staleness that each of four schedulers leaves.

    Twelve sources are appended to by writers, the quickest 150 times as often as the slowest. Thirty Delta views in
    three levels have the priorities 1, 10 and 100. Each scheduler has a Spark application of its own, and they take
    turns:

    - ``headwater``: as it is by default;
    - ``first come``: a refresh after each append, first come, first served, four at a time;
    - ``two threads``, ``four threads``: cycles over all that changed since the last one, as a scheduler of models does.

    A load of 100 % is what four threads of bare statements do: appends, and a refresh of all views downstream of each.
    The periods are scaled to that. Staleness is found in the logs of the tables afterwards, the same way for all. What
    comes after the load does not count, but each view has to equal its query then.
    """
    seconds, size = asked.seconds or asked.size.of(600.0, 120.0, 3.0), asked.size
    loads, rounds = asked.loads or size.of((0.6, 0.9, 1.2), (0.9, 1.2), (0.9,)), size.of(3, 1, 1)
    sides = [each for each in SIDES if not asked.sides or each in asked.sides]
    views = warehouse(counts := size.of(LEVELS, LEVELS, (2, 1, 1)))
    with scratch() as home:
        console.log(f"making {len(views)} views for each of {len(sides)} sides")
        workers = _workers(home, sides, counts)
        capacity = (len(views) + len(periods(views))) / workers[sides[-1]].call("pass_seconds")
        console.log(
            f"capacity: {capacity:.2f} statements a second; each append would refresh all with {demand(views):.1f}"
        )
        found: list[Row] = []
        with bar("loads", len(loads) * rounds * len(sides)) as step:
            for turn in range(rounds):
                for part in loads:
                    times = appends(periods(views, demand(views) / capacity / part), seconds, seed=turn)
                    for side in rotated(sides, turn):
                        found.append({"load": part, "side": side} | _played(workers[side], views, side, times, seconds))
                        console.log(_told(found[-1]))
                        step()
        for worker in workers.values():
            worker.close()
    return Report(of_load(found, loads), {"seconds": seconds, "capacity": capacity, "found": found})


def of_load(found: Sequence[Row], loads: Sequence[float]) -> list[Figure]:
    """At each load the weighted staleness beside the others', and whether each side did its work."""
    figures = []
    for part in loads:
        at = f"at {part:.0%}"
        rows = {side: [each for each in found if (each["side"], each["load"]) == (side, part)] for side in SIDES}
        weighted = {side: [each["weighted"] for each in some] for side, some in rows.items() if some}
        for side, values in weighted.items():
            figures.append(figure(side, values, column=f"weighted staleness {at}"))
            for priority in rows[side][0]["p99"]:
                late = [each["p99"][priority] for each in rows[side]]
                figures.append(figure(side, late, "s", column=f"99th percentile {at}, priority {priority}"))
        middle = {side: statistics.median(values) for side, values in weighted.items()}
        for said, others, most in (("first come", BARE[:1], 0.5), ("the better threads", BARE[1:], 0.8)):
            there = [middle[side] for side in others if side in middle]
            if OURS in middle and there:
                share = middle[OURS] / min(there) if min(there) else 0.0
                name = f"{OURS}, in times of {said}"
                figures.append(figure(name, share, "times", column=f"weighted staleness {at}", most=most))
    bad = [
        f"{each['side']} at {each['load']:.0%}: {each['differing'] or each['failures'][:1]}"
        for each in found
        if each["failures"] or each["differing"] or each["appends"] != each["asked"]
    ]
    return [*figures, none("loads that lost an append, or left a view unequal to its query", bad)]


def orders(asked: Namespace) -> Report:
    """The order of pending refreshes beside the best one that CP-SAT finds, for queues of five to thirty views.

    A queue has views in up to three levels, with priorities 1, 10 and 100, and refreshes of 1 to 100 seconds. Their
    sources changed up to five minutes ago, and nothing changes any more. Two tracks refresh them. The engine's rule
    decides after each refresh (``engine.decide.urgency``). CP-SAT plans all refreshes at once. It minimises the same
    area, the weighted staleness from now until each view is renewed, once within 50 ms and once within five seconds.
    """
    each, rows = asked.size.of(50, 10, 1), []
    sizes = QUEUES[: asked.size.of(4, 4, 1)]
    with bar("queues", len(sizes) * each) as step:
        for views in sizes:
            for seed in range(each):
                rows.append({"views": views, **compared(drawn(views, seed))})
                step()
    return Report([each for views in sizes for each in _of_queues(views, rows)], {"rows": rows})


def _of_queues(views: int, rows: Sequence[Mapping[str, float]]) -> list[Figure]:
    """The areas beside the best known one of each queue."""
    mine = [row for row in rows if row["views"] == views]
    best = [min(each for each in (row["engine"], row["soon"], row["long"]) if each == each) for row in mine]
    figures = []
    for name, said in (("engine", "the engine's rule"), ("soon", "CP-SAT in 50 ms")):
        known = [row[name] / least for row, least in zip(mine, best, strict=True) if row[name] == row[name]]
        note = f"no answer for {len(mine) - len(known)}" if len(known) < len(mine) else ""
        if known:
            goal = 1.05 if name == "engine" else None
            column = f"{said}, beside the best known order"
            figures.append(figure(f"{views} views", known, "times", column=column, most=goal, note=note))
    return figures


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


CASES = {"load": load, "orders": orders}
