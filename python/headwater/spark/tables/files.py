"""Tables, and paths, that are the files in their directories: the first format of ``table_format``.

Each version of a view lies in a hidden directory ``.v<version>`` of the view's root. Publishing moves the catalog's
pointers there. A table without partitions can be read as it once was while programs only append to it. Of other tables
a look before a run and one after it tell what the run read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from attrs import evolve, frozen
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.model.command import Launch, Replaced, Written
from headwater.model.error import ChangesUnknown, TakenOver
from headwater.model.event import Made
from headwater.model.format import FILES, Format
from headwater.model.measure import Measured
from headwater.model.name import FunctionName, PathName, named
from headwater.model.partition import WHOLE, Slice, Version
from headwater.model.reason import Code, Reason
from headwater.model.seen import ChangedRows, Seen, TableQuestion
from headwater.model.state import PartitionRecord
from headwater.model.view import Definition
from headwater.spark.jvm import paths, sql, wire
from headwater.spark.jvm.counted import Counted
from headwater.spark.jvm.facts import Asked, Fact, FoundPartition, Pin
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables import catalog, view_tables
from headwater.spark.tables.key_files import KeyFiles
from headwater.spark.tables.table_format import ViewFormat

_SNAPSHOT = re.compile(r"\d+ [0-9a-f]{32}")
"""A number of files, and a digest of them (``FileSnapshots.scala``)."""

_VERSION = re.compile(r"(\d+)@@(.+)")
"""A version of a view, and the directory that keeps it (``FileVersions.scala``)."""

LIST = "partitions.json"
"""The list of a version's partitions, in its directory."""


@frozen
class Files:
    """The handle of a run's output: a publication request for the shim, if the output lies in files; and the partition
    of each location."""

    request: wire.Publication | None
    places: Mapping[str, Slice]


