"""A driver of the soak test: it writes the tables of one format, by batches and by a stream, until it is stopped or
killed. After a kill the next one goes on from the tables as they are."""

from __future__ import annotations

import random
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from benchmarks.parts.soaking.arriving import Arriving
from benchmarks.parts.soaking.checks import Checks
from benchmarks.parts.soaking.reader import violations
from benchmarks.parts.soaking.world import (
    BATCH,
    DATABASE,
    DAYS,
    KINDS,
    LAKES,
    STREAM,
    SUMS,
    TABLES,
    TOTALS,
    VIEWS,
    Day,
    Days,
    States,
    Table,
    added,
    all_of,
    key_of,
    opening,
    pair,
)
from benchmarks.parts.worker import serve

PAUSES = (1.0, 4.0)
"""Seconds between two writes of a table."""

PATIENCE = 120
"""Seconds in which a refresh that failed must have succeeded."""

SOURCES = 0.3
"""The part of the comparisons that read the table, too."""
COLUMNS = "n, zero, gen, weight"

SCHEMA = "day STRING, gen BIGINT, x BIGINT, weight BIGINT"


class Repeated(ABC):
    """A thread that does something again and again; what fails is noted, and done anew."""

    pauses = PAUSES

    def __init__(self, session: SparkSession, seed: int) -> None:
        self.session, self.chance = session, random.Random(seed)
        self.done, self.errors = 0, []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def recover(self) -> None:
        """Done at first, and after a failure."""
        return

    @abstractmethod
    def step(self) -> None:
        """Done again and again."""

    def finish(self) -> None:
        """Ends all that goes on beside the thread."""
        return

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _work(self) -> None:
        sure = False
        while not self._stop.is_set():
            try:
                if not sure:
                    self.recover()
                    sure = True
                self.step()
                self.done += 1
            except Exception:  # Spark raises whatever it likes; the report shows it
                self.errors.append(traceback.format_exc()[-3000:])
                sure = False
            self._stop.wait(self.chance.uniform(*self.pauses))
        self.finish()


class Onlooker(Repeated):
    """Asks for the views, which starts an engine that was killed, and reads one of them."""

    pauses = (4.0, 16.0)

    def __init__(self, session: SparkSession, folder: Path, seed: int) -> None:
        super().__init__(session, seed)
        self._checks, self.violations = Checks(folder), []

    def step(self) -> None:
        self.session.sql("SHOW MATERIALIZED VIEWS").collect()
        self.violations += violations(self.session, self.chance.choice(VIEWS), self._checks)


class Comparer(Repeated):
    """Reads the days of a table and the sums over all of them in one statement, at one epoch: they must be equal."""

    pauses = (0.0, 0.5)

    def __init__(self, session: SparkSession, seed: int) -> None:
        super().__init__(session, seed)
        self.violations: list[str] = []

    def step(self) -> None:
        table = self.chance.choice([each for each in TABLES if each.format in LAKES])
        sources = self.chance.random() < SOURCES
        self.session.conf.set("spark.headwater.read", "consistent, with sources" if sources else "consistent")
        days, whole = (key_of(name) for name in (f"days_of_{table.name}", all_of(table)))
        parts = [f"SELECT {TOTALS} FROM {days}", f"SELECT {COLUMNS} FROM {whole}"]
        parts += [f"SELECT {SUMS} FROM {table.key}"] if sources else []
        found = [tuple(each) for each in self.session.sql(" UNION ALL ".join(parts)).collect()]
        if len({*found}) != 1 or len(found) != len(parts):
            self.violations.append(f"{days}, {whole}{' and their table' if sources else ''} disagree: {found}")


class Writer(Repeated):
    """Writes a table, and goes on from its state after a failure."""

    def __init__(self, session: SparkSession, folder: Path, table: Table, seed: int) -> None:
        super().__init__(session, seed)
        self.folder, self.table, self.states = folder, table, States(folder, table)

    @abstractmethod
    def open(self) -> None:
        """Makes the table, with rows of all days."""


class Batches(Writer):
    """Writes a table by statements."""

    days: Days

    def open(self) -> None:
        self.session.sql(self.table.statement)
        write, _ = opening(self.table, self.chance)
        self.states.add(write.after)
        self.session.sql(write.statement)

    def recover(self) -> None:
        rows = self.session.sql(f"SELECT day, {SUMS} FROM {self.table.key} GROUP BY day").collect()
        self.days = {row.day: Day(row.n, row.gen, row.weight) for row in rows}

    def step(self) -> None:
        gen = 1 + max(each.gen for each in self.days.values())
        write = self.chance.choice(KINDS[self.table.format])(self.table, self.days, gen, self.chance)
        self.states.add(write.after)
        self.session.sql(write.statement).collect()
        self.days = {**self.days, **write.after}


