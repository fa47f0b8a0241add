"""Iceberg's implementation of ``ViewFormat``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

from attrs import evolve
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.model.command import Launch, Replaced, Written
from headwater.model.event import Made
from headwater.model.measure import Measured
from headwater.model.partition import WHOLE, Slice, Version
from headwater.model.seen import ChangedRows, Seen, TableQuestion
from headwater.model.view import Definition
from headwater.spark.jvm import paths, sql
from headwater.spark.jvm.counted import Counted, altered
from headwater.spark.jvm.facts import Pin
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables import catalog
from headwater.spark.tables.compaction import Compaction, PutTogether
from headwater.spark.tables.iceberg import schemas
from headwater.spark.tables.iceberg.at import VERSION, At, Metadata
from headwater.spark.tables.iceberg.calls import Calls
from headwater.spark.tables.iceberg.common_commits import CommonCommits
from headwater.spark.tables.iceberg.history import History
from headwater.spark.tables.iceberg.key_search import KeySearch
from headwater.spark.tables.iceberg.loaded import Catalogs
from headwater.spark.tables.iceberg.looks import IcebergLooks
from headwater.spark.tables.iceberg.publishing import COMPLETE, SOURCES, Committed, Publishing, Staged
from headwater.spark.tables.iceberg.retention import Retention
from headwater.spark.tables.iceberg.rows import ChangedRowsReader
from headwater.spark.tables.iceberg.shape import Shapes
from headwater.spark.tables.iceberg.small_files import SmallFiles
from headwater.spark.tables.key_files import KeyFiles
from headwater.spark.tables.rows_by_keys import WEIGHT, Reach
from headwater.spark.tables.table_format import GroupShown, LastPublished, ViewFormat
from headwater.spark.tables.view_tables import (
    emptied,
    filled,
    forget,
    gone,
    refuse_part,
    replace,
    replaced,
    resume,
    same,
    taken,
    with_above,
)


class IcebergTables(ViewFormat):
    """The Iceberg tables of all catalogs of an application.

    Example: between two looks a program deletes from one partition, and another one compacts all files. The snapshots
    in between say so, and only the one partition counts as changed.
    """

    name = "iceberg"

    def __init__(self, shim: Shim, sessions: Sessions) -> None:
        self._shim, self._sessions = shim, sessions
        session, calls = sessions.of_table(), cast(Calls, shim.calls(self.name))
        self._calls, self._catalogs, self._history = calls, Catalogs(shim, session, calls), History(calls)
        self._publishing, self._retention = Publishing(calls, Shapes(calls)), Retention(calls, session)
        self._looks = IcebergLooks(shim, self._catalogs, calls, self._history)
        self._rows, self._searching = ChangedRowsReader(calls, self._catalogs, self._history), KeySearch(shim, calls)
        self._files, self._commits = SmallFiles(calls, sessions), CommonCommits(calls, self._catalogs, session)
        self._staged: dict[str, Staged] = {}

    # --- looks

    def look(self, looks: Sequence[TableQuestion]) -> list[Seen]:
        return [self._looks.look(each) for each in looks]

    def touches(self, table: str, path: str) -> bool:
        """Whether a path is in a table's directory, or above it. Of a table that nobody looked at, all are."""
        mine = self._looks.location(table)
        return not mine or paths.touch(mine, paths.plain(path))

    def pin(self, table: str, snapshot: str) -> Pin | None:
        at, loaded = At.of(snapshot), self._catalogs.loaded(table)
        if at is None or loaded is None:
            return None
        if at.snapshot == 0:
            return Pin("")
        written = loaded.table.snapshot(at.snapshot)
        number = None if written is None else written.schemaId()
        if number is None or number == loaded.at.schema:
            return Pin(str(at.snapshot))
        every = self._catalogs.schemas(loaded.table)
        return Pin(str(at.snapshot), schemas.adapted(every[number], loaded.layout.schema) if number in every else ())

    def is_same(self, one: str, other: str) -> bool:
        state, said = At.of(one), At.of(other)
        return state is not None and said is not None and evolve(state, told=None) == evolve(said, told=None)

    def precedes(self, table: str, one: str, other: str) -> bool:
        before, after, loaded = At.of(one), At.of(other), self._catalogs.table(table)
        if before is None or after is None or loaded is None or before.snapshot == after.snapshot:
            return False
        between = self._history.between(loaded, before.snapshot, after.snapshot)
        return not between.lost and not between.undone

    def changed(self, session: SparkSession, table: str, since: str, until: str) -> ChangedRows:
        return self._rows.changed(session, table, since, until)

    # --- writes

    def key_files(self, session: SparkSession, launch: Launch, reach: Reach) -> KeyFiles | None:
        table, own = self._target(launch.definition)
        return self._searching.of(session, table, launch, reach, f"{_key(launch)} held") if own else None

    def write(
        self, launch: Launch, frame: DataFrame, place: str, hashed: bool, key_files: KeyFiles | None = None
    ) -> Counted:
        definition, columns = launch.definition, launch.definition.partitioned_by
        frame = self._shim.apart(frame)
        if columns:
            frame = frame.hint("rebalance", *[F.col(sql.identifier(column)) for column in columns])
        counted = self._shim.counted(frame, columns, hashed, exact=True, weight="" if key_files is None else WEIGHT)
        key = _key(launch)
        table = self._target(definition)[0]
        self._staged[key] = self._publishing.stage(table, launch, counted.frame, key, key_files)
        return counted

    def written(self, launch: Launch, place: str, known: Mapping[Slice, Made]) -> Written:
        staged = self._staged.pop(_key(launch))
        known = altered(launch, known) if staged.partly else known
        made = tuple(evolve(each, fingerprint=f"v{launch.run.version}") for each in known.values())
        removed = emptied(launch, known, self.look)
        return Written(made, removed, staged, measured=Measured(self._calls.size(staged.files)))

    # --- publications

    def require(self, definition: Definition) -> None:
        table, session = self._catalogs.table(definition.view), self._sessions.of_table(definition.settings)
        if table is not None:
            self._table(definition)
        elif self._shim.owner(definition.view) is not None:
            replace(session, self._shim, definition)
        else:
            resume(self._shim, definition)
            self.require(definition)

    def publish(self, launch: Launch, written: Written) -> Replaced:
        """Makes one commit. A replacement takes the view's name then."""
        definition, (table, own) = launch.definition, self._target(launch.definition)
        if own:
            return self._published(table, launch, written)
        refuse_part(launch.run, written.handle.partly)
        if not table.uuid().equals(written.handle.table.uuid()):
            raise taken(definition.view)  # another engine fills another replacement
        session = self._sessions.of_table(definition.settings)
        return replaced(session, self._shim, definition, self._published(table, launch, written))

    def _published(self, table: JavaObject, launch: Launch, written: Written) -> Replaced:
        definition, staged = launch.definition, written.handle
        try:
            committed = self._publishing.commit(table, launch, staged, definition.zone)
        except Py4JJavaError as error:
            if self._catalogs.table(definition.view) is None:
                raise gone(definition.view) from error
            raise
        recorded = At.of(dict(launch.run.snapshots).get(definition.view, ""))
        sure = recorded is not None and not committed.again and self._only_rearranged(table, recorded, committed.base)
        unchanged = same(launch, written.made, staged.appended) if sure else frozenset()
        at = _after(launch, committed, recorded, sure, staged.partly)
        return Replaced((), unchanged, staged.reshapes, str(at))

    def published(self, definition: Definition) -> set[str] | None:
        """The place of the table: a commit names files, and readers find them by it. ``None`` if there is no table."""
        table = self._catalogs.table(definition.view)
        return None if table is None else with_above([table.location()])

    def newest(self, definition: Definition) -> LastPublished | None:
        """What was published last: the newest snapshot says it, if it is a publication."""
        table = self._catalogs.table(definition.view)
        if table is None:
            return None
        found = Metadata.read(self._calls.state(table))
        told = dict(table.snapshot(found.snapshot).summary()) if found.snapshot else {}
        own = told.get(catalog.OWNER) == definition.owner and told.get(VERSION) == str(found.version)
        sources = json.loads(told[SOURCES]) if own and COMPLETE in told else {}
        return LastPublished(str(found.at), found.version, sources)

    def highest(self, definition: Definition) -> Version:
        table = self._catalogs.table(definition.view)
        return 0 if table is None else Metadata.read(self._calls.state(table)).version

    def location(self, definition: Definition) -> str:
        table = self._catalogs.table(definition.view)
        return "" if table is None else table.location()

    def step_of(self, definition: Definition) -> str:
        return self._commits.step_of(definition)

    def show(self, members: Sequence[tuple[Definition, str]]) -> GroupShown:
        return self._commits.show(members)

    def show_newest(self, definition: Definition) -> None:
        self._commits.show_newest(definition)

    def sizes(self, definition: Definition) -> Sequence[int]:
        return self._files.sizes(self._table(definition))

    def compact(self, definition: Definition, compaction: Compaction) -> PutTogether:
        return self._files.compact(definition, self._table(definition), compaction)

    def expire(self, definition: Definition, locations: Sequence[str], since: Version | None = None) -> bool:
        """Has Iceberg delete what its retention time is over of. False: the view has no table. Superseded places are of
        files that the view had before it changed its format."""
        table = self._catalogs.table(definition.view)
        if table is None or table.properties().get(catalog.OWNER) != definition.owner:
            return False
        self._retention.expire(definition, table, since)
        forget(self._shim, definition, locations, with_above([table.location()]))
        return True

    # --- inside

    def _target(self, definition: Definition) -> tuple[JavaObject, bool]:
        """The table that a run writes, and whether that is the view's own."""
        if self._catalogs.table(definition.view) is not None or self._shim.owner(definition.view) is None:
            return self._table(definition), True
        return self._table(definition, filled(self._shim, definition)), False

    def _table(self, definition: Definition, name: str = "") -> JavaObject:
        """The table of a view, or its replacement under that ``name``.

        Raises:
            ViewGone: it is not there any more, or belongs to another view.
        """
        table = self._catalogs.table(name or definition.view)
        if table is None:
            raise gone(definition.view)
        if table.properties().get(catalog.OWNER) != definition.owner:
            raise taken(definition.view)
        return table

    def _only_rearranged(self, table: JavaObject, recorded: At, base: int) -> bool:
        """Whether a view's table holds the rows on record, perhaps in other files."""
        if recorded.told is not None:
            return False
        if recorded.snapshot == base:
            return True
        if 0 in (recorded.snapshot, base):
            return False
        between = self._history.between(table, recorded.snapshot, base)
        return not between.lost and all(each.is_rearranged for each in between.snapshots)


def _key(launch: Launch) -> str:
    """A run's files, while they are written. Iceberg takes a key with a slash for a path."""
    return f"headwater {launch.definition.owner} {launch.run.version}"


def _after(launch: Launch, committed: Committed, recorded: At | None, sure: bool, partly: bool) -> At:
    """The state after a publication. Snapshots of other programs between that on record and this one are looked at the
    next time; one that replaced everything left none of their rows, and a table without a snapshot had none."""
    replaced = WHOLE in launch.run.slices and not partly
    if sure or ((replaced or committed.base == 0) and not committed.again):
        return committed.at
    return evolve(committed.at, told=0 if recorded is None else recorded.known)
