"""A refresh after a small change starts few jobs of Spark, whatever the time zone. Each takes a tenth of a second.

The engine of these tests searches the files of small views for keys, too.
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from spark_jobs import jobs_of
from support import database

SALES = """CREATE TABLE sales USING delta AS
SELECT id, id % 365 AS part, CAST(id % 50 AS DECIMAL(12, 2)) AS price FROM range(5000)"""
VIEWS = {
    "added": ("incremental", "SELECT id, part, price * 2 AS double FROM sales WHERE price >= 0"),
    "changes": ("incremental", "SELECT part, sum(price) AS price, count(*) AS n FROM sales GROUP BY part"),
    "keys": ("keys", "SELECT part, max(price) AS price, count(DISTINCT id) AS n FROM sales GROUP BY part"),
}
MOST = {"added": 1, "changes": 3, "keys": 10}


@pytest.mark.thorough
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_a_refresh_in_delta_starts_few_jobs(spark: SparkSession, zone: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    spark.sql(SALES)
    for name, (method, query) in VIEWS.items():
        spark.sql(
            f"CREATE MATERIALIZED VIEW {name} USING delta TBLPROPERTIES "
            f"('headwater.method' = '{method}, full', 'headwater.settle' = '1 hour') AS {query}"
        )
    counted: dict[str, list[str]] = {}
    for turn in range(2):  # the first refresh by changes leaves totals
        spark.sql(f"INSERT INTO sales VALUES (-{turn + 1}, 7, 5.00)")
        for name, (method, query) in VIEWS.items():
            view = f"{database(spark)}.{name}"
            since = max(jobs_of(spark, view)) + 1
            spark.sql(f"REFRESH MATERIALIZED VIEW {name}")
            counted[name] = [*jobs_of(spark, view, since).values()]
            [row] = spark.sql(f"SHOW REFRESHES FOR {name} LIMIT 1").collect()
            assert row["mode"] == method
            assert not spark.sql(f"(TABLE {name}) EXCEPT ALL ({query})").take(1)
    counts = {name: len(jobs) for name, jobs in counted.items()}
    assert all(counts[name] <= MOST[name] for name in VIEWS), (counts, counted)
