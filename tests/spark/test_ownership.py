"""A view owns its directory and its table; everything else that lies there or has its name stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support import assert_equals_query, database, drain

from headwater.spark.jvm.shim import Shim
from headwater.spark.jvm.wire import Publication, Stranger

QUERY = "SELECT sum(id) AS s FROM t"


@pytest.fixture
def source(spark: SparkSession) -> SparkSession:
    spark.sql("CREATE TABLE t (id INT) USING parquet")
    spark.sql("INSERT INTO t VALUES (1)")
    return spark


@pytest.fixture
def home(source: SparkSession, warehouse: Path) -> Path:
    """The directory of the test's database."""
    return warehouse / f"{database(source)}.db"


def location(spark: SparkSession, table: str) -> str:
    rows = spark.sql(f"DESCRIBE EXTENDED {table}").collect()
    return next(row["data_type"] for row in rows if row["col_name"] == "Location").removeprefix("file:")


def test_a_directory_in_use_is_left_alone(source: SparkSession, home: Path) -> None:
    """The view goes beside it, and DROP removes the view's own directory only."""
    (home / "v").mkdir(parents=True)
    (home / "v" / "mine.txt").write_text("mine")
    source.sql(f"CREATE MATERIALIZED VIEW v AS {QUERY}")
    assert location(source, "v").startswith(f"{home}/v-2/")
    source.sql("DROP MATERIALIZED VIEW v")
    assert (home / "v" / "mine.txt").read_text() == "mine"
    assert not (home / "v-2").exists()


def test_the_directory_of_a_table_without_rows_is_left_alone(source: SparkSession, home: Path) -> None:
    source.sql("CREATE TABLE v_2 (x INT) USING parquet")
    source.sql(f"CREATE MATERIALIZED VIEW v AS {QUERY}")
    source.sql("ALTER MATERIALIZED VIEW v RENAME TO earlier")
    source.sql(f"CREATE MATERIALIZED VIEW v AS {QUERY}")
    source.sql("INSERT OVERWRITE v_2 VALUES (1)")
    source.sql("DROP TABLE v_2")
    assert_equals_query(source, "v", QUERY)
    assert location(source, "v").startswith(f"{home}/v-2/")


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_a_redefinition_may_change_the_case_of_names(source: SparkSession, format: str) -> None:
    source.sql("INSERT INTO t VALUES (2), (5)")
    made = f"MATERIALIZED VIEW v USING {format} PARTITIONED BY ({{}}) AS {{}}"
    before = "SELECT named_struct('a', sum(id)) AS s, id % 2 AS p FROM t GROUP BY id % 2"
    source.sql(f"CREATE {made.format('p', before)}")
    for partition, struct, column in (("P", "a", "s"), ("P", "a", "S"), ("P", "A", "S")):
        query = f"SELECT named_struct('{struct}', max(id)) AS {column}, id % 2 AS {partition} FROM t GROUP BY id % 2"
        source.sql(f"CREATE OR REPLACE {made.format(partition, query)}")
        drain(source)
        assert source.table("v").columns == [column, partition]
        rows = source.table("v").orderBy(partition).collect()
        assert [(row[0][0], row[1]) for row in rows] == [(2, 0), (5, 1)]


@pytest.mark.parametrize("gone, stays", [("a.com", "a-com"), ("1.0.0", "1-0x0")])
def test_a_partition_that_goes_takes_no_other_with_it(source: SparkSession, gone: str, stays: str) -> None:
    """Hive's metastore takes a dot in the name of a partition for any character."""
    source.sql(f"CREATE TABLE sites AS SELECT 1 AS x, '{gone}' AS site UNION ALL SELECT 2, '{stays}'")
    query = "SELECT sum(x) AS s, site FROM sites GROUP BY site"
    source.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (site) AS {query}")
    source.sql(f"INSERT OVERWRITE sites VALUES (3, '{stays}')")
    drain(source)
    assert_equals_query(source, "v", query)
    assert [row[0] for row in source.sql("SHOW PARTITIONS v").collect()] == [f"site={stays}"]


