"""Views over tables that streams with watermarks write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support import database, drain

START = datetime(2024, 3, 31, 0, 30, tzinfo=timezone.utc)
EDGE = "'headwater.event_time' = 'ts', 'headwater.trailing_edge' = 'on'"
QUERY = "SELECT o.k, count(*) AS n FROM {0}orders o JOIN {0}clicks c ON o.k = c.k GROUP BY o.k"


class Stream:
    """A stream of files into the table ``orders``, whose rows come at most 100 s late."""

    def __init__(self, spark: SparkSession, home: Path, format: str) -> None:
        self.spark, self.home, self.format, self.files = spark, home, format, 0
        self.place = f"lake.{database(spark)}." if format == "iceberg" else ""
        (home / "arriving").mkdir()

    def arrive(self, *seconds: int) -> None:
        """One micro-batch with events of these times."""
        self.files += 1
        rows = [json.dumps({"k": 1, "ts": (START + timedelta(seconds=each)).isoformat()}) for each in seconds]
        (self.home / "arriving" / f"{self.files}.json").write_text("\n".join(rows))
        source = self.spark.readStream.schema("k INT, ts TIMESTAMP").json(str(self.home / "arriving"))
        writer = source.withWatermark("ts", "100 seconds").writeStream.trigger(availableNow=True)
        checkpointed = writer.option("checkpointLocation", str(self.home / "seen"))
        checkpointed.toTable(f"{self.place}orders", format=self.format).awaitTermination()


@pytest.fixture
def stream(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Stream]:
    made = Stream(spark, tmp_path, request.param)
    if made.place:
        spark.sql(f"CREATE NAMESPACE lake.{database(spark)}")
    made.arrive(500)
    spark.sql(f"CREATE TABLE {made.place}clicks (k INT, ts TIMESTAMP) USING {made.format}")
    spark.sql(f"INSERT INTO {made.place}clicks VALUES (1, NULL), (2, TIMESTAMP'{START + timedelta(hours=1)}')")
    yield made
    if made.place:
        spark.sql("DROP MATERIALIZED VIEW joined")
        for table in ("orders", "clicks"):
            spark.sql(f"DROP TABLE {made.place}{table}")
        spark.sql(f"DROP NAMESPACE lake.{database(spark)}")


def create(stream: Stream, properties: str = EDGE) -> None:
    query = QUERY.format(stream.place)
    stream.spark.sql(f"CREATE MATERIALIZED VIEW joined TBLPROPERTIES ({properties}) AS {query}")


def reached(spark: SparkSession) -> tuple[int, int]:
    """The time that the view has reached (s), and how many orders it has."""
    [shown] = spark.sql(f"SHOW MATERIALIZED VIEWS IN {database(spark)}").collect()
    held = spark.sql("SELECT coalesce(sum(n), 0) FROM joined").first()[0]
    return round(shown.fresh_to.timestamp() - START.timestamp()), held


def behind(spark: SparkSession) -> str:
    return spark.sql(f"SHOW MATERIALIZED VIEWS IN {database(spark)}").first().reason


FORMATS = ["delta", *(pytest.param(each, marks=pytest.mark.long) for each in ("iceberg", "parquet"))]


@pytest.mark.thorough
@pytest.mark.parametrize("stream", FORMATS, indirect=True)
def test_the_watermark_of_a_stream_is_the_edge_of_its_table(spark: SparkSession, stream: Stream) -> None:
    """It speaks of the batches before, so it is a batch behind."""
    create(stream)
    assert reached(spark) == (500, 1), "the first batch has no watermark"
    found = []
    for times in [(1000, 450), (1500, 920), (1600, 700)]:
        stream.arrive(*times)
        drain(spark)
        found.append(reached(spark))
    assert found == [(400, 0), (900, 2), (1400, 5)]
    assert behind(spark).startswith("1 row came later"), "700 s came when the watermark was 900 s"


@pytest.mark.thorough
@pytest.mark.parametrize("stream", ["delta"], indirect=True)
def test_a_bound_on_lateness_of_the_view_goes_over_the_watermark(spark: SparkSession, stream: Stream) -> None:
    create(stream, f"{EDGE}, 'headwater.lateness' = '50 seconds'")
    stream.arrive(1000)
    drain(spark)
    assert reached(spark) == (950, 1)


@pytest.mark.long
@pytest.mark.parametrize("stream", ["delta"], indirect=True)
def test_a_watermark_in_the_future_does_not_count(spark: SparkSession, stream: Stream) -> None:
    create(stream)
    ahead = round((datetime.now(timezone.utc) - START).total_seconds()) + 10_000
    stream.arrive(ahead, 600)
    stream.arrive(700)
    drain(spark)
    assert reached(spark) == (700, 3)
