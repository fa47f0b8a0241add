"""The rows of a Delta table that came and went between two versions: those of the files that the log names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve
from pyspark.sql import DataFrame, SparkSession

from headwater.model.error import ChangesUnknown
from headwater.model.reason import Code
from headwater.model.seen import ChangedRows
from headwater.spark.tables.delta.calls import active
from headwater.spark.tables.delta.log import Cut, Log, Logs, NotDelta
from headwater.spark.tables.delta.log_changes import changes
from headwater.spark.tables.delta.snapshot import Snapshot


class ChangedRowsReader:
    """Reads files that the log names, also those that a later commit removed."""

    def __init__(self, logs: Logs) -> None:
        self._logs = logs

    def changed(self, session: SparkSession, table: str, since: str, until: str) -> ChangedRows:
        """The rows between two snapshots. A commit that rewrites a file for the sake of one row has all its rows in
        both frames.

        Raises:
            ChangesUnknown: the log does not tell.
        """
        before, after = Snapshot.read(since), Snapshot.read(until)
        if before is None or after is None or before.table != after.table or before.version > after.version:
            raise ChangesUnknown(Code.SOURCE_ANOTHER_TABLE, f"{table} was put back, or is another table now")
        try:
            log = self._logs.open(table)
            if log is None or log.layout.table != after.table:
                raise ChangesUnknown(Code.SOURCE_ANOTHER_TABLE, f"{table} is another table now")
            commits = [each for each in log.since(evolve(before, told=None)) if each.version <= after.version]
        except (Cut, NotDelta) as cut:
            raise ChangesUnknown(Code.SOURCE_HISTORY_LOST, f"{table}: {cut}") from cut
        found = changes([each.actions() for each in commits], log.layout.keys)
        if found.layouts:
            raise ChangesUnknown(Code.SOURCE_COLUMNS_CHANGED, f"the columns of {table} changed")
        if found.strays:
            raise ChangesUnknown(Code.SOURCE_HISTORY_LOST, f"the log of {table} does not say which rows went")
        with active(self._logs.calls, session):
            came, went = (_frame(session, log, after.version, files) for files in (found.added, found.removed))
            # Nothing compares rows of files whose size the log does not tell.
            sized = all("size" in each for each in (*found.added, *found.removed))
            return ChangedRows(came, went, lasting=found.lasting, few=None if sized else False)


def _frame(session: SparkSession, log: Log, version: int, files: Sequence[Mapping[str, Any]]) -> DataFrame | None:
    actions = [json.dumps({"add": _as_added(each)}) for each in files]
    return DataFrame(log.opened.rowsOf(version, actions), session) if actions else None


def _as_added(file: Mapping[str, Any]) -> Mapping[str, Any]:
    """The action that adds a file, also one that was removed: with its deletion vector and partition."""
    names = ("path", "partitionValues", "size", "deletionVector", "baseRowId", "defaultRowCommitVersion")
    told = {name: file[name] for name in names if file.get(name) is not None}
    return {"partitionValues": {}, **told, "modificationTime": file.get("modificationTime", 0), "dataChange": True}
