"""Refreshes by changes and by keys beside full ones, for queries of TPC-H on Delta.

A part of ``orders`` and ``lineitem`` goes and as much comes, as the refresh functions of TPC-H have it. Then the views
are refreshed one after the other, in another order each time. The seconds and core-seconds of a refresh are those on
record. At the end each view is compared with its query.
"""

from __future__ import annotations

import statistics
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.parts import lakes, published, tpch
from benchmarks.parts.harness import (
    MANY_VIEWS,
    Row,
    Worker,
    bar,
    console,
    core_seconds,
    held,
    ratios,
    refreshed,
    rotated,
    same_rows,
    scratch,
)
from benchmarks.parts.results import Figure, Report, figure, none

METHODS = {"full": "full", "keys": "keys, full", "incremental": "incremental, full", "auto": "auto"}
"""What the views of each method ask for."""
METHODS_SAID = {"incremental": "by changes", "keys": "by keys", "auto": "auto"}
PARTS = (0.0001, 0.001, 0.01, 0.1)
GOALS = {0.001: 0.10, 0.01: 0.25}
"""Of the median query, by the part of the rows that changed, where no goal is for the scale."""
MEDIANS = {(1, 0.001): 0.5, (10, 0.001): 0.2, (10, 0.01): 0.4}
"""The goals of the median query by changes, by the scale and the part of the rows that changed."""
SUMS = {(1, 0.001): 0.6, (10, 0.001): 0.3, (10, 0.01): 0.5}
"""The goals of the sum of all queries, each by the method that ``auto`` takes, beside full refreshes of all."""
MOST = 1.05
"""Of any query."""
UNITS = {"seconds": "s", "core_seconds": "core-seconds"}

GROWING = ("q01", "q03", "q06", "q10", "q12", "q14", "q18")
CLUSTERED = ("q01", "q06", "q12")
"""Those without a join, or whose join has a key by which the rows of both tables are clustered."""
GROWTH = {True: 1.1, False: 2.0}
"""The most growth of the cost of a change, by whether a query is clustered."""
LINES = 10
"""Rows that change for each order that comes and each that goes: two orders, with four lines each."""

JOINED = "q03"
UPDATES = (
    "UPDATE lineitem SET l_discount = 0.10 - l_discount WHERE l_orderkey % 997 = {n}",
    "UPDATE orders SET o_shippriority = o_shippriority + 1 WHERE o_orderkey % 997 = {n}",
    "UPDATE customer SET c_mktsegment = 'BUILDING' WHERE c_custkey % 997 = {n}",
)

View = tuple[str, str]
"""A query and a method."""
Taken = dict[float, dict[View, list[Row]]]
"""For each part that changed and each view, its refreshes: their mode, seconds and core-seconds."""


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--scale", type=float, help="of TPC-H: in tpch 1, or 0.1 with --quick; in terms 0.5, or 0.2")
    parser.add_argument("--scales", nargs="*", type=float, help="those of growth (0.3 1 3 10)")
    parser.add_argument("--parts", nargs="*", type=float, help="in tpch, of the rows, the parts that change")
    parser.add_argument("--queries", nargs="*", help="which queries (all; in growth six)")
    parser.add_argument("--methods", nargs="*", choices=METHODS, help="in tpch, beside full refreshes (all)")
    parser.add_argument("--rounds", type=int, help="that count, of each part (5; 2 with --quick)")


def tpch_queries(asked: Namespace) -> Report:
    """Each query of TPC-H has a view for each method, and several parts of the rows change."""
    scale = asked.scale or asked.size.of(1.0, 0.1, 0.01)
    rounds, parts = asked.rounds or asked.size.of(5, 2, 1), asked.parts or asked.size.of(PARTS, PARTS[1:3], PARTS[1:2])
    every = list(published.queries("tpch"))
    queries = asked.queries or asked.size.of(every, every, ["q01"])
    methods = ["full", *(each for each in asked.methods or METHODS if each != "full")]
    files = max(2, round(asked.size.of(48, 16, 2) * max(1, scale)))
    taken, differing = _measured(scale, files, queries, lambda orders: parts, rounds, methods)
    figures = [each for part, views in taken.items() for each in _of_part(scale, part, by_query(views))]
    return Report([*figures, _differing(differing)], {"scale": scale, "found": _texts(taken)})


