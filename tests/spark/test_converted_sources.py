"""Sources that get another format in place: their views follow them as other tables, in full, and say why."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import fetched
import pytest
from processes import Home, Session
from pyspark.sql import Row, SparkSession
from support import EXTENSIONS, assert_equals_query, database, drain, drain_in_vain

from headwater.spark.jvm.jar import EXTENSION

QUERY = "SELECT day, sum(x) AS s, count(*) AS n FROM t GROUP BY day"
TOTAL = "SELECT sum(x) AS s, count(*) AS n FROM t"


def declare(spark: SparkSession) -> None:
    spark.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (day) AS {QUERY}")
    spark.sql("CREATE MATERIALIZED VIEW total AS SELECT sum(s) AS s, sum(n) AS n FROM v")


def assert_fresh(spark: SparkSession) -> None:
    assert_equals_query(spark, "v", QUERY)
    assert_equals_query(spark, "total", TOTAL)


def refreshed(spark: SparkSession) -> dict[str, tuple[str, str]]:
    """By partition of ``v``, the method and the reason of its refreshes, which are made now."""
    return {row.partition: (row.mode, row.reason) for row in drain(spark) if row.view.endswith(".v")}


def shown(spark: SparkSession, view: str) -> Row:
    [state] = [row for row in spark.sql(f"SHOW MATERIALIZED VIEWS IN {database(spark)}").collect() if row.view == view]
    return state


def make(spark: SparkSession, format: str) -> None:
    spark.sql(f"CREATE TABLE t (x INT, day STRING) USING {format} PARTITIONED BY (day)")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")


def assert_followed_by_partition(spark: SparkSession) -> None:
    for write, days in (("INSERT INTO t VALUES (10, 'b')", {"day=b"}), ("INSERT INTO t VALUES (20, 'c')", {"day=c"})):
        spark.sql(write)
        assert refreshed(spark).keys() == days, write
        assert_fresh(spark)


@pytest.mark.long
def test_a_table_is_converted_to_delta(spark: SparkSession) -> None:
    make(spark, "parquet")
    declare(spark)
    spark.sql("CONVERT TO DELTA t")
    made = refreshed(spark)
    assert made.keys() == {"day=a", "day=b"} and {mode for mode, _ in made.values()} == {"full"}, made
    assert all("t[day=a; day=b] changed" in why and "it had another format" in why for _, why in made.values()), made
    assert_fresh(spark)
    assert_followed_by_partition(spark)
    for write, days in (
        ("DELETE FROM t WHERE x = 10", {"day=b"}),
        ("UPDATE t SET x = 7 WHERE day = 'a'", {"day=a"}),
        ("OPTIMIZE t", set()),
    ):
        spark.sql(write)
        assert refreshed(spark).keys() == days, write
        assert_fresh(spark)
    told = [tuple(row) for row in spark.sql("DESCRIBE MATERIALIZED VIEW EXTENDED v").collect()]
    assert any(str(name).rpartition(".")[2] == "t" and "delta" in str(rest) for name, *rest in told), told


@pytest.mark.long
def test_a_conversion_with_a_write_right_after_it(spark: SparkSession) -> None:
    make(spark, "parquet")
    declare(spark)
    spark.sql("CONVERT TO DELTA t")
    spark.sql("INSERT INTO t VALUES (10, 'b')")
    spark.sql("DELETE FROM t WHERE day = 'a'")
    drain(spark)
    assert_fresh(spark)


@pytest.mark.long
def test_a_path_is_converted_to_delta(spark: SparkSession, tmp_path: Path) -> None:
    """The query names the files, which are no table of their own any more: the view waits, and says so."""
    place = f"{tmp_path}/files"
    spark.sql("SELECT 1 AS x UNION ALL SELECT 2").write.parquet(place)
    spark.sql(f"CREATE MATERIALIZED VIEW sums AS SELECT sum(x) AS s FROM parquet.`{place}`")
    spark.sql(f"CONVERT TO DELTA parquet.`{place}`")
    spark.sql(f"INSERT INTO delta.`{place}` VALUES (5)")
    spark.sql(f"DELETE FROM delta.`{place}` WHERE x = 1")
    drain_in_vain(spark)
    state = shown(spark, "sums")
    assert state.state == "broken" and "read the table itself, USING delta" in state.reason
    assert spark.sql("SELECT s FROM sums").first().s == 3
    spark.sql(f"CREATE OR REPLACE MATERIALIZED VIEW sums AS SELECT sum(x) AS s FROM delta.`{place}`")
    assert_equals_query(spark, "sums", f"SELECT sum(x) AS s FROM delta.`{place}`")
    spark.sql(f"INSERT INTO delta.`{place}` VALUES (6)")
    drain(spark)
    assert_equals_query(spark, "sums", f"SELECT sum(x) AS s FROM delta.`{place}`")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("parquet", "delta", marks=pytest.mark.thorough),
        *(pytest.param(*each, marks=pytest.mark.long) for each in (("delta", "parquet"), ("delta", "delta"))),
        pytest.param("parquet", "orc", marks=pytest.mark.long),
    ],
)
def test_a_table_is_dropped_and_made_in_another_format(spark: SparkSession, before: str, after: str) -> None:
    make(spark, before)
    declare(spark)
    spark.sql("DROP TABLE t")
    make(spark, after)
    spark.sql("INSERT INTO t VALUES (3, 'b')")
    made = refreshed(spark)
    assert made.keys() == {"day=a", "day=b"} and "t[day=a; day=b] " in made["day=a"][1], made
    assert_fresh(spark)
    assert_followed_by_partition(spark)


@pytest.mark.long
def test_a_dropped_table_comes_back_in_another_format_later(spark: SparkSession) -> None:
    make(spark, "parquet")
    declare(spark)
    spark.sql("DROP TABLE t")
    assert "v is broken" in drain_in_vain(spark)
    assert shown(spark, "v").state == "broken"
    make(spark, "delta")
    drain(spark)
    assert_fresh(spark)
    assert_followed_by_partition(spark)


# --- Iceberg's session catalog

ICEBERG = {
    "spark.sql.extensions": ",".join(each for each in EXTENSIONS if "iceberg" in each or each == EXTENSION),
    "spark.sql.catalog.spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog",
    "spark.sql.catalog.spark_catalog.type": "hive",
    "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
}


@pytest.fixture(scope="module")
def shell(tmp_path_factory) -> Iterator[Session]:
    """An application whose session catalog holds Iceberg tables beside files."""
    home = Home(tmp_path_factory.mktemp("converted"))
    jars = {"spark.driver.extraClassPath": os.pathsep.join(map(str, fetched.iceberg()))}
    with home.session({**ICEBERG, **jars}) as session:
        yield session


def assert_shell_fresh(shell: Session, view: str, query: str) -> None:
    assert sorted(shell.run(f"SELECT day, s, n FROM {view}")) == sorted(shell.run(query)) != []


@pytest.mark.long
def test_a_table_is_migrated_to_iceberg(shell: Session) -> None:
    query = QUERY.replace("FROM t", "FROM moved")
    shell.run("CREATE TABLE moved (x INT, day STRING) USING parquet PARTITIONED BY (day)")
    shell.run("INSERT INTO moved VALUES (1, 'a'), (2, 'b')")
    shell.run(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (day) AS {query}")
    shell.run("CALL spark_catalog.system.migrate('default.moved')")
    made = shell.run("REFRESH MATERIALIZED VIEWS")
    assert [row[2:4] for row in made] == [["day=a", "full"], ["day=b", "full"]]
    assert all("default.moved[day=a; day=b] changed (CALL migrate)" in row[4] for row in made)
    assert_shell_fresh(shell, "v", query)
    for write, days in (
        ("INSERT INTO moved VALUES (10, 'b')", ["b"]),
        ("DELETE FROM moved WHERE x = 10", ["b"]),
        ("UPDATE moved SET x = 7 WHERE day = 'a'", ["a"]),
        ("CALL spark_catalog.system.rewrite_data_files('default.moved')", []),
        ("INSERT INTO moved VALUES (10, 'c')", ["c"]),
    ):
        shell.run(write)
        made = shell.run("REFRESH MATERIALIZED VIEWS")
        assert [row[2] for row in made] == [f"day={day}" for day in days], write
        assert_shell_fresh(shell, "v", query)


@pytest.mark.long
def test_an_iceberg_table_is_dropped_and_made_of_files(shell: Session, tmp_path: Path) -> None:
    """Iceberg's catalog keeps tables that a session read, also in the sessions of the engine. Its old files stay."""
    query = QUERY.replace("FROM t", "FROM swapped")
    for format in ("iceberg", "parquet", "iceberg"):
        place = f"LOCATION '{tmp_path}/{format}'" if format == "parquet" else ""
        shell.run(f"CREATE TABLE swapped (x INT, day STRING) USING {format} PARTITIONED BY (day) {place}")
        shell.run(f"INSERT INTO swapped VALUES (1, 'a'), ({len(format)}, 'b')")
        shell.run(f"CREATE MATERIALIZED VIEW IF NOT EXISTS s PARTITIONED BY (day) AS {query}")
        shell.run("REFRESH MATERIALIZED VIEWS")
        assert_shell_fresh(shell, "s", query)
        shell.run("INSERT INTO swapped VALUES (10, 'b')")
        assert [row[2] for row in shell.run("REFRESH MATERIALIZED VIEWS")] == ["day=b"]
        assert_shell_fresh(shell, "s", query)
        shell.run("DROP TABLE swapped")
    shell.run("DROP MATERIALIZED VIEW s")


@pytest.mark.long
def test_a_snapshot_of_a_table_is_a_table_of_its_own(shell: Session) -> None:
    query = QUERY.replace("FROM t", "FROM copied")
    shell.run("CREATE TABLE original (x INT, day STRING) USING parquet PARTITIONED BY (day)")
    shell.run("INSERT INTO original VALUES (1, 'a'), (2, 'b')")
    shell.run("CALL spark_catalog.system.snapshot('default.original', 'default.copied')")
    shell.run(f"CREATE MATERIALIZED VIEW w PARTITIONED BY (day) AS {query}")
    shell.run("INSERT INTO original VALUES (5, 'a')")
    assert shell.run("REFRESH MATERIALIZED VIEWS") == []
    shell.run("INSERT INTO copied VALUES (5, 'b')")
    assert [row[2] for row in shell.run("REFRESH MATERIALIZED VIEWS")] == ["day=b"]
    assert_shell_fresh(shell, "w", query)
