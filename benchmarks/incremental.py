"""Refreshes by changes and by keys beside full ones, for the queries of TPC-H on Delta.

Each query has a view for each method. A part of ``orders`` and ``lineitem`` goes and as much comes, as the refresh
functions of TPC-H have it. Then the views are refreshed one after the other, in another order each time. The seconds
and core-seconds of a refresh are those on record. At the end each view is compared with its query.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.parts import lakes, published, tpch
from benchmarks.parts.harness import (
    Goal,
    Size,
    Worker,
    bar,
    console,
    core_seconds,
    main,
    parser,
    ratio,
    refreshed,
    scratch,
)

METHODS = ("full", "keys", "incremental")
ASKED = {"full": "full", "keys": "keys, full", "incremental": "incremental, full"}
METHODS_SAID = {"keys": "by keys", "incremental": "by changes"}
PARTS = (0.0001, 0.001, 0.01, 0.1)
GOALS = {0.001: 0.10, 0.01: 0.25}
"""Of the median query, by the part of the rows that changed."""
MOST = 1.05
"""Of any query."""

SETTINGS = {"spark.sql.codegen.cache.maxEntries": "2000"}
"""As an application with many views has it (docs/settings.md)."""

View = tuple[str, str]
"""A query and a method."""
Refreshed = tuple[str, float, float]
"""The mode, the seconds and the core-seconds of a refresh."""
Taken = dict[float, dict[View, list[Refreshed]]]
"""For each part that changed and each view, its refreshes."""
UNITS = ("seconds", "core_seconds")

PARSER = parser(__doc__)
PARSER.add_argument("--scale", type=float, help="the scale factor of TPC-H (1; 0.1 with --quick)")
PARSER.add_argument("--parts", nargs="*", type=float, help="of the rows, the parts that change (0.0001 to 0.1)")
PARSER.add_argument("--queries", nargs="*", help="which queries (all)")
PARSER.add_argument("--rounds", type=int, help="that count, of each part (5; 2 with --quick)")


def run(size: Size) -> dict[str, Any]:
    told = PARSER.parse_args()
    scale = told.scale or size.of(1.0, 0.1, 0.01)
    rounds, parts = told.rounds or size.of(5, 2, 1), told.parts or size.of(PARTS, PARTS[1:3], PARTS[1:2])
    every = list(published.queries("tpch"))
    queries = told.queries or size.of(every, every, ["q01"])
    taken, differing = measured(scale, size.of(48, 16, 2), queries, lambda orders: parts, rounds)
    found = {str(part): by_query(each) for part, each in taken.items()}
    return {"scale": scale, "found": found, "goals": _goals(taken, differing)}


def measured(
    scale: float, files: int, queries: Sequence[str], parts: Callable[[int], Sequence[float]], rounds: int
) -> tuple[Taken, list[View]]:
    """Makes TPC-H of a scale and views of some queries, and refreshes them; the views that differ from their queries.

    Args:
        files: of ``lineitem``.
        parts: of the rows, those that change, by the number of orders.
    """
    with scratch() as place:
        console.log(f"making TPC-H at scale factor {scale:g}")
        tpch.generate(scale, place / "tpch")
        worker = Worker(place / "spark", {**lakes.settings(place / "lake"), **SETTINGS})
        worker.run("SET spark.sql.shuffle.partitions = 4", *tpch.loading(place / "tpch", "delta", files))
        [[orders]] = worker.rows("SELECT count(*) FROM orders")
        texts = published.queries("tpch")
        views = _created(worker, texts, queries)
        taken = _measured(worker, views, orders, parts(orders), rounds)
        differing = [view for view in views if not _is_right(worker, view, texts[view[0]])]
        worker.close()
    return taken, differing


def _name(view: View) -> str:
    return "_".join(view)


def _created(worker: Worker, queries: Mapping[str, str], some: Sequence[str]) -> list[View]:
    """Creates the views, but for those that their query does not allow."""
    views, created = [(query, method) for query in some for method in METHODS], []
    with bar(console, "CREATE MATERIALIZED VIEW", len(views)) as step:
        for view in views:
            properties = f"TBLPROPERTIES ('headwater.method' = '{ASKED[view[1]]}', 'headwater.settle' = '1 hour')"
            create = f"CREATE MATERIALIZED VIEW {_name(view)} USING delta {properties} AS {queries[view[0]]}"
            if worker.call("succeeds", create):
                created.append(view)
                worker.run(f"ALTER MATERIALIZED VIEW {_name(view)} SUSPEND")
            step()
    return created


def _measured(worker: Worker, views: Sequence[View], orders: int, parts: Sequence[float], rounds: int) -> Taken:
    taken: Taken = {part: {view: [] for view in views} for part in parts}
    turn = 0
    with bar(console, "REFRESH", len(parts) * (rounds + 1) * len(views)) as step:
        for part in parts:
            for each in range(rounds + 1):  # the first one warms up
                console.log(f"{part:.2%} changes, round {each} of {rounds}")
                worker.run(*tpch.refreshing(orders, part, turn))
                turn += 1
                shift = turn % len(views)
                for view in (*views[shift:], *views[:shift]):
                    found = _refreshed(worker, _name(view))
                    taken[part][view] += [found] if each else []
                    step()
    return taken


def _refreshed(worker: Worker, view: str) -> Refreshed:
    row = refreshed(worker, view)
    return row["mode"], row["seconds"], core_seconds(row)


def _is_right(worker: Worker, view: View, text: str) -> bool:
    """Whether a view has the rows of its query."""
    query = f"({text})"
    sides = ((f"(SELECT * FROM {_name(view)})", query), (query, f"(SELECT * FROM {_name(view)})"))
    return not any(worker.rows(f"SELECT * FROM ({one} EXCEPT ALL {other}) LIMIT 1") for one, other in sides)


def by_query(taken: Mapping[View, Sequence[Refreshed]]) -> dict[str, Any]:
    """For each query and method the modes, what its refreshes took, and the ratios to full refreshes."""
    found: dict[str, Any] = {}
    for (query, method), runs in taken.items():
        told: dict[str, Any] = {"modes": sorted({mode for mode, *_ in runs}), "ratio": {}}
        for n, unit in enumerate(UNITS, 1):
            told[unit] = [each[n] for each in runs]
            told["ratio"][unit] = ratio(told[unit], [each[n] for each in taken[query, METHODS[0]]])
        found.setdefault(query, {})[method] = told
    return found


def followed(found: Mapping[str, Any], method: str, unit: str) -> dict[str, float]:
    """For each query whose refreshes all went by a method, their median beside full ones."""
    return {
        query: each[method]["ratio"][unit]["median"]
        for query, each in found.items()
        if method in each and each[method]["modes"] == [method]
    }


def _of_queries(said: str, own: Mapping[str, float], target: float | None) -> list[Goal]:
    """The goals of the median query, and of each.

    Args:
        own: for each query that allows a method, what its refreshes took beside full ones.
    """
    middle, most = statistics.median(own.values()), max(own, key=own.__getitem__)
    return [
        Goal(
            f"{said}: the median query, against a full refresh",
            f"<= {target}" if target else "reported",
            f"{middle:.2f}; most {own[most]:.2f} ({most}), least {min(own.values()):.2f}",
            target is None or middle <= target,
        ),
        Goal(
            f"{said}: each query",
            f"<= {MOST}",
            f"{sum(each <= MOST for each in own.values())} of {len(own)}",
            own[most] <= MOST,
        ),
    ]


def _goals(taken: Taken, differing: Sequence[View]) -> list[Goal]:
    goals = []
    for part, views in taken.items():
        found = by_query(views)
        for method in METHODS[1:]:
            allowed = {query: each[method]["ratio"] for query, each in found.items() if method in each}
            said = f"{METHODS_SAID[method]}, {part:.2%} changed"
            always = f"{len(followed(found, method, 'seconds'))} of {len(allowed)}"
            goals.append(Goal(f"{said}: queries of which all refreshes went so", "reported", always, True))
            for unit in UNITS:
                own = {query: each[unit]["median"] for query, each in allowed.items()}
                goals += _of_queries(f"{said}, {unit}", own, GOALS.get(part))
    told = ", ".join(map(_name, differing)) or "all"
    return [*goals, Goal("every view has the rows of its query", "all", told, not differing)]


if __name__ == "__main__":
    main(run, PARSER)
