"""Partitions that other programs made and spelled otherwise than Spark does are followed as any others."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support import assert_equals_query, database, drain

pytestmark = pytest.mark.thorough

QUERY = "SELECT part, sum(amount) AS total FROM sales GROUP BY part"

SPELLINGS = {
    "number": ("INT", "5", "part=05"),
    "date": ("DATE", "2024-01-05", "part=2024-1-5"),
    "column in upper case": ("INT", "5", "PART=5"),
    "time": ("TIMESTAMP", "2024-03-31 02:30:00", "part=2024-03-31 02%3A30"),
}


class Sales:
    """A table, its view, and hands that put files into the table's directory."""

    def __init__(self, spark: SparkSession, warehouse: Path, kind: str) -> None:
        self.spark, self.root = spark, warehouse / f"{database(spark)}.db" / "sales"
        spark.sql(f"CREATE TABLE sales (amount INT, part {kind}) USING parquet PARTITIONED BY (part)")
        spark.sql("INSERT INTO sales VALUES (1, NULL)")
        self.file = next(self.root.rglob("*.parquet"))

    def put(self, directory: str, name: str) -> None:
        """One more row, by a file."""
        (self.root / directory).mkdir(exist_ok=True)
        shutil.copy(self.file, self.root / directory / f"{name}.parquet")

    def declare(self) -> None:
        self.spark.sql("MSCK REPAIR TABLE sales")
        self.spark.sql(f"CREATE MATERIALIZED VIEW totals PARTITIONED BY (part) AS {QUERY}")

    def refreshed(self) -> list[str]:
        """The partitions that are refreshed, once; the view is right then, and stays as it is."""
        refreshed = [row["partition"] for row in drain(self.spark)]
        assert_equals_query(self.spark, "totals", QUERY)
        assert drain(self.spark) == []
        return refreshed


@pytest.mark.parametrize("name", SPELLINGS)
def test_another_spelling(spark: SparkSession, warehouse: Path, name: str) -> None:
    kind, value, directory = SPELLINGS[name]
    sales = Sales(spark, warehouse, kind)
    sales.put(directory, "one")
    sales.declare()
    assert sales.refreshed() == []
    sales.put(directory, "two")
    assert sales.refreshed() == [f"part={value}"]
    shutil.rmtree(sales.root / directory)
    spark.sql("MSCK REPAIR TABLE sales DROP PARTITIONS")
    assert sales.refreshed() == [f"part={value}"]


def test_an_hour_that_the_clock_of_the_view_skips(spark: SparkSession) -> None:
    """A program in UTC writes it, and a session in Berlin reads 3:30 in the name of its directory."""

    def rows(table: str) -> list[tuple[int, str]]:
        berlin = spark.newSession()  # which has cached no listing of files
        berlin.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
        return sorted(tuple(each) for each in berlin.sql(f"SELECT x, CAST(ts AS STRING) FROM {table}").collect())

    here = database(spark)
    spark.sql("CREATE TABLE t (x INT, ts TIMESTAMP) USING parquet PARTITIONED BY (ts)")
    spark.sql("INSERT INTO t VALUES (1, TIMESTAMP '2024-03-31 02:30:00'), (5, TIMESTAMP '2024-03-31 12:00:00')")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    spark.sql("CREATE MATERIALIZED VIEW v PARTITIONED BY (ts) AS SELECT x, ts FROM t")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert rows(f"{here}.v") == [(1, "2024-03-31 03:30:00"), (5, "2024-03-31 12:00:00")]
    for statement in (
        "INSERT INTO t VALUES (2, TIMESTAMP '2024-03-31 02:30:00')",
        "INSERT OVERWRITE t PARTITION (ts = TIMESTAMP '2024-03-31 02:30:00') SELECT 1 WHERE false",
        "INSERT INTO t VALUES (6, TIMESTAMP '2024-03-31 12:00:00')",
    ):
        spark.sql(statement)
        refreshed = [row["partition"] for row in drain(spark)]
        assert refreshed == [f"ts=2024-03-31 {'12:00' if '6' in statement else '03:30'}:00"]
        assert rows(f"{here}.v") == rows(f"{here}.t"), statement


def test_several_spellings_of_one_value(spark: SparkSession, warehouse: Path) -> None:
    sales = Sales(spark, warehouse, "INT")
    for directory in ("part=5", "part=05"):
        sales.put(directory, "one")
    sales.declare()
    assert sales.refreshed() == []
    for directory in ("part=5", "part=05"):
        sales.put(directory, "two")
        assert sales.refreshed() == ["part=5"]
    spark.sql("INSERT INTO sales PARTITION (part = 5) VALUES (1)")
    assert sales.refreshed() == ["part=5"]
    shutil.rmtree(sales.root / "part=5")
    spark.sql("MSCK REPAIR TABLE sales SYNC PARTITIONS")
    assert sales.refreshed() == ["part=5"]
    assert spark.sql("SELECT total FROM totals WHERE part = 5").collect()[0].total == 2


