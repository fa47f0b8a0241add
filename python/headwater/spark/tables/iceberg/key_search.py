"""The files of a view in Iceberg that hold the keys of a run.

Spark reads chosen files as Iceberg's own compaction does: their scan tasks wait under a key, and under the same key a
table is found.
"""

from __future__ import annotations

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.model.command import Launch
from headwater.spark.jvm import sql
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.iceberg.calls import Calls
from headwater.spark.tables.iceberg.data_files import DataFiles, chosen
from headwater.spark.tables.key_files import MANY, SMALL, KeyFiles, are_few, is_known, named, near
from headwater.spark.tables.rows_by_keys import Reach


class KeySearch:
    """Finds files of views."""

    def __init__(self, shim: Shim, calls: Calls) -> None:
        self._shim, self._calls = shim, calls

    def of(self, session: SparkSession, table: JavaObject, launch: Launch, reach: Reach, key: str) -> KeyFiles | None:
        """The files that a run by keys writes anew; ``None`` if whole partitions are as well written.

        Args:
            key: of the files, while they are read.
        """
        snapshot, view = table.currentSnapshot(), session.table(sql.with_catalog(launch.definition.view))
        if snapshot is None or not is_known(launch) or view.columns != [c.name for c in launch.definition.columns]:
            return None
        told = snapshot.summary()
        bytes, files = int(told.get("total-files-size") or 0), int(told.get("total-data-files") or 0)
        if bytes < SMALL or reach.count >= MANY * files:
            return None
        found = self._found(table, snapshot.snapshotId(), near(view, launch, reach), reach)
        if found is None or 2 * len(found.names) > files:
            return None
        return self._staged(session, table, found, key) if found.names else KeyFiles(view.limit(0), found, 0)

    # --- inside

    def _found(self, table: JavaObject, snapshot: int, rows: DataFrame, reach: Reach) -> DataFiles | None:
        """By the statistics of files; if these leave many bytes, by their keys. ``None``: not all can be replaced."""
        tasks = self._calls.within(table, snapshot, self._shim.read_conditions(rows))
        if tasks is not None:
            found = DataFiles(snapshot, tuple(self._calls.locations(tasks)), tasks)
            if are_few(self._calls.sizeOf(tasks), len(found.names), reach):
                return found
        return chosen(self._calls, table, snapshot, named(rows, reach, F.col("_file")))

    def _staged(self, session: SparkSession, table: JavaObject, chosen: DataFiles, key: str) -> KeyFiles:
        self._calls.lend(table, key, chosen.tasks)
        rows = session.read.format("iceberg").option("scan-task-set-id", key).load(key)
        size = self._calls.sizeOf(chosen.tasks)
        return KeyFiles(rows, chosen, size, lambda: self._calls.takeBack(table, key))
