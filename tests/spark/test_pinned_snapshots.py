"""A query whose session has pins reads each table at one snapshot, wherever it names the table."""

from __future__ import annotations

import pytest
from attrs import frozen
from pyspark.sql import SparkSession
from support import database

from headwater.spark.jvm.facts import Pin
from headwater.spark.jvm.wire import encode
from headwater.spark.refreshing.changed_rows import PINS

QUERIES = {
    "twice": "SELECT a.id FROM d a JOIN d b USING (id)",
    "in a subquery": "SELECT id FROM VALUES (0), (1), (2) AS t(id) WHERE id IN (SELECT id FROM d)",
    "in a WITH clause of the same name": "WITH d AS (SELECT * FROM {database}.d) SELECT id FROM d",
    "through an ordinary view": "SELECT id FROM through",
    "by path": "SELECT id FROM delta.`{path}`",
    "of another catalog": "SELECT i.id FROM lake.{database}.i",
    "by its whole name": "SELECT lake.{database}.i.id FROM lake.{database}.i",
    "with columns that it got later": "SELECT id FROM lake.{database}.i WHERE later IS NULL",
    "in another case": "SELECT D.id FROM D",
    "of both": "SELECT id FROM d JOIN lake.{database}.i USING (id)",
}
SHORT = ("through an ordinary view",)
"""Those that no other one has a part of."""


@frozen
class Tables:
    """A Delta and an Iceberg table of three rows, and pins at their second ones."""

    session: SparkSession
    names: dict[str, str]
    pins: dict[str, Pin]


@pytest.fixture
def tables(spark: SparkSession) -> Tables:
    name = database(spark)
    spark.sql("CREATE TABLE d (id INT, p INT) USING delta PARTITIONED BY (p)")
    spark.sql(f"CREATE TABLE lake.{name}.i (id INT) USING iceberg")
    spark.sql(f"CREATE VIEW through AS SELECT d.id FROM d JOIN lake.{name}.i USING (id)")
    for id in range(3):
        spark.sql(f"INSERT INTO d VALUES ({id}, {id})")
        spark.sql(f"INSERT INTO lake.{name}.i VALUES ({id})")
        if id == 1:
            [row] = spark.sql(f"SELECT max_by(snapshot_id, committed_at) FROM lake.{name}.i.snapshots").collect()
    spark.sql(f"ALTER TABLE lake.{name}.i ADD COLUMN later INT")
    path = spark.sql("DESCRIBE DETAIL d").first()["location"]
    iceberg = Pin(str(row[0]), (("id", "id"), ("later", "CAST(NULL AS INT)")))
    pins = {f"{name}.d": Pin("2"), f"path:{path}": Pin("2"), f"lake.{name}.i": iceberg}
    return Tables(spark, {"database": name, "path": path.removeprefix("file:")}, pins)


def ids(session: SparkSession, query: str) -> list[int]:
    return sorted(row[0] for row in session.sql(query).collect())


@pytest.mark.parametrize(
    "name", [each if each in SHORT else pytest.param(each, marks=pytest.mark.thorough) for each in QUERIES]
)
def test_a_table_is_read_at_its_snapshot(tables: Tables, name: str) -> None:
    query = QUERIES[name].format_map(tables.names)
    assert ids(tables.session, query) == [0, 1, 2]
    tables.session.conf.set(PINS, encode(tables.pins))
    assert ids(tables.session, query) == [0, 1]


def test_a_table_that_had_no_rows_has_none(tables: Tables) -> None:
    tables.session.conf.set(PINS, encode({name: Pin("") for name in tables.pins}))
    for query in QUERIES.values():
        assert ids(tables.session, query.format_map(tables.names)) == []


def test_other_tables_and_temporary_views_are_read_as_they_are(tables: Tables) -> None:
    tables.session.sql("CREATE TABLE plain AS SELECT 1 AS id")
    tables.session.sql("CREATE TEMPORARY VIEW d AS SELECT 7 AS id")
    tables.session.conf.set(PINS, encode(tables.pins))
    assert ids(tables.session, "SELECT id FROM plain") == [1]
    assert ids(tables.session, "SELECT id FROM d") == [7]


def test_the_current_catalog_and_namespace_count(tables: Tables) -> None:
    tables.session.conf.set(PINS, encode(tables.pins))
    tables.session.sql(f"USE lake.{tables.names['database']}")
    assert ids(tables.session, "SELECT id FROM i") == [0, 1]


def test_a_table_in_no_namespace_is_read_at_its_snapshot(spark: SparkSession) -> None:
    name = f"lonely_{database(spark)}"
    spark.sql(f"CREATE TABLE lake.{name} USING iceberg AS SELECT 1 AS id")
    try:
        [row] = spark.sql(f"SELECT snapshot_id FROM lake.{name}.snapshots").collect()
        spark.sql(f"INSERT INTO lake.{name} VALUES (2)")
        spark.conf.set(PINS, encode({f"lake.``.{name}": Pin(str(row[0]))}))
        assert ids(spark, f"SELECT id FROM lake.{name}") == [1]
    finally:
        spark.conf.unset(PINS)
        spark.sql(f"DROP TABLE lake.{name}")


def test_a_query_that_names_a_version_itself_reads_that(tables: Tables) -> None:
    tables.session.conf.set(PINS, encode(tables.pins))
    assert ids(tables.session, "SELECT id FROM d VERSION AS OF 3") == [0, 1, 2]
