"""Names that need quoting in SQL, of tables, views, databases, columns and paths: they are followed like any other."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, database, drain
from test_by_keys import runs

from headwater.model.work import Mode

TABLES = ("2023_orders", "select", "MixedCase")
COLUMNS = ("sum", "a.b", "Größe", "x`y")


@pytest.fixture
def odd(application: SparkSession) -> Iterator[SparkSession]:
    """A session in a database whose name is a number."""
    session, name = application.newSession(), f"2{uuid.uuid4().int % 10**6}"
    session.sql(f"CREATE DATABASE `{name}`")
    session.sql(f"USE `{name}`")
    yield session
    session.sql(f"DROP DATABASE `{name}` CASCADE")
    drain(session)


@pytest.mark.thorough
def test_tables_and_views_of_any_name_are_followed(odd: SparkSession) -> None:
    """A chain of two views over each table; every change arrives."""
    for table in TABLES:
        odd.sql(f"CREATE TABLE `{table}` (id INT, p STRING) USING parquet PARTITIONED BY (p)")
        by_p = f"SELECT p, sum(id) AS s FROM `{table}` GROUP BY p"
        odd.sql(f"CREATE MATERIALIZED VIEW `1{table}` PARTITIONED BY (p) AS {by_p}")
        odd.sql(f"CREATE MATERIALIZED VIEW `2{table}` AS SELECT sum(s) AS s FROM `1{table}`")
        odd.sql(f"INSERT INTO `{table}` VALUES (1, 'a'), (2, 'b')")
    drain(odd)
    for table in TABLES:
        assert odd.sql(f"SELECT s FROM `2{table}`").first()[0] == 3, table
        odd.sql(f"INSERT INTO `{table}` VALUES (4, 'b')")
    refreshed = {(row["view"].split(".")[1], row["partition"]) for row in drain(odd)}
    assert refreshed == {(f"{n}{table}".lower(), part) for table in TABLES for n, part in ((1, "p=b"), (2, "()"))}
    for table in TABLES:
        assert odd.sql(f"SELECT s FROM `2{table}`").first()[0] == 7, table


def test_statements_name_such_views(odd: SparkSession) -> None:
    odd.sql("CREATE TABLE `2023_orders` (id INT) USING parquet")
    odd.sql("CREATE MATERIALIZED VIEW `1st` AS SELECT count(*) AS n FROM `2023_orders`")
    [plan, *_] = odd.sql("EXPLAIN REFRESH `1st`").first()
    assert ".1st: nothing to do" in plan
    assert odd.sql("REFRESH MATERIALIZED VIEW `1st` FULL").count() == 1
    assert odd.sql("SHOW REFRESHES FOR `1st` LIMIT 1").count() == 1
    odd.sql("ALTER MATERIALIZED VIEW `1st` RENAME TO `1`")
    odd.sql("CREATE OR REPLACE MATERIALIZED VIEW `1` AS SELECT max(id) AS n, 1 AS one FROM `2023_orders`")
    odd.sql("INSERT INTO `2023_orders` VALUES (5)")
    drain(odd)
    assert tuple(odd.sql("SELECT n, one FROM `1`").first()) == (5, 1)
    odd.sql("DROP MATERIALIZED VIEW `1`")
    assert not odd.catalog.tableExists("`1`")


@pytest.mark.parametrize("column", ["2023 day", *(pytest.param(each, marks=pytest.mark.long) for each in COLUMNS)])
def test_partition_columns_of_any_name_are_followed(odd: SparkSession, column: str) -> None:
    name = "`" + column.replace("`", "``") + "`"
    odd.sql(f"CREATE TABLE t (id INT, {name} STRING) USING parquet PARTITIONED BY ({name})")
    odd.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    query = f"SELECT {name}, count(*) AS n FROM t GROUP BY {name}"
    odd.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY ({name}) AS {query}")
    odd.sql(f"INSERT INTO t PARTITION ({name} = 'b') VALUES (3)")
    assert [row["partition"] for row in drain(odd)] == [f"{column}=b"]
    assert_equals_query(odd, "v", query)
    odd.sql(f"REFRESH MATERIALIZED VIEW v PARTITION ({name} = 'a') FULL")


def test_an_ordinary_view_of_any_name_is_read_through(odd: SparkSession) -> None:
    odd.sql("CREATE TABLE t (id INT) USING parquet")
    odd.sql("INSERT INTO t VALUES (1), (2)")
    odd.sql("CREATE VIEW `3d` AS SELECT id FROM t")
    odd.sql("CREATE MATERIALIZED VIEW v AS SELECT sum(id) AS s FROM `3d`")
    odd.sql("CREATE OR REPLACE VIEW `3d` AS SELECT 10 * id AS id FROM t")
    drain(odd)
    assert odd.sql("SELECT s FROM v").first()[0] == 30


def test_a_path_is_followed(odd: SparkSession, tmp_path: Path) -> None:
    """Of files that no catalog knows, each change is a change of the whole."""
    place = tmp_path / "a b.c" / "x"
    odd.range(3).write.parquet(str(place))
    odd.sql(f"CREATE MATERIALIZED VIEW v AS SELECT sum(id) AS s FROM parquet.`{place}`")
    odd.range(10, 12).write.mode("append").parquet(str(place))
    [row] = drain(odd)
    assert "INSERT INTO" in row["reason"]
    assert odd.sql("SELECT s FROM v").first()[0] == 24


@pytest.mark.parametrize("format", ["delta", "parquet"])
def test_a_table_by_the_name_of_its_catalog_in_another_case(spark: SparkSession, journal: Journal, format: str) -> None:
    """Spark finds its own catalog by any case, also in the text of an ordinary view."""
    here = database(spark)
    spark.sql(f"CREATE TABLE t USING {format} AS SELECT id % 3 AS k, id AS x FROM range(9)")
    spark.sql(f"CREATE VIEW between AS SELECT * FROM Spark_Catalog.{here}.t")
    queries = {
        "totals": f"SELECT k, sum(x) AS s FROM SPARK_CATALOG.{here}.t GROUP BY k",
        "copied": "SELECT k, x + 1 AS y FROM between WHERE x > 3",
    }
    for view, query in queries.items():
        asked = "TBLPROPERTIES ('headwater.method' = 'incremental, full')"
        spark.sql(f"CREATE MATERIALIZED VIEW {view} USING delta {asked} AS {query}")
    journal.mark()
    for id in (10, 11):
        spark.sql(f"INSERT INTO t VALUES (1, {id})")
        drain(spark)
        for view, query in queries.items():
            assert_equals_query(spark, view, query)
    events = journal.events()
    for view in queries:
        assert runs(events, f"{here}.{view}") == [(Mode.CHANGES, "")] * 2


@pytest.mark.thorough
def test_two_columns_whose_case_folds_alike(spark: SparkSession) -> None:
    """Spark takes `maße` and `masse` for two names."""
    spark.sql("CREATE TABLE parts (x INT, `maße` STRING, masse STRING) USING parquet PARTITIONED BY (masse)")
    spark.sql("INSERT INTO parts VALUES (1, 'B1', 'A1')")
    query = "SELECT x, `maße`, masse FROM parts"
    spark.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (`maße`) AS {query}").collect()
    spark.sql("INSERT INTO parts VALUES (2, 'B2', 'A1')")
    drain(spark)
    assert_equals_query(spark, "v", query)
    assert drain(spark) == []
