"""Streams into tables: a micro-batch that commits rows is one change, and one without rows is none. Under
``headwater.freshness`` many small batches make as many refreshes as the promise needs, whatever the format."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery
from support import Journal, assert_equals_query, database, drain

from headwater.model.event import Advanced, Changed, Event, Published

SCHEMA = "amount INT, day STRING"
BY_DAY = "SELECT day, sum(amount) AS total FROM {} GROUP BY day"
BATCHES, SECONDS, FRESHNESS = 60, 30, 5

Start = Callable[[DataStreamWriter, str], StreamingQuery]
"""Starts a stream into a table."""


def to_delta(writer: DataStreamWriter, table: str) -> StreamingQuery:
    return writer.toTable(table, format="delta")


def to_path(writer: DataStreamWriter, table: str) -> StreamingQuery:
    return writer.format("delta").start(table.split("`")[1])


def to_iceberg(writer: DataStreamWriter, table: str) -> StreamingQuery:
    return writer.option("fanout-enabled", "true").toTable(table)


def each_batch(writer: DataStreamWriter, table: str) -> StreamingQuery:
    return writer.foreachBatch(lambda rows, _number: rows.writeTo(table).append()).start()


def to_files(writer: DataStreamWriter, table: str) -> StreamingQuery:
    return writer.partitionBy("day").toTable(table, format="parquet")


@frozen
class Way:
    """A way of a stream into a table.

    Attributes:
        using: the format of the table; of files, the stream makes the table.
        name: the table, in a database and a directory.
        key: the table in the journal.
    """

    using: str
    start: Start
    name: str = "{database}.t"
    key: str = "{database}.t"


DELTA, ICEBERG = Way("delta", to_delta), Way("iceberg", to_iceberg, "lake.{database}.t", "lake.{database}.t")
FILES = Way("parquet", to_files)
OTHERS = [
    Way("delta", to_path, "delta.`{home}/t`", "path:file:{home}/t"),
    Way("delta", each_batch),
    Way("iceberg", each_batch, ICEBERG.name, ICEBERG.key),
]
LONG = [pytest.param(each, marks=pytest.mark.long) for each in OTHERS]


def named(way: Way) -> str:
    return f"{way.using}-{way.start.__name__}"


class Streaming:
    """A stream of files into a table, and the view of that table."""

    def __init__(self, spark: SparkSession, home: Path, way: Way, properties: str = "") -> None:
        self.spark, self.home, self.way, self.files = spark, home, way, 0
        self.table, self.key = (each.format(database=database(spark), home=home) for each in (way.name, way.key))
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS lake.{database(spark)}")
        if way is FILES:
            self.arrive(1, "01")
            self.run()
        else:
            spark.sql(f"CREATE TABLE {self.table} ({SCHEMA}) USING {way.using} PARTITIONED BY (day)")
        spark.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (day) {properties} AS {self.query}")

    @property
    def query(self) -> str:
        return BY_DAY.format(self.table)

    def arrive(self, amount: int, *days: str) -> None:
        """One more file, which is one micro-batch."""
        self.files += 1
        rows = "".join(f'{{"amount": {amount}, "day": "{day}"}}\n' for day in days)
        draft = self.home / f"{self.files}.draft"
        draft.write_text(rows)
        (self.home / "arriving").mkdir(exist_ok=True)
        draft.rename(self.home / "arriving" / f"{self.files}.json")

    def start(self, rows: Callable[[DataFrame], DataFrame] = lambda rows: rows, **trigger: object) -> StreamingQuery:
        source = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(self.home / "arriving"))
        writer = rows(source).writeStream.trigger(**trigger)
        return self.way.start(writer.option("checkpointLocation", str(self.home / "seen")), self.table)

    def run(self, rows: Callable[[DataFrame], DataFrame] = lambda rows: rows) -> None:
        """Streams all that arrived."""
        self.start(rows, availableNow=True).awaitTermination()

    def drop(self) -> None:
        self.spark.sql("DROP MATERIALIZED VIEW v")
        self.spark.sql(f"DROP TABLE {self.table}")
        self.spark.sql(f"DROP NAMESPACE lake.{database(self.spark)}")


@pytest.fixture
def streaming(spark: SparkSession, tmp_path: Path) -> Iterator[Callable[..., Streaming]]:
    made: list[Streaming] = []

    def make(way: Way, properties: str = "") -> Streaming:
        made.append(Streaming(spark, tmp_path, way, properties))
        return made[-1]

    yield make
    for each in made:
        each.drop()


def of(events: list[Event], kind: type, table: str) -> list:
    return [each for each in events if isinstance(each, kind) and each.table == table]


@pytest.mark.thorough
@pytest.mark.parametrize("way", [DELTA, ICEBERG, *LONG], ids=named)
def test_a_batch_is_one_change(spark: SparkSession, journal: Journal, streaming, way: Way) -> None:
    stream = streaming(way)
    for days in (("01", "02"), ("02",), ("02", "03")):
        journal.mark()
        stream.arrive(3, *days)
        stream.run()
        drain(spark)
        events = journal.events()
        [changed] = of(events, Changed, stream.key)
        assert {each.slice.bound for each in changed.partitions} == {(("day", day),) for day in days}
        made = [each.slice.bound for event in events if isinstance(event, Published) for each in event.made]
        assert sorted(made) == [(("day", day),) for day in days]
        assert_equals_query(spark, "v", stream.query)


@pytest.mark.thorough
@pytest.mark.parametrize("way", [DELTA, ICEBERG], ids=named)
def test_a_batch_without_rows_is_no_change(spark: SparkSession, journal: Journal, streaming, way: Way) -> None:
    stream = streaming(way)
    stream.arrive(1, "01")
    stream.run()
    drain(spark)
    journal.mark()
    stream.arrive(2, "01")
    stream.run(lambda rows: rows.where("amount > 2"))
    assert drain(spark) == []
    events = journal.events()
    assert not of(events, Changed, stream.key)
    assert len(of(events, Advanced, stream.key)) <= 1, "the commit of the batch, if there is one"


@pytest.mark.long
@pytest.mark.parametrize("way", [FILES, DELTA, ICEBERG], ids=named)
def test_many_batches_make_as_many_refreshes_as_freshness_needs(
    spark: SparkSession, journal: Journal, streaming, way: Way
) -> None:
    stream = streaming(way, f"TBLPROPERTIES ('headwater.freshness' = '{FRESHNESS} seconds')")
    stream.arrive(1, "00")
    stream.run()
    drain(spark)
    journal.mark()
    began = time.monotonic()
    query = stream.start(processingTime="0 seconds")
    try:
        for number in range(BATCHES):
            time.sleep(max(0.0, began + number * SECONDS / BATCHES - time.monotonic()))
            stream.arrive(number, f"{number % 3:02d}")
        query.processAllAvailable()
        took, batches = time.monotonic() - began, query.lastProgress["batchId"]
    finally:
        query.stop()
    assert batches >= BATCHES
    drain(spark)
    published = [each for each in journal.events() if isinstance(each, Published)]
    # A refresh begins before the promise is due by the time that it takes, and thrice the deviation of that more. One
    # more is for the rest, at the end.
    held = max(1.0, FRESHNESS - 4 * max(each.seconds for each in published))
    said = f"{len(published)} refreshes for {batches} batches in {took:.0f} s, each held for at least {held:.1f} s"
    assert 1 <= len(published) <= 2 + took / held, said
    assert_equals_query(spark, "v", stream.query)
