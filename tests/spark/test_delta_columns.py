"""Columns of Delta tables that are others than they were, though names and types of the log are the same."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from support import assert_equals_query

from headwater.spark.defining.fingerprint import fingerprint
from headwater.spark.jvm.shim import Shim

pytestmark = pytest.mark.thorough


def test_a_text_that_is_padded_no_more(spark: SparkSession) -> None:
    """Delta keeps a CHAR as a string, with a note that it is one."""
    query = "SELECT sum(length(c)) AS n FROM t"
    spark.sql("CREATE TABLE t (c CHAR(5), n INT) USING delta")
    spark.sql("INSERT INTO t VALUES ('ab', 1)")
    spark.sql(f"CREATE MATERIALIZED VIEW v USING delta AS {query}").collect()
    assert spark.table("v").first()[0] == 5
    spark.sql("ALTER TABLE t ALTER COLUMN c TYPE STRING")
    spark.sql("REFRESH MATERIALIZED VIEWS").collect()
    assert_equals_query(spark, "v", query)
    assert spark.table("v").first()[0] == 2


def test_a_column_that_comes_back_under_its_name_is_another_one(spark: SparkSession) -> None:
    """Also for an analysis that never saw the table without it."""

    def meaning() -> str:
        return fingerprint(Shim(spark).describe(spark, "SELECT sum(x + s.a) AS x FROM t").plan)

    spark.sql("CREATE TABLE t (x INT, y INT, s STRUCT<a: INT, b: INT>) USING delta")
    spark.sql("INSERT INTO t VALUES (1, 2, named_struct('a', 3, 'b', 4))")
    last = meaning()
    for statement, another in (
        ("SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')", False),
        ("ADD COLUMNS (z INT)", False),
        ("RENAME COLUMN y TO w", False),
        ("DROP COLUMN x; ADD COLUMNS (x INT)", True),
        ("DROP COLUMN s.a; ADD COLUMNS (s.a INT)", True),
    ):
        for each in statement.split("; "):
            spark.sql(f"ALTER TABLE t {each}")
        assert (meaning() != last) == another, statement
        last = meaning()
