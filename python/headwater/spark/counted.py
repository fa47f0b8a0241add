"""Rows that are counted while Spark writes them: the count and the sum of each partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import frozen
from pyspark.sql import DataFrame

from headwater.model.event import Made
from headwater.model.partition import WHOLE, Slice
from headwater.spark.wire import Directory, Spent, Sum

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


def slice_of(entry: Sum | Directory, columns: Sequence[str]) -> Slice:
    """The partition that an entry of the shim's names by its values."""
    return Slice.of({column: entry.values[column] for column in columns})
