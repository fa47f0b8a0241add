"""The time that moving bytes took a run, from which a plan learns what it saves to keep them in memory."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from headwater.memory.buffers.scans import KeptScan
from headwater.model.command import Written
from headwater.model.measure import Moved, Place
from headwater.model.state import Run
from headwater.spark.jvm import paths
from headwater.spark.jvm.wire import ReadCost, Spent


def transfers(
    spent: Spent, run: Run, written: Written, places: Mapping[str, Place | None], scans: Mapping[str, KeptScan]
) -> tuple[Moved, ...]:
    """The time for each table of which all lay in one place; ``places`` has that place, if it was not the warehouse.

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
