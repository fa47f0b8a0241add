"""The files of a view in Delta that hold the keys of a run, as Delta's log names them."""

from __future__ import annotations

import posixpath

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.model.command import Launch
from headwater.model.view import Definition
from headwater.spark.tables.delta.calls import Calls, active
from headwater.spark.tables.delta.log import Log
from headwater.spark.tables.delta.publications import Publications
from headwater.spark.tables.key_files import SMALL, KeyFiles, are_few, is_known, named, near
from headwater.spark.tables.rows_by_keys import Reach


class KeySearch:
    """Finds files of views."""

    def __init__(self, calls: Calls, publications: Publications) -> None:
        self._calls, self._publications = calls, publications

    def rows(self, session: SparkSession, definition: Definition) -> DataFrame | None:
        """The rows of a view; ``None`` if it has no table."""
        log = self._publications.opened(definition)
        return None if log is None else self._all(session, log)

    def of(self, session: SparkSession, launch: Launch, reach: Reach) -> KeyFiles | None:
        """The files that a run by keys writes anew; ``None`` if whole partitions are as well written."""
        definition = launch.definition
        log = self._publications.opened(definition)
        if log is None or not is_known(launch) or log.opened.bytes() < SMALL:
            return None
        with active(self._calls, session):
            view = self._all(session, log)
            if view.columns != [each.name for each in definition.columns]:
                return None
            rows = near(view, launch, reach)
            names = [posixpath.basename(each) for each in rows.inputFiles()]
            files = log.named(names)
            if files is None or not are_few(log.opened.bytesOf(files), len(names), reach):
                names = named(rows, reach, F.col("_metadata.file_name"))
                files = log.named(names)
            if files is None or 2 * len(names) > log.opened.count():
                return None
            return KeyFiles(DataFrame(log.opened.rows(files), session), tuple(names), log.opened.bytesOf(files))

    # --- inside

    def _all(self, session: SparkSession, log: Log) -> DataFrame:
        with active(self._calls, session):
            return DataFrame(log.opened.table(session._jsparkSession), session)
