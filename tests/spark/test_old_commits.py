"""Delta refuses ``VERSION AS OF`` of a commit that is older than ``delta.deletedFileRetentionDuration``, also where the
version was replaced a moment ago and all its files are there. Here, any commit is too old at once."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from support import database

import headwater

OLD = "'delta.deletedFileRetentionDuration' = 'interval 0 seconds'"
READ = "spark.headwater.read"


@pytest.fixture
def old(spark: SparkSession) -> SparkSession:
    database(spark)
    spark.sql(f"CREATE TABLE s (id INT, k INT) USING delta TBLPROPERTIES ({OLD})")
    spark.sql(f"CREATE TABLE t (k INT, name STRING) USING delta TBLPROPERTIES ({OLD})")
    spark.sql("INSERT INTO s VALUES (1, 1), (2, 2)")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    return spark


@pytest.mark.parametrize("method", ["incremental", "keys"])
def test_a_refresh_reads_what_a_table_was(old: SparkSession, method: str) -> None:
    properties = f"'headwater.method' = '{method}', 'headwater.settle' = '1 day', {OLD}"
    old.sql(
        f"CREATE MATERIALIZED VIEW v USING delta TBLPROPERTIES ({properties}) AS "
        "SELECT k, name, count(*) AS n FROM s JOIN t USING (k) GROUP BY k, name"
    )
    old.sql("UPDATE t SET name = 'c' WHERE k = 1")
    old.sql("DELETE FROM s WHERE id = 2")
    [run] = old.sql("REFRESH MATERIALIZED VIEW v").collect()
    assert (run.mode, run.status) == (method, "published")
    assert [tuple(row) for row in old.table("v").collect()] == [(1, "c", 1)]


def test_members_are_read_at_an_epoch(old: SparkSession) -> None:
    member = f"USING delta TBLPROPERTIES ('headwater.group' = 'aged', {OLD})"
    old.sql(f"CREATE MATERIALIZED VIEW v {member} AS SELECT count(*) AS n FROM s")
    old.sql(f"CREATE MATERIALIZED VIEW w {member} AS SELECT count(*) AS n FROM s")
    old.sql("REFRESH MATERIALIZED VIEW GROUP aged")
    old.sql("ALTER MATERIALIZED VIEW w SUSPEND")
    old.sql("INSERT INTO s VALUES (3, 3)")
    old.sql("REFRESH MATERIALIZED VIEW v")
    frames = headwater.read(old.newSession(), "aged")
    assert [frame.collect()[0].n for frame in frames.values()] == [2, 2]
    reader = old.newSession()
    reader.sql(f"USE {old.catalog.currentDatabase()}")
    reader.conf.set(READ, "consistent, with sources")
    both = "SELECT v.n, w.n, (SELECT count(*) FROM s) FROM v CROSS JOIN w"
    assert [tuple(row) for row in reader.sql(both).collect()] == [(2, 2, 2)]
