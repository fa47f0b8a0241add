"""A refresh after a small change starts few jobs of Spark, whatever the time zone. Each takes a tenth of a second.

The engine of these tests searches the files of small views for keys, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession
from spark_jobs import jobs_of, jobs_of_this_thread
from support import database

SALES = "SELECT id, CAST(id % 365 AS INT) AS part, CAST(id % 50 AS DECIMAL(12, 2)) AS price FROM range(5000)"
PARTS = "SELECT CAST(id AS INT) AS part, CONCAT('p', id) AS name, CAST(id % 5 AS INT) AS kind FROM range(400)"
VIEWS = {
    "added": ("incremental", "SELECT id, part, price * 2 AS double FROM {sales} WHERE price >= 0"),
    "added_to_join": ("incremental", "SELECT id, price, name FROM {sales} JOIN {parts} USING (part)"),
    "changes": ("incremental", "SELECT part, sum(price) AS price, count(*) AS n FROM {sales} GROUP BY part"),
    "changes_of_join": (
        "incremental",
        "SELECT kind, sum(price) AS price, count(*) AS n FROM {sales} JOIN {parts} USING (part) GROUP BY kind",
    ),
    "keys": ("keys", "SELECT part, max(price) AS price, count(DISTINCT id) AS n FROM {sales} GROUP BY part"),
    "keys_of_join": (
        "keys",
        "SELECT s.part, max(name) AS name, count(DISTINCT id) AS n FROM {sales} s JOIN {parts} p ON s.part = p.part "
        "GROUP BY s.part",
    ),
}
MOST = {
    "delta": dict(added=1, added_to_join=3, changes=3, changes_of_join=5, keys=5, keys_of_join=6),
    "iceberg": dict(added=1, added_to_join=3, changes=3, changes_of_join=5, keys=3, keys_of_join=5),
    "parquet": dict(added=1, added_to_join=3, changes=2, changes_of_join=5),
}
"""The jobs of a refresh, by format and view. They are what they are now, so that nothing adds one unseen."""


def counted(spark: SparkSession, format: str, names: Sequence[str], *changes: Sequence[str]) -> dict[str, list[str]]:
    """The jobs of each view's refresh after the last of some changes."""
    place = f"lake.{database(spark)}" if format == "iceberg" else database(spark)
    if format == "iceberg":
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {place}")
    tables = {"sales": f"{place}.sales", "parts": f"{place}.parts"}
    for name, rows in ((tables["sales"], SALES), (tables["parts"], PARTS)):
        spark.sql(f"CREATE TABLE {name} USING {format} AS {rows}")
    queries = {name: VIEWS[name][1].format(**tables) for name in names}
    for name, query in queries.items():
        spark.sql(
            f"CREATE MATERIALIZED VIEW {place}.{name} USING {format} TBLPROPERTIES "
            f"('headwater.method' = '{VIEWS[name][0]}, full', 'headwater.settle' = '1 hour') AS {query}"
        )
    found: dict[str, list[str]] = {}
    for statements in changes:
        for each in statements:
            spark.sql(each.format(**tables))
        for name, query in queries.items():
            view = f"{place}.{name}"
            since = max(jobs_of(spark, view)) + 1
            spark.sql(f"REFRESH MATERIALIZED VIEW {view}")
            found[name] = [*jobs_of(spark, view, since).values()]
            [row] = spark.sql(f"SHOW REFRESHES FOR {view} LIMIT 1").collect()
            assert row["mode"] == VIEWS[name][0]
            assert not spark.sql(f"(TABLE {view}) EXCEPT ALL ({query})").take(1)
    return found


def assert_few(format: str, jobs: dict[str, list[str]]) -> None:
    counts = {name: len(each) for name, each in jobs.items()}
    surplus = "\n".join(each for name in jobs if counts[name] > MOST[format][name] for each in jobs[name])
    assert not surplus, f"{counts}\n{surplus}"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("format", "zone"), [("delta", "UTC"), ("delta", "Europe/Berlin"), ("iceberg", "UTC"), ("parquet", "UTC")]
)
def test_a_refresh_starts_few_jobs(spark: SparkSession, format: str, zone: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    # The first refresh by changes leaves totals.
    first, second = ([f"INSERT INTO {{sales}} VALUES (-{n}, 7, 5.00)"] for n in (1, 2))
    assert_few(format, counted(spark, format, [*MOST[format]], first, second))


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_read_at_an_epoch_starts_no_job_for_a_log(spark: SparkSession, format: str) -> None:
    place = f"lake.{database(spark)}" if format == "iceberg" else database(spark)
    if format == "iceberg":
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {place}")
    spark.sql(f"CREATE TABLE {place}.sales USING {format} AS {SALES}")
    spark.sql(
        f"CREATE MATERIALIZED VIEW {place}.added USING {format} TBLPROPERTIES ('headwater.group' = 'few') "
        f"AS SELECT id, price FROM {place}.sales"
    )
    [old] = spark.sql("REFRESH MATERIALIZED VIEW GROUP few").collect()
    for number in range(2):
        spark.sql(f"INSERT INTO {place}.sales VALUES (-{number}, 7, 5.00)")
        spark.sql("REFRESH MATERIALIZED VIEW GROUP few")
    spark.conf.set("spark.headwater.read.epoch", str(old.epoch))
    try:
        for _ in range(2):
            with jobs_of_this_thread(spark) as jobs:
                read = spark.sql(f"SELECT id FROM {place}.added WHERE price >= 0").collect()
            assert (len(read), len(jobs)) == (5000, 1)
    finally:
        spark.conf.unset("spark.headwater.read.epoch")


@pytest.mark.thorough
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_several_changed_sources_take_no_more_jobs(spark: SparkSession, format: str) -> None:
    first, second = (
        [f"INSERT INTO {{sales}} VALUES (-{n}, 50{n}, 5.00)", f"INSERT INTO {{parts}} VALUES (50{n}, 'new', 1)"]
        for n in (1, 2)
    )
    assert_few(format, counted(spark, format, ["keys_of_join"], first, second))
