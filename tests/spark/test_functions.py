"""Functions of the catalog that a view calls: a redefinition changes the view, as that of an ordinary view does."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from support import assert_equals_query, database, drain, drain_in_vain

UPPER = "org.apache.hadoop.hive.ql.udf.generic.GenericUDFUpper"
LOWER = "org.apache.hadoop.hive.ql.udf.generic.GenericUDFLower"
PARTITIONED = "SELECT p, f(x) AS y FROM t"


@pytest.fixture
def source(spark: SparkSession) -> SparkSession:
    spark.sql("CREATE TABLE t (x STRING, p STRING) USING parquet PARTITIONED BY (p)")
    spark.sql("INSERT INTO t VALUES ('Ab', '1'), ('Cd', '2')")
    return spark


def redefined(spark: SparkSession, query: str, *statements: str) -> None:
    """The view of the query equals it in a new session after each statement."""
    spark.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (p) AS {query}")
    for statement in statements:
        spark.sql(statement)
        fresh = spark.newSession()
        fresh.sql(f"USE {database(spark)}")
        assert {(row["view"].split(".")[1], row["partition"]) for row in drain(spark)} >= {("v", "p=1"), ("v", "p=2")}
        assert_equals_query(fresh, "v", query)


def test_a_sql_function(source: SparkSession) -> None:
    source.sql("CREATE FUNCTION f(x STRING) RETURNS STRING RETURN upper(x)")
    redefined(
        source,
        PARTITIONED,
        "CREATE OR REPLACE FUNCTION f(x STRING) RETURNS STRING RETURN lower(x)",
        "CREATE OR REPLACE FUNCTION f(x STRING) RETURNS STRING RETURN concat(x, '!')",
    )


def test_a_function_within_a_function_and_a_view(source: SparkSession) -> None:
    source.sql("CREATE FUNCTION inner_f(x STRING) RETURNS STRING RETURN upper(x)")
    source.sql("CREATE FUNCTION f(x STRING) RETURNS STRING RETURN concat(inner_f(x), '.')")
    source.sql("CREATE VIEW through AS SELECT p, f(x) AS y FROM t")
    redefined(
        source,
        "SELECT p, y FROM through WHERE y IN (SELECT f(x) FROM t)",
        "CREATE OR REPLACE FUNCTION inner_f(x STRING) RETURNS STRING RETURN lower(x)",
    )


def test_a_table_function(source: SparkSession) -> None:
    source.sql("CREATE FUNCTION f(n INT) RETURNS TABLE (y INT) RETURN SELECT n + 1")
    redefined(
        source,
        "SELECT p, y FROM t, LATERAL f(length(x))",
        "CREATE OR REPLACE FUNCTION f(n INT) RETURNS TABLE (y INT) RETURN SELECT n + 2",
    )


def test_a_function_of_java(source: SparkSession) -> None:
    source.sql(f"CREATE FUNCTION f AS '{UPPER}'")
    redefined(source, PARTITIONED, f"CREATE OR REPLACE FUNCTION f AS '{LOWER}'")


def test_a_dropped_function_breaks_its_view_until_it_is_back(source: SparkSession) -> None:
    source.sql("CREATE FUNCTION f(x STRING) RETURNS STRING RETURN upper(x)")
    source.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (p) AS {PARTITIONED}")
    source.sql("DROP FUNCTION f")
    assert "v is broken" in drain_in_vain(source)
    [row] = source.sql(f"SHOW MATERIALIZED VIEWS IN {database(source)}").collect()
    assert row["state"] == "broken"
    assert "`f`" in row["reason"]
    source.sql("CREATE FUNCTION f(x STRING) RETURNS STRING RETURN lower(x)")
    drain(source)
    assert_equals_query(source, "v", PARTITIONED)


def test_what_a_view_calls_is_told(source: SparkSession) -> None:
    source.sql("CREATE FUNCTION f(x STRING) RETURNS STRING RETURN upper(x)")
    source.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (p) AS {PARTITIONED}")
    rows = source.sql("DESCRIBE MATERIALIZED VIEW EXTENDED v").collect()
    assert [row["name"] for row in rows if row["value"] == "function"] == [f"{database(source)}.f"]
