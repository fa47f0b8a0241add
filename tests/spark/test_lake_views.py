"""Views over lake tables, and in them, from a write to the rows that a reader sees."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession
from support import Journal, database

from headwater.model.event import Published, Started

FIRST, SECOND = "DATE'2024-01-01'", "DATE'2024-01-02'"


@pytest.fixture(params=["delta", "iceberg"])
def format(request) -> str:
    return request.param


@pytest.fixture
def place(spark: SparkSession, format: str) -> str:
    """The catalog and database of a format's tables."""
    return f"lake.{database(spark)}" if format == "iceberg" else database(spark)


def rows(session: SparkSession, table: str) -> list[tuple]:
    return sorted(tuple(row) for row in session.table(table).collect())


def test_views_follow_their_sources_by_partition(
    spark: SparkSession, journal: Journal, format: str, place: str
) -> None:
    table, view = f"{place}.t", f"{place}.v"
    spark.sql(f"CREATE TABLE {table} (x INT, day DATE) USING {format} PARTITIONED BY (day)")
    spark.sql(f"INSERT INTO {table} VALUES (1, {FIRST}), (2, {SECOND})")
    query = f"SELECT sum(x) AS s, CAST(day AS STRING) AS day FROM {table} GROUP BY day"
    spark.sql(f"CREATE MATERIALIZED VIEW {view} USING {format} PARTITIONED BY (day) AS {query}")
    spark.sql(f"CREATE MATERIALIZED VIEW {place}.total USING {format} AS SELECT sum(s) AS s FROM {view}")
    spark.sql(f"CREATE MATERIALIZED VIEW files AS SELECT sum(s) AS s FROM {view}")
    assert rows(spark, view) == [(1, "2024-01-01"), (2, "2024-01-02")]
    spark.sql(f"INSERT INTO {table} VALUES (5, {SECOND})")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    assert rows(spark, view) == [(1, "2024-01-01"), (7, "2024-01-02")], "this session had read it before"
    assert rows(spark, f"{place}.total") == rows(spark, "files") == [(8,)]
    runs = [each for each in journal.events() if isinstance(each, Started) and each.view == view]
    assert [str(each) for each in runs[-1].slices] == ["day=2024-01-02"]
    assert {name for name, _ in runs[-1].snapshots} == {table, view}


@pytest.mark.long
def test_a_session_that_has_read_a_view_reads_its_other_columns_at_once(
    spark: SparkSession, format: str, place: str
) -> None:
    """Its catalog may keep the table for a while. By its name, in a subquery and through an ordinary view."""
    table, view, other = f"{place}.t", f"{place}.v", spark.newSession()
    spark.sql(f"CREATE TABLE {table} USING {format} AS SELECT 1 AS x, 2 AS y")
    spark.sql(f"CREATE MATERIALIZED VIEW {view} USING {format} AS SELECT x, y FROM {table}")
    queries = (
        "SELECT * FROM {v} ORDER BY x",
        "SELECT x FROM {v} WHERE x IN (SELECT max(x) FROM {v})",
        "WITH w AS (SELECT * FROM {v}) SELECT * FROM w JOIN {v} USING (x)",
    )
    for number, query in enumerate(queries):
        spark.sql(query.format(v=view)).collect()
        columns = f"{number} AS n{number}, y + {number} AS x, x AS y"
        other.sql(f"CREATE OR REPLACE MATERIALIZED VIEW {view} USING {format} AS SELECT {columns} FROM {table}")
        assert spark.sql(query.format(v=view)).first()["x"] == 2 + number
    spark.sql(f"DROP MATERIALIZED VIEW {view}")


@pytest.mark.thorough
def test_a_publication_is_one_commit_with_its_version_and_sources(
    spark: SparkSession, journal: Journal, format: str, place: str
) -> None:
    table, view = f"{place}.t", f"{place}.v"
    spark.sql(f"CREATE TABLE {table} (x INT) USING {format}")
    spark.sql(f"INSERT INTO {table} VALUES (1)")
    spark.sql(f"CREATE MATERIALIZED VIEW {view} USING {format} AS SELECT sum(x) AS s FROM {table}")
    events = [each for each in journal.events() if isinstance(each, Started | Published) and each.view == view]
    started, published = events
    if format == "delta":
        [told, *_] = [row["userMetadata"] for row in spark.sql(f"DESCRIBE HISTORY {view}").collect()]
        told = json.loads(told)["headwater"]
        version, sources = told["version"], told["sources"]
    else:
        [summary] = [row["summary"] for row in spark.sql(f"SELECT summary FROM {view}.snapshots").collect()]
        version, sources = int(summary["headwater.version"]), json.loads(summary["headwater.sources"])
    assert version == published.version and sources == {
        name: snapshot for name, snapshot in started.snapshots if name == table
    }