def growth(asked: Namespace) -> Report:
    """The cost follows the change, not the table: 10,000 rows come or go in tables of several scales.

    The growth of a query is its median at the largest scale, in times of that at scale 1, or else at the smallest one.
    """
    scales = sorted(asked.scales or asked.size.of((0.3, 1.0, 3.0, 10.0), (0.02, 0.05), (0.01, 0.02)))
    rounds, rows = asked.rounds or asked.size.of(5, 1, 1), asked.size.of(10_000, 10_000, 100)
    queries = asked.queries or asked.size.of(GROWING, CLUSTERED, GROWING[:1])
    found, differing = {}, []
    for scale in scales:
        files = max(2, round(48 * scale))
        taken, wrong = _measured(scale, files, queries, lambda orders: [rows / LINES / orders], rounds)
        [views] = taken.values()
        found[scale] = by_query(views)
        differing += [f"{each} at {scale:g}" for each in wrong]
    base, last = 1.0 if 1.0 in scales[:-1] else scales[0], scales[-1]
    said, figures = f"{last:g} beside {base:g}", []
    for query in found[base]:
        figures.append(_growth(found, base, query, "full", f"in full: {said}", None))
        for method in METHODS_SAID:
            if all(_went(each[query].get(method), method) for each in found.values()):
                most = GROWTH[query in CLUSTERED]
                figures.append(_growth(found, base, query, method, f"{METHODS_SAID[method]}: {said}", most))
                share = found[last][query][method]["ratio"]["seconds"]
                column = f"{METHODS_SAID[method]} at scale {last:g}, in times of a full refresh"
                figures.append(figure(query, share, "times", column=column))
    return Report([*figures, _differing(differing)], {"rows": rows, "found": found})


def terms(asked: Namespace) -> Report:
    """Three changed tables of one join: a refresh for all of them, beside three refreshes for one each.

    A view joins ``customer``, ``orders`` and ``lineitem`` and goes by changes. Each changed table is a term of its
    change ([Garcia98] §4.2). Snapshots keep the old and the new state of all three, so no term waits for another one. A
    refresh is one query, and Spark runs the stages of its terms side by side ([Garcia98] §6). In each round, rows of
    all three tables are updated before one refresh. Then others are, with a refresh after each table.
    """
    scale, rounds = asked.scale or asked.size.of(0.5, 0.2, 0.01), asked.rounds or asked.size.of(9, 5, 1)
    query, together, apart = published.queries("tpch")[JOINED], [], []
    with lakes.lake() as worker, scratch() as place:
        tpch.load(worker, scale, place, max(2, round(48 * scale)))
        worker.run(held("v", query, "incremental, full"), "ALTER MATERIALIZED VIEW v SUSPEND")
        with bar("REFRESH", (rounds + 1) * 4) as step:
            for turn in range(rounds + 1):  # the first one warms up
                worker.run(*(each.format(n=2 * turn) for each in UPDATES))
                together.append(_refreshed(worker, "v"))
                step()
                apart.append([])
                for each in UPDATES:
                    worker.run(each.format(n=2 * turn + 1))
                    apart[-1].append(_refreshed(worker, "v"))
                    step()
        wrong = [] if same_rows(worker, "SELECT * FROM v", query) else ["v"]
    figures = []
    for unit, said in UNITS.items():
        sums = [sum(each[unit] for each in some) for some in apart[1:]]
        name = f"one refresh for three tables, in times of three refreshes: {said}"
        figures.append(figure(name, ratios([each[unit] for each in together[1:]], sums), "times", most=1.0))
    every = [*together, *(row for some in apart for row in some)]
    others = [each["mode"] for each in every if each["mode"] != "incremental"]
    return Report(
        [*figures, none("refreshes that went another way", others), _differing(wrong)],
        {"scale": scale, "together": together, "apart": apart},
    )


def _measured(
    scale: float,
    files: int,
    queries: Sequence[str],
    parts: Callable[[int], Sequence[float]],
    rounds: int,
    methods: Sequence[str] = ("full", "keys", "incremental"),
) -> tuple[Taken, list[str]]:
    """Makes TPC-H of a scale and views of some queries, and refreshes them; the views that differ from their queries.

    Args:
        files: of ``lineitem``.
        parts: of the rows, those that change, by the number of orders.
    """
    with lakes.lake(MANY_VIEWS) as worker, scratch() as place:
        tpch.load(worker, scale, place, files)
        [[orders]] = worker.rows("SELECT count(*) FROM orders")
        texts = published.queries("tpch")
        views = _created(worker, texts, [(query, method) for query in queries for method in methods])
        taken = _refreshes(worker, views, orders, parts(orders), rounds)
        wrong = [_name(each) for each in views if not _right(worker, *each, texts)]
    return taken, wrong


def _right(worker: Worker, query: str, method: str, texts: Mapping[str, str]) -> bool:
    """Whether a full view has the rows of its query, or another one those of the full view."""
    there = texts[query] if method == "full" else f"SELECT * FROM {_name((query, 'full'))}"
    return same_rows(worker, f"SELECT * FROM {_name((query, method))}", there)


