"""Three changed tables of one join: a refresh for all of them, beside three refreshes for one each.

A view joins ``customer``, ``orders`` and ``lineitem`` of TPC-H and goes by changes. Each changed table is a term of its
change ([Garcia98] §4.2). Snapshots keep the old and the new state of all three, so no term waits for another one. A
refresh is one query, and Spark runs the stages of its terms side by side ([Garcia98] §6).

In each round, rows of all three tables are updated before one refresh. Then others are, with a refresh after each
table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.parts import lakes, published, tpch
from benchmarks.parts.harness import (
    Goal,
    Row,
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

QUERY = "q03"
UPDATES = (
    "UPDATE lineitem SET l_discount = 0.10 - l_discount WHERE l_orderkey % 997 = {n}",
    "UPDATE orders SET o_shippriority = o_shippriority + 1 WHERE o_orderkey % 997 = {n}",
    "UPDATE customer SET c_mktsegment = 'BUILDING' WHERE c_custkey % 997 = {n}",
)
MOST = 1.0

PARSER = parser(__doc__)
PARSER.add_argument("--scale", type=float, help="the scale factor of TPC-H (0.5; 0.2 with --quick)")


def run(size: Size) -> dict[str, Any]:
    scale = PARSER.parse_args().scale or size.of(0.5, 0.2, 0.01)
    rounds = size.of(9, 5, 1)
    with scratch() as place:
        console.log(f"making TPC-H at scale factor {scale:g}")
        tpch.generate(scale, place / "tpch")
        worker = Worker(place / "spark", lakes.settings(place / "lake"))
        worker.run(
            "SET spark.sql.shuffle.partitions = 4", *tpch.loading(place / "tpch", "delta", max(2, round(48 * scale)))
        )
        properties = "TBLPROPERTIES ('headwater.method' = 'incremental, full', 'headwater.settle' = '1 hour')"
        query = published.queries("tpch")[QUERY]
        worker.run(
            f"CREATE MATERIALIZED VIEW v USING delta {properties} AS {query}", "ALTER MATERIALIZED VIEW v SUSPEND"
        )
        together, apart = _measured(worker, rounds)
        sides = (f"(SELECT * FROM v EXCEPT ALL ({query}))", f"(({query}) EXCEPT ALL SELECT * FROM v)")
        right = not any(worker.rows(f"SELECT * FROM {each} LIMIT 1") for each in sides)
        worker.close()
    return {"scale": scale, "together": together, "apart": apart, "goals": _goals(together, apart, right)}


def _measured(worker: Worker, rounds: int) -> tuple[list[Row], list[list[Row]]]:
    """For each round but the first, the refresh for all tables, and those for one each."""
    together, apart = [], []
    with bar(console, "REFRESH", (rounds + 1) * 4) as step:
        for turn in range(rounds + 1):
            worker.run(*(each.format(n=2 * turn) for each in UPDATES))
            together.append(_refreshed(worker))
            step()
            apart.append([])
            for each in UPDATES:
                worker.run(each.format(n=2 * turn + 1))
                apart[-1].append(_refreshed(worker))
                step()
    return together[1:], apart[1:]


def _refreshed(worker: Worker) -> Row:
    row = refreshed(worker, "v")
    return {"mode": row["mode"], "seconds": row["seconds"], "core_seconds": core_seconds(row)}


def _goals(together: Sequence[Row], apart: Sequence[Sequence[Row]], right: bool) -> list[Goal]:
    goals = []
    for unit in ("seconds", "core_seconds"):
        sums = [sum(each[unit] for each in some) for some in apart]
        told = ratio([each[unit] for each in together], sums)
        said = f"one refresh for three tables, in times of three refreshes: {unit}"
        goals.append(
            Goal(
                said,
                f"<= {MOST}",
                f"{told['median']:.2f} ({told['min']:.2f} to {told['max']:.2f})",
                told["median"] <= MOST,
            )
        )
    modes = {each["mode"] for each in (*together, *(row for some in apart for row in some))}
    goals.append(Goal("all refreshes go by changes", "all", ", ".join(sorted(modes)), modes == {"incremental"}))
    return [*goals, Goal("the view has the rows of its query", "all", "all" if right else "not all", right)]


if __name__ == "__main__":
    main(run, PARSER)
