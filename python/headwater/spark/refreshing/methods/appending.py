"""Refreshes that add rows to a view without an aggregate, and leave all others as they are.

Example: ``SELECT * FROM sales WHERE price > 0``, and a row of ``sales`` came. A Delta view gets a file with this row. A
view of files gets its partition anew: the rows that it has, read from it, and this row.
"""

from __future__ import annotations

from functools import reduce

from attrs import frozen
from pyspark.sql import DataFrame, SparkSession

from headwater.model.command import Launch
from headwater.model.error import Untold
from headwater.model.work import ByAppending
from headwater.spark.jvm.shim import Shim
from headwater.spark.refreshing.changed_rows import ChangeFollower, Query, refuse_drift
from headwater.spark.tables.formats import Formats
from headwater.spark.tables.view_rows import held, shaped, within


@frozen
class Appending:
    """Finds the rows that a run adds to a view."""

    shim: Shim
    formats: Formats
    following: ChangeFollower

    def rows(self, session: SparkSession, launch: Launch, work: ByAppending, analysed: Query) -> DataFrame:
        """What a run writes: the new rows; of a view of files, with those that its partitions have.

        Raises:
            Untold: nobody can say which, or rows of a source went.
        """
        refuse_drift(self.formats, launch)
        definition, slices = launch.definition, launch.run.slices
        sides = self.following.sides(session, launch, dict(work.since), analysed, self.shim.appended, only_added=True)
        if not sides:
            raise Untold("no row came or went")
        frames = [within(shaped(each, definition), definition, slices) for each in sides]
        if not definition.storage.commits:
            frames.insert(0, within(held(session, definition), definition, slices))
        return reduce(DataFrame.union, frames)
