"""Views in files as members of groups: each version that is kept is read as it was, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import assert_equals_query, database

import headwater

EPOCH = "spark.headwater.read.epoch"
ODD = ("plain", "with blank", "a/b=c:d%20", "dot.1", "dot-1", "", "ümlaut", None)
"""Partition values that a directory spells otherwise."""


@pytest.fixture(autouse=True)
def unset(spark: SparkSession) -> Iterator[None]:
    yield
    spark.conf.unset(EPOCH)


def make(spark: SparkSession, name: str, query: str, format: str = "parquet", by: str = "", **properties: str) -> None:
    stated = "".join(f", 'headwater.{key}' = '{value}'" for key, value in properties.items())
    spark.sql(
        f"CREATE MATERIALIZED VIEW {name} USING {format} {f'PARTITIONED BY ({by})' if by else ''} "
        f"TBLPROPERTIES ('headwater.group' = '{database(spark)}'{stated}) AS {query}"
    )


def epoch(spark: SparkSession) -> int:
    """The number of the newest epoch, with all that is written now."""
    [row] = spark.sql(f"REFRESH MATERIALIZED VIEW GROUP {database(spark)}").collect()
    return row.epoch


def as_of(spark: SparkSession, view: str) -> int:
    rows = spark.sql(f"DESCRIBE MATERIALIZED VIEW GROUP {database(spark)}").collect()
    [number] = [row.as_of for row in rows if row.table.endswith(f".{view}")]
    return number


def rows(spark: SparkSession, query: str) -> list[tuple]:
    return sorted((tuple(row) for row in spark.sql(query).collect()), key=str)


@pytest.mark.parametrize("format", ("parquet", "orc", "json", "csv"))
def test_each_version_of_a_partitioned_view_is_read_as_it_was(spark: SparkSession, format: str) -> None:
    spark.sql("CREATE TABLE s (k STRING, n INT, at TIMESTAMP) USING delta")
    query = "SELECT count(*) AS c, max(at) AS last, sum(n) AS n, k FROM s GROUP BY k"
    make(spark, "v", query, format, "k")
    odd = [each for each in ODD if each != "" or format == "never"]  # files have no partition of the empty text
    held = {}
    for number in range(3):
        for each in odd[number::2]:
            spark.sql("INSERT INTO s VALUES (:k, :n, TIMESTAMP '2026-03-29 01:30:00')", args={"k": each, "n": number})
        if number == 2:
            spark.sql("DELETE FROM s WHERE k = 'dot.1' OR k IS NULL")
        made = epoch(spark)
        held[made, as_of(spark, "v")] = rows(spark, "SELECT * FROM v")
        assert_equals_query(spark, "v", query)
    assert len({str(each) for each in held.values()}) == 3
    for (made, number), expected in held.items():
        assert rows(spark, f"SELECT * FROM v VERSION AS OF {number}") == expected
        spark.conf.set(EPOCH, str(made))
        assert rows(spark, "SELECT * FROM v") == expected
        for k in ODD:
            value = "NULL" if k is None else f"'{k}'"
            mine = [each for each in expected if each[-1] == k]
            assert rows(spark, f"SELECT * FROM v WHERE k <=> {value}") == mine
        assert rows(spark, "SELECT a.c FROM v a JOIN v b ON a.k <=> b.k WHERE a.n > 0") == sorted(
            [(each[0],) for each in expected if each[2] > 0], key=str
        )
        spark.conf.unset(EPOCH)


def test_partition_columns_of_other_types_are_read_as_they_were(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE s (d DATE, m DECIMAL(5, 2), t TIMESTAMP, b BOOLEAN, n INT) USING delta")
    make(spark, "v", "SELECT count(*) AS c, d, m, t, b FROM s GROUP BY d, m, t, b", by="d, m, t, b")
    for number in (1, 2):
        spark.sql(f"INSERT INTO s VALUES (DATE '0001-01-0{number}', {number}.50, NULL, true, 1)")
        spark.sql(f"INSERT INTO s VALUES (NULL, NULL, TIMESTAMP '2026-10-25 0{number}:30:00.123456', false, 1)")
        epoch(spark)
    spark.sql("SET TIME ZONE 'America/New_York'")
    try:
        expected = rows(spark, "SELECT * FROM v")
        assert rows(spark, f"SELECT * FROM v VERSION AS OF {as_of(spark, 'v')}") == expected
        found = rows(spark, f"SELECT c FROM v VERSION AS OF {as_of(spark, 'v')} WHERE d = DATE '0001-01-02' AND b")
        assert found == [(1,)]
    finally:
        spark.sql("SET TIME ZONE 'UTC'")


@pytest.mark.parametrize("format", ("parquet", "orc", "json", "csv"))
def test_moments_as_partitions_are_read_alike_in_each_zone(spark: SparkSession, format: str) -> None:
    spark.sql("CREATE TABLE s (t TIMESTAMP, n INT) USING delta")
    spark.sql("INSERT INTO s VALUES (TIMESTAMP '2026-10-25 00:30:00', 1), (TIMESTAMP '2026-07-01 12:00:00', 2)")
    make(spark, "v", "SELECT count(*) AS c, max(n) AS n, t FROM s GROUP BY t", format, by="t")
    epoch(spark)
    try:
        for zone in ("Europe/Berlin", "America/New_York"):
            spark.sql(f"SET TIME ZONE '{zone}'")
            number = as_of(spark, "v")
            expected = rows(spark, "SELECT * FROM v")
            assert rows(spark, f"SELECT * FROM v VERSION AS OF {number}") == expected
            for _, n, t in expected:
                moment = f"timestamp_seconds({round(t.timestamp())})"
                assert rows(spark, f"SELECT n FROM v VERSION AS OF {number} WHERE t = {moment}") == [(n,)]
    finally:
        spark.sql("SET TIME ZONE 'UTC'")


def test_a_version_is_read_by_the_columns_and_the_format_that_it_had(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE s (a STRING, b STRING) USING delta")
    spark.sql("INSERT INTO s VALUES ('1', 'x')")
    versions = []
    for format, query in (("csv", "a, b"), ("csv", "b, a"), ("json", "b AS a, a AS b"), ("csv", "a AS z, b")):
        spark.sql(
            f"CREATE OR REPLACE MATERIALIZED VIEW v USING {format} "
            f"TBLPROPERTIES ('headwater.group' = '{database(spark)}') AS SELECT {query} FROM s"
        )
        epoch(spark)
        versions.append((as_of(spark, "v"), spark.table("v").columns, rows(spark, "SELECT * FROM v")))
    for number, columns, expected in versions:
        frame = spark.sql(f"SELECT * FROM v VERSION AS OF {number}")
        assert (frame.columns, [tuple(row) for row in frame.collect()]) == (columns, expected)
    with pytest.raises(PySparkException, match="is read as it was at one time"):
        spark.sql(f"CREATE MATERIALIZED VIEW old AS SELECT * FROM v VERSION AS OF {versions[-1][0]}")


def test_a_view_whose_list_is_gone_is_computed_anew(spark: SparkSession, warehouse: Path) -> None:
    spark.sql("CREATE TABLE s (k INT) USING delta")
    spark.sql("INSERT INTO s VALUES (1)")
    make(spark, "v", "SELECT count(*) AS c, k FROM s GROUP BY k", by="k")
    spark.sql("CREATE MATERIALIZED VIEW above AS SELECT sum(c) AS c FROM v")
    first = epoch(spark)
    number = as_of(spark, "v")
    (warehouse / f"{database(spark)}.db" / "v" / f".v{number}" / "partitions.json").unlink()
    spark.sql("INSERT INTO s VALUES (2)")
    spark.sql("REFRESH MATERIALIZED VIEW above")
    assert rows(spark, "SELECT * FROM above") == [(2,)]
    assert epoch(spark) > first and rows(spark, f"SELECT * FROM v VERSION AS OF {as_of(spark, 'v')}") == [
        (1, 1),
        (1, 2),
    ]


def test_a_view_that_reads_a_member_follows_its_changed_rows(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE s (k INT, n INT) USING delta")
    spark.sql("INSERT INTO s SELECT id % 5, id FROM range(50)")
    make(spark, "v", "SELECT k, n, count(*) AS c FROM s GROUP BY k, n")
    query = "SELECT n % 3 AS m, count(*) AS rows, sum(c) AS c FROM v GROUP BY n % 3"
    spark.sql(
        "CREATE MATERIALIZED VIEW above USING delta TBLPROPERTIES ('headwater.method' = 'incremental', "
        f"'headwater.consistency' = 'strict') AS {query}"
    )
    for write in (
        "INSERT INTO s VALUES (1, 100), (7, 7)",
        "DELETE FROM s WHERE k = 3",
        "UPDATE s SET n = n + 1 WHERE k = 4",
    ):
        spark.sql(write)
        spark.sql("REFRESH MATERIALIZED VIEW above")
        assert_equals_query(spark, "above", query)
    methods = [row.mode for row in spark.sql("SHOW REFRESHES FOR above").collect()]
    assert methods.count("incremental") == 3, methods


def test_a_version_of_which_another_program_changed_a_file_is_refused(spark: SparkSession, warehouse: Path) -> None:
    spark.sql("CREATE TABLE s (k INT) USING delta")
    spark.sql("INSERT INTO s VALUES (1), (2)")
    make(spark, "v", "SELECT count(*) AS c, k FROM s GROUP BY k", by="k")
    first = epoch(spark)
    [place] = (warehouse / f"{database(spark)}.db" / "v").glob(".v*/data/k=1")
    [file] = place.glob("*.parquet")
    file.rename(file.with_name(f"other-{file.name}"))
    spark.conf.set(EPOCH, str(first))
    assert rows(spark, "SELECT c FROM v WHERE k = 2") == [(1,)]
    with pytest.raises(PySparkException, match="does not have its files any more|is gone for"):
        rows(spark, "SELECT c FROM v WHERE k = 1")
    spark.conf.unset(EPOCH)
    spark.sql("REFRESH MATERIALIZED VIEW v")
    spark.sql("INSERT INTO s VALUES (1)")
    assert epoch(spark) > first
    assert rows(spark, "SELECT * FROM v") == [(1, 2), (2, 1)]


def test_a_view_joins_and_leaves_a_group(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE s (k INT) USING delta")
    spark.sql("INSERT INTO s VALUES (1)")
    make(spark, "other", "SELECT count(*) AS c FROM s", "delta")
    spark.sql("CREATE MATERIALIZED VIEW v USING parquet AS SELECT max(k) AS k FROM s")
    with pytest.raises(PySparkException):
        rows(spark, "SELECT * FROM v VERSION AS OF 1")
    spark.sql(f"ALTER MATERIALIZED VIEW v SET TBLPROPERTIES ('headwater.group' = '{database(spark)}')")
    first = epoch(spark)
    spark.sql("INSERT INTO s VALUES (2)")
    assert epoch(spark) > first
    spark.conf.set(EPOCH, str(first))
    assert rows(spark, "SELECT c, k FROM other, v") == [(1, 1)]
    spark.conf.unset(EPOCH)
    number = as_of(spark, "v")
    spark.sql("ALTER MATERIALIZED VIEW v UNSET TBLPROPERTIES ('headwater.group')")
    spark.sql("INSERT INTO s VALUES (3)")
    spark.sql("REFRESH MATERIALIZED VIEW v")
    assert rows(spark, "SELECT * FROM v") == [(3,)]
    assert rows(spark, f"SELECT * FROM v VERSION AS OF {number}") == [(2,)]
    shown_by = "version 17 of .* is not there: .* DESCRIBE MATERIALIZED VIEW GROUP shows"
    with pytest.raises(PySparkException, match=shown_by):
        rows(spark, "SELECT * FROM v VERSION AS OF 17")


def test_a_member_changes_its_format_and_its_columns(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE s (k INT) USING delta")
    spark.sql("INSERT INTO s VALUES (1), (2)")
    make(spark, "v", "SELECT count(*) AS c FROM s")
    first = epoch(spark)
    for format, query in (("parquet", "SELECT max(k) AS most FROM s"), ("delta", "SELECT min(k) AS least FROM s")):
        spark.sql(
            f"CREATE OR REPLACE MATERIALIZED VIEW v USING {format} "
            f"TBLPROPERTIES ('headwater.group' = '{database(spark)}') AS {query}"
        )
        assert epoch(spark) > first
        assert_equals_query(spark, "v", query)
        spark.conf.set(EPOCH, str(first))
        with pytest.raises(PySparkException, match="is gone"):
            rows(spark, "SELECT * FROM v")
        spark.conf.unset(EPOCH)


def test_a_member_gets_another_partitioning(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE s (id INT, day INT, month INT) USING delta")
    spark.sql("INSERT INTO s VALUES (1, 1, 7), (2, 2, 7), (3, 3, 8)")
    member = "TBLPROPERTIES ('headwater.group' = 'g') AS SELECT * FROM s"
    made = f"MATERIALIZED VIEW v USING parquet PARTITIONED BY ({{}}) {member}"
    spark.sql(f"CREATE {made.format('day')}")
    [first] = spark.sql("REFRESH MATERIALIZED VIEW GROUP g").collect()
    spark.sql(f"CREATE OR REPLACE {made.format('month')}")
    [then] = spark.sql("REFRESH MATERIALIZED VIEW GROUP g").collect()
    assert then.epoch > first.epoch and then.reason is None
    spark.sql("INSERT INTO s VALUES (4, 4, 8)")
    spark.sql("REFRESH MATERIALIZED VIEW GROUP g")
    for epoch, ids in ((then.epoch, [1, 2, 3]), (None, [1, 2, 3, 4])):
        [frame] = headwater.read(spark, "g", epoch).values()
        assert sorted(row.id for row in frame.collect()) == ids
