"""Tables of any catalog and format are known by their keys: which format they have, and who owns them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support import database

from headwater.spark.jvm.facts import Asked
from headwater.spark.jvm.shim import Shim


@pytest.fixture(scope="module")
def shop(application: SparkSession) -> Iterator[SparkSession]:
    """A session with a table of each kind, in a database and in a namespace ``lake.<database>.eu`` of the same name."""
    session, name = application.newSession(), f"n{uuid.uuid4().hex[:8]}"
    eu = f"lake.{name}.eu"
    for statement in (
        *(f"CREATE DATABASE {name}", f"USE {name}", f"CREATE NAMESPACE lake.{name}", f"CREATE NAMESPACE {eu}"),
        "CREATE TABLE plain (id INT) USING parquet",
        "CREATE VIEW ordinary AS SELECT id FROM plain",
        "CREATE TABLE d (id INT) USING delta TBLPROPERTIES ('headwater.owner' = 'me')",
        f"CREATE TABLE {eu}.i (id INT) USING iceberg TBLPROPERTIES ('headwater.owner' = 'you')",
        f"CREATE TABLE {eu}.d (id INT) USING iceberg",
        "CREATE TABLE lake.lonely (id INT) USING iceberg",
    ):
        session.sql(statement)
    yield session
    session.sql("DROP TABLE lake.lonely")
    for table in ("i", "d"):
        session.sql(f"DROP TABLE {eu}.{table}")
    session.sql(f"DROP NAMESPACE {eu}")
    session.sql(f"DROP NAMESPACE lake.{name}")
    session.sql(f"DROP DATABASE {name} CASCADE")


TABLES = {
    "{db}.plain": ("files", ""),
    "{db}.ordinary": ("files", ""),
    "{db}.d": ("delta", "me"),
    "{db}.nothing": ("", None),
    "lake.{db}.eu.i": ("iceberg", "you"),
    "lake.{db}.eu.d": ("iceberg", ""),
    "lake.{db}.eu.nothing": ("", None),
    "lake.{db}.nowhere.i": ("", None),
    "lake.``.lonely": ("iceberg", ""),
}


@pytest.mark.parametrize("key", TABLES)
def test_the_format_and_the_owner_of_a_table(shop: SparkSession, key: str) -> None:
    shim, found = Shim(shop), key.format(db=database(shop))
    assert (shim.format(found), shim.owner(found)) == TABLES[key]


def test_the_format_of_a_path(shop: SparkSession, warehouse: Path) -> None:
    place = f"path:{warehouse}/{database(shop)}.db"
    assert [Shim(shop).format(f"{place}/{table}") for table in ("d", "plain", "nothing")] == ["delta", "path", "path"]


def test_a_catalog_that_nobody_knows_makes_its_tables_unreadable(shop: SparkSession) -> None:
    shim = Shim(shop)
    assert shim.format("nowhere.db.t") == ""
    [fact] = shim.observe([Asked("nowhere.db.t")])
    assert "CATALOG_NOT_FOUND" in fact.unreadable


def test_a_look_of_files_tells_a_lake_table_apart(shop: SparkSession) -> None:
    """The name of a table that was files may be that of another one by now."""
    keys = [f"{database(shop)}.d", f"lake.{database(shop)}.eu.i", f"lake.{database(shop)}.eu.nothing"]
    facts = Shim(shop).observe([Asked(each) for each in keys])
    assert [(each.exists, each.kind) for each in facts] == [(True, "delta"), (True, "iceberg"), (False, "")]


def test_a_session_reads_a_lake_table_as_it_is_once_it_is_renewed(shop: SparkSession) -> None:
    """A session keeps the Iceberg tables that it loaded."""
    other, table = shop.newSession(), f"lake.{database(shop)}.eu.d"
    assert other.table(table).count() == 0
    shop.sql(f"INSERT INTO {table} VALUES (1)")
    shim = Shim(shop)
    shim.renew(other, [f"{database(shop)}.d", table, f"lake.{database(shop)}.eu.nothing"])
    assert other.table(table).count() == 1