def _created(worker: Worker, queries: Mapping[str, str], views: Sequence[View]) -> list[View]:
    """Creates the views, but for those that their query does not allow."""
    created = []
    with bar("CREATE MATERIALIZED VIEW", len(views)) as step:
        for view in views:
            if worker.call("succeeds", held(_name(view), queries[view[0]], METHODS[view[1]])):
                created.append(view)
                worker.run(f"ALTER MATERIALIZED VIEW {_name(view)} SUSPEND")
            step()
    return created


def _refreshes(worker: Worker, views: Sequence[View], orders: int, parts: Sequence[float], rounds: int) -> Taken:
    taken: Taken = {part: {view: [] for view in views} for part in parts}
    turn = 0
    with bar("REFRESH", len(parts) * (rounds + 1) * len(views)) as step:
        for part in parts:
            for each in range(rounds + 1):  # the first one warms up
                console.log(f"{part:.2%} changes, round {each} of {rounds}")
                worker.run(*tpch.refreshing(orders, part, turn))
                turn += 1
                for view in rotated(views, turn):
                    found = _refreshed(worker, _name(view))
                    taken[part][view] += [found] if each else []
                    step()
    return taken


def _name(view: View) -> str:
    return "_".join(view)


def _refreshed(worker: Worker, view: str) -> Row:
    row = refreshed(worker, view)
    return {"mode": row["mode"], "seconds": row["seconds"], "core_seconds": core_seconds(row)}


def by_query(taken: Mapping[View, Sequence[Row]]) -> dict[str, Any]:
    """For each query and method the modes, what its refreshes took, and the ratios to full refreshes."""
    found: dict[str, Any] = {}
    for (query, method), runs in taken.items():
        told: dict[str, Any] = {"modes": sorted({each["mode"] for each in runs}), "ratio": {}}
        for unit in UNITS:
            told[unit] = [each[unit] for each in runs]
            told["ratio"][unit] = ratios(told[unit], [each[unit] for each in taken[query, "full"]])
        found.setdefault(query, {})[method] = told
    return found


def _texts(taken: Taken) -> dict[str, Any]:
    return {str(part): by_query(views) for part, views in taken.items()}


def _went(found: Mapping[str, Any] | None, method: str) -> bool:
    """Whether all refreshes of a view went by its method."""
    return found is not None and found["modes"] == [method]


def _of_part(scale: float, part: float, found: Mapping[str, Any]) -> list[Figure]:
    """The figures of each query, and the goals of the median query, of each one and of all together."""
    changed = f"{100 * part:g} %"
    figures = [figure(query, each["full"]["seconds"], "s", column=f"full, {changed}") for query, each in found.items()]
    for method, said in METHODS_SAID.items():
        own = {query: each for query, each in found.items() if _taken_by(each.get(method), method)}
        for unit, short in UNITS.items() if own else ():
            column = f"{said}, {changed}, {short}"
            beside = {query: each[method]["ratio"][unit] for query, each in own.items()}
            figures += [figure(query, each, "times", column=column) for query, each in beside.items()]
            middle = [statistics.median(each) for each in beside.values()]
            goal = None if method == "auto" else GOALS.get(part)
            goal = MEDIANS.get((scale, part), goal) if method == "incremental" else goal
            figures.append(figure("the median query", statistics.median(middle), "times", column=column, most=goal))
            every = [statistics.median(each[method]["ratio"][unit]) for each in found.values() if method in each]
            figures.append(figure("the dearest query", max(every), "times", column=column, most=MOST))
            if method == "auto":
                sums = [[sum(turn) for turn in zip(*some, strict=True)] for some in _both(own, unit)]
                most = SUMS.get((scale, part))
                figures.append(figure("the sum of all queries", ratios(*sums), "times", column=column, most=most))
    return figures


def _taken_by(found: Mapping[str, Any] | None, method: str) -> bool:
    """Whether a view has figures of a method; ``auto`` takes any mode."""
    return found is not None and (method == "auto" or _went(found, method))


def _both(found: Mapping[str, Any], unit: str) -> tuple[list[list[float]], list[list[float]]]:
    """What the refreshes of each query took with ``auto`` and in full, in the order of the rounds."""
    return [each["auto"][unit] for each in found.values()], [each["full"][unit] for each in found.values()]


def _growth(
    found: Mapping[float, Mapping[str, Any]], base: float, query: str, method: str, column: str, most: float | None
) -> Figure:
    seconds = {scale: statistics.median(each[query][method]["seconds"]) for scale, each in found.items()}
    note = ", ".join(f"{each:.1f} s" for each in seconds.values())
    last = seconds[max(found)]
    return figure(query, last / seconds[base], "times", column=column, most=most, note=note)


def _differing(views: Sequence[str]) -> Figure:
    return none("views that differ from their queries", views)


CASES = {"tpch": tpch_queries, "growth": growth, "terms": terms}
