"""Functions of the catalog that a view calls: a redefinition changes the view, as that of an ordinary view does."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import assert_equals_query, database, drain, drain_in_vain

from headwater.model.error import RefreshCancelled
from headwater.model.partition import WHOLE
from headwater.model.view import ZONE, Definition, Query
from headwater.model.work import WholeView
from headwater.spark.defining.analyse import Analyst
from headwater.spark.defining.jobs import Jobs
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.refreshing.methods import recipes
from headwater.spark.refreshing.near_rows import NearRows
from headwater.spark.refreshing.recipe import Ingredients, Queries

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


@pytest.mark.thorough
def test_a_sql_function(source: SparkSession) -> None:
    source.sql("CREATE FUNCTION f(x STRING) RETURNS STRING RETURN upper(x)")
    redefined(
        source,
        PARTITIONED,
        "CREATE OR REPLACE FUNCTION f(x STRING) RETURNS STRING RETURN lower(x)",
        "CREATE OR REPLACE FUNCTION f(x STRING) RETURNS STRING RETURN concat(x, '!')",
    )


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_a_dropped_function_breaks_its_view_until_it_is_back(source: SparkSession) -> None:
    source.sql("CREATE FUNCTION f(x STRING) RETURNS STRING RETURN upper(x)")
    source.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (p) AS {PARTITIONED}")
    source.sql("DROP FUNCTION f")
    assert "v is broken" in drain_in_vain(source)
    with pytest.raises(PySparkException, match=r"v is broken: .*; CREATE OR REPLACE MATERIALIZED VIEW \S*v gives it"):
        source.sql("REFRESH MATERIALIZED VIEW v")
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


PUT_BACK = {
    "an ordinary view": ("SELECT y FROM o", "CREATE OR REPLACE VIEW o AS SELECT {}(x) AS y FROM t"),
    "a SQL function": ("SELECT f(x) AS y FROM t", "CREATE OR REPLACE FUNCTION f(x STRING) RETURNS STRING RETURN {}(x)"),
    "a table function": (
        "SELECT y FROM t, LATERAL f(x)",
        "CREATE OR REPLACE FUNCTION f(x STRING) RETURNS TABLE (y STRING) RETURN SELECT {}(x)",
    ),
}


@pytest.mark.parametrize("kind", PUT_BACK)
def test_what_is_redefined_and_put_back_during_a_run(source: SparkSession, kind: str) -> None:
    """No look tells of it, but the run does not take the rows of the definition between."""
    query, definition = PUT_BACK[kind]
    source.sql(definition.format("upper"))
    frame = run_of(source, query, [definition.format("upper")])
    assert sorted(row["y"] for row in frame()) == ["AB", "CD"]
    source.sql(definition.format("lower"))
    with pytest.raises(RefreshCancelled, match="means something else now"):
        frame()
    assert sorted(row["y"] for row in frame()) == ["AB", "CD"]


def test_an_ordinary_view_with_another_text_of_the_same_meaning(source: SparkSession) -> None:
    source.sql("CREATE VIEW o AS SELECT upper(x) AS y FROM t")
    frame = run_of(source, "SELECT y FROM o", [])
    source.sql("CREATE OR REPLACE VIEW o AS SELECT UPPER(t.x) AS y FROM t")
    assert sorted(row["y"] for row in frame()) == ["AB", "CD"]


def test_a_function_of_java_that_is_put_back_during_a_run(source: SparkSession) -> None:
    define = "CREATE OR REPLACE FUNCTION f AS '{}'"
    source.sql(define.format(UPPER))
    frame = run_of(source, "SELECT f(x) AS y FROM t", [define.format(UPPER)])
    assert sorted(row["y"] for row in frame()) == ["AB", "CD"]
    source.sql(define.format(LOWER))
    with pytest.raises(RefreshCancelled, match="means something else now"):
        frame()


def run_of(spark: SparkSession, query: str, between: list[str]) -> Callable[[], list[Any]]:
    """Makes the rows of a run, with statements between the analysis of the run and any other one."""
    shim, sessions = Shim(spark), Sessions(spark)
    analyst = Analyst(shim, sessions)
    asked = Definition(
        view=f"{database(spark)}.v",
        made_by=Query(query),
        columns=(),
        database=database(spark),
        settings=((ZONE, "UTC"),),
    )
    definition = analyst.analysed(asked)

    def is_meant(definition: Definition, meant: str) -> bool:
        for statement in between:
            spark.sql(statement)
        return analyst.is_meant(definition, meant)

    queries = Queries(shim, Jobs(), is_meant)
    started = SimpleNamespace(work=WholeView(), slices=(WHOLE,), view=definition.view)
    launch = cast(Any, SimpleNamespace(run=started, definition=definition))
    session = sessions.of_run(definition)
    run = Ingredients(shim, cast(Any, None), queries, session, launch, contextlib.ExitStack(), NearRows(shim))
    return lambda: recipes.rows(run).frame().collect()
