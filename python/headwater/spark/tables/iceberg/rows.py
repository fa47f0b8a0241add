"""The rows of an Iceberg table that came and went between two snapshots, by Iceberg's changelog."""

from __future__ import annotations

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession
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
            ChangesUnknown: the snapshots are not one after the other, the columns differ, or a snapshot deletes rows by
                position or by value. Iceberg's changelog knows no such deletions.
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
            rows = session.read.option("snapshot-id", after.snapshot).table(sql.quoted(table))
            return ChangedRows(rows, None)
        between = self._between(loaded.table, table, before.snapshot, after.snapshot)
        reader = session.read.option("start-snapshot-id", before.snapshot).option("end-snapshot-id", after.snapshot)
        log = reader.table(f"{sql.quoted(table)}.changes")
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
        for each in between.snapshots:
            if not each.is_rearranged and self._calls.hasDeletes(found, each.number):
                raise ChangesUnknown(Code.SOURCE_DELETE_FILES, f"a snapshot of {table} has delete files")
        return between
