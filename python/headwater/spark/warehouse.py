"""Computes and publishes refreshes with Spark: the warehouse port over file tables."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.engine.policy import cuts_off
from headwater.model.action import Launch
from headwater.model.error import LeaseLost, RefreshFailed
from headwater.model.event import Effort, Made, Moved, Place, Scanned
from headwater.model.partition import WHOLE, Slice, Value
from headwater.model.state import PartitionRecord, Run, Version
from headwater.model.view import Definition
from headwater.ports import Replaced, Written
from headwater.spark import catalog, jobs, sql
from headwater.spark.blocks import Blocks
from headwater.spark.counted import Counted, counts, extract_of, moved, slice_of
from headwater.spark.failures import is_cancelled, is_unwritable, translating, words
from headwater.spark.overlay import PROPERTY, Output, Overlays
from headwater.spark.room import OutOfRoom
from headwater.spark.scanner import Scanner
from headwater.spark.scans import Scans
from headwater.spark.sessions import Sessions
from headwater.spark.shim import Shim
from headwater.spark.volume import Volume

log = logging.getLogger("headwater")

POOL = "headwater"


@frozen
class Files:
    """What a run wrote: a publication request for the shim, which partition lies where, and of what is not in the
    warehouse yet in what kind of ``place`` it is, and there, if that is a volume, in which directory it is ``kept``."""

    request: dict
    places: Mapping[str, Slice]
    place: Place = Place.WAREHOUSE
    kept: str = ""


class Track(threading.local):
    """The scheduler pool of a thread that refreshes run in one after the other."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self.pool = f"{POOL}-{next(numbers)}"


