"""Everything that one engine keeps in memory for its runs: the port ``Memory`` of the warehouse, over a buffer.

Example: ``by_region`` reads ``sales_by_day``. A run of the first starts when a run of the second has computed its rows,
and reads them where they lie, in memory. A copy brings the same rows to the warehouse meanwhile.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping

from attrs import evolve
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from headwater.logger import log
from headwater.memory.buffers.buffer import Buffer, BufferFull
from headwater.memory.buffers.overlay import PROPERTY, Output, Overlays
from headwater.memory.buffers.scans import KeptScan, Scanner, Scans
from headwater.model.command import Launch, Written
from headwater.model.error import RefreshFailed
from headwater.model.measure import Moved, Place, Scanned
from headwater.model.partition import Version
from headwater.model.state import Run
from headwater.spark.jvm import paths
from headwater.spark.jvm.counted import Counted
from headwater.spark.jvm.job_groups import group
from headwater.spark.jvm.shim import SPARK_ERRORS, Shim
from headwater.spark.jvm.wire import FailureKind, ReadCost, Spent
from headwater.spark.tables.writer import Writer

Stop = Callable[[], object]
"""Lets the Spark jobs of a run fail."""


class SparkMemory:
    """The rows and scans that lie in a buffer.

    Args:
        writer: writes rows as files, in the warehouse and in the buffer.
    """

    def __init__(self, buffer: Buffer, shim: Shim, writer: Writer) -> None:
        self._buffer, self._shim, self._writer = buffer, shim, writer
        self._overlays, self._scans = Overlays(), Scans(buffer.remove)

    def close(self) -> None:
        """Removes everything."""
        self._buffer.close()

    # --- reading

    @contextlib.contextmanager
    def overlaid(self, context: SparkContext, run: Run) -> Iterator[None]:
        overlay = self._overlays.encoded(run, self._scans.read(run))
        if overlay is not None:
            context.setLocalProperty(PROPERTY, overlay)
        try:
            yield
        except SPARK_ERRORS as error:
            self._overlays.forget(run.on)  # perhaps they are gone, and what is published is in the warehouse
            ended = (FailureKind.CANCELLED, FailureKind.STOPPED)
            cancelled = self._shim.is_gone(error) or self._shim.failure(error).kind in ended
            for table in self._scans.refuse(run) if not cancelled else ():
                log.warning("views read %s themselves from now on: %s failed on a scan of it", table, run.view)
            raise
        finally:
            if overlay is not None:
                context.setLocalProperty(PROPERTY, "")

    def share(
        self, run: Run, frame: Callable[[], DataFrame], seen: Mapping[str, Version], stop: Stop
    ) -> tuple[Scanned, ...]:
        if not run.shared:
            return ()
        query = frame()
        session = query.sparkSession
        scanner = Scanner(
            session,
            self._shim,
            self._buffer,
            self._writer,
            part=lambda shared: self._overlays.part(run, shared),
            stop=stop,
            effort=lambda: self._shim.effort(session, group(run.view, run.version)),
        )
        self._scans.take(run, seen, self._shim.needs(query), scanner)
        return tuple(scanner.made)

    # --- keeping

    def keep(self, launch: Launch, frame: Callable[[], DataFrame], stop: Stop) -> tuple[Written, Counted] | None:
        run = launch.run
        if not run.kept or not self._buffer.reserve(run.version, launch.size):
            return None
        try:
            with self._buffer.watched(run.version, stop):
                return self._buffer.keep(launch, frame(), self._writer)
        except BufferFull as error:
            why = str(error)
        except SPARK_ERRORS as error:
            if self._shim.is_gone(error) or (failure := self._shim.failure(error)).kind is not FailureKind.UNWRITABLE:
                raise
            why = failure.text
        self._buffer.remove(run.version)
        log.warning("%s cannot be kept in memory (%s); it is written to the warehouse", run.view, why)
        return None

    def offer(self, launch: Launch, written: Written) -> None:
        if launch.run.kept or launch.run.on:
            self._overlays.add(launch.run, Output.of(launch.run, launch.existing, written))

    def holds(self, written: Written) -> bool:
        return written.place is not Place.WAREHOUSE

    def bring(self, session: SparkSession, launch: Launch, kept: Written) -> Written:
        brought = self._buffer.bring(session, launch, kept, self._writer)
        if brought is None:
            raise RefreshFailed(f"the rows of {launch.run.view} that were kept in memory are not all there any more")
        return evolve(
            kept,
            made=brought.made,
            removed=brought.removed,
            handle=brought.handle,
            place=brought.place,
            measured=evolve(kept.measured, size=brought.measured.size),
        )

    def published(self, version: Version) -> None:
        self._overlays.publish(version)

    def release(self, version: Version) -> None:
        self._overlays.remove(version)
        self._scans.release(version)
        self._buffer.remove(version)

    def transfers(self, spent: Spent, run: Run, written: Written) -> tuple[Moved, ...]:
        return transfers(spent, run, written, self._overlays.places(run), self._scans.read(run))


def transfers(
    spent: Spent, run: Run, written: Written, places: Mapping[str, Place | None], scans: Mapping[str, KeptScan]
) -> tuple[Moved, ...]:
    """What moving bytes took a run, from which a plan learns what it saves to keep them in memory.

    The time is for each table of which all lay in one place; ``places`` has that place, if it was not the warehouse.

    A view's reads of its own past are left out: they go by the name of the table that it writes. A scan's time includes
    the reads of the same table beside it, or in spite of it.
    """
    scanned = {paths.plain(scan.place): table for table, scan in scans.items() if scan.place}
    near: dict[str, Moved] = {}
    reads = []
    for each in spent.reads:
        table = each.table or scanned.get(paths.plain(each.place))
        if table is None:
            continue
        place = places.get(table, Place.WAREHOUSE)
        if table in scanned.values():
            before = near.get(table, Moved(table, Place.SCAN, 0, 0))
            near[table] = evolve(before, size=before.size + each.bytes, micros=before.micros + each.micros)
        elif place is not None and table != run.view and table not in scans:
            reads.append(_read(each, table, place))
    return *reads, *near.values(), Moved(run.view, written.place, written.measured.size, spent.writing)


def _read(read: ReadCost, table: str, place: Place) -> Moved:
    share = 1.0 if read.needs is None else read.share
    return Moved(table, place, read.bytes, read.micros, read.needs, share)
