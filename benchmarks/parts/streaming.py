"""A stream into a table of one format, in a Spark application that may have Headwater and a view of the table."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from benchmarks.parts import lakes
from benchmarks.parts.worker import serve

SCHEMA, DAYS = "amount INT, day STRING", 3
QUERY = "SELECT sum(amount) AS total, day FROM {} GROUP BY day"


class Streaming:
    """What arrives in a directory, as a table."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self._spark, self._home = spark, home
        self._arriving, self._files = home / "arriving", 0
        self._format, self._table, self._began = "", "", 0.0
        self._arriving.mkdir(parents=True)

    def make(self, format: str, freshness: int | None) -> None:
        """The table, and a view of it that may be so many seconds old; ``None``: no view."""
        self._format = format
        database = f"{lakes.CATALOGS[format]}.streaming"
        self._spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {database}")
        self._table = f"{database}.{format}_{self._home.name.replace('-', '_')}"
        self._spark.sql(f"CREATE TABLE {self._table} ({SCHEMA}) USING {format} PARTITIONED BY (day)")
        self._began = time.perf_counter()
        if freshness is not None:
            self._spark.sql(
                f"CREATE MATERIALIZED VIEW streamed PARTITIONED BY (day) TBLPROPERTIES "
                f"('headwater.freshness' = '{freshness} seconds') AS {QUERY.format(self._table)}"
            )

    def stream(self, batches: int) -> float:
        """Streams so many files, one in each batch; seconds of a batch."""
        for _ in range(batches):
            self._files += 1
            draft = self._home / "draft"
            draft.write_text(f'{{"amount": {self._files}, "day": "{self._files % DAYS:02d}"}}\n')
            draft.rename(self._arriving / f"{self._files:06d}.json")
        began = time.perf_counter()
        query = self._start()
        query.awaitTermination()
        assert query.exception() is None
        return (time.perf_counter() - began) / batches

    def refreshed(self) -> dict[str, Any]:
        """How often the view was refreshed since it was made, in how many seconds, and whether it equals its query."""
        seconds = time.perf_counter() - self._began
        runs = self._spark.sql("SHOW REFRESHES FOR streamed LIMIT 1000").select("run_id").distinct().count()
        self._spark.sql("REFRESH MATERIALIZED VIEWS").collect()
        truth, held = self._spark.sql(QUERY.format(self._table)), self._spark.sql("SELECT total, day FROM streamed")
        equal = truth.exceptAll(held).isEmpty() and held.exceptAll(truth).isEmpty()
        return {"refreshes": runs, "seconds": seconds, "equal": equal}

    def _start(self) -> StreamingQuery:
        rows = self._spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(self._arriving))
        writer = rows.writeStream.trigger(availableNow=True).option("fanout-enabled", "true")
        return writer.option("checkpointLocation", str(self._home / "seen")).toTable(self._table, format=self._format)


def calls() -> dict[str, Callable[..., Any]]:
    """The functions that the benchmark calls by name. A stream is known by the directory of its files."""
    made: dict[str, Streaming] = {}

    def make(spark: SparkSession, home: str, format: str, freshness: int | None) -> None:
        made[home] = Streaming(spark, Path(home))
        made[home].make(format, freshness)

    return {
        "make": make,
        "stream": lambda _, home, batches: made[home].stream(batches),
        "refreshed": lambda _, home: made[home].refreshed(),
    }


if __name__ == "__main__":
    serve(calls())
