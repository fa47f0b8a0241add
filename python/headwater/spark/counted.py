"""What is known of a query's rows when they have been written: how many there were, and what moving bytes took."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen
from pyspark.sql import DataFrame

from headwater.model.event import Made, Moved, Place
from headwater.model.partition import WHOLE, Slice
from headwater.model.state import Run
from headwater.ports import Written

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
    spent: Mapping[str, Any], run: Run, written: Written, places: Mapping[str, Place | None]
) -> tuple[Moved, ...]:
    """What moving bytes took a run, of those tables that lay in one place; ``places`` says where, if it was not the
    warehouse. What a view reads of its own past is left out: it goes by the name of what it writes."""
    others = (each for each in spent["reads"] if each["table"] != run.view)
    read = ((each, places.get(each["table"], Place.WAREHOUSE)) for each in others)
    reads = (Moved(each["table"], place, each["bytes"], each["micros"]) for each, place in read if place is not None)
    return *reads, Moved(run.view, written.handle.place, written.size, spent["writing"])


def slice_of(entry: Mapping[str, Any], columns: Sequence[str]) -> Slice:
    """The partition that an entry of the shim's names by its values."""
    return Slice.of({column: entry["values"][column] for column in columns})