class FileTables(ViewFormat):
    """The tables of a session catalog, and paths, whose rows are in the files that a listing finds."""

    name = FILES

    def __init__(self, shim: Shim, sessions: Sessions) -> None:
        self._shim, self._sessions = shim, sessions
        self._locations: dict[str, str] = {}
        self._scattered: set[str] = set()  # tables with a partition outside their own directory
        self._regular: set[str] = set()  # tables whose partitions all have the names that Spark gives them

    # --- looks

    def look(self, looks: Sequence[TableQuestion]) -> list[Seen]:
        facts = self._shim.observe([self._asked(each) for each in looks])
        return [self._with_list(look, self._seen(fact)) for look, fact in zip(looks, facts, strict=True)]

    def touches(self, table: str, path: str) -> bool:
        """Whether a write to ``path`` may change the rows of ``table``. A partition may lie anywhere, so the files of a
        table with a partition elsewhere count too."""
        match named(table):
            case PathName(path=location):
                pass
            case FunctionName():
                return False
            case _ if table in self._locations:
                location = self._locations[table]
            case _:
                return True
        mine, written = paths.plain(location), paths.plain(path)
        return paths.touch(mine, written) or "*" in mine or table in self._scattered

    # --- reads and writes

    def pin(self, table: str, snapshot: str) -> Pin | None:
        """How to read the files that a table had, if they are there; ``None`` if it had another format."""
        if (kept := _VERSION.fullmatch(snapshot)) is not None:
            return Pin(kept[1], root=kept[2])
        return Pin(snapshot, files=True) if _SNAPSHOT.fullmatch(snapshot) else None

    def changed(self, session: SparkSession, table: str, since: str, until: str) -> ChangedRows:
        before, after = _VERSION.fullmatch(since), _VERSION.fullmatch(until)
        if before is not None and after is not None:
            return self._between(session, table, before, after)
        rows = self._shim.added_files(session, table, since, until)
        if rows is None:
            raise ChangesUnknown(
                Code.SOURCE_ROWS_REMOVED, f"{table} has other files than it had; only new files are followed"
            )
        return ChangedRows(rows, None)

    def write(
        self, launch: Launch, frame: DataFrame, place: str, hashed: bool, key_files: KeyFiles | None = None
    ) -> Counted:
        """A view's rows, as files below a place."""
        definition, columns = launch.definition, launch.definition.partitioned_by
        if columns:
            frame = frame.hint("rebalance", *[F.col(sql.identifier(column)) for column in columns])
        counted = self._shim.counted(frame, columns, hashed)
        writer = counted.frame.write.format(definition.format).mode("overwrite")
        writer = writer.options(**dict(definition.storage.options))
        (writer.partitionBy(*columns) if columns else writer).save(place)
        return counted

    def unstorable(self, definition: Definition) -> str:
        if definition.storage.blank_rows and len(definition.columns) - len(definition.partitioned_by) < 2:
            return "a row of one column that is NULL is an empty line, and lost; add a column, or choose another format"
        return ""

    def written(self, launch: Launch, place: str, known: Mapping[Slice, Made]) -> Written:
        """The output of a run at a place; ``known`` are its rows and sums."""
        run, definition = launch.run, launch.definition
        columns = definition.partitioned_by
        files = {_slice(each, definition): each for each in self._shim.written(place, len(columns))}
        made = tuple(evolve(known[each], fingerprint=file.fingerprint) for each, file in files.items())
        removed = view_tables.emptied(launch, files, self.look)
        request = wire.Publication(run.view, definition.owner, run.version)
        if definition.keeps_versions:
            before = _VERSION.fullmatch(dict(run.snapshots).get(run.view, ""))
            request = evolve(request, root=definition.root, since=before[1] if before is not None else None)
        parts = [_part(each, files[each.slice], launch.existing.get(each.slice)) for each in made]
        if columns:
            request = evolve(request, partitions=tuple(parts), removed=tuple(map(sql.spec, removed)))
        else:
            [part] = parts
            request = evolve(
                request,
                location=part.location,
                rows=part.rows,
                bytes=part.bytes,
                was=part.was,
                fingerprint=part.fingerprint,
            )
        found = Files(request, {file.location: each for each, file in files.items()})
        return Written(made, removed, found, measured=Measured(sum(file.bytes for file in files.values())))

    # --- publications

    def require(self, definition: Definition) -> None:
        if self._shim.owner(definition.view) is None:
            view_tables.resume(self._shim, definition)
        view_tables.require_own(self._shim, definition)

    def publish(self, launch: Launch, written: Written) -> Replaced:
        definition, request, places = launch.definition, written.handle.request, written.handle.places
        if WHOLE in launch.run.slices:  # a redefinition always renews everything
            request = evolve(request, shape=catalog.shape(definition))
        try:
            answer = self._shim.publish(request)
        except (PySparkException, Py4JJavaError):
            view_tables.require_own(self._shim, definition)
            raise
        reshaped = isinstance(answer, wire.Misfit)
        left: Sequence[str] = []
        if reshaped:
            answer, left = self._swapped(definition, written.handle.request)
        match answer:
            case wire.Fenced(version):
                raise TakenOver(f"version {version} of {definition.view} is already published")
            case wire.Stranger() | wire.Misfit():
                raise view_tables.taken(definition.view)
        root = paths.plain(definition.root)
        superseded = [path for path in answer.superseded if path not in places and paths.plain(path) != root]
        kept = f"{launch.run.version}@@{definition.root}" if answer.kept else ""
        return Replaced([*superseded, *left], frozenset(places[each] for each in answer.unchanged), reshaped, kept)

    def published(self, definition: Definition) -> set[str] | None:
        """The places where the catalog points for a view now, and all directories that these are in; ``None`` if it has
        no such table. The record may be behind it: after a crash between publishing and recording, or before a view
        adopted from the catalog could be refreshed."""
        [fact] = self._shim.observe([Asked(definition.view)])
        if not fact.exists or Format.of(fact.kind).own_classes:
            return None
        return view_tables.with_above(each.location for each in fact.partitions)

    def highest(self, definition: Definition) -> Version:
        versions = (name[2:] for name in self._shim.names(definition.root) if name.startswith(".v"))
        return max((int(each) for each in versions if each.isdigit()), default=0)

    def location(self, definition: Definition) -> str:
        return definition.root

    def expire(self, definition: Definition, locations: Sequence[str], since: Version | None = None) -> bool:
        """Deletes superseded locations of a view, but for those that are published. False: the view has no table now,
        so nobody knows which are, and all stay."""
        published = self.published(definition) if locations else set()
        if published is None:
            return False
        view_tables.forget(self._shim, definition, locations, published)
        root = paths.plain(definition.root)
        if not all(paths.is_within(paths.plain(each), root) for each in locations):
            view_tables.forget_replaced(self._sessions.of_table(definition.settings), self._shim, definition)
        return True

    # --- inside

    def _between(self, session: SparkSession, view: str, before: re.Match[str], after: re.Match[str]) -> ChangedRows:
        """The rows of the partitions of a view that have other files in one version than in another one."""
        came = self._shim.version_rows(session, view, after[2], after[1], before[1])
        went = self._shim.version_rows(session, view, before[2], before[1], after[1])
        if came is None or went is None or before[2] != after[2]:
            raise ChangesUnknown(Code.SOURCE_SNAPSHOT_EXPIRED, f"a version of {view} is not there any more")
        return ChangedRows(came, went)

    def _asked(self, look: TableQuestion) -> Asked:
        """A look by value misses partitions of other names, so it is good only for tables that have none."""
        whole = look.slices is None or look.table not in self._regular
        some = (look.named or None) if look.slices is None else look.slices
        named = None if some is None else tuple(dict(each.bound) for each in some)
        return Asked(look.table, named, whole, look.since)

    def _seen(self, fact: Fact) -> Seen:
        table = fact.table
        if fact.unreadable:
            return Seen(table, unreadable=Reason(Code.SOURCE_UNREADABLE, fact.unreadable))
        if (format := Format.of(fact.kind)).own_classes:
            said = f"it is a table of {format.title} now"
            return Seen(table, unreadable=Reason(Code.SOURCE_FORMAT_CHANGED, said))
        if not fact.exists:
            self._regular.discard(table)
            return Seen(table, exists=False)
        partitions, asked = _by_value(fact.partitions), tuple(map(Slice.of, fact.asked))
        self._note_names(fact, partitions)
        self._note_places(fact)
        return Seen(
            table,
            schema=hashlib.sha256(fact.schema.encode()).hexdigest()[:16],
            incarnation=fact.created,
            partitions={each: _joined([one.fingerprint for one in several]) for each, several in partitions.items()},
            asked=asked,
            looked=None if fact.whole else asked,
            empty=frozenset(each for each, several in partitions.items() if not any(one.files for one in several)),
            away={each: one.location or "" for each, several in partitions.items() for one in several if one.away},
            columns=frozenset(each.name for each in fact.partition_columns),
            location=fact.location or "",
            owner=fact.properties.get(catalog.OWNER, ""),
            snapshot=fact.snapshot,
            pinned=fact.readable,
            churn=fact.added,
        )

    def _with_list(self, look: TableQuestion, seen: Seen) -> Seen:
        """What a look found of a view whose version on record is kept. If the list of this version is gone, nobody can
        read it, and all of its partitions count as written past Headwater."""
        kept = _VERSION.fullmatch(look.since or "")
        if kept is None or not seen.exists or seen.unreadable or LIST in self._shim.names(f"{kept[2]}/.v{kept[1]}"):
            return seen
        return evolve(seen, partitions=dict.fromkeys(seen.partitions, "its list is gone"))

    def _note_names(self, fact: Fact, partitions: Mapping[Slice, Sequence[FoundPartition]]) -> None:
        if any(one.spec != sql.spec(each) for each, several in partitions.items() for one in several):
            self._regular.discard(fact.table)
        elif fact.whole:
            self._regular.add(fact.table)

    def _note_places(self, fact: Fact) -> None:
        if not fact.location:
            return
        self._locations[fact.table] = fact.location
        root = paths.plain(fact.location)
        if any(each.location and not paths.is_within(paths.plain(each.location), root) for each in fact.partitions):
            self._scattered.add(fact.table)

    def _swapped(
        self, definition: Definition, request: wire.Publication
    ) -> tuple[wire.PublicationAnswer, Sequence[str]]:
        """Publishes into a new table, of the view's new shape, which then takes the view's name. Also the places of the
        old table."""
        session = self._sessions.of_table(definition.settings)
        filled = view_tables.replace(session, self._shim, definition)
        answer = self._shim.publish(evolve(request, table=filled, removed=(), since=None))
        view_tables.require_own(self._shim, definition)
        if not isinstance(answer, wire.Superseded):
            return answer, ()
        return answer, catalog.swap(session, self._shim, definition)


