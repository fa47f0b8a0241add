"""Which tables a view can read, whatever their format: their rows as they are now, and nothing else of them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import assert_equals_query, database, drain, drain_in_vain

from headwater.algebra.derive import Derivation, derive
from headwater.spark.jvm.shim import Shim

TABLES = (
    "CREATE TABLE plain (id INT, day INT) USING parquet PARTITIONED BY (day)",
    "INSERT INTO plain VALUES (1, 1), (2, 2)",
    "CREATE TABLE d (id INT, day INT) USING delta PARTITIONED BY (day) "
    "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', 'delta.enableRowTracking' = 'true')",
    "INSERT INTO d VALUES (1, 1), (2, 2)",
    "CREATE VIEW ordinary AS SELECT * FROM d",
    "CREATE TABLE files (id INT, day INT) USING parquet PARTITIONED BY (day) LOCATION '{warehouse}/{db}.db/d'",
    "CREATE NAMESPACE lake.{db}",
    "CREATE TABLE lake.{db}.i (id INT, day INT, at TIMESTAMP) USING iceberg "
    "PARTITIONED BY (day, days(at), bucket(4, id)) TBLPROPERTIES ('format-version' = '3')",
    "INSERT INTO lake.{db}.i VALUES (1, 1, TIMESTAMP '2026-01-01 10:00:00')",
    "ALTER TABLE lake.{db}.i CREATE BRANCH dev",
    "ALTER TABLE lake.{db}.i CREATE TAG old",
    "CREATE NAMESPACE mem.{db}",
    "CREATE TABLE mem.{db}.i (id INT) USING iceberg",
    "CREATE VIEW mem.{db}.v AS SELECT id FROM mem.{db}.i",
    "CREATE VIEW mem.{db}.fixed AS SELECT 1 AS id",
)


@pytest.fixture(scope="module")
def shop(application: SparkSession, tmp_path_factory) -> Iterator[SparkSession]:
    """A session with tables of all formats; the catalog ``mem`` holds views, too."""
    session, name = application.newSession(), f"f{uuid.uuid4().hex[:8]}"
    session.conf.set("spark.sql.catalog.mem", "org.apache.iceberg.spark.SparkCatalog")
    session.conf.set("spark.sql.catalog.mem.catalog-impl", "org.apache.iceberg.inmemory.InMemoryCatalog")
    session.sql(f"CREATE DATABASE {name}")
    session.sql(f"USE {name}")
    for statement in TABLES:
        session.sql(filled(session, statement))
    yield session
    session.sql(f"DROP TABLE lake.{name}.i")
    session.sql(f"DROP NAMESPACE lake.{name}")
    session.sql(f"DROP DATABASE {name} CASCADE")


def filled(session: SparkSession, text: str) -> str:
    warehouse = session.conf.get("spark.sql.warehouse.dir").removeprefix("file:")
    return text.replace("{db}", database(session)).replace("{warehouse}", warehouse)


def derived(session: SparkSession, query: str) -> Derivation:
    description = Shim(session).describe(session, filled(session, query))
    columns = [(each.name, each.type) for each in description.columns]
    return derive(description.plan, [name for name, _ in columns if name == "day"], columns)


FOLLOWED = {
    "Delta by name": ("SELECT id, day FROM d", "delta", "{db}.d", ["day"]),
    "Delta by path": (
        "SELECT id, day FROM delta.`{warehouse}/{db}.db/d`",
        "delta",
        "path:file:{warehouse}/{db}.db/d",
        ["day"],
    ),
    "a partition of Delta by path": (
        "SELECT id, day FROM delta.`{warehouse}/{db}.db/d/day=1`",
        "delta",
        "path:file:{warehouse}/{db}.db/d",
        ["day"],
    ),
    "in an ordinary view": ("SELECT id, day FROM ordinary", "delta", "{db}.d", ["day"]),
    "Iceberg": ("SELECT id, day FROM lake.{db}.i", "iceberg", "lake.{db}.i", ["day", "at_day"]),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_lake_table_is_followed_by_its_partition_columns(shop: SparkSession, name: str) -> None:
    query, kind, source, columns = FOLLOWED[name]
    found = derived(shop, query)
    assert found.problems == ()
    [read] = found.reads
    assert (read.kind, read.source) == (kind, filled(shop, source))
    assert [column for column, _ in read.partition_columns] == columns
    [dependency] = found.dependencies
    assert [column for column, _ in dependency.occurrences[0].columns] == ["day"]


def test_transforms_of_an_iceberg_table_are_told(shop: SparkSession) -> None:
    plan = Shim(shop).describe(shop, filled(shop, "SELECT id FROM lake.{db}.i")).plan["plan"]
    while plan["children"]:
        [plan] = plan["children"]
    assert [(each["name"], each["over"], each["arguments"]) for each in plan["transforms"]] == [
        ("identity", ["day"], []),
        ("days", ["at"], []),
        ("bucket", ["id"], ["4"]),
    ]


REFUSED = {
    "a version": ("SELECT id FROM d VERSION AS OF 1", "`d` is read as it was at one time"),
    "a version in options": ("SELECT id FROM d WITH ('versionAsOf' = '1')", "`d` is read as it was at one time"),
    "a version of a path": ("SELECT id FROM delta.`{warehouse}/{db}.db/d@v1`", "/d` is read as it was at one time"),
    "changes": ("SELECT id FROM table_changes('d', 1)", "`d` is read as the list of its changes"),
    "changes in options": (
        "SELECT id FROM d WITH ('readChangeFeed' = 'true', 'startingVersion' = '1')",
        "`d` is read as the list of its changes",
    ),
    "ids of rows": ("SELECT _metadata.row_id FROM d", "`_metadata` says how d's files lie"),
    "files": ("SELECT id FROM parquet.`{warehouse}/{db}.db/d`", "/d` are files of a Delta table"),
    "some files": ("SELECT id FROM parquet.`{warehouse}/{db}.db/d/day=1`", "/day=1` are files of a Delta table"),
    "a table of files": ("SELECT id FROM files", "`files` are files of a Delta table"),
    "a tag": ("SELECT id FROM lake.{db}.i VERSION AS OF 'old'", "`i` is read as it was at one time"),
    "a tag by name": ("SELECT id FROM lake.{db}.i.tag_old", "`tag_old` is read as it was at one time"),
    "a time": ("SELECT id FROM lake.{db}.i TIMESTAMP AS OF current_timestamp()", "`i` is read as it was at one time"),
    "a branch": ("SELECT id FROM lake.{db}.i.branch_dev", "`branch_dev` is a branch of a table"),
    "a branch in options": ("SELECT id FROM lake.{db}.i WITH ('branch' = 'dev')", "`branch_dev` is a branch"),
    "changes of Iceberg": ("SELECT id FROM lake.{db}.i.changes", "`changes` is read as the list of its changes"),
    "snapshots": ("SELECT snapshot_id FROM lake.{db}.i.snapshots", "`snapshots` has the files and snapshots"),
    "places of rows": ("SELECT id, _file, _pos FROM lake.{db}.i", "`_file` says how i's files lie"),
    "ids of rows in Iceberg": ("SELECT id, _row_id FROM lake.{db}.i", "`_row_id` says how i's files lie"),
    "files of Iceberg": ("SELECT id FROM parquet.`{warehouse}/lake/{db}/i/data`", "/data` are files of an Iceberg"),
    "a view of another catalog": ("SELECT id FROM mem.{db}.v", "`v` is a view of another catalog"),
    "one that reads nothing": ("SELECT id FROM mem.{db}.fixed", "`fixed` is a view of another catalog"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_something_else_of_a_table_is_refused(shop: SparkSession, name: str) -> None:
    query, words = REFUSED[name]
    assert any(words in each.sentence for each in derived(shop, query).problems)


def test_a_user_is_told_of_it(shop: SparkSession) -> None:
    with pytest.raises(PySparkException) as error:
        shop.sql("CREATE MATERIALIZED VIEW bad AS SELECT id FROM d VERSION AS OF 1")
    assert "bad cannot be a materialized view: `d` is read as it was at one time" in str(error.value)


def test_rows_of_a_lake_table_are_neither_overlaid_nor_shared(shop: SparkSession) -> None:
    """A scan that several runs share, and files that others wrote, are for tables that Spark lists the files of."""
    frame = shop.sql("SELECT id FROM d")
    assert Shim(shop).needs(frame) == {}
    assert Shim(shop).needs(shop.sql("SELECT id FROM plain")) != {}
    table = {"whole": True, "without": [], "with": [], "bytes": 0, "held": 7}
    shop.sparkContext.setLocalProperty("spark.headwater.overlay", json.dumps({f"{database(shop)}.d": table}))
    try:
        assert shop.sql("SELECT count(*) FROM d").first()[0] == 2
    finally:
        shop.sparkContext.setLocalProperty("spark.headwater.overlay", None)


def test_a_lake_view_is_read_as_its_format_reads_it(shop: SparkSession) -> None:
    """The metastore does not have the columns of a Delta table."""
    writer = shop.newSession()
    writer.conf.set("spark.headwater.internal", "true")  # a view's table is refused to others
    writer.sql(f"USE {database(shop)}")
    writer.sql("CREATE TABLE marked USING delta TBLPROPERTIES ('headwater.view' = '1') AS SELECT 5 AS id")
    try:
        assert shop.newSession().table(f"{database(shop)}.marked").first()[0] == 5
    finally:
        writer.sql("DROP TABLE marked")


def test_tables_of_files_beside_them_are_followed(spark: SparkSession) -> None:
    """Delta's catalog makes them, and has commands of its own for that."""
    query = "SELECT day, sum(id) AS ids FROM plain GROUP BY day"
    spark.sql("CREATE TABLE plain (id INT, day INT) USING parquet PARTITIONED BY (day)")
    spark.sql("CREATE TABLE made USING parquet AS SELECT 5 AS id")
    spark.sql(f"CREATE MATERIALIZED VIEW total PARTITIONED BY (day) AS {query}")
    spark.sql("CREATE MATERIALIZED VIEW ids AS SELECT id FROM made")
    spark.sql("INSERT INTO plain VALUES (5, 2)")
    assert [row["partition"] for row in drain(spark)] == ["day=2"]
    assert_equals_query(spark, "total", query)
    spark.sql("DROP TABLE made")
    spark.sql("CREATE TABLE made USING parquet AS SELECT 6 AS id")
    drain(spark)
    assert spark.sql("SELECT id FROM ids").first()[0] == 6


@pytest.mark.thorough
def test_the_files_of_a_table_that_becomes_a_lake_table_are_not_read(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).write.parquet(str(tmp_path / "x"))
    spark.sql(f"CREATE MATERIALIZED VIEW v AS SELECT sum(id) AS s FROM parquet.`{tmp_path}/x`")
    spark.sql(f"CONVERT TO DELTA parquet.`{tmp_path}/x`")
    assert "v is broken" in drain_in_vain(spark)
    [row] = spark.sql("SHOW MATERIALIZED VIEWS LIKE 'v'").collect()
    assert row["state"] == "broken" and "are files of a Delta table" in row["reason"]
