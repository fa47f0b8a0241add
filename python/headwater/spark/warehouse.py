"""Computes and publishes refreshes with Spark: the warehouse port over file tables."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import evolve
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.model.action import Launch
from headwater.model.error import LeaseLost, RefreshCancelled, RefreshFailed
from headwater.model.event import Effort, Place, Scanned
from headwater.model.partition import WHOLE, Value
from headwater.model.state import Run, Version
from headwater.model.view import Definition
from headwater.ports import Replaced, Written
from headwater.spark import catalog, jobs, paths, sql
from headwater.spark.blocks import Blocks
from headwater.spark.counted import extract_of, moved
from headwater.spark.failures import translating
from headwater.spark.overlay import PROPERTY, Output, Overlays
from headwater.spark.scanner import Scanner
from headwater.spark.scans import Scans
from headwater.spark.sessions import Sessions
from headwater.spark.shim import FailureKind, Shim, is_gone
from headwater.spark.volume import Volume
from headwater.spark.writer import Writer, group

log = logging.getLogger("headwater")

POOL = "headwater"


class Track(threading.local):
    """The scheduler pool of a thread that refreshes run in one after the other."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self.pool = f"{POOL}-{next(numbers)}"


class SparkWarehouse:
    """The views of one Spark application. Each run writes a directory of its own; publishing moves the catalog's
    pointers to it.

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
        self._room, self._writer = room, Writer(shim, room, bandwidth)
        self._overlays, self._track = Overlays(), Track(itertools.count())
        self._scans = Scans(room.remove if room is not None else lambda number: None)
        self.reading: Callable[[Run, Definition, bool], Mapping[str, Version]] = lambda run, definition, before: {}
        self.reshaped: Callable[[str], None] = lambda view: None

    def compute(self, launch: Launch) -> Written:
        run, definition = launch.run, launch.definition
        with translating(run, self._shim):
            session = self._sessions.of_run(definition)
            context = session.sparkContext
            self._take_up(context, run, "refresh")
            self._require_table(definition)
            seen = self.reading(run, definition, True)
            with self._overlaid(context, run):
                scanned = self._share(launch, session, seen)
            with self._overlaid(context, run):
                written, counted = self._writer.make(
                    launch, lambda: self._frame(session, definition, run), lambda: self.cancel(run.view, run.version)
                )
                read = moved(counted.spent(), run, written, self._overlays.lying(run), self._scans.read(run))
            effort = self._effort(run, session)
            self.reading(run, definition, False)
        if run.kept or run.on:
            self._overlays.add(run, Output.of(run, launch.existing, written))
        return evolve(written, moved=read, scanned=scanned, effort=effort)

    def bring(self, launch: Launch, written: Written) -> Written:
        if written.handle.place is Place.WAREHOUSE:
            return written
        with translating(launch.run, self._shim):
            session = self._sessions.of(launch.definition)
            self._take_up(session.sparkContext, launch.run, "bring")
            brought = self._writer.bring(session, launch, written)
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
        if "stranger" in answer:
            raise _taken(launch.run.view)
        root = launch.definition.root
        self._overlays.publish(launch.run.version)
        places = written.handle.places
        superseded = [
            path for path in answer["superseded"] if path not in places and paths.plain(path) != paths.plain(root)
        ]
        return Replaced(superseded, frozenset(places[each] for each in answer["unchanged"]))

    def cancel(self, view: str, version: Version) -> None:
        self._base.sparkContext._jsc.sc().cancelJobGroup(group(view, version))
        self._shim.stop_copy(group(view, version))

    def remove(self, definition: Definition) -> None:
        self._shim.release(definition.root, definition.owner)

    def sweep(self, definition: Definition, locations: Sequence[str]) -> None:
        """Deletes superseded locations of a view."""
        self._shim.delete_versions(definition.root, definition.owner, locations)

    def evaluate(
        self, definition: Definition, expression: str, inputs: Sequence[tuple[Value, ...]], names: Sequence[str]
    ) -> list[Value]:
        rows = ", ".join(f"({', '.join([str(n), *map(sql.string, each)])})" for n, each in enumerate(inputs))
        columns = ", ".join(["`headwater row`", *(sql.identifier(name) for name in names)])
        try:
            session = self._sessions.of(definition)
            found = session.sql(f"SELECT `headwater row`, {expression} FROM VALUES {rows} AS t({columns})").collect()
        except (PySparkException, Py4JError) as error:
            raise RefreshFailed(f"{expression} cannot be evaluated: {self._said(error)}") from error
        values = {row[0]: sql.partition_value(row[1]) for row in found}
        return [values[n] for n in range(len(inputs))]

    # --- inside

    def _said(self, error: Exception) -> str:
        return str(error) if is_gone(error) else self._shim.failure(error).said

    def _publish(self, launch: Launch, request: dict) -> dict:
        definition = launch.definition
        if WHOLE not in launch.run.slices:  # a redefinition always renews everything
            return self._shim.publish(request)
        answer = self._shim.publish({**request, "shape": catalog.shape(definition)})
        if not answer.get("misfit"):
            return answer
        session = self._sessions.of_table(definition.settings)
        answer = self._shim.publish({**request, "table": catalog.replace(session, definition), "removed": []})
        if self._shim.owner(definition.view) != definition.owner:
            raise _taken(definition.view)
        catalog.swap(session, self._shim, definition)
        self.reshaped(launch.run.view)
        return answer

    def _require_table(self, definition: Definition) -> None:
        """Makes the table of a view if somebody dropped it.

        Raises:
            RefreshCancelled: another table has its name.
        """
        owner = self._shim.owner(definition.view)
        if owner is None:
            catalog.create(self._sessions.of_table(definition.settings), definition)
        elif owner != definition.owner:
            raise _taken(definition.view)

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
            cancelled = is_gone(error) or self._shim.failure(error).kind in (FailureKind.CANCELLED, FailureKind.STOPPED)
            for table in self._scans.refuse(run) if not cancelled else ():
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

    def _take_up(self, context: SparkContext, run: Run, verb: str) -> None:
        """Lets jobs of this thread be known as a run's."""
        context.setJobGroup(group(run.view, run.version), f"{verb} {run.view}: {run.reason}", interruptOnCancel=True)
        context.setLocalProperty("spark.scheduler.pool", self._track.pool)


def _shaped(frame: DataFrame, definition: Definition) -> DataFrame:
    """A view's rows with its columns. They are mostly those of the query, and each step of Spark's is analysed."""
    wanted = [(column.name, column.type.lower()) for column in definition.columns]
    if [(field.name, field.dataType.simpleString().lower()) for field in frame.schema.fields] == wanted:
        return frame
    if not definition.is_job:
        frame = frame.toDF(*(name for name, _ in wanted))
    return frame.select(*(F.col(sql.identifier(c.name)).cast(c.type).alias(c.name) for c in definition.columns))


def _taken(view: str) -> RefreshCancelled:
    return RefreshCancelled(f"{view} was dropped, and another table has its name; that table stays as it is")
