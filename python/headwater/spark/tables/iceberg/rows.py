"""The rows of an Iceberg table that came and went between two snapshots.

Iceberg's changelog has them, unless rows were deleted by position or by value, which it does not know. Then the scans
of both snapshots tell: rows come and go with files that one of them does not read, or reads with other deletes.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.model.error import ChangesUnknown
from headwater.model.reason import Code
from headwater.model.seen import ChangedRows
from headwater.spark.jvm import sql
from headwater.spark.tables.iceberg.at import At
from headwater.spark.tables.iceberg.calls import Calls
from headwater.spark.tables.iceberg.history import Between, History
from headwater.spark.tables.iceberg.loaded import Catalogs

KIND = "_change_type"
OF_THE_CHANGE = (KIND, "_change_ordinal", "_commit_snapshot_id")
"""The changelog's own columns."""


class ChangedRowsReader:
    """Reads the changelog of tables."""

    def __init__(self, calls: Calls, catalogs: Catalogs, history: History) -> None:
        self._calls, self._catalogs, self._history = calls, catalogs, history

    def changed(self, session: SparkSession, table: str, since: str, until: str) -> ChangedRows:
        """The rows between two snapshots. A row of a rewritten file is in both frames, and so is one that came and went
        in between.

        Raises:
            ChangesUnknown: the snapshots are not one after the other, or the columns differ.
        """
        before, after, loaded = At.of(since), At.of(until), self._catalogs.loaded(table)
        if before is None or after is None or loaded is None:
            raise ChangesUnknown(Code.SOURCE_ANOTHER_TABLE, f"{table} is another table now")
        if not before.schema == after.schema == loaded.at.schema:
            raise ChangesUnknown(Code.SOURCE_COLUMNS_CHANGED, f"the columns of {table} changed")
        if not before.names == after.names == loaded.at.names:
            raise ChangesUnknown(Code.SOURCE_COLUMNS_CHANGED, f"{table} finds columns of imported files by other names")
        if before.snapshot == after.snapshot:
            return ChangedRows(None, None)
        if before.snapshot == 0:
            rows = session.read.option("snapshot-id", after.snapshot).table(sql.with_catalog(table))
            return ChangedRows(rows, None)
        between = self._between(loaded.table, table, before.snapshot, after.snapshot)
        if self._deletes(loaded.table, between):
            return self._by_files(session, loaded.table, between.spans(before.snapshot))
        reader = session.read.option("start-snapshot-id", before.snapshot).option("end-snapshot-id", after.snapshot)
        log = reader.table(f"{sql.with_catalog(table)}.changes")
        # Iceberg takes a condition on the column itself for one on a column of the table, and fails.
        kind = F.concat(F.col(KIND), F.lit(""))
        came, went = (log.where(kind == each).drop(*OF_THE_CHANGE) for each in ("INSERT", "DELETE"))
        return ChangedRows(came, None) if between.only_adds else ChangedRows(came, went, lasting=False)

    def _between(self, found: JavaObject, table: str, before: int, after: int) -> Between:
        """The snapshots after one, up to another.

        Raises:
            ChangesUnknown: the changelog does not tell what they did.
        """
        between = self._history.between(found, before, after)
        if between.lost:
            raise ChangesUnknown(Code.SOURCE_HISTORY_LOST, f"{table}: {between.lost}")
        if between.undone:
            raise ChangesUnknown(Code.SOURCE_ANOTHER_TABLE, f"{table} was put back")
        return between

    def _deletes(self, table: JavaObject, between: Between) -> bool:
        """Whether a snapshot has files of deletes."""
        passed = (each.number for each in between.snapshots if not each.is_rearranged)
        return any(self._calls.hasDeletes(table, each) for each in passed)

    def _by_files(self, session: SparkSession, table: JavaObject, spans: Sequence[tuple[int, int]]) -> ChangedRows:
        """The rows of the files in which the scans of a span's two ends differ."""
        keys: list[str] = []
        columns = [sql.identifier(each.name()) for each in table.schema().columns()]

        def rows(tasks: JavaObject) -> DataFrame | None:
            if tasks.isEmpty():
                return None
            keys.append(key := uuid4().hex)
            self._calls.lend(table, key, tasks)
            found = session.read.format("iceberg").option("scan-task-set-id", key).load(key)
            return found.select(*columns)  # there may be more: the numbers that rows have from version 3 on

        def close() -> None:
            for each in keys:
                self._calls.takeBack(table, each)

        went, came = map(rows, self._calls.differing(table, list(map(list, spans))))
        return ChangedRows(came, went, lasting=len(spans) == 1, close=close)
