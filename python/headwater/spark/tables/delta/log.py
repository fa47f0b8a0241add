"""The log of one Delta table, as Delta's own classes read it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from attrs import field, frozen
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from headwater.model.error import RefreshFailed
from headwater.model.name import FunctionName, PathName, TableName, named
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.delta.calls import Calls, Opened
from headwater.spark.tables.delta.layout import Layout
from headwater.spark.tables.delta.log_changes import Commit, Values
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


class Logs:
    """Opens the logs of tables."""

    def __init__(self, shim: Shim, session: SparkSession, calls: Calls) -> None:
        self._shim, self._session, self.calls = shim, session, calls

    def open(self, key: str) -> Log | None:
        """The log of a table; ``None`` if there is no such table.

        Raises:
            NotDelta: it is another table.
            RefreshFailed: the application was started without Delta's catalog, or the table's log is away.
        """
        try:
            opened = self._opened(key)
        except AnalysisException as error:
            if error.getCondition() in ABSENT:
                return None
            if error.getCondition() == UNCONFIGURED:
                raise RefreshFailed(NO_CATALOG) from error
            raise
        if opened is None:
            return None
        told = json.loads(opened.told())
        if told["version"] >= 0:
            layout = Layout.read(told["metadata"])
            return Log(opened, told["version"], told["location"], told["created"], layout)
        if told["is_listed"]:
            raise RefreshFailed(f"{told['location']} has no log of Delta; put it back, or drop the table")
        return None

    def _opened(self, key: str) -> Opened | None:
        match named(key):
            case PathName(path):
                return self.calls.at(self._session._jsparkSession, path)
            case FunctionName():
                return None
            case TableName() as name:
                found = self._shim.table(self._session, key)
        opened = None if found is None else self.calls.of(found)
        if found is not None and opened is None:
            raise NotDelta(f"it is no table that {name.catalog} takes for one of Delta")
        return opened


@frozen
class Log:
    """A table as it was when it was opened.

    Attributes:
        created: when the table was made (ms); 0 where nobody knows.
    """

    opened: Opened
    version: int
    location: str
    created: int
    layout: Layout = field()

    def head(self) -> Snapshot:
        """The state of the table now."""
        return Snapshot(self.version, self.layout.table, self.mark(self.version))

    def mark(self, version: int) -> str:
        """The mark of a commit; empty if its file was cleaned up."""
        line = self.opened.firstLine(version)
        return mark(line) if line else ""

    def since(self, before: Snapshot) -> Iterator[Commit]:
        """The commits after a state, in their order.

        Raises:
            Cut: they are not all there, or that state is none of this log.
        """
        expected = before.known + 1
        for version in map(int, self.opened.commits(before.known).split()):
            if version > self.version:
                break
            if version == before.version and before.mark not in ("", mark(self.opened.firstLine(version))):
                raise Cut("its log was put back from a copy, and went on")
            if version < expected:
                continue
            if version != expected:
                break
            expected += 1
            yield Commit(version, self.opened.commit(version))
        if expected <= self.version:
            raise Cut(f"its log was cleaned up past version {before.known}")

    def newest(self) -> Commit:
        """The last commit; one without text if its file was cleaned up."""
        text = self.opened.commit(self.version) if self.opened.firstLine(self.version) else ""
        return Commit(self.version, text)

    def layout_at(self, version: int) -> Layout:
        """The layout of an earlier version.

        Raises:
            Cut: nobody knows any more.
        """
        try:
            return Layout.read(self.opened.metadata(version))
        except (PySparkException, Py4JJavaError) as error:
            raise Cut(f"its log was cleaned up past version {version}") from error

    def partitions(self) -> list[Values]:
        """The values of all partitions with files."""
        return self._values(self.version, None) if self.layout.partitioned_by else [()]

    def places(self, version: int, paths: Iterable[str]) -> list[Values]:
        """The values of the partitions in which files lay at an earlier version."""
        return self._values(version, [*paths])

    def named(self, names: Sequence[str]) -> JavaObject | None:
        """The actions ``add`` of files; ``None`` if one is not there any more with all its rows."""
        return self.opened.named(names)

    # --- inside

    def _values(self, version: int, paths: Sequence[str] | None) -> list[Values]:
        """The values of the partitions of some files, as the log spells them."""
        return [tuple(each) for each in json.loads(self.opened.partitions(version, self.layout.keys, paths))]