class Stream(Writer):
    """Feeds a stream that writes a table: one micro-batch for each file, and the next file when that is committed."""

    days: Days
    query: StreamingQuery | None = None

    def open(self) -> None:
        if self.table.format != "files":  # the stream makes that one, so that Spark reads it by the stream's own log
            self.session.sql(self.table.statement)
        write, rows = opening(self.table, self.chance)
        self.states.add(write.after)
        self._arriving.add(rows)
        self._started(availableNow=True).awaitTermination()

    def recover(self) -> None:
        self.session.table(self.table.key)  # loads its catalog, which ``toTable`` does not in a new thread
        if self.query is None or not self.query.isActive:
            self.query = self._started(processingTime="1 second")
        self.days = self._arriving.days()

    def step(self) -> None:
        day = self.chance.choice(DAYS)
        rows = pair(day, 1 + max(each.gen for each in self.days.values()), self.chance)
        after = {day: added(self.days[day], rows)}
        self.states.add(after)
        self._arriving.add(rows)
        self.days = {**self.days, **after}
        self.query.processAllAvailable()

    def finish(self) -> None:
        if self.query is not None:
            self.query.stop()

    @property
    def _arriving(self) -> Arriving:
        return Arriving(self.folder, self.table)

    def _started(self, **trigger: Any) -> StreamingQuery:
        place, key = self._arriving.place, self.table.key
        stream = self.session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(place))
        writer = stream.writeStream.option("checkpointLocation", str(self.folder / "checkpoints" / self.table.name))
        writer = writer.trigger(**trigger)
        match self.table.format:
            case "delta":
                return writer.foreachBatch(_appended(key)).start()
            case "iceberg":
                return writer.option("fanout-enabled", "true").toTable(key)
            case _:
                return writer.partitionBy("day").toTable(f"{DATABASE}.{self.table.name}", format="parquet")


def _appended(key: str) -> Callable[[DataFrame, int], None]:
    """Appends a micro-batch to a Delta table, once even if it is repeated."""

    def append(rows: DataFrame, number: int) -> None:
        rows.write.mode("append").format("delta").option("txnAppId", key).option("txnVersion", number).saveAsTable(key)

    return append


class Driver:
    """The writers of one format, and an onlooker."""

    def __init__(self, spark: SparkSession, folder: str, format: str, seed: int) -> None:
        self._writers = [
            kind(spark.newSession(), Path(folder), Table(name, format), seed + n)
            for n, (name, kind) in enumerate(((BATCH, Batches), (STREAM, Stream)))
        ]
        self._onlooker = Onlooker(spark.newSession(), Path(folder), seed)
        self._comparer = Comparer(spark.newSession(), seed)
        for each in self._writers:
            each.session.sql("SET spark.sql.sources.partitionOverwriteMode = dynamic")

    def open(self) -> None:
        for each in self._writers:
            each.open()

    def start(self) -> None:
        for each in self._all:
            each.start()

    @property
    def _all(self) -> tuple[Repeated, ...]:
        return (*self._writers, self._onlooker, self._comparer)

    def figures(self) -> dict[str, Any]:
        return {
            "writes": sum(each.done for each in self._writers),
            "reads": self._onlooker.done,
            "compared": self._comparer.done,
            "errors": [error for each in self._all for error in each.errors],
            "violations": self._onlooker.violations,
            "disagreeing": self._comparer.violations,
        }

    def stop(self) -> None:
        for each in self._all:
            each.stop()


def declare(spark: SparkSession) -> None:
    """Makes the views."""
    for view in VIEWS:
        spark.sql(view.statement)


def drain(spark: SparkSession) -> str:
    """Refreshes everything; why that failed, if it did until the end of the patience."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            spark.sql("REFRESH MATERIALIZED VIEWS").collect()
            return ""
        except PySparkException as error:
            if time.monotonic() > deadline:
                return str(error)
            time.sleep(PAUSES[1])


def calls() -> dict[str, Callable[..., Any]]:
    """The functions that the soak test calls by name."""
    made: list[Driver] = []
    return {
        "driver": lambda spark, *arguments: made.append(Driver(spark, *arguments)),
        "open": lambda spark: made[0].open(),
        "declare": declare,
        "drain": drain,
        "start": lambda spark: made[0].start(),
        "figures": lambda spark: made[0].figures(),
        "stop": lambda spark: made[0].stop(),
    }


if __name__ == "__main__":
    serve(calls())
