"""What finding and refreshing one changed partition costs, of a table with many.

Finding: a table of 10,000 partitions in which one changes, by a statement that names it (only that
one is listed) and by one that does not (all are, off the user's path). Refreshing: one month of a
view over 84 months of TPC-H ``lineitem`` against the whole view.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.parts.harness import Goal, Size, Worker, console, extension, main, parser, refreshes, scratch, spread

VIEW = """CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS
SELECT l_month AS month, l_returnflag, l_linestatus, sum(l_quantity) AS quantity,
       sum(l_extendedprice * (1 - l_discount)) AS revenue, count(*) AS n
FROM lineitem GROUP BY l_month, l_returnflag, l_linestatus"""


ALL = "1999-01-01"
"""The day after the last one of TPC-H."""

PARSER = parser(__doc__)


def run(size: Size) -> dict[str, Any]:
    with scratch() as place:
        finding = _finding(place, *size.of((10_000, 7), (500, 3), (5, 1)))
        refreshing = _refreshing(place, *size.of((1.0, 5, ALL), (0.05, 2, ALL), (0.001, 1, "1993-07-01")))
    share = refreshing["month"]["median"] / refreshing["full"]["median"]
    count, named, unnamed = finding["partitions"], finding["named"], finding["unnamed"]
    listed = f"{unnamed['seconds']['median']:.2f} s; the one that a reporting committer names: "
    listed += f"{named['seconds']['median'] * 1000:.0f} ms"
    goals = [
        Goal(
            "partitions listed when the statement names one",
            "1",
            str(finding["named"]["listed"]),
            finding["named"]["listed"] == 1,
        ),
        Goal(f"listing all {count:,} partitions, off the user's path", "reported", listed, True),
        Goal("one of 84 months against a full refresh", "< 1/10", f"1/{1 / share:.1f}", share < 0.1),
    ]
    return {"finding": finding, "refreshing": refreshing, "goals": goals}


def _finding(place: Path, count: int, runs: int) -> dict[str, Any]:
    worker = Worker(place / "finding", extension())
    console.log(f"making a table of {count:,} partitions")
    worker.run(
        "CREATE TABLE wide (v INT, p INT) USING parquet PARTITIONED BY (p)",
        "SET hive.exec.max.dynamic.partitions=100000",
        f"INSERT INTO wide SELECT CAST(id AS INT), CAST(id AS INT) FROM range({count})",
    )
    named, unnamed, statement = [], [], {"static": [], "dynamic": []}
    for turn in range(runs):
        console.log(f"run {turn + 1} of {runs}: one partition changes")
        statement["static"] += worker.run(f"INSERT INTO wide PARTITION (p = {turn}) VALUES (1)")
        statement["dynamic"] += worker.run(f"INSERT INTO wide VALUES (1, {turn})")
        named.append(worker.call("observe", "wide", [{"p": str(turn)}]))
        unnamed.append(worker.call("observe", "wide", None))
    worker.close()
    return {
        "partitions": count,
        "statement": {name: spread(taken) for name, taken in statement.items()},
        **{
            name: {"seconds": spread(each["seconds"] for each in found), "listed": found[0]["partitions"]}
            for name, found in (("named", named), ("unnamed", unnamed))
        },
    }


def _refreshing(place: Path, scale: float, runs: int, until: str) -> dict[str, Any]:
    console.log(f"making TPC-H lineitem at scale factor {scale}")
    data = place / "tpch"
    command = [str(Path(sys.executable).with_name("tpchgen-cli")), "parquet", "--scale-factor", str(scale)]
    subprocess.run([*command, "--tables", "lineitem", "--output-dir", str(data)], check=True, capture_output=True)
    worker = Worker(place / "refreshing", extension())
    worker.run(
        "SET spark.sql.shuffle.partitions=8",
        "CREATE TABLE lineitem USING parquet PARTITIONED BY (l_month) AS "
        "SELECT *, CAST(trunc(l_shipdate, 'MM') AS DATE) AS l_month "
        f"FROM parquet.`{data}/lineitem.parquet` WHERE l_shipdate < DATE'{until}' DISTRIBUTE BY l_month",
        VIEW,
    )
    full, month = [], []
    for turn in range(runs):
        console.log(f"run {turn + 1} of {runs}: a full refresh and one of a month")
        full.append(_refresh_seconds(worker, "REFRESH MATERIALIZED VIEW monthly FULL"))
        partition = f"REFRESH MATERIALIZED VIEW monthly PARTITION (month = '199{turn + 3}-06-01') FULL"
        month.append(_refresh_seconds(worker, partition))
    partitions = len(worker.rows("SHOW PARTITIONS monthly"))
    worker.close()
    return {"scale": scale, "partitions": partitions, "full": spread(full), "month": spread(month)}


def _refresh_seconds(worker: Worker, statement: str) -> float:
    """The wall time of the Spark work, as SHOW REFRESHES has it."""
    return refreshes(worker.rows(statement))[0]["seconds"]


if __name__ == "__main__":
    main(run, PARSER)
