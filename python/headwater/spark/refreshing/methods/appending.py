"""Refreshes that add rows to a view without an aggregate, and leave all others as they are.

Example: ``SELECT * FROM sales WHERE price > 0``, and a row of ``sales`` came. A Delta view gets a file with this row. A
view of files gets its partition anew: the rows that it has, read from it, and this row.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame

from headwater.model.work import ByAppending
from headwater.spark.jvm.failures import finding_changes
from headwater.spark.refreshing.changed_rows import refuse_drift, terms
from headwater.spark.refreshing.recipe import Ingredients, Rows
from headwater.spark.tables.view_rows import held, within


def rows(run: Ingredients, work: ByAppending) -> Rows:
    """The new rows; of a view of files, with those that its partitions have.

    Raises:
        ChangesUnknown: it is not known which rows came, or rows of a source went.
    """
    with finding_changes(run.shim):
        found = _new(run, work)
    return Rows(lambda: found, reads_itself=True)


def _new(run: Ingredients, work: ByAppending) -> DataFrame:
    refuse_drift(run.formats, run.launch)
    definition = run.launch.definition
    frames = [run.cut(each) for each in terms(run, work.since, run.shim.appended, only_added=True)]
    if not frames:  # a commit may leave all rows as they are
        frames.append(run.whole().limit(0))
    if not definition.storage.commits:
        frames.insert(0, within(held(run.session, definition), definition, run.launch.run.slices))
    return reduce(DataFrame.union, frames)