@pytest.mark.parametrize("partitioned", [False, True])
def test_drop_removes_what_headwater_wrote_and_no_more(source: SparkSession, home: Path, partitioned: bool) -> None:
    clause, columns = ("PARTITIONED BY (p) ", ", id % 2 AS p") if partitioned else ("", "")
    source.sql(f"CREATE MATERIALIZED VIEW v {clause}AS SELECT id{columns} FROM t")
    assert (home / "v" / ".headwater").exists()
    (home / "v" / "notes.txt").write_text("mine")
    source.sql("DROP MATERIALIZED VIEW v")
    assert [each.name for each in (home / "v").iterdir()] == ["notes.txt"]
    source.sql(f"CREATE MATERIALIZED VIEW w {clause}AS SELECT id{columns} FROM t")
    source.sql("DROP MATERIALIZED VIEW w")
    assert not (home / "w").exists()


def test_a_table_that_takes_the_name_of_a_view_is_never_touched(source: SparkSession, tmp_path: Path) -> None:
    """The view is forgotten, with its files; a change that was pending for it is published nowhere."""
    source.range(3).write.parquet(str(tmp_path / "x"))
    source.sql(f"CREATE MATERIALIZED VIEW v AS {QUERY}")
    source.sql("INSERT INTO t VALUES (10)")
    source.sql("DROP TABLE v")
    source.sql(f"CREATE TABLE v (id BIGINT) USING parquet LOCATION '{tmp_path}/x'")
    drain(source)
    assert location(source, "v") == f"{tmp_path}/x"
    assert source.newSession().sql(f"SELECT count(*) FROM {database(source)}.v").first()[0] == 3
    assert source.sql(f"SHOW MATERIALIZED VIEWS IN {database(source)}").count() == 0


def test_a_publication_finds_the_view_or_changes_nothing(source: SparkSession, tmp_path: Path) -> None:
    """Between the look and the publication, the table may become another one."""
    shim = Shim(source)
    source.sql(f"CREATE TABLE v (s BIGINT) USING parquet LOCATION '{tmp_path}/mine'")
    theirs = Publication(f"{database(source)}.v", "me", 1, location=f"{tmp_path}/theirs", rows=0, bytes=0)
    assert shim.publish(theirs) == Stranger(True)
    assert location(source, "v") == f"{tmp_path}/mine"


def test_a_redefinition_of_a_view_that_is_gone_makes_a_new_one(source: SparkSession) -> None:
    source.sql(f"CREATE MATERIALIZED VIEW v AS {QUERY}")
    source.sql("DROP TABLE v")
    source.sql("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT max(id) AS s, 1 AS one FROM t")
    assert_equals_query(source, "v", "SELECT max(id) AS s, 1 AS one FROM t")


def test_only_versions_in_the_marked_directory_are_deleted(source: SparkSession, tmp_path: Path) -> None:
    """Only versions below the view's own marked directory are deleted."""
    shim, root = Shim(source), tmp_path / "root"
    assert shim.claim(str(root), "me")
    assert not shim.claim(str(root), "you")
    for place in (root / ".v1" / "data", tmp_path / ".v1", root / "data"):
        place.mkdir(parents=True)
        (place / "file").write_text("x")
    shim.delete_versions(str(root), "you", [str(root / ".v1")])
    assert (root / ".v1" / "data" / "file").exists()
    shim.delete_versions(str(root), "me", [str(root / ".v1" / "data"), str(tmp_path / ".v1"), str(root / "data")])
    assert not (root / ".v1").exists()
    assert (tmp_path / ".v1" / "file").exists() and (root / "data" / "file").exists()
    shim.release(str(root), "you")
    assert (root / ".headwater").exists()
    shim.release(str(root), "me")
    assert [each.name for each in root.iterdir()] == ["data"]


def test_a_view_that_another_program_renames_keeps_its_files(source: SparkSession) -> None:
    """It goes on under the new name."""
    source.sql(f"CREATE MATERIALIZED VIEW v AS {QUERY}")
    Shim(source).rename(f"{database(source)}.v", f"{database(source)}.w")
    drain(source)
    assert [row["view"] for row in source.sql(f"SHOW MATERIALIZED VIEWS IN {database(source)}").collect()] == ["w"]
    assert_equals_query(source, "w", QUERY)
    source.sql("INSERT INTO t VALUES (5)")
    drain(source)
    assert_equals_query(source, "w", QUERY)
