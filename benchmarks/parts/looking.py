"""Looks at fabricated tables of all formats, in one Spark application: each notices a change of one partition."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.parts import lakes
from benchmarks.parts.fabricated import KINDS, Fabricated, partition
from benchmarks.parts.worker import serve
from headwater.model.partition import Slice
from headwater.model.seen import Seen, TableQuestion
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables import registry


class Looking:
    """Tables of all formats, and what is on record of each."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark, shim, sessions = spark, Shim(spark), Sessions(spark)
        self._formats = registry.opened(shim, sessions)
        self._tables: dict[tuple[str, int], Fabricated] = {}
        self._known: dict[tuple[str, int], str] = {}
        self._statistics = spark._jvm.org.apache.hadoop.fs.FileSystem

    def make(self, format: str, partitions: int, files: int) -> None:
        database = f"{lakes.CATALOGS[format]}.noticing"
        self._spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {database}")
        name = f"{database.removeprefix('spark_catalog.')}.{format}_{partitions}"
        self._tables[format, partitions] = KINDS[format].made(self._spark, name, partitions, files)
        self._look(format, TableQuestion(name))
        self._known[format, partitions] = self._look(format, TableQuestion(name)).snapshot

    def notice(self, format: str, partitions: int, turn: int, look: str) -> dict[str, float]:
        """Changes a partition, and looks at the table, which must notice it: at the ``change`` or at ``everything``."""
        table, number = self._tables[format, partitions], turn % partitions
        table.change(number)
        changed, began, read = Slice.of(p=partition(number)), time.perf_counter(), self._read()
        seen = self._look(
            format, self._asked(format, partitions, changed) if look == "change" else TableQuestion(table.key)
        )
        found = {"seconds": time.perf_counter() - began, "bytes": self._read() - read}
        expected = 1 if look == "change" else partitions
        assert changed in seen.partitions and len(seen.partitions) == expected, (format, look, seen)
        self._known[format, partitions] = seen.snapshot
        return found

    def _asked(self, format: str, partitions: int, changed: Slice) -> TableQuestion:
        """A look at a change: of files somebody named its partition, and a log tells the changes since a snapshot."""
        key = self._tables[format, partitions].key
        return (
            TableQuestion(key, (changed,))
            if format == "files"
            else TableQuestion(key, None, self._known[format, partitions])
        )

    def _look(self, format: str, look: TableQuestion) -> Seen:
        [seen] = self._formats.look([look])
        return seen

    def _read(self) -> int:
        """Bytes that this process read of files so far, also in Spark's tasks."""
        return sum(each.getBytesRead() for each in self._statistics.getAllStatistics())


def calls() -> dict[str, Callable[..., Any]]:
    """The functions that the benchmark calls by name."""
    made: list[Looking] = []

    def looking(spark: SparkSession) -> Looking:
        if not made:
            made.append(Looking(spark))
        return made[0]

    return {
        "make": lambda spark, *arguments: looking(spark).make(*arguments),
        "notice": lambda spark, *arguments: looking(spark).notice(*arguments),
    }


if __name__ == "__main__":
    serve(calls())