class SparkWarehouse:
    """The views of one Spark application. Every version of a view lies in a hidden directory
    ``.v<version>`` of the view's root; publishing moves the catalog's pointers to it.

    Args:
        bandwidth: with how many bytes a second what is kept is brought to the warehouse, at most; 0: no limit.

    Attributes:
        reading: called with a run and its definition before the sources are read (``True``), and after; few files
            can be read as they once were, so what a run may have seen of them is compared with the record. It says
            which versions of them the run is to see.
        reshaped: called when a view was published with other columns, before its readers can run.
    """

    def __init__(
        self,
        base: SparkSession,
        shim: Shim,
        sessions: Sessions,
        room: Volume | Blocks | None = None,
        bandwidth: int = 0,
    ) -> None:
        self._base, self._shim, self._sessions = base, shim, sessions
        self._room, self._bandwidth = room, bandwidth
        self._overlays, self._track = Overlays(), Track(itertools.count())
        self._scans = Scans(room.remove if room is not None else lambda number: None)
        self.reading: Callable[[Run, Definition, bool], Mapping[str, Version]] = lambda run, definition, before: {}
        self.reshaped: Callable[[str], None] = lambda view: None

    def compute(self, launch: Launch) -> Written:
        run, definition = launch.run, launch.definition
        with translating(run, self._shim):
            session = self._sessions.of(definition)
            context = session.sparkContext
            self._take_up(context, run, "refresh")
            if not self._shim.exists(definition.view):
                catalog.create(session, definition)
            seen = self.reading(run, definition, True)
            with self._overlaid(context, run):
                scanned = self._share(launch, session, seen)
            with self._overlaid(context, run):
                written = evolve(self._made(launch, session), scanned=scanned)
            effort = self._effort(run, session)
            self.reading(run, definition, False)
        if run.kept or run.on:
            self._overlays.add(run, Output.of(run, launch.existing, written))
        return evolve(written, effort=effort)

    def bring(self, launch: Launch, written: Written) -> Written:
        with translating(launch.run, self._shim):
            match written.handle.place:
                case Place.WAREHOUSE:
                    return written
                case Place.VOLUME:
                    brought = self._copied(launch, written)
                case Place.BLOCKS:
                    brought = self._unloaded(launch, written)
        return evolve(brought, moved=written.moved, held=written.held, scanned=written.scanned, effort=written.effort)

    def release(self, version: Version) -> None:
        self._overlays.remove(version)
        self._scans.release(version)
        if self._room is not None:
            self._room.remove(version)

    def publish(self, launch: Launch, written: Written) -> Replaced:
        with translating(launch.run, self._shim):
            answer = self._publish(launch, written.handle.request)
        if "fenced" in answer:
            raise LeaseLost(f"version {answer['fenced']} of {launch.run.view} is already published")
        root = launch.definition.root
        self._overlays.publish(launch.run.version)
        places = written.handle.places
        superseded = [path for path in answer["superseded"] if path not in places and not _same_path(path, root)]
        return Replaced(superseded, frozenset(places[each] for each in answer["unchanged"]))

    def cancel(self, view: str, version: Version) -> None:
        self._base.sparkContext._jsc.sc().cancelJobGroup(group(view, version))
        self._shim.stop_copy(group(view, version))

    def remove(self, definition: Definition) -> None:
        self._shim.delete(_parent(definition.root), [definition.root])

    def sweep(self, definition: Definition, paths: Sequence[str]) -> None:
        """Deletes superseded locations of a view."""
        self._shim.delete(definition.root, paths)

    def evaluate(
        self, definition: Definition, expression: str, inputs: Sequence[tuple[Value, ...]], names: Sequence[str]
    ) -> list[Value]:
        rows = ", ".join(f"({', '.join([str(n), *map(sql.string, each)])})" for n, each in enumerate(inputs))
        columns = ", ".join(["`headwater row`", *(sql.identifier(name) for name in names)])
        try:
            session = self._sessions.of(definition)
            found = session.sql(f"SELECT `headwater row`, {expression} FROM VALUES {rows} AS t({columns})").collect()
        except (PySparkException, Py4JError) as error:
            raise RefreshFailed(f"{expression} cannot be evaluated: {words(error)}") from error
        values = {row[0]: row[1] for row in found}
        # Spark writes the empty string as the null partition.
        return [values[n] or None for n in range(len(inputs))]

    # --- inside

    def _publish(self, launch: Launch, request: dict) -> dict:
        definition = launch.definition
        if WHOLE not in launch.run.slices:  # a redefinition always renews everything
            return self._shim.publish(request)
        answer = self._shim.publish({**request, "shape": catalog.shape(definition)})
        if not answer.get("misfit"):
            return answer
        session = self._sessions.of(definition)
        answer = self._shim.publish({**request, "table": catalog.replace(session, definition), "removed": []})
        catalog.swap(session, definition)
        self.reshaped(launch.run.view)
        return answer

    def _frame(self, session: SparkSession, definition: Definition, run: Run) -> DataFrame:
        itself = (definition.view,) if definition.earlier else ()
        self._shim.renew(session, (*definition.sources, *definition.through, *itself))
        frame = jobs.frame(session, definition, run) if definition.is_job else session.sql(definition.query)
        frame = _shaped(frame, definition)
        if WHOLE not in run.slices:
            types = {column.name: column.type for column in definition.columns}
            frame = frame.where(sql.predicate(run.slices, types))
        return frame

    @contextlib.contextmanager
    def _overlaid(self, context: SparkContext, run: Run) -> Iterator[None]:
        """Lets queries of this thread read what other runs made, where they left it, and the scans that it took."""
        told = self._overlays.told(run, self._scans.read(run))
        context.setLocalProperty(PROPERTY, told or "")
        try:
            yield
        except (PySparkException, Py4JError) as error:
            self._overlays.forget(run.on)  # perhaps they are gone, and what is published is in the warehouse
            for table in self._scans.refuse(run) if not is_cancelled(error) else ():
                log.warning("views read %s themselves from now on: %s failed on a scan of it", table, run.view)
            raise
        finally:
            context.setLocalProperty(PROPERTY, "")

    def _share(self, launch: Launch, session: SparkSession, seen: Mapping[str, Version]) -> tuple[Scanned, ...]:
        """Takes the scans that a run shares with others; those that were made for that."""
        run = launch.run
        if not run.shared or self._room is None:
            return ()
        needs = self._shim.needs(self._frame(session, launch.definition, run))
        scanner = Scanner(
            session,
            self._shim,
            self._room,
            part=lambda shared: self._overlays.part(run, shared),
            stop=lambda: self.cancel(run.view, run.version),
            effort=lambda: self._effort(run, session),
        )
        self._scans.take(run, seen, {table: extract_of(each) for table, each in needs.items()}, scanner)
        return tuple(scanner.made)

    def _effort(self, run: Run, session: SparkSession) -> Effort | None:
        """What the tasks of a run took so far; asked for only where something may be kept: it takes time to learn."""
        return None if self._room is None else self._shim.effort(session, group(run.view, run.version))

    def _made(self, launch: Launch, session: SparkSession) -> Written:
        """What a run makes, close at hand if it is to be kept and fits there."""
        run, definition, room = launch.run, launch.definition, self._room
        if run.kept and room is not None and room.reserve(run.version, launch.size):
            try:
                with room.watched(run.version, lambda: self.cancel(run.view, run.version)):
                    return self._kept(launch, self._frame(session, definition, run), room)
            except (OutOfRoom, PySparkException, Py4JError) as error:
                if not (isinstance(error, OutOfRoom) or is_unwritable(error)):
                    raise
                room.remove(run.version)
                log.warning("%s cannot be kept in memory (%s); it is written to the warehouse", run.view, words(error))
        return self._write(launch, self._frame(session, definition, run), _place(launch))

    def _kept(self, launch: Launch, frame: DataFrame, room: Volume | Blocks) -> Written:
        match room:
            case Volume():
                return self._write(launch, frame, room.place(launch.run.version))
            case Blocks():
                return self._held(launch, frame, room)

    def _held(self, launch: Launch, frame: DataFrame, room: Blocks) -> Written:
        """What a run makes, in Spark's memory. How long writing takes is part of how long batches take to be made."""
        run, columns = launch.run, launch.definition.partitioned_by
        counted = self._shim.counted(frame, columns, cuts_off(launch.definition))
        room.hold(counted.frame, run.version)
        made = tuple(counts(counted.sums(), columns).values())
        slices = {each.slice for each in made}
        removed = tuple(each for each in launch.existing if each not in slices)
        held = Written(made, removed, Files({}, {}, Place.BLOCKS), held=room.size(run.version))
        return evolve(held, moved=self._moved(counted, run, held))

    def _copied(self, launch: Launch, written: Written) -> Written:
        """What lies in the volume, as bytes in the warehouse."""
        place = _place(launch)
        self._shim.copy(group(launch.run.view, launch.run.version), written.handle.kept, place, self._bandwidth)
        brought = self._written(launch, place, {each.slice: each for each in written.made})
        if brought.size != written.size:
            raise RefreshFailed(f"what {written.handle.kept} kept of {launch.run.view} is not all there any more")
        return brought

    def _unloaded(self, launch: Launch, written: Written) -> Written:
        """What Spark's memory holds, written to the warehouse. Sums are of the rows as they were made: one that was
        held may have other bytes and mean the same."""
        run, session = launch.run, self._sessions.of(launch.definition)
        self._take_up(session.sparkContext, run, "bring")
        place, known = _place(launch), {each.slice: each for each in written.made}
        counted = self._saved(launch, self._shim.held(session, run.version), place, hashed=False)
        found = counts(counted.sums(), launch.definition.partitioned_by)
        if {each: made.rows for each, made in found.items()} != {each: made.rows for each, made in known.items()}:
            raise RefreshFailed(f"what Spark's memory held of {run.view} is not all there any more")
        return self._written(launch, place, known)

    def _take_up(self, context: SparkContext, run: Run, verb: str) -> None:
        """Lets jobs of this thread be known as a run's."""
        context.setJobGroup(group(run.view, run.version), f"{verb} {run.view}: {run.reason}", interruptOnCancel=True)
        context.setLocalProperty("spark.scheduler.pool", self._track.pool)

    def _write(self, launch: Launch, frame: DataFrame, place: str) -> Written:
        counted = self._saved(launch, frame, place, cuts_off(launch.definition))
        written = self._written(launch, place, counts(counted.sums(), launch.definition.partitioned_by))
        return evolve(written, moved=self._moved(counted, launch.run, written))

    def _moved(self, counted: Counted, run: Run, written: Written) -> tuple[Moved, ...]:
        return moved(counted.spent(), run, written, self._overlays.lying(run), self._scans.read(run))

    def _saved(self, launch: Launch, frame: DataFrame, place: str, hashed: bool) -> Counted:
        """A view's rows, as files below a place."""
        definition, columns = launch.definition, launch.definition.partitioned_by
        if columns:
            frame = frame.hint("rebalance", *[F.col(sql.identifier(column)) for column in columns])
        counted = self._shim.counted(frame, columns, hashed)
        writer = counted.frame.write.format(definition.format).mode("overwrite")
        (writer.partitionBy(*columns) if columns else writer).save(place)
        return counted

    def _written(self, launch: Launch, place: str, known: Mapping[Slice, Made]) -> Written:
        """What lies at a place, of which rows and sums are known."""
        run, definition = launch.run, launch.definition
        columns = definition.partitioned_by
        files = {slice_of(each, columns): each for each in self._shim.written(place, len(columns))}
        made = tuple(evolve(known[each], fingerprint=file["fingerprint"]) for each, file in files.items())
        removed = tuple(each for each in launch.existing if each not in files)
        request: dict[str, Any] = {"table": run.view, "version": run.version}
        parts = [_part(each, files[each.slice], launch.existing.get(each.slice)) for each in made]
        if columns:
            specs = [{"spec": sql.spec(each.slice), **part} for each, part in zip(made, parts, strict=True)]
            request |= {"partitions": specs, "removed": [sql.spec(each) for each in removed]}
        else:
            request |= parts[0]
        places = {file["location"]: each for each, file in files.items()}
        found = Files(request, places)
        if place != _place(launch):
            found = evolve(found, place=Place.VOLUME, kept=place)
        return Written(made, removed, found, sum(file["bytes"] for file in files.values()))