def test_a_spelling_that_comes_later(spark: SparkSession, warehouse: Path) -> None:
    """What was looked at by its value is there, though the catalog finds no such partition any more."""
    sales = Sales(spark, warehouse, "INT")
    sales.put("part=5", "one")
    sales.declare()
    (sales.root / "part=5").rename(sales.root / "part=05")
    spark.sql("MSCK REPAIR TABLE sales SYNC PARTITIONS")
    spark.sql("INSERT INTO sales PARTITION (part = 6) VALUES (1)")
    assert sales.refreshed() == ["part=5", "part=6"]


def test_family_of_partitions(spark: SparkSession, warehouse: Path) -> None:
    spark.sql("CREATE TABLE sales (amount INT, year INT, month INT) USING parquet PARTITIONED BY (year, month)")
    spark.sql("INSERT INTO sales VALUES (1, 2024, 1), (2, 2024, 2)")
    root = warehouse / f"{database(spark)}.db" / "sales"
    (root / "year=2024" / "month=1").rename(root / "year=2024" / "month=01")
    spark.sql("MSCK REPAIR TABLE sales SYNC PARTITIONS")
    query = "SELECT year, sum(amount) AS total FROM sales GROUP BY year"
    spark.sql(f"CREATE MATERIALIZED VIEW yearly PARTITIONED BY (year) AS {query}")
    assert drain(spark) == []
    spark.sql("INSERT INTO sales PARTITION (year = 2024, month = 2) VALUES (7)")
    assert [row["partition"] for row in drain(spark)] == ["year=2024"]
    assert drain(spark) == []
    assert_equals_query(spark, "yearly", query)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_a_time_with_an_offset(spark: SparkSession, warehouse: Path, zone: str) -> None:
    """It is another time on the clock of each zone, and the same moment."""
    sales = Sales(spark, warehouse, "TIMESTAMP")
    sales.put("part=2024-01-05T10%3A00%3A00Z", "one")
    spark.conf.set("spark.sql.session.timeZone", zone)
    sales.declare()

    def refreshed() -> None:
        drain(spark)
        zoned = spark.newSession()  # which has cached no listing of files
        zoned.conf.set("spark.sql.session.timeZone", zone)
        zoned.sql(f"USE {database(spark)}")
        assert Counter(zoned.table("totals").select("part", "total").collect()) == Counter(zoned.sql(QUERY).collect())
        assert drain(spark) == []

    for name in ("two", "three"):
        sales.put("part=2024-01-05T10%3A00%3A00Z", name)
        refreshed()
    sales.put("part=2024-01-05T09%3A00%3A00-02%3A00", "one")
    spark.sql("MSCK REPAIR TABLE sales")
    refreshed()
    spark.sql("INSERT INTO sales VALUES (5, TIMESTAMP '2024-01-07 10:00:00')")
    refreshed()
    shutil.rmtree(sales.root / "part=2024-01-05T10%3A00%3A00Z")
    spark.sql("MSCK REPAIR TABLE sales DROP PARTITIONS")
    refreshed()


@pytest.mark.parametrize("ansi", [True, False], ids=["ansi", "without ansi"])
@pytest.mark.parametrize("format", ["parquet", "delta", "iceberg"])
def test_small_decimals(spark: SparkSession, format: str, ansi: bool) -> None:
    """Without ANSI, Spark writes zero of eight digits as ``0E-8``."""
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    here = f"lake.{database(spark)}" if format == "iceberg" else database(spark)
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {here}")
    table, view, negated = f"{here}.t", f"{here}.v", f"{here}.negated"
    spark.sql(f"CREATE TABLE {table} (x INT, d DECIMAL(10,8)) USING {format} PARTITIONED BY (d)")
    spark.sql(f"INSERT INTO {table} VALUES (1, 0), (2, 0.00000001), (3, 1.5), (4, -0.00000003), (5, NULL)")
    queries = {
        view: f"SELECT d, sum(x) AS x FROM {table} GROUP BY d",
        negated: f"SELECT -d AS d, sum(x) AS x FROM {table} GROUP BY d",
    }
    for name, query in queries.items():
        columns = "(d DECIMAL(10,8), x BIGINT)"
        spark.sql(f"CREATE MATERIALIZED VIEW {name} {columns} USING {format} PARTITIONED BY (d) AS {query}")

    def refreshed() -> list[str]:
        found = sorted(row["partition"] for row in drain(spark) if row["view"] == view)
        for name, query in queries.items():
            assert_equals_query(spark, name, query)
        assert drain(spark) == []
        return found

    assert refreshed() == []
    spark.sql(f"INSERT INTO {table} VALUES (8, 0)")
    assert refreshed() == ["d=0.00000000"]
    spark.conf.set("spark.sql.ansi.enabled", str(not ansi).lower())
    spark.sql(f"INSERT INTO {table} VALUES (8, 0), (16, 0.00000001)")
    assert refreshed() == ["d=0.00000000", "d=0.00000001"]
    nothing = "INSERT OVERWRITE {} PARTITION (d = 0) SELECT 1 WHERE false"
    spark.sql((nothing if format == "parquet" else "DELETE FROM {} WHERE d = 0").format(table))
    assert refreshed() == ["d=0.00000000"]
    spark.sql(f"REFRESH MATERIALIZED VIEW {view} PARTITION (d = '1e-8') FULL")
    assert_equals_query(spark, view, queries[view])
