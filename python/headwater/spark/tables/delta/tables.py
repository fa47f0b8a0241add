"""Delta's implementation of ``ViewFormat``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from pyspark.sql import DataFrame, SparkSession

from headwater.model.command import Launch, Replaced, Written
from headwater.model.error import RefreshCancelled
from headwater.model.event import Made
from headwater.model.name import FunctionName, PathName, named
from headwater.model.partition import Slice, Version
from headwater.model.seen import ChangedRows, Seen, TableQuestion
from headwater.model.view import Definition
from headwater.spark.jvm import paths
from headwater.spark.jvm.counted import Counted
from headwater.spark.jvm.facts import Pin
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.compaction import Compaction, PutTogether
from headwater.spark.tables.delta.calls import Calls
from headwater.spark.tables.delta.key_search import KeySearch
from headwater.spark.tables.delta.log import Logs
from headwater.spark.tables.delta.looks import DeltaLooks
from headwater.spark.tables.delta.publications import Publications
from headwater.spark.tables.delta.retention import Retention
from headwater.spark.tables.delta.rows import ChangedRowsReader
from headwater.spark.tables.delta.small_files import SmallFiles
from headwater.spark.tables.delta.snapshot import Snapshot
from headwater.spark.tables.delta.stage import Staging
from headwater.spark.tables.key_files import KeyFiles
from headwater.spark.tables.rows_by_keys import Reach
from headwater.spark.tables.table_format import LastPublished, ViewFormat
from headwater.spark.tables.view_tables import forget, with_above


class DeltaTables(ViewFormat):
    """Delta tables of any catalog, and those at paths."""

    name = "delta"

    def __init__(self, shim: Shim, sessions: Sessions) -> None:
        calls = cast(Calls, shim.calls(self.name))
        logs = Logs(shim, sessions.of_table(), calls)
        self._shim = shim
        self._looks = DeltaLooks(logs, shim, sessions)
        self._stage = Staging(logs, shim, sessions, self._looks)
        self._publications = Publications(logs, shim, sessions, self._looks)
        self._retention = Retention(shim, sessions, self._publications, self._stage)
        self._files = SmallFiles(calls, sessions, self._publications)
        self._rows, self._searching = ChangedRowsReader(logs), KeySearch(calls, self._publications)
        self._locations: dict[str, str] = {}

    # --- looks

    def look(self, looks: Sequence[TableQuestion]) -> list[Seen]:
        seen = [self._looks.look(each) for each in looks]
        self._locations.update({each.table: each.location for each in seen if each.location})
        return seen

    def touches(self, table: str, path: str) -> bool:
        match named(table):
            case PathName(path=location):
                pass
            case FunctionName():
                return False
            case _ if table in self._locations:
                location = self._locations[table]
            case _:
                return True
        return paths.touch(paths.plain(location), paths.plain(path))

    def pin(self, table: str, snapshot: str) -> Pin | None:
        found = Snapshot.read(snapshot)
        return None if found is None else Pin(str(found.version))

    def is_same(self, one: str, other: str) -> bool:
        state, said = Snapshot.read(one), Snapshot.read(other)
        return state is not None and said is not None and state.commit == said.commit

    def precedes(self, table: str, one: str, other: str) -> bool:
        before, after = Snapshot.read(one), Snapshot.read(other)
        return before is not None and after is not None and before.precedes(after)

    def changed(self, session: SparkSession, table: str, since: str, until: str) -> ChangedRows:
        return self._rows.changed(session, table, since, until)

    # --- writes

    def rows(self, session: SparkSession, definition: Definition) -> DataFrame:
        return self._searching.rows(session, definition) or super().rows(session, definition)

    def key_files(self, session: SparkSession, launch: Launch, reach: Reach) -> KeyFiles | None:
        return self._searching.of(session, launch, reach)

    def write(
        self, launch: Launch, frame: DataFrame, place: str, hashed: bool, key_files: KeyFiles | None = None
    ) -> Counted:
        """A view's rows, as files of its table that no commit names yet; the table says where, not ``place``."""
        return self._stage.write(launch, frame, hashed, key_files)

    def written(self, launch: Launch, place: str, known: Mapping[Slice, Made]) -> Written:
        return self._stage.written(launch, known)

    # --- publications

    def unstorable(self, definition: Definition) -> str:
        return self._stage.unstorable(definition)

    def require(self, definition: Definition) -> None:
        self._publications.require(definition)

    def publish(self, launch: Launch, written: Written) -> Replaced:
        replaced = self._publications.publish(launch, written)
        self._stage.over(launch.run)
        return replaced

    def published(self, definition: Definition) -> set[str] | None:
        """The place of the table, in which readers are sent to snapshots."""
        try:
            log = self._publications.opened(definition)
        except RefreshCancelled:
            return None
        return None if log is None else with_above([log.location])

    def newest(self, definition: Definition) -> LastPublished | None:
        return self._publications.newest(definition)

    def highest(self, definition: Definition) -> Version:
        return self._publications.highest(definition)

    def location(self, definition: Definition) -> str:
        try:
            log = self._publications.opened(definition)
        except RefreshCancelled:
            return ""
        return "" if log is None else log.location

    def sizes(self, definition: Definition) -> Sequence[int]:
        return self._files.sizes(definition)

    def compact(self, definition: Definition, compaction: Compaction) -> PutTogether:
        return self._files.compact(definition, compaction)

    def expire(self, definition: Definition, locations: Sequence[str], since: Version | None = None) -> bool:
        """Has Delta delete the files that readers of the retention time need no more. Superseded places are those of
        files that the view had before it changed its format."""
        published = self.published(definition) if locations else set()
        if published is None or not self._retention.expire(definition, since):
            return False
        forget(self._shim, definition, locations, published)
        return True
