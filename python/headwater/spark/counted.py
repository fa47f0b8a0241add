"""What is known of a query's rows when they have been written: how many there were, and what moving bytes took."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen
from pyspark.sql import DataFrame

from headwater.model.event import Made, Moved, Place
from headwater.model.extract import Extract
from headwater.model.partition import WHOLE, Slice
from headwater.model.state import Run
from headwater.ports import Written
from headwater.spark import paths
from headwater.spark.scans import Lying

NOTHING = Made(WHOLE, 0, "", "0" * 32)
"""What is counted and summed up of no rows."""


@frozen
class Counted:
    """Rows, and what tells, when they have been written, how many there were in each partition, and what moving bytes
    took."""

    frame: DataFrame
    sums: Callable[[], list[dict[str, Any]]]
    spent: Callable[[], dict[str, Any]]


def counts(sums: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> dict[Slice, Made]:
    """Rows and sums of each partition, as they were counted while it was written."""
    found = {} if columns else {WHOLE: NOTHING}  # without rows it has a file all the same
    for each in sums:
        made = slice_of(each, columns)
        found[made] = Made(made, each["rows"], "", each["content"])
    return found


def moved(
    spent: Mapping[str, Any], run: Run, written: Written, places: Mapping[str, Place | None], scans: Mapping[str, Lying]
) -> tuple[Moved, ...]:
    """What moving bytes took a run, of those tables that lay in one place; ``places`` says where, if it was not the
    warehouse. What a view reads of its own past is left out: it goes by the name of what it writes. What it reads
    of a table beside a scan, or in spite of one, is part of what the scan took."""
    lying = {paths.plain(scan.place): table for table, scan in scans.items() if scan.place}
    near: dict[str, Moved] = {}
    reads = []
    for each in spent["reads"]:
        table = each["table"] or lying.get(paths.plain(each["place"]))
        place = places.get(table, Place.WAREHOUSE)
        if table in lying.values():
            before = near.get(table, Moved(table, Place.SCAN, 0, 0))
            near[table] = evolve(before, size=before.size + each["bytes"], micros=before.micros + each["micros"])
        elif table is not None and place is not None and table != run.view and table not in scans:
            reads.append(_read(each, place))
    return *reads, *near.values(), Moved(run.view, written.handle.place, written.size, spent["writing"])


def extract_of(needs: Mapping[str, Any]) -> Extract:
    """What a query needs of a table, as the shim tells it."""
    return Extract(needs["columns"], needs["rows"])


def _read(read: Mapping[str, Any], place: Place) -> Moved:
    needs = read.get("needs")
    extract = extract_of(needs) if needs else None
    return Moved(read["table"], place, read["bytes"], read["micros"], extract, read["share"] if extract else 1.0)


def slice_of(entry: Mapping[str, Any], columns: Sequence[str]) -> Slice:
    """The partition that an entry of the shim's names by its values."""
    return Slice.of({column: entry["values"][column] for column in columns})
