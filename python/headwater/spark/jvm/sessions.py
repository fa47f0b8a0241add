"""Sessions in which refreshes run: the settings and current database of the view's declaration."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import SparkSession

from headwater.model.name import SESSION_CATALOG
from headwater.model.view import ZONE, Definition, Pairs
from headwater.spark.jvm import sql

INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"
"""Whether Spark takes ``day=01`` of a path for a number."""

SUBSTITUTE = "spark.sql.variable.substitute"
"""Whether Spark's parser replaces ``${name}`` in each text."""

LISTING = {
    "spark.sql.hive.manageFilesourcePartitions": "true",
    "spark.sql.streaming.fileStreamSink.ignoreMetadata": "false",
}
"""How Spark finds the files of a table: by the catalog's partitions, and by the log of the stream that writes them."""

OLD_COMMITS = "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"
"""With this setting, Delta refuses to read a version that was committed longer ago than replaced files stay. But it may
have been replaced a moment ago, with all its files there. A file that is gone fails where it is read."""

FIXED = {
    **LISTING,
    "spark.headwater.internal": "true",
    "spark.headwater.wait": "false",
    # Partition directories are read back as the strings the catalog uses.
    INFERENCE: "false",
    "spark.sql.sources.partitionOverwriteMode": "static",
    # The text of a query has the values of variables since its declaration, and values of data are none.
    SUBSTITUTE: "false",
    # A view has its timestamps as they are, whatever other Parquet files of the application are for.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    OLD_COMMITS: "false",
    # Hive's metastore cannot filter by a column such as `2023 day`: then Spark lists all partitions, and filters.
    "spark.sql.hive.metastorePartitionPruningFallbackOnException": "true",
}

LENIENT = ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles")
"""Settings with which Spark leaves out rows of a file. A file that went away may have been cleaned up since."""

LOG_TASKS = "spark.databricks.delta.snapshotPartitions"
"""Delta reads the log of a table in so many tasks, …"""
MOST_LOG_TASKS = 50
"""… unless a setting says otherwise. With fewer cores they take seconds also for a table of three files."""

IN_MEMORY = "in-memory"
"""Spark's name of a catalog that ends with the application."""

PARSER = {
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "false",
}
"""How statements about a view's table are read, whatever the application or the declaring session has set."""


def in_memory(session: SparkSession) -> bool:
    """Whether the session catalog, and with it every view, ends with the application."""
    return session.conf.get("spark.sql.catalogImplementation") == IN_MEMORY


@contextlib.contextmanager
def having(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Lets a session have some settings for a moment. It is of this thread alone."""
    before = {name: session.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, kept in before.items():
            if kept is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, kept)


class Sessions:
    """Makes a session for each distinct set of captured settings, and keeps it; and for runs, for each thread."""

    def __init__(self, base: SparkSession) -> None:
        self._base = base
        self._lock = threading.Lock()
        self._made: dict[tuple, SparkSession] = {}

    def of(self, definition: Definition) -> SparkSession:
        return self.captured(definition.catalog, definition.database, definition.settings)

    def of_run(self, definition: Definition) -> SparkSession:
        """The same, of this thread alone. A session keeps the tables that it found: a run would read a version of a
        view that another one, which may, has found there a moment before."""
        return self.captured(definition.catalog, definition.database, definition.settings, threading.get_ident())

    def of_table(self, settings: Pairs = (), alone: bool = False) -> SparkSession:
        """For statements about a view's table, whose literals must be read as they were spelled. It depends on no
        database that may be gone. ``alone``: it is of this thread alone."""
        kept = tuple((name, value) for name, value in settings if name not in PARSER)
        thread = threading.get_ident() if alone else None
        return self.captured(SESSION_CATALOG, "default", (*kept, *PARSER.items()), thread)

    def captured(self, catalog: str, database: str, settings: Pairs, thread: int | None = None) -> SparkSession:
        """The session that means what a session with these settings meant; ``thread``: of that thread alone.

        Raises pyspark's ``AnalysisException`` when the catalog or database is gone.
        """
        key = (catalog, database, settings, thread)
        with self._lock:
            session = self._made.get(key)
            if session is None:
                session = self._made[key] = self._make(catalog, database, settings)
            return session

    def fresh(self, definition: Definition) -> SparkSession:
        """A session that has cached nothing: it sees the tables as they are in the catalog now."""
        return self._make(definition.catalog, definition.database, definition.settings)

    def _make(self, catalog: str, database: str, settings: Pairs) -> SparkSession:
        session = self._base.newSession()
        jvm: Any = session._jvm
        if any(name == ZONE for name, _ in settings):  # those of a view, which always has a zone
            jvm.io.headwater.spark.Captured.forget(session._jsparkSession)
        for name, value in settings:
            # Spark warns of a deprecated setting that is set, also to what it is.
            known = name in PARSER and session.conf.get(name) == value
            if name.startswith("spark.sql.") and not known:
                session.conf.set(name, value)
        for name, value in FIXED.items():
            session.conf.set(name, value)
        if session.conf.get(LOG_TASKS, None) is None:
            session.conf.set(LOG_TASKS, str(min(MOST_LOG_TASKS, self._base.sparkContext.defaultParallelism)))
        # Spark finds a catalog by the settings of the thread's active session, whichever session is asked.
        jvm.org.apache.spark.sql.headwater.Access.activate(session._jsparkSession)
        session.catalog.setCurrentCatalog(catalog)
        if database:
            session.catalog.setCurrentDatabase(sql.within_catalog(database))
        return session
