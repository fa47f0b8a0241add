"""Refreshes that add rows to a view without an aggregate, and leave all others as they are.

Example: ``SELECT * FROM sales WHERE price > 0``, and a row of ``sales`` came. A Delta view gets a file with this row. A
view of files gets its partition anew: the rows that it has, read from it, and this row.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from attrs import evolve, frozen
from pyspark.sql import DataFrame, SparkSession

from headwater.model.command import Launch
from headwater.model.error import RefreshFailed, Untold
from headwater.model.event import Made
from headwater.model.partition import Region, Slice
from headwater.spark.counted import NOTHING
from headwater.spark.following import Following, Query, refuse_drift
from headwater.spark.formats import Formats
from headwater.spark.rows import held, shaped, within
from headwater.spark.shim import Shim

BITS = 128
"""Of a content sum (``Tally.scala``)."""


@frozen
class Appending:
    """Finds the rows that a run adds to a view."""

    shim: Shim
    formats: Formats
    following: Following

    def rows(self, session: SparkSession, launch: Launch, analysed: Query) -> DataFrame:
        """What a run writes: the new rows; of a view of files, with those that its partitions have.

        Raises:
            Untold: nobody can say which, or rows of a source went.
        """
        refuse_drift(self.formats, launch)
        definition, slices = launch.definition, launch.run.slices
        sides = self.following.sides(session, launch, analysed, self.shim.appended, only_added=True)
        if not sides:
            raise Untold("no row came or went")
        frames = [within(shaped(each, definition), definition, slices) for each in sides]
        if not definition.is_lake:
            frames.insert(0, within(held(session, definition), definition, slices))
        return reduce(DataFrame.union, frames)


def grown(launch: Launch, added: Mapping[Slice, Made]) -> dict[Slice, Made]:
    """The partitions of a run that adds rows, by those that they have on record and the new ones.

    Raises:
        RefreshFailed: rows are in partitions that are not the run's.
    """
    behind = Region(launch.run.slices)
    if not all(map(behind.covers, added)):
        raise RefreshFailed(f"{launch.run.view}: new rows are in other partitions than those that are behind")
    found = dict(added)
    for each, record in launch.existing.items():
        new = added.get(each, evolve(NOTHING, slice=each))
        found[each] = evolve(new, rows=(record.rows or 0) + new.rows, content=_sum(record.content, new.content))
    return found


def _sum(one: str, other: str) -> str:
    """The content sum of two bags of rows together; empty if one of them is not known."""
    return f"{(int(one, 16) + int(other, 16)) % (1 << BITS):0{BITS // 4}x}" if one and other else ""
