"""Tables of many partitions whose files nobody reads: only the log, the metadata or the directories of them are real.

A history of such a table is one commit for each file of a partition: each adds a file to every partition. A change is
one more file in one partition, and is made past Spark, as another program would make it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from attrs import define
from pyspark.sql import SparkSession

SIZE = 1000
"""Bytes that a log says of a file."""


def partition(number: int) -> str:
    """The value of the partition column."""
    return f"p{number:06d}"


class Fabricated(Protocol):
    """A table; ``key`` is its name for Headwater."""

    key: str

    @classmethod
    def made(cls, spark: SparkSession, key: str, partitions: int, files: int) -> Fabricated:
        """Makes one with this many partitions, each of this many files."""

    def change(self, number: int) -> None:
        """Adds a file to a partition."""


@define
class Files:
    """A table of the session catalog. Its files are links to one that has a row."""

    key: str
    place: Path
    changes: int = 0

    @classmethod
    def made(cls, spark: SparkSession, key: str, partitions: int, files: int) -> Files:
        spark.sql("SET hive.exec.max.dynamic.partitions=100000")
        spark.sql(f"CREATE TABLE {key} (x INT, p STRING) USING parquet PARTITIONED BY (p)")
        spark.sql(f"INSERT INTO {key} SELECT 1, concat('p', lpad(id, 6, '0')) FROM range(0, {partitions}, 1, 2)")
        table = cls(key, _location(spark, key))
        for number in range(partitions):
            for _ in range(files - 1):
                table.change(number)
        return table

    def change(self, number: int) -> None:
        directory = self.place / f"p={partition(number)}"
        some = next(directory.glob("part-*.parquet"))
        self.changes += 1
        os.link(some, directory / f"more-{self.changes}.parquet")


@define
class Delta:
    """A Delta table. The commits are written down as the protocol has them; the checkpoint is Delta's own."""

    key: str
    log: Path
    version: int = 0

    @classmethod
    def made(cls, spark: SparkSession, key: str, partitions: int, files: int) -> Delta:
        spark.sql(f"CREATE TABLE {key} (x INT, p STRING) USING delta PARTITIONED BY (p)")
        place = _location(spark, key)
        table = cls(key, place / "_delta_log")
        for _ in range(files):
            table._commit(range(partitions))
        log = spark._jvm.org.apache.spark.sql.delta.DeltaLog
        log.clearCache()
        log.forTable(spark._jsparkSession, str(place)).checkpoint()
        return table

    def change(self, number: int) -> None:
        self._commit([number])

    def _commit(self, numbers: Iterable[int]) -> None:
        self.version += 1
        now = int(time.time() * 1000)
        told = {"timestamp": now, "operation": "WRITE", "operationParameters": {"mode": "Append"}}
        actions = [{"commitInfo": told}, *({"add": self._added(number, now)} for number in numbers)]
        commit = self.log / f"{self.version:020d}.json"
        commit.write_text("".join(f"{json.dumps(each)}\n" for each in actions))

    def _added(self, number: int, now: int) -> dict[str, object]:
        value = partition(number)
        return {
            "path": f"p={value}/{self.version}.parquet",
            "partitionValues": {"p": value},
            "size": SIZE,
            "modificationTime": now,
            "dataChange": True,
            "stats": json.dumps({"numRecords": 1}),
        }


class Iceberg:
    """An Iceberg table in a directory of its catalog. A handle of its own makes the commits."""

    def __init__(self, spark: SparkSession, key: str) -> None:
        self.key, self._iceberg, self._commits = key, spark._jvm.org.apache.iceberg, 0
        self._place = str(_location(spark, key))
        configuration = spark._jsparkSession.sessionState().newHadoopConf()
        self._tables = self._iceberg.hadoop.HadoopTables(configuration)

    @classmethod
    def made(cls, spark: SparkSession, key: str, partitions: int, files: int) -> Iceberg:
        spark.sql(f"CREATE TABLE {key} (x INT, p STRING) USING iceberg PARTITIONED BY (p)")
        table = cls(spark, key)
        for _ in range(files):
            table._commit(range(partitions))
        return table

    def change(self, number: int) -> None:
        self._commit([number])

    def _commit(self, numbers: Iterable[int]) -> None:
        self._commits += 1
        table = self._tables.load(self._place)
        append, spec = table.newFastAppend(), table.spec()
        for number in numbers:
            value = partition(number)
            append.appendFile(
                self._iceberg.DataFiles.builder(spec)
                .withPath(f"{self._place}/data/p={value}/{self._commits}.parquet")
                .withFormat("parquet")
                .withPartitionPath(f"p={value}")
                .withFileSizeInBytes(SIZE)
                .withRecordCount(1)
                .build()
            )
        append.commit()


KINDS: dict[str, type[Fabricated]] = {"files": Files, "delta": Delta, "iceberg": Iceberg}


def _location(spark: SparkSession, key: str) -> Path:
    rows = spark.sql(f"DESCRIBE EXTENDED {key}").collect()
    [location] = [row[1] for row in rows if row[0] == "Location"]
    return Path(location.removeprefix("file:"))
