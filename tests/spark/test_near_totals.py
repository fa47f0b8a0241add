"""Small totals are put together in one job, and the driver writes them. These views are as small as most are: an engine
with its own limits keeps them, where the engine of other tests searches the files of each view."""

from __future__ import annotations

import os
import random
from pathlib import Path

import fetched
import pytest
from processes import Home, Session
from support import EXTENSIONS

from headwater.engine.tell.refreshes import REFRESHES

QUERIES = {
    "sums": "SELECT k, sum(x) AS x, count(*) AS n, avg(x) AS mean FROM {table} GROUP BY k",
    "extremes": "SELECT k, min(x) AS least, max(d) AS greatest FROM {table} GROUP BY k",
    "no_key": "SELECT sum(x) AS x, count(*) AS n, count(DISTINCT k) AS k FROM {table}",
    "without": "SELECT k, max(d) AS d FROM {table} a WHERE NOT EXISTS (SELECT 1 FROM {table} b WHERE b.x = a.x + 1) "
    "GROUP BY k",
    "above": "SELECT n, count(*) AS k FROM (SELECT k, count(*) AS n FROM {table} GROUP BY k) GROUP BY n ORDER BY n",
}
FORMATS = {"parquet": "default.sales", "delta": "default.sales_delta", "iceberg": "lake.db.sales"}


def settings(folder: Path) -> dict[str, str]:
    return {
        "spark.driver.extraClassPath": os.pathsep.join(map(str, (*fetched.delta(), *fetched.iceberg()))),
        "spark.sql.extensions": ",".join(EXTENSIONS),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(folder / "lake"),
    }


def changed(r: random.Random, format: str, table: str) -> str:
    """A statement that adds rows; in a lake table also one that removes or changes some."""
    if format == "parquet" or r.random() < 0.5:
        rows = ", ".join(
            f"({r.choice(['NULL', *map(str, range(5))])}, {r.randrange(9)}, {r.randrange(99)})" for _ in range(3)
        )
        return f"INSERT INTO {table} VALUES {rows}"
    which = r.choice([f"k = {r.randrange(5)}", "k IS NULL", f"x = {r.randrange(9)}"])
    return r.choice([f"DELETE FROM {table} WHERE {which}", f"UPDATE {table} SET x = x + 1 WHERE {which}"])


def holds(session: Session, view: str, query: str) -> bool:
    differ = f"(TABLE {view} EXCEPT ALL ({query})) UNION ALL (({query}) EXCEPT ALL TABLE {view})"
    return session.one(f"SELECT count(*) FROM ({differ})") == "0"


@pytest.mark.long
@pytest.mark.timeout(600)
def test_small_views_follow_random_changes(tmp_path: Path) -> None:
    home, r = Home(tmp_path), random.Random(0)
    with home.session(settings(tmp_path)) as session:
        session.run("CREATE NAMESPACE lake.db")
        views: dict[str, str] = {}
        for format, table in FORMATS.items():
            session.run(f"CREATE TABLE {table} (k INT, x INT, d DECIMAL(9, 2)) USING {format}")
            session.run(f"INSERT INTO {table} VALUES (1, 2, 3), (NULL, 5, 6), (2, 7, 1), (2, 7, 1)")
            for name, query in QUERIES.items():
                view = f"{table.rpartition('.')[0]}.{name}_{format}"
                session.run(
                    f"CREATE MATERIALIZED VIEW {view} USING {format} "
                    f"TBLPROPERTIES ('headwater.method' = 'incremental, full') AS {query.format(table=table)}"
                )
                views[view] = query.format(table=table)
        modes: set[tuple[str, str]] = set()
        for _ in range(4):
            for format, table in FORMATS.items():
                session.run(changed(r, format, table))
            session.run("REFRESH MATERIALIZED VIEWS")
            for view, query in views.items():
                assert holds(session, view, query.replace(" ORDER BY n", "")), view
        for view in views:
            modes |= {
                (view, row[[*REFRESHES].index("mode")]) for row in session.run(f"SHOW REFRESHES FOR {view} LIMIT 4")
            }
        followed = {view for view, mode in modes if mode == "incremental"}
        assert followed >= {view for view in views if "without" not in view}, modes
