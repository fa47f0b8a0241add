"""Tables that streams write are followed a batch at a time, as Spark reads them: by the stream's own log."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery
from support import Journal, assert_equals_query, database, drain

from headwater.model.event import Changed

BY_DAY = "SELECT day, sum(amount) AS total FROM {} GROUP BY day"


class Arriving:
    """A stream of files of rows, and what it is written to."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self.spark, self.home = spark, home

    def batch(self, rows: str, start: Callable[[DataStreamWriter], StreamingQuery]) -> None:
        """One more micro-batch, of these rows."""
        self.spark.sql(f"SELECT * FROM VALUES {rows} AS t(amount, day)").coalesce(1).write.mode("append").json(
            str(self.home / "arriving")
        )
        stream = self.spark.readStream.schema("amount INT, day STRING").json(str(self.home / "arriving"))
        writer = stream.writeStream.trigger(availableNow=True).option("checkpointLocation", str(self.home / "seen"))
        start(writer).awaitTermination()


@pytest.fixture
def arriving(spark: SparkSession, tmp_path: Path) -> Arriving:
    return Arriving(spark, tmp_path)


def verbs(journal: Journal, table: str) -> list[str]:
    """What is recorded of a table's changes."""
    return [each.verb for each in journal.events() if isinstance(each, Changed) and each.table == table]


def test_partitioned_table(spark: SparkSession, journal: Journal, arriving: Arriving, warehouse: Path) -> None:
    def start(writer: DataStreamWriter):
        return writer.partitionBy("day").toTable("t")

    arriving.batch("(1, '01'), (2, '02')", start)
    spark.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (day) AS {BY_DAY.format('t')}")
    assert_equals_query(spark, "v", BY_DAY.format("t"))
    for rows, days in (("(3, '02')", ["day=02"]), ("(4, '02'), (5, '03')", ["day=02", "day=03"])):
        journal.mark()
        arriving.batch(rows, start)
        drain(spark)
        changed, published = journal.changed_and_refreshed(f"{database(spark)}.t")
        assert changed == set(days)
        assert published == [("v", day) for day in days]
        assert_equals_query(spark, "v", BY_DAY.format("t"))
    root = warehouse / f"{database(spark)}.db" / "t" / "day=02"
    shutil.copy(next(root.glob("*.parquet")), root / "by-hand.parquet")
    assert drain(spark) == [], "a file that the stream's log does not list is not read"
    assert_equals_query(spark, "v", BY_DAY.format("t"))


def test_table_without_partitions(spark: SparkSession, journal: Journal, arriving: Arriving, warehouse: Path) -> None:
    def start(writer: DataStreamWriter):
        return writer.toTable("t")

    arriving.batch("(1, '01')", start)
    spark.sql("CREATE MATERIALIZED VIEW v AS SELECT sum(amount) AS total FROM t")
    root = warehouse / f"{database(spark)}.db" / "t"
    visible = root / "visible.parquet"
    shutil.copy(next(root.glob("*.parquet")), visible)
    assert drain(spark) == []
    journal.mark()
    arriving.batch("(2, '01')", start)
    assert len(drain(spark)) == 1
    assert verbs(journal, f"{database(spark)}.t") == ["changed (a batch of a stream)"], "the batch is a hint"
    assert_equals_query(spark, "v", "SELECT sum(amount) AS total FROM t")
    visible.unlink()
    assert drain(spark) == []


@pytest.mark.thorough
def test_for_each_batch(spark: SparkSession, journal: Journal, arriving: Arriving) -> None:
    def write(rows: DataFrame, _number: int) -> None:
        rows.write.mode("append").insertInto(f"{name}.t")

    def start(writer: DataStreamWriter):
        return writer.foreachBatch(write).start()

    name = database(spark)
    spark.sql("CREATE TABLE t (amount INT, day STRING) USING parquet PARTITIONED BY (day)")
    spark.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (day) AS {BY_DAY.format('t')}")
    for rows, day in (("(1, '01')", "day=01"), ("(2, '02')", "day=02")):
        journal.mark()
        arriving.batch(rows, start)
        drain(spark)
        assert journal.changed_and_refreshed(f"{name}.t") == ({day}, [("v", day)])
        assert_equals_query(spark, "v", BY_DAY.format("t"))


def test_hive_table_over_the_directory_of_a_stream(spark: SparkSession, arriving: Arriving, tmp_path: Path) -> None:
    """A file may be there before the stream commits it; Spark reads it from then on."""
    sink, place = tmp_path / "sink", tmp_path / "place"
    for rows in ("(1, '01')", "(2, '01')"):
        arriving.batch(rows, lambda writer: writer.start(str(sink)))
    shutil.copytree(sink, place)
    log = place / "_spark_metadata"
    for checksum in log.glob(".*.crc"):
        checksum.unlink()
    for entry in log.iterdir():
        entry.write_text(entry.read_text().replace(f"{sink}/", f"{place}/"))
    second = (log / "1").read_text()
    (log / "1").unlink()
    spark.sql(f"CREATE TABLE h (amount INT, day STRING) STORED AS PARQUET LOCATION '{place}'")
    spark.sql("CREATE MATERIALIZED VIEW v AS SELECT sum(amount) AS total FROM h")
    assert spark.sql("SELECT total FROM v").first()[0] == 1
    (log / "1").write_text(second)
    drain(spark)
    assert spark.sql("SELECT total FROM v").first()[0] == 3
