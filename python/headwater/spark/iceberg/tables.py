"""Iceberg's implementation of ``ports.TableFormat``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.model.command import Launch, Replaced, Written
from headwater.model.event import Made
from headwater.model.partition import WHOLE, Region, Slice
from headwater.model.seen import Look, Seen
from headwater.model.state import Version
from headwater.model.view import Definition
from headwater.spark import catalog, paths, sql
from headwater.spark.counted import Counted
from headwater.spark.iceberg import schemas
from headwater.spark.iceberg.at import At
from headwater.spark.iceberg.entries import Entries, Placed
from headwater.spark.iceberg.history import History, is_rearranged
from headwater.spark.iceberg.java import Java
from headwater.spark.iceberg.loaded import Catalogs, Loaded
from headwater.spark.iceberg.publishing import Committed, Publishing, Staged, version
from headwater.spark.iceberg.retention import Retention
from headwater.spark.iceberg.shape import Shapes
from headwater.spark.sessions import ZONE, Sessions
from headwater.spark.shim import Shim, is_gone
from headwater.spark.view_tables import emptied, is_same, refuse_renamed, taken
from headwater.spark.wire import Pin


class IcebergTables:
    """The Iceberg tables of all catalogs of an application.

    Example: between two looks a program deletes from one partition, and another one compacts all files. The snapshots
    in between say so, and only the one partition counts as changed.
    """

    name = "iceberg"

    def __init__(self, shim: Shim, sessions: Sessions) -> None:
        self._shim, self._sessions = shim, sessions
        java = Java(sessions.of_table())
        self._catalogs, self._entries, self._history = Catalogs(java), Entries(java), History(java)
        self._publishing, self._retention = Publishing(java, Shapes(java)), Retention(java)
        self._zone = sessions.zone
        self._locations: dict[str, str] = {}
        self._staged: dict[str, Staged] = {}

    # --- looks

    def look(self, looks: Sequence[Look]) -> list[Seen]:
        return [self._look(each) for each in looks]

    def touches(self, table: str, path: str) -> bool:
        """Whether a path is in a table's directory, or above it. Of a table that nobody looked at, all are."""
        if table not in self._locations:
            return True
        return paths.touch(self._locations[table], paths.plain(path))

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
        then = self._catalogs.schema(loaded.table, number)
        return Pin(str(at.snapshot), schemas.adapted(then, loaded.layout.schema) if then else ())

    # --- writes

    def write(self, launch: Launch, frame: DataFrame, place: str, hashed: bool) -> Counted:
        definition, columns = launch.definition, launch.definition.partitioned_by
        if columns:
            frame = frame.hint("rebalance", *[F.col(sql.identifier(column)) for column in columns])
        counted = self._shim.counted(frame, columns, hashed, exact=True)
        key = _key(launch)
        table = self._catalogs.table(definition.view)
        self._staged[key] = self._publishing.stage(table, launch, counted.frame, key)
        return counted

    def written(self, launch: Launch, place: str, known: Mapping[Slice, Made]) -> Written:
        staged = self._staged.pop(_key(launch))
        made = tuple(evolve(each, fingerprint=f"v{launch.run.version}") for each in known.values())
        removed = emptied(launch, known, self.look)
        return Written(made, removed, staged, self._entries.size(staged.files))

    # --- publications

    def require(self, definition: Definition) -> None:
        table = self._catalogs.table(definition.view)
        if table is None:
            refuse_renamed(self._shim, definition)
            catalog.create(self._sessions.of_table(definition.settings), self._shim, definition)
        elif table.properties().get(catalog.OWNER) != definition.owner:
            raise taken(definition.view)

    def publish(self, launch: Launch, written: Written) -> Replaced:
        definition, staged = launch.definition, written.handle
        table = self._catalogs.table(definition.view)
        if table is None or table.properties().get(catalog.OWNER) != definition.owner:
            raise taken(definition.view)
        committed = self._publishing.commit(table, launch, staged, dict(definition.settings).get(ZONE, self._zone))
        recorded = At.of(dict(launch.run.snapshots).get(definition.view, ""))
        sure = recorded is not None and not committed.again and self._only_rearranged(table, recorded, committed.base)
        unchanged = (
            [each.slice for each in written.made if is_same(each, launch.existing.get(each.slice))] if sure else []
        )
        at = _after(launch, committed, recorded, sure)
        return Replaced((), frozenset(unchanged), staged.reshapes, str(at))

    def published(self, definition: Definition) -> set[str] | None:
        """No places: a commit names files, and readers find them by it. ``None`` if there is no table."""
        return None if self._catalogs.table(definition.view) is None else set()

    def highest(self, definition: Definition) -> Version:
        table = self._catalogs.table(definition.view)
        return 0 if table is None else version(table)

    def expire(self, definition: Definition, locations: Sequence[str]) -> bool:
        """Has Iceberg delete what its retention time is over of. False: the view has no table."""
        table = self._catalogs.table(definition.view)
        if table is None or table.properties().get(catalog.OWNER) != definition.owner:
            return False
        self._retention.expire(definition, table)
        return True

    # --- inside

    def _look(self, look: Look) -> Seen:
        try:
            loaded = self._catalogs.loaded(look.table)
            if loaded is None:
                return Seen(look.table, exists=False)
            return self._seen(look, loaded)
        except (Py4JError, PySparkException) as error:
            if is_gone(error):
                raise
            return Seen(look.table, unreadable=self._shim.failure(error).said)

    def _seen(self, look: Look, loaded: Loaded) -> Seen:
        location = loaded.table.location()
        self._locations[look.table] = paths.plain(location)
        seen = Seen(
            look.table,
            schema=loaded.layout.digest,
            incarnation=loaded.incarnation,
            columns=frozenset(each.name for each in loaded.spec.bound),
            location=location,
            owner=loaded.property(catalog.OWNER),
            snapshot=str(loaded.at),
            pinned=True,
        )
        changed, lost = self._changed(loaded, look.since) if look.since else (None, "")
        if changed is not None:
            return evolve(seen, partitions=dict.fromkeys(changed, seen.snapshot), looked=tuple(changed))
        partitions = dict.fromkeys(self._all(loaded), seen.snapshot)
        if look.slices is None or look.since:
            return evolve(seen, partitions=partitions, lost=lost)
        asked = Region(look.slices)
        some = {each: fingerprint for each, fingerprint in partitions.items() if asked.covers(each)}
        return evolve(seen, partitions=some, asked=look.slices, looked=look.slices, snapshot="")

    def _changed(self, loaded: Loaded, since: str) -> tuple[list[Slice] | None, str]:
        """The partitions that changed since a state; ``None`` and the reason if nobody can say which."""
        was, now = At.of(since), loaded.at
        if was is None:
            return None, "it had another format"
        if was.spec != now.spec:
            return None, "its partitioning changed"
        if was.schema != now.schema and (why := self._replaced(loaded, was)):
            return None, why
        if was.known == now.snapshot:
            return [], ""
        if was.known == 0 or now.snapshot == 0:
            return None, ""
        before = self._history.between(loaded.table, was.known, was.snapshot)
        after = self._history.between(loaded.table, was.snapshot, now.snapshot)
        if why := before.lost or after.lost:
            return None, why
        others = [each for each in before.snapshots if catalog.OWNER not in each.summary()]
        places: set[Placed] = set()
        for snapshot in (*others, *after.snapshots):
            if not is_rearranged(snapshot):
                places |= self._entries.changed(loaded.table, snapshot)
        changed = self._slices(loaded, places)
        if not all(map(loaded.spec.is_partition, changed)):
            return None, "files of an older partitioning changed"
        return changed, ""

    def _replaced(self, loaded: Loaded, was: At) -> str:
        """Why the rows of a table may read otherwise than with the schema of a state; empty if they do not."""
        before = self._catalogs.schema(loaded.table, was.schema)
        if before is None:
            return "the schema on record is gone"
        then = self._catalogs.spec(loaded, before)
        if [each.name for each in then.bound] != [each.name for each in loaded.spec.bound]:
            return "its partition columns have other names"
        return schemas.replaced(before, loaded.layout.schema, self._catalogs.every_schema(loaded.table))

    def _all(self, loaded: Loaded) -> list[Slice]:
        """All partitions. A table whose partitions cannot be told apart has one, with rows or without."""
        if not loaded.spec.bound:
            return [Slice()]
        snapshot = loaded.table.currentSnapshot()
        return [] if snapshot is None else self._slices(loaded, self._entries.live(loaded.table, snapshot))

    def _slices(self, loaded: Loaded, places: Iterable[Placed]) -> list[Slice]:
        found = dict.fromkeys(
            each
            for placed in places
            for each in loaded.spec.slices(loaded.layout.specs[placed.spec], dict(placed.values), self._zone)
        )
        return sorted(found, key=str)

    def _only_rearranged(self, table: JavaObject, recorded: At, base: int) -> bool:
        """Whether a view's table holds the rows on record, perhaps in other files."""
        if recorded.told is not None:
            return False
        if recorded.snapshot == base:
            return True
        if 0 in (recorded.snapshot, base):
            return False
        between = self._history.between(table, recorded.snapshot, base)
        return not between.lost and all(map(is_rearranged, between.snapshots))


def _key(launch: Launch) -> str:
    """A run's files, while they are written. Iceberg takes a key with a slash for a path."""
    return f"headwater {launch.definition.owner} {launch.run.version}"


def _after(launch: Launch, committed: Committed, recorded: At | None, sure: bool) -> At:
    """The state after a publication. Snapshots of other programs between that on record and this one are looked at the
    next time; one that replaced everything left none of their rows."""
    if sure or (WHOLE in launch.run.slices and not committed.again):
        return committed.at
    return evolve(committed.at, told=0 if recorded is None else recorded.known)