@pytest.mark.thorough
def test_an_iceberg_view_is_tidied_up(spark: SparkSession) -> None:
    """By procedures that find something to do; the view follows its source afterwards, without a full refresh."""
    place = f"lake.{database(spark)}"
    view = f"{place}.v"
    spark.sql(f"CREATE TABLE {place}.t (x INT, day STRING) USING iceberg")
    spark.sql(f"INSERT INTO {place}.t VALUES (1, 'a')")
    query = f"SELECT day, sum(x) AS s FROM {place}.t GROUP BY day"
    spark.sql(f"CREATE MATERIALIZED VIEW {view} USING iceberg PARTITIONED BY (day) AS {query}")
    for day in "bc":
        spark.sql(f"INSERT INTO {place}.t VALUES (2, '{day}')")
        spark.sql("REFRESH MATERIALIZED VIEWS")
    everything = "options => map('rewrite-all', 'true')"
    for call in (
        f"rewrite_data_files(table => '{view}', {everything})",
        f"rewrite_data_files(table => '{view}', strategy => 'sort', sort_order => 's', {everything})",
        f"rewrite_manifests('{view}')",
        f"rewrite_position_delete_files(table => '{view}', {everything})",
    ):
        [row] = spark.sql(f"CALL lake.system.{call}").collect()
        assert row[0] == (3 if "data_files" in call else row[0]), call
    [operation] = spark.sql(f"SELECT operation FROM {view}.snapshots ORDER BY committed_at DESC LIMIT 1").first()
    assert operation == "replace"
    spark.sql(f"INSERT INTO {place}.t VALUES (5, 'a')")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    assert rows(spark, view) == [("a", 6), ("b", 2), ("c", 2)]


@pytest.mark.thorough
@pytest.mark.parametrize("using", ["parquet", "iceberg"])
def test_a_view_of_another_format_reads_delta_tables_with_deletion_vectors(spark: SparkSession, using: str) -> None:
    here = database(spark)
    view = f"lake.{here}.v" if using == "iceberg" else "v"
    spark.sql("CREATE TABLE t (x INT, g INT) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql("INSERT INTO t SELECT /*+ COALESCE(1) */ id, id % 3 FROM range(10)")
    spark.sql("DELETE FROM t WHERE x = 4")
    spark.sql(f"CREATE MATERIALIZED VIEW {view} USING {using} AS SELECT x, g FROM t WHERE g < 2")
    spark.sql(f"CREATE MATERIALIZED VIEW {view}_2 USING {using} AS SELECT g, count(*) AS n FROM t GROUP BY g")
    spark.sql(f"CREATE MATERIALIZED VIEW {view}_3 USING {using} AS SELECT l.x FROM t l JOIN t r ON l.x = r.x + 1")
    spark.sql("DELETE FROM t WHERE x = 6")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    assert rows(spark, view) == [(0, 0), (1, 1), (3, 0), (7, 1), (9, 0)]
    assert rows(spark, f"{view}_2") == [(0, 3), (1, 2), (2, 3)]
    assert rows(spark, f"{view}_3") == [(1,), (2,), (3,), (8,), (9,)]
    [shown] = spark.sql("SHOW MATERIALIZED VIEWS LIKE 'v'").collect()
    assert shown["state"] == "fresh"


def test_describe_shows_the_cut_of_a_view(spark: SparkSession, format: str, place: str) -> None:
    """Its base table is read through another view."""
    table, through, view = f"{place}.t", f"{place}.v", f"{place}.w"
    spark.sql(f"CREATE TABLE {table} (x INT) USING {format}")
    spark.sql(f"INSERT INTO {table} VALUES (1), (2)")
    spark.sql(f"CREATE MATERIALIZED VIEW {through} USING {format} AS SELECT sum(x) AS s FROM {table}")
    spark.sql(f"CREATE MATERIALIZED VIEW {view} USING {format} AS SELECT s FROM {through}")

    def shown() -> tuple[str, str]:
        found = [tuple(row) for row in spark.sql(f"DESCRIBE MATERIALIZED VIEW EXTENDED {view}").collect()]
        after = found[next(n for n, row in enumerate(found) if row[0] == "# cut") + 1 :]
        [agrees] = [row[1] for row in after if row[0].startswith("with ") and row[0].endswith(".v")]
        return after[0][1], agrees

    before, agrees = shown()
    assert ", snapshot " in before and agrees.startswith("yes, for ")
    spark.sql(f"INSERT INTO {table} VALUES (3)")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    after, agrees = shown()
    assert int(after.split(",")[0]) > int(before.split(",")[0]) and agrees.startswith("yes, for ")