def _shaped(frame: DataFrame, definition: Definition) -> DataFrame:
    """A view's rows with its columns. They are mostly those of the query, and each step of Spark's is analysed."""
    wanted = [(column.name, column.type.lower()) for column in definition.columns]
    if [(field.name, field.dataType.simpleString().lower()) for field in frame.schema.fields] == wanted:
        return frame
    if not definition.is_job:
        frame = frame.toDF(*(name for name, _ in wanted))
    return frame.select(*(F.col(sql.identifier(c.name)).cast(c.type).alias(c.name) for c in definition.columns))


def group(view: str, version: Version) -> str:
    """The job group of a run's Spark jobs; ``cancelJobGroup`` of it cancels the refresh."""
    return f"headwater {view} {version}"


def _place(launch: Launch) -> str:
    """Where in the warehouse a run's output lies. Spark takes a directory whose own name is hidden for one to ignore,
    hence the level below."""
    return f"{launch.definition.root}/.v{launch.run.version}/data"


def _part(made: Made, file: Mapping[str, Any], known: PartitionRecord | None) -> dict[str, Any]:
    """A partition to publish. If it holds the rows that the record says it held, ``was`` is the fingerprint of the
    files that must be found in its place: of others, readers may have seen other rows."""
    part = {"location": file["location"], "rows": made.rows, "bytes": file["bytes"]}
    if known is not None and made.content and (made.content, made.rows) == (known.content, known.rows):
        part["was"] = known.fingerprint
    return part


def _parent(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[0]


def _same_path(left: str, right: str) -> bool:
    return left.split(":", 1)[-1].strip("/") == right.split(":", 1)[-1].strip("/")
