"""The registry of table formats: those that an application has, and which table or view is of which."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import evolve
from pyspark.sql import SparkSession

from headwater.logger import log
from headwater.model.error import RefreshFailed
from headwater.model.partition import Version
from headwater.model.reason import Code, Reason
from headwater.model.seen import ChangedRows, Seen, TableQuestion
from headwater.model.view import Definition
from headwater.spark.jvm.connection import is_broken
from headwater.spark.jvm.facts import Pin
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.delta import DeltaTables
from headwater.spark.tables.files import FileTables
from headwater.spark.tables.iceberg import IcebergTables
from headwater.spark.tables.table_format import TableFormat, ViewFormat

OWN = (DeltaTables, IcebergTables)
"""The formats whose classes Spark does not have. A new one joins here, and in the table of ``model/format.py``."""


def opened(shim: Shim, sessions: Sessions) -> Formats:
    """The formats of an application: that of files, and those whose jars it was started with."""
    own = [each(shim, sessions) for each in OWN if shim.has(each.name)]
    return Formats(shim.format, FileTables(shim, sessions), *own)


class Formats:
    """Looks at tables of any format, and has the format of each view.

    Args:
        named: the name of a table's format; another one, or none, if the table is not there.
        files: the format of all tables that no other format has.
        others: those formats.
    """

    def __init__(self, named: Callable[[str], str], files: ViewFormat, *others: TableFormat) -> None:
        self._named, self._files = named, files
        self._others = {each.name: each for each in others}
        self._known: dict[str, TableFormat] = {}

    def of(self, table: str) -> TableFormat:
        """The format of a table."""
        if not self._others:
            return self._files
        if table not in self._known:
            self._known[table] = self._others.get(self._named(table), self._files)
        return self._known[table]

    def of_view(self, definition: Definition) -> ViewFormat:
        """The format that the table of a view is to have.

        Raises:
            RefreshFailed: the application lacks it.
        """
        if definition.storage.listed:
            return self._files
        match self._others.get(definition.format):
            case ViewFormat() as found:
                return found
        raise RefreshFailed(
            f"{definition.view} is stored USING {definition.format}, which this application lacks; "
            f"start it with the jar and the catalog of {definition.storage.title}"
        )

    def forget(self, table: str) -> None:
        """A table may have another format from now on."""
        self._known.pop(table, None)

    def highest(self, definition: Definition) -> Version:
        """The highest version that was written of a view, in its format or in the one that its table still has."""
        formats = {self.of_view(definition), self.of(definition.view)}
        return max(each.highest(definition) for each in formats if isinstance(each, ViewFormat))

    def look(self, looks: Sequence[TableQuestion]) -> list[Seen]:
        """Tables as they are now, in the order of the looks, by one call for each format. One that its format does not
        find may have another format by now."""
        asked = {each.table: each for each in looks}
        seen = self._seen(asked.values())
        moved = [table for table, each in seen.items() if self._is_doubtful(each) and self._has_moved(table)]
        seen |= self._seen([asked[table] for table in moved])
        return [evolve(seen[each.table], since=each.since) for each in looks]

    def touches(self, table: str, path: str) -> bool:
        """Whether a write to a path may change a table."""
        return self.of(table).touches(table, path)

    def pins(self, snapshots: Mapping[str, str]) -> dict[str, Pin]:
        """How a run reads tables at these snapshots."""
        found = {table: self.of(table).pin(table, snapshot) for table, snapshot in snapshots.items()}
        return {table: pin for table, pin in found.items() if pin is not None}

    def changed(self, session: SparkSession, table: str, since: str, until: str) -> ChangedRows:
        """The rows of a table that came and went between two snapshots.

        Raises:
            ChangesUnknown: its format cannot say.
        """
        return self.of(table).changed(session, table, since, until)

    # --- inside

    def _seen(self, looks: Iterable[TableQuestion]) -> dict[str, Seen]:
        by_format: dict[TableFormat, list[TableQuestion]] = {}
        for each in looks:
            by_format.setdefault(self.of(each.table), []).append(each)
        return {each.table: each for tables, some in by_format.items() for each in _looked(tables, some)}

    def _is_doubtful(self, seen: Seen) -> bool:
        return bool(self._others) and (not seen.exists or bool(seen.unreadable))

    def _has_moved(self, table: str) -> bool:
        """Whether a table has another format than a moment ago."""
        before = self._known.pop(table)
        return self.of(table) is not before


def _looked(tables: TableFormat, asked: Sequence[TableQuestion]) -> Sequence[Seen]:
    """Looks at some tables of a format. A table whose look ends with an unexpected error is unreadable, and hides the
    changes of no other."""
    try:
        return tables.look(asked)
    except Exception as error:
        if is_broken(error):
            raise
        if len(asked) > 1:
            half = len(asked) // 2
            return [*_looked(tables, asked[:half]), *_looked(tables, asked[half:])]
        [look] = asked
        log.warning("%s cannot be looked at", look.table, exc_info=True)
        what = f"an unexpected error ({type(error).__name__})"
        said = f"the look at it ended with {what}; the engine's log has the details"
        return [Seen(look.table, unreadable=Reason(Code.SOURCE_UNREADABLE, said))]
