"""What is on record of a table may be old: nobody followed it, a cache stands before it, or its directory is away."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support import assert_equals_query, database, drain, drain_in_vain
from test_unreadable import states


def made(spark: SparkSession, form: str) -> SparkSession:
    """The session, in a database or namespace whose tables have a format."""
    if form == "iceberg":
        place = f"lake.{database(spark)}"
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {place}")
        spark.sql(f"USE {place}")
    return spark


@pytest.fixture(params=["parquet", pytest.param("delta", marks=pytest.mark.thorough), "iceberg"])
def form(request: pytest.FixtureRequest) -> str:
    return request.param


def test_a_source_that_no_view_read_any_more(spark: SparkSession, form: str) -> None:
    made(spark, form)
    for table in ("t", "u"):
        spark.sql(f"CREATE TABLE {table} (id INT) USING {form}")
        spark.sql(f"INSERT INTO {table} VALUES (1)")
    create = f"CREATE OR REPLACE MATERIALIZED VIEW v USING {form} AS SELECT sum(id) AS s FROM"

    def total() -> int:
        return spark.sql("SELECT s FROM v").first()[0]

    spark.sql(f"{create} t").collect()
    spark.sql("DROP MATERIALIZED VIEW v").collect()
    spark.sql("INSERT INTO t VALUES (10)")
    spark.sql(f"{create} t").collect()
    assert total() == 11
    spark.sql(f"{create} u").collect()
    spark.sql("INSERT INTO t VALUES (100)")
    spark.sql(f"{create} t").collect()
    assert total() == 111
    spark.sql("DROP MATERIALIZED VIEW v").collect()
    spark.sql("DROP TABLE t")
    spark.sql(f"CREATE TABLE t USING {form} AS SELECT 7 AS id")
    spark.sql(f"{create} t").collect()
    assert total() == 7
    spark.sql("USE spark_catalog.default")


def test_a_table_of_another_history_with_as_many_versions(spark: SparkSession) -> None:
    """The catalog keeps the table that was dropped, and finds no newer version of it."""
    made(spark, "iceberg")
    create = "CREATE TABLE t USING iceberg AS SELECT"
    spark.sql(f"{create} 1 AS id")
    spark.sql("CREATE MATERIALIZED VIEW v USING iceberg AS SELECT max(id) AS m FROM t").collect()
    other = spark.newSession()  # another cache than those that have the table
    other.sql(f"USE lake.{spark.catalog.currentDatabase()}")
    other.sql("DROP TABLE t")
    other.sql(f"{create} 7 AS id")
    drain(spark)
    assert spark.sql("SELECT m FROM v").first()[0] == 7
    other.sql("DROP TABLE t")
    other.sql(f"{create} 'x' AS id")
    spark.sql("REFRESH TABLE t")
    drain(spark)
    assert states(spark)["v"][0] == "fresh"
    assert spark.sql("SELECT m FROM v").first()[0] == "x"
    spark.sql("USE spark_catalog.default")


@pytest.mark.parametrize("drop", ["DROP MATERIALIZED VIEW", pytest.param("DROP TABLE", marks=pytest.mark.thorough)])
def test_sessions_make_a_view_of_other_types_anew(spark: SparkSession, drop: str) -> None:
    """The catalog of each session keeps the table that another session dropped for half a minute."""
    made(spark, "iceberg")
    place = f"lake.{spark.catalog.currentDatabase()}"
    sessions = [spark, spark.newSession(), spark.newSession()]
    for n, value in enumerate(("1", "'x'", "DATE'2024-01-01'", "array(2)", "1")):
        maker, dropper = sessions[n % 3], sessions[(n + 1) % 3]
        maker.sql(f"CREATE TABLE {place}.t USING iceberg AS SELECT {value} AS id, {n} AS n")
        query = f"SELECT id, max(n) AS n FROM {place}.t GROUP BY id"
        maker.sql(f"CREATE MATERIALIZED VIEW {place}.v USING iceberg AS {query}").collect()
        for each in sessions:
            assert each.sql(f"SELECT * FROM {place}.v").collect() == each.sql(f"SELECT {value}, {n}").collect()
        dropper.sql(f"{drop} {place}.v").collect()
        maker.sql(f"DROP TABLE {place}.t")
    spark.sql("USE spark_catalog.default")


def test_what_a_session_cached_of_a_view_is_renewed(spark: SparkSession, form: str) -> None:
    made(spark, form)
    spark.sql(f"CREATE TABLE t (id INT) USING {form}")
    spark.sql("INSERT INTO t VALUES (1)")
    spark.sql(f"CREATE MATERIALIZED VIEW v USING {form} AS SELECT id FROM t").collect()
    other = spark.newSession()
    place = f"{spark.catalog.currentCatalog()}.{spark.catalog.currentDatabase()}"
    spark.sql("CACHE TABLE v")
    for value in (2, 3):
        spark.sql(f"INSERT INTO t VALUES ({value})")
        drain(spark)
        for each in (spark, other):
            assert each.sql(f"SELECT count(*) FROM {place}.v").first()[0] == value
    plan = spark.sql("SELECT * FROM v")._jdf.queryExecution().withCachedData().toString()
    assert ("InMemoryRelation" in plan) == (form == "delta"), "Spark knows no other one again"
    spark.sql("UNCACHE TABLE IF EXISTS v")
    spark.sql("USE spark_catalog.default")


@pytest.mark.parametrize("partitioned", ["", "PARTITIONED BY (p)"])
def test_a_directory_of_files_that_is_away(spark: SparkSession, tmp_path: Path, partitioned: str) -> None:
    place, away = tmp_path / "t", tmp_path / "away"
    spark.sql(f"CREATE TABLE t (id INT, p INT) USING parquet {partitioned} LOCATION '{place}'")
    spark.sql("INSERT INTO t VALUES (1, 1)")
    spark.sql("CREATE MATERIALIZED VIEW v AS SELECT id FROM t").collect()
    place.rename(away)
    assert "is not there; put it back" in drain_in_vain(spark)
    assert states(spark)["v"][0] == "unreadable" and "is not there" in states(spark)["v"][1]
    assert spark.sql("SELECT count(*) FROM v").first()[0] == 1
    away.rename(place)
    drain(spark)
    assert states(spark)["v"][0] == "fresh"
    assert_equals_query(spark, "v", "SELECT id FROM t")


@pytest.mark.thorough
@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_directory_of_a_partition_that_is_away(spark: SparkSession, tmp_path: Path, elsewhere: bool) -> None:
    """The others are there. A partition may have a place of its own."""
    spark.sql(f"CREATE TABLE t (id INT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{tmp_path}/t'")
    own = f"LOCATION '{tmp_path}/own'" if elsewhere else ""
    spark.sql(f"ALTER TABLE t ADD PARTITION (p = 1) {own}")
    spark.sql("INSERT INTO t PARTITION (p = 1) VALUES (1)")
    spark.sql("INSERT INTO t PARTITION (p = 2) VALUES (2)")
    query = "SELECT p, sum(id) AS s FROM t GROUP BY p"
    spark.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (p) AS {query}").collect()
    place, away = tmp_path / ("own" if elsewhere else "t/p=1"), tmp_path / "away"
    place.rename(away)
    spark.sql("INSERT INTO t PARTITION (p = 2) VALUES (20)")
    assert "drop the partition p=1" in drain_in_vain(spark)
    state, reason = states(spark)["v"]
    assert state == "unreadable" and f"{place} is not there" in reason and "drop the partition p=1" in reason
    assert spark.sql("SELECT s FROM v WHERE p = 1").first()[0] == 1
    away.rename(place)
    drain(spark)
    assert states(spark)["v"][0] == "fresh"
    assert_equals_query(spark, "v", query)
    place.rename(away)
    spark.sql("ALTER TABLE t DROP PARTITION (p = 1)")
    drain(spark)
    assert states(spark)["v"][0] == "fresh"
    assert [row.p for row in spark.sql("SELECT p FROM v").collect()] == [2]


NO_ROWS = "SELECT * FROM VALUES (1) AS v(id) WHERE id > 1"
EMPTIED = {
    "a static overwrite": ("USING parquet", f"INSERT OVERWRITE t PARTITION (p = 1) {NO_ROWS}"),
    "a truncation": ("USING parquet", "TRUNCATE TABLE t PARTITION (p = 1)"),
    "a static overwrite of a Hive table": ("STORED AS parquet", f"INSERT OVERWRITE t PARTITION (p = 1) {NO_ROWS}"),
    "a truncation of a Hive table": ("STORED AS parquet", "TRUNCATE TABLE t PARTITION (p = 1)"),
}


@pytest.mark.long
@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("how", EMPTIED)
def test_a_partition_that_a_statement_emptied_is_empty(
    spark: SparkSession, tmp_path: Path, how: str, elsewhere: bool
) -> None:
    form, statement = EMPTIED[how]
    spark.conf.set("hive.exec.dynamic.partition.mode", "nonstrict")
    hive = form.startswith("STORED")
    shape = f"(id INT) PARTITIONED BY (p INT) {form}" if hive else f"(id INT, p INT) {form} PARTITIONED BY (p)"
    spark.sql(f"CREATE TABLE t {shape}")
    own = f"LOCATION '{tmp_path}/own'" if elsewhere else ""
    spark.sql(f"ALTER TABLE t ADD PARTITION (p = 1) {own}")
    for p in (1, 2):
        spark.sql(f"INSERT INTO t PARTITION (p = {p}) VALUES ({p})")
    query = "SELECT p, sum(id) AS s FROM t GROUP BY p"
    spark.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (p) AS {query}").collect()
    spark.sql(statement)
    drain(spark)
    assert states(spark)["v"] == ("fresh", "")
    assert_equals_query(spark, "v", query)


def test_a_partition_that_a_statement_emptied_beside_others_is_empty(spark: SparkSession) -> None:
    """The first insert names its partition, whose directory Spark deletes. The second one names none in full."""
    spark.sql("CREATE TABLE stage (n INT, kind STRING) USING parquet")
    spark.sql("INSERT INTO stage VALUES (7, 'b')")
    spark.sql("CREATE TABLE t (n INT, p INT, q INT) USING parquet PARTITIONED BY (p, q)")
    spark.sql("INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)")
    query = "SELECT p, sum(n) AS s FROM t GROUP BY p"
    spark.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (p) AS {query}").collect()
    spark.sql(
        "FROM stage INSERT OVERWRITE TABLE t PARTITION (p = 1, q = 1) SELECT n WHERE kind = 'a' "
        "INSERT OVERWRITE TABLE t PARTITION (p = 2, q) SELECT n, 1 WHERE kind = 'b'"
    )
    drain(spark)
    assert sorted(map(tuple, spark.sql("SELECT * FROM t").collect())) == [(3, 3, 3), (7, 2, 1)]
    assert states(spark)["v"][0] == "fresh"
    assert_equals_query(spark, "v", query)


@pytest.mark.thorough
@pytest.mark.parametrize("partitioned", ["", "PARTITIONED BY (p)"])
def test_a_table_that_has_no_directory_yet_is_empty(spark: SparkSession, tmp_path: Path, partitioned: str) -> None:
    """Somebody makes a table first, and writes later. Not each catalog makes a directory for it."""
    place, query = tmp_path / "t", "SELECT sum(id) AS s FROM t"
    spark.sql(f"CREATE TABLE t (id INT, p INT) USING parquet {partitioned} LOCATION '{place}'")
    if partitioned:
        spark.sql("ALTER TABLE t ADD PARTITION (p = 1)")
        (place / "p=1").rmdir()
    shutil.rmtree(place, ignore_errors=True)
    [[said]] = spark.sql(f"CREATE MATERIALIZED VIEW v AS {query}").collect()
    assert f"counts as empty at file:{place}{'/p=1' if partitioned else ''}, where no directory is yet" in said
    drain(spark)
    assert states(spark)["v"][0] == "fresh" and spark.sql("SELECT s FROM v").first()[0] is None
    spark.sql("INSERT INTO t VALUES (1, 1)")
    drain(spark)
    assert states(spark)["v"][0] == "fresh" and spark.sql("SELECT s FROM v").first()[0] == 1
    shutil.rmtree(place)
    assert "is not there; put it back" in drain_in_vain(spark)
    assert states(spark)["v"][0] == "unreadable" and spark.sql("SELECT s FROM v").first()[0] == 1
    spark.sql("INSERT INTO t VALUES (2, 1)")
    drain(spark)
    assert states(spark)["v"][0] == "fresh" and spark.sql("SELECT s FROM v").first()[0] == 2


def test_files_at_a_path_that_is_away(spark: SparkSession, tmp_path: Path) -> None:
    place, away = tmp_path / "t", tmp_path / "away"
    spark.range(3).write.parquet(str(place))
    spark.sql(f"CREATE MATERIALIZED VIEW v AS SELECT id FROM parquet.`{place}`").collect()
    place.rename(away)
    assert "is not there; put it back" in drain_in_vain(spark)
    assert states(spark)["v"][0] == "unreadable"
    away.rename(place)
    drain(spark)
    assert states(spark)["v"][0] == "fresh" and spark.sql("SELECT count(*) FROM v").first()[0] == 3


def test_names_that_differ_in_case_are_of_two_tables_where_the_catalog_says_so(spark: SparkSession) -> None:
    made(spark, "iceberg")
    for name, value in (("Tw", 1), ("tw", 10)):
        spark.sql(f"CREATE TABLE {name} USING iceberg AS SELECT {value} AS id")
    spark.sql("CREATE MATERIALIZED VIEW v USING iceberg AS SELECT a.id + b.id AS s FROM Tw a CROSS JOIN tw b").collect()
    assert spark.sql("SELECT s FROM v").first()[0] == 11
    spark.sql("INSERT OVERWRITE tw VALUES (20)")
    spark.sql("INSERT OVERWRITE Tw VALUES (2)")
    drain(spark)
    assert spark.sql("SELECT s FROM v").first()[0] == 22
    assert "nothing was done" in spark.sql("DROP MATERIALIZED VIEW IF EXISTS V").first()[0]
    assert spark.sql("SELECT s FROM v").first()[0] == 22
    spark.sql("DROP MATERIALIZED VIEW v").collect()
    spark.sql("USE spark_catalog.default")
