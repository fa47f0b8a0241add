"""Rows that are counted while Spark writes them: the count and the sum of each partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, frozen
from pyspark.sql import DataFrame

from headwater.model.command import Launch
from headwater.model.error import RefreshFailed
from headwater.model.event import Made
from headwater.model.partition import WHOLE, Region, Slice
from headwater.spark.jvm.wire import Directory, Spent, Sum

BITS = 128
"""Of a content sum (``Tally.scala``)."""

NOTHING = Made(WHOLE, 0, "", "0" * 32)
"""The count and the sum of no rows."""


@frozen
class Counted:
    """Rows that Spark counts while it writes them; afterwards ``sums`` has the count and the sum of each partition, and
    ``spent`` the times of reading and writing."""

    frame: DataFrame
    sums: Callable[[], Sequence[Sum]]
    spent: Callable[[], Spent]


def counts(sums: Sequence[Sum], columns: Sequence[str]) -> dict[Slice, Made]:
    """Rows and sums of each partition, as they were counted while it was written."""
    found = {} if columns else {WHOLE: NOTHING}  # without rows it has a file all the same
    for each in sums:
        made = slice_of(each, columns)
        found[made] = Made(made, each.rows, "", each.content)
    return found


def altered(launch: Launch, differing: Mapping[Slice, Made]) -> dict[Slice, Made]:
    """The partitions of a run that leaves rows as they are: those on record, with what came and without what went.

    Args:
        differing: the differences of their counts and content sums.

    Raises:
        RefreshFailed: rows came to partitions that are not the run's.
    """
    behind = Region(launch.run.slices)
    if not all(map(behind.covers, differing)):
        raise RefreshFailed("new rows are in other partitions than those that are behind", launch.run.view)
    found = dict(differing)
    for each, record in launch.existing.items():
        more = differing.get(each, evolve(NOTHING, slice=each))
        found[each] = evolve(more, rows=(record.rows or 0) + more.rows, content=_sum(record.content, more.content))
    return {each: made for each, made in found.items() if made.rows or each == WHOLE}


def slice_of(entry: Sum | Directory, columns: Sequence[str]) -> Slice:
    """The partition that an entry of the shim's names by its values."""
    return Slice.of({column: entry.values[column] for column in columns})


def _sum(one: str, other: str) -> str:
    """The content sum of two bags of rows together; empty if one of them is not known."""
    return f"{(int(one, 16) + int(other, 16)) % (1 << BITS):0{BITS // 4}x}" if one and other else ""
