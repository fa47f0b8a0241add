"""A view over two views of one table, of which one is slow, shows no state that the table never had."""

from __future__ import annotations

import time

import pytest
from pyspark.sql import SparkSession
from support import Journal, database
from test_anomalies import SLOW

from headwater.model.event import Published

WRITES = 4
"""So many rows are inserted, each when the quick view has the one before: ever again while the slow view runs."""


def until_published(journal: Journal, view: str) -> None:
    deadline = time.monotonic() + 120
    while not any(isinstance(each, Published) and each.view == view for each in journal.events()):
        assert time.monotonic() < deadline, f"{view} was not refreshed"
        time.sleep(0.02)


@pytest.mark.thorough
def test_a_count_by_two_ways_is_one_number(spark: SparkSession, journal: Journal) -> None:
    """The rows of ``s``, through a quick view and a slow one. As the promise is short, the older change goes alone."""
    spark.sql("CREATE TABLE s (id INT) USING delta")
    spark.sql("INSERT INTO s VALUES (0)")
    spark.sql("CREATE MATERIALIZED VIEW quick USING delta AS SELECT count(*) AS n FROM s")
    spark.sql(f"CREATE MATERIALIZED VIEW slow USING delta AS SELECT count(*) AS n FROM s WHERE {SLOW}")
    promise = "TBLPROPERTIES ('headwater.freshness' = '1 second', 'headwater.consistency' = 'strict')"
    both = "SELECT quick.n AS quick, slow.n AS slow FROM quick CROSS JOIN slow"
    spark.sql(f"CREATE MATERIALIZED VIEW d USING delta {promise} AS {both}")
    journal.mark()
    for number in range(1, WRITES + 1):
        spark.sql(f"INSERT INTO s VALUES ({number})")
        until_published(journal, f"{database(spark)}.quick")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    versions = [row.version for row in spark.sql(f"DESCRIBE HISTORY {database(spark)}.d").collect()]
    shown = [
        tuple(row) for each in sorted(versions) for row in spark.sql(f"SELECT * FROM d VERSION AS OF {each}").collect()
    ]
    assert all(quick == slow for quick, slow in shown), shown
    assert [quick for quick, _ in shown] == sorted(quick for quick, _ in shown)
    assert shown[-1] == (WRITES + 1, WRITES + 1) and len(set(shown)) > 2, shown
    said = spark.sql("DESCRIBE MATERIALIZED VIEW EXTENDED d").collect()
    assert {"# reads together", f"{database(spark)}.quick", f"{database(spark)}.slow"} <= {row.name for row in said}
