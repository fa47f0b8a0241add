"""The log of one Delta table, as Delta's own classes read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from attrs import field, frozen
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.model.error import RefreshFailed
from headwater.model.name import FunctionName, PathName, TableName, named
from headwater.spark.jvm import sql
from headwater.spark.tables.delta.layout import Layout
from headwater.spark.tables.delta.log_changes import Commit, Values
from headwater.spark.tables.delta.scala_values import Jvm
from headwater.spark.tables.delta.snapshot import Snapshot, mark

UNCONFIGURED = "DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG"
NO_CATALOG = (
    "this application was started without Delta's catalog; set spark.sql.catalog.spark_catalog to "
    "org.apache.spark.sql.delta.catalog.DeltaCatalog"
)
ABSENT = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "DELTA_TABLE_NOT_FOUND")


class NotDelta(Exception):
    """Another table has the name."""


class Cut(Exception):
    """The log does not tell what happened since a version."""


@frozen
class Log:
    """A table as it is now.

    Attributes:
        log: Delta's ``DeltaLog``. Delta keeps one for each path, and drops it with the table; so nobody else keeps it.
        entry: the table in Spark's catalog, as an ``Option``.
        state: Delta's ``Snapshot``.
    """

    jvm: Jvm
    log: Any
    entry: Any
    state: Any
    version: int
    layout: Layout = field()

    @classmethod
    def open(cls, jvm: Jvm, key: str) -> Log | None:
        """The log of a table; ``None`` if there is no such table.

        Raises:
            NotDelta: it is another table.
            RefreshFailed: the application was started without Delta's catalog, or the table's log is away.
        """
        try:
            found = _found(jvm, key)
        except AnalysisException as error:
            if error.getCondition() in ABSENT:
                return None
            if error.getCondition() == UNCONFIGURED:
                raise RefreshFailed(NO_CATALOG) from error
            raise
        if found is None:
            return None
        log, entry = found
        state = log.update(False, jvm.none, entry)
        if state.version() < 0:
            if entry.isDefined():
                raise RefreshFailed(f"{log.dataPath().toString()} has no log of Delta; put it back, or drop the table")
            return None
        return cls(jvm, log, entry, state, state.version(), Layout.read(state.metadata().json()))

    @property
    def created(self) -> int:
        """When the table was made (ms); 0 where nobody knows."""
        known = self.state.metadata().createdTime()
        return known.get() if known.isDefined() else 0

    @property
    def location(self) -> str:
        return self.log.dataPath().toString()

    @cached_property
    def _hadoop(self) -> Any:
        return self.log.newDeltaHadoopConf()

    def head(self) -> Snapshot:
        """The state of the table now."""
        return Snapshot(self.version, self.layout.table, self.mark(self.version))

    def mark(self, version: int) -> str:
        """The mark of a commit; empty if its file was cleaned up."""
        for found, file in self._files(version):
            return mark(self._first_line(file)) if found == version else ""
        return ""

    def since(self, before: Snapshot) -> Iterator[Commit]:
        """The commits after a state, in their order.

        Raises:
            Cut: they are not all there, or that state is none of this log.
        """
        expected = before.known + 1
        for version, file in self._files(before.known):
            if version > self.version:
                break
            if version == before.version and before.mark not in ("", mark(self._first_line(file))):
                raise Cut("its log was put back from a copy, and went on")
            if version < expected:
                continue
            if version != expected:
                break
            expected += 1
            yield Commit(version, self.log.store().read(file, self._hadoop).mkString("\n"))
        if expected <= self.version:
            raise Cut(f"its log was cleaned up past version {before.known}")

    def layout_at(self, version: int) -> Layout:
        """The layout of an earlier version.

        Raises:
            Cut: nobody knows any more.
        """
        try:
            return Layout.read(self.state_at(version).metadata().json())
        except (PySparkException, Py4JJavaError) as error:
            raise Cut(f"its log was cleaned up past version {version}") from error

    def state_at(self, version: int) -> Any:
        return self.log.getSnapshotAt(version, self.jvm.none, self.entry, False)

    def partitions(self) -> list[Values]:
        """The values of all partitions with files. This reads the whole state, in a Spark job."""
        if not self.layout.partitioned_by:
            return [()]
        return self._values(self._files_of(self.state))

    def places(self, version: int, paths: Iterable[str]) -> list[Values]:
        """The values of the partitions in which files lay at an earlier version."""
        return self._values(self._files_of(self.state_at(version)).where(F.col("path").isin(*paths)))

    def named(self, names: Sequence[str]) -> Any:
        """The actions ``add`` of files in the current state; ``None`` if one is not there any more with all its rows.
        Delta gives each file a name that no other has."""
        if not names:
            return self.jvm.seq(())
        listed = ", ".join(map(sql.string, names))
        there = self.state.allFiles().filter(f"substring_index(path, '/', -1) IN ({listed}) AND deletionVector IS NULL")
        found = list(there.collect())
        return self.jvm.seq(found) if len(found) == len(names) else None

    # --- inside

    def _files(self, start: int) -> Iterator[tuple[int, Any]]:
        """The files of the commits from ``start`` on, as far as they are there."""
        files = self.log.getChangeLogFiles(start, self.entry, False)
        while files.hasNext():
            found = files.next()
            yield found._1(), found._2()

    def _first_line(self, file: Any) -> str:
        lines = self.log.store().readAsIterator(file, self._hadoop)
        try:
            return lines.next() if lines.hasNext() else ""
        finally:
            lines.close()

    def _files_of(self, state: Any) -> DataFrame:
        return DataFrame(state.allFiles().toDF(), self.jvm.session)

    def _values(self, files: DataFrame) -> list[Values]:
        """The values of the partitions of some files, as the log spells them."""
        columns = [F.col("partitionValues").getItem(key) for key in self.layout.keys]
        return [tuple(row) for row in files.select(*columns).distinct().collect()]


def _found(jvm: Jvm, key: str) -> tuple[Any, Any] | None:
    """Delta's log and the catalog's entry of a table."""
    session = jvm.session._jsparkSession
    match named(key):
        case PathName(path):
            return jvm.delta.DeltaLog.forTable(session, jvm.root.org.apache.hadoop.fs.Path(path)), jvm.none
        case TableName() as name:
            table = _loaded(jvm, session, name)
        case FunctionName():
            return None
    if not jvm.is_a(table, "org.apache.spark.sql.delta.catalog.DeltaTableV2"):
        raise NotDelta(f"it is no table that {name.catalog} takes for one of Delta")
    return table.deltaLog(), table.catalogTable()


def _loaded(jvm: Jvm, session: Any, name: TableName) -> Any:
    tables = session.sessionState().catalogManager().catalog(name.catalog)
    gateway: Any = jvm.session.sparkContext._gateway
    namespace = gateway.new_array(jvm.root.java.lang.String, len(name.namespace))
    for n, part in enumerate(name.namespace):
        namespace[n] = part
    return tables.loadTable(jvm.sql.connector.catalog.Identifier.of(namespace, name.name))
