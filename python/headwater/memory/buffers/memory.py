"""Everything that one engine keeps close at hand for its runs, behind one interface.

Example: ``by_region`` reads ``sales_by_day``. A run of the first starts when a run of the second has computed its rows,
and reads them where they lie, in memory. A copy brings the same rows to the warehouse meanwhile.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping

from attrs import evolve
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headwater.memory.buffers.moved import moved
from headwater.memory.buffers.overlay import PROPERTY, Output, Overlays
from headwater.memory.buffers.room import OutOfRoom, Room
from headwater.memory.buffers.scanner import Scanner
from headwater.memory.buffers.scans import Scans
from headwater.model.command import Launch, Written
from headwater.model.error import RefreshFailed
from headwater.model.measure import Effort, Moved, Place, Scanned
from headwater.model.state import Run
from headwater.model.version import Version
from headwater.spark.jvm.counted import Counted
from headwater.spark.jvm.shim import Shim
from headwater.spark.jvm.wire import FailureKind, Spent
from headwater.spark.tables.writer import Writer, group

log = logging.getLogger("headwater")

Stop = Callable[[], object]
"""Lets the Spark jobs of a run fail."""


class Memory:
    """The rows and scans that lie close at hand, in a room.

    Args:
        writer: writes rows as files, in the warehouse and in the room.
    """

    def __init__(self, room: Room, shim: Shim, writer: Writer) -> None:
        self._room, self._shim, self._writer = room, shim, writer
        self._overlays, self._scans = Overlays(), Scans(room.remove)

    def close(self) -> None:
        """Removes everything."""
        self._room.close()

    # --- reading

    @contextlib.contextmanager
    def overlaid(self, context: SparkContext, run: Run) -> Iterator[None]:
        """Lets queries of this thread read the rows of other runs, where they lie, and the scans that the run took."""
        told = self._overlays.told(run, self._scans.read(run))
        if told is not None:
            context.setLocalProperty(PROPERTY, told)
        try:
            yield
        except (PySparkException, Py4JError) as error:
            self._overlays.forget(run.on)  # perhaps they are gone, and what is published is in the warehouse
            ended = (FailureKind.CANCELLED, FailureKind.STOPPED)
            cancelled = self._shim.is_gone(error) or self._shim.failure(error).kind in ended
            for table in self._scans.refuse(run) if not cancelled else ():
                log.warning("views read %s themselves from now on: %s failed on a scan of it", table, run.view)
            raise
        finally:
            if told is not None:
                context.setLocalProperty(PROPERTY, "")

    def share(
        self, run: Run, frame: Callable[[], DataFrame], seen: Mapping[str, Version], stop: Stop
    ) -> tuple[Scanned, ...]:
        """Takes the scans that a run shares with others, and tells which of them were made for that.

        Args:
            frame: the run's query, which tells the columns and rows that it needs.
            seen: the versions of its sources that it is to see.
        """
        if not run.shared:
            return ()
        query = frame()
        session = query.sparkSession
        scanner = Scanner(
            session,
            self._shim,
            self._room,
            self._writer,
            part=lambda shared: self._overlays.part(run, shared),
            stop=stop,
            effort=lambda: self.effort(run, session),
        )
        self._scans.take(run, seen, self._shim.needs(query), scanner)
        return tuple(scanner.made)

    # --- keeping

    def keep(self, launch: Launch, frame: Callable[[], DataFrame], stop: Stop) -> tuple[Written, Counted] | None:
        """Computes a run's rows into the room; ``None`` if they are not to be kept, or do not fit there."""
        run = launch.run
        if not run.kept or not self._room.reserve(run.version, launch.size):
            return None
        try:
            with self._room.watched(run.version, stop):
                return self._room.keep(launch, frame(), self._writer)
        except OutOfRoom as error:
            why = str(error)
        except (PySparkException, Py4JError) as error:
            if self._shim.is_gone(error) or (failure := self._shim.failure(error)).kind is not FailureKind.UNWRITABLE:
                raise
            why = failure.said
        self._room.remove(run.version)
        log.warning("%s cannot be kept in memory (%s); it is written to the warehouse", run.view, why)
        return None

    def offer(self, launch: Launch, written: Written) -> None:
        """Lets runs that are on this one read its rows."""
        if launch.run.kept or launch.run.on:
            self._overlays.add(launch.run, Output.of(launch.run, launch.existing, written))

    def holds(self, written: Written) -> bool:
        """Whether rows lie in the room, and not in the warehouse yet."""
        return written.place is not Place.WAREHOUSE

    def bring(self, session: SparkSession, launch: Launch, kept: Written) -> Written:
        """The rows of the room, in the warehouse.

        Raises:
            RefreshFailed: some are not there any more.
        """
        brought = self._room.bring(session, launch, kept, self._writer)
        if brought is None:
            raise RefreshFailed(f"the rows of {launch.run.view} that were kept in memory are not all there any more")
        return evolve(
            kept,
            made=brought.made,
            removed=brought.removed,
            handle=brought.handle,
            size=brought.size,
            place=brought.place,
        )

    def published(self, version: Version) -> None:
        """Notes that a run's rows are in the warehouse, too."""
        self._overlays.publish(version)

    def release(self, version: Version) -> None:
        """Forgets a run's rows, and the scans that nobody else holds."""
        self._overlays.remove(version)
        self._scans.release(version)
        self._room.remove(version)

    # --- measuring

    def moved(self, spent: Spent, run: Run, written: Written) -> tuple[Moved, ...]:
        """The time that a run took to read and to write, by the places where that lies."""
        return moved(spent, run, written, self._overlays.lying(run), self._scans.read(run))

    def effort(self, run: Run, session: SparkSession) -> Effort | None:
        """The work of a run's tasks so far; ``None`` where Spark does not tell."""
        return self._shim.effort(session, group(run.view, run.version))