def place_of(launch: Launch) -> str:
    """The place of a run's output in the warehouse. Spark takes a directory whose own name is hidden for one to ignore,
    hence the level below."""
    return f"{launch.definition.root}/.v{launch.run.version}/data"


def _slice(directory: wire.Directory, definition: Definition) -> Slice:
    """The partition of a directory that a run wrote. Without ANSI, Spark names some decimals by an exponent."""
    made = dict(directory.values)
    for column in definition.columns:
        value = made.get(column.name)
        if value is not None and column.type.upper().startswith("DECIMAL"):
            made[column.name] = format(Decimal(value), "f")
    return Slice.of({column: made[column] for column in definition.partitioned_by})


def _part(made: Made, file: wire.Directory, known: PartitionRecord | None) -> wire.PublishedPartition:
    """A partition to publish. If it holds the rows that the record says it held, ``was`` is the fingerprint of the
    files that must be found in its place: of others, readers may have seen other rows."""
    was = known.fingerprint if known is not None and view_tables.is_same(made, known) else None
    return wire.PublishedPartition(sql.spec(made.slice), file.location, made.rows, file.bytes, was, file.fingerprint)


def _by_value(partitions: Iterable[FoundPartition]) -> dict[Slice, list[FoundPartition]]:
    """Partitions by the values that their names mean: ``month=5`` and ``month=05`` are one."""
    found: dict[Slice, list[FoundPartition]] = {}
    for each in partitions:
        found.setdefault(Slice.of(each.values), []).append(each)
    return found


def _joined(fingerprints: Sequence[str]) -> str:
    """One fingerprint for directories that mean one value: a change of either changes it."""
    if len(fingerprints) == 1:
        return fingerprints[0]
    return hashlib.sha256(" ".join(sorted(fingerprints)).encode()).hexdigest()[:32]
