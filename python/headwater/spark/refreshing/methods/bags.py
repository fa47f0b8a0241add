"""Refreshes of views without an aggregate: as many copies of a row come or go as changed rows tell.

Example: ``SELECT customer, price FROM sales``, and a sale of customer 7 for 10 came. A Delta view gets a file with the
row ``(7, 10)``. A view of files gets its partition anew: the rows that it has, read from it, and this row.

If a sale of customer 7 for 10 went, one copy of ``(7, 10)`` goes. The view itself tells how many it has.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.algebra.derive.image import comparable
from headwater.model.error import ChangesUnknown
from headwater.model.reason import Code
from headwater.model.work import ByRows
from headwater.spark.jvm import sql
from headwater.spark.jvm.failures import finding_changes
from headwater.spark.jvm.row_changes import MOST, RowChanges
from headwater.spark.refreshing.changed_rows import refuse_drift, terms
from headwater.spark.refreshing.recipe import Ingredients, Rows
from headwater.spark.tables.key_files import KeyFiles
from headwater.spark.tables.rows_by_keys import WEIGHT, Reach
from headwater.spark.tables.view_rows import cast, condition, held, within


def rows(run: Ingredients, work: ByRows) -> Rows:
    """The rows that come, and those that stay beside them in what is written anew.

    Raises:
        ChangesUnknown: it is not known which rows come and go, or these are many, or the view lacks one that goes.
    """
    with finding_changes(run.shim):
        refuse_drift(run.formats, run.launch)
        if not work.takes:
            found = _with_own(run, _added(run, work))
            return Rows(lambda: found, reads_itself=True)
        changes = _changes(run, work)
        if changes is None or not changes.going:
            return _only_added(run, None if changes is None else changes.came)
        reach = _reached(run, changes)
    return _replaced(run, changes, reach)


# --- inside


def _added(run: Ingredients, work: ByRows) -> DataFrame:
    frames = [run.cut(each) for each in terms(run, work.since, run.shim.added_rows, only_added=True)]
    return reduce(DataFrame.union, frames) if frames else _nothing(run)


def _nothing(run: Ingredients) -> DataFrame:
    """A commit may leave all rows as they are."""
    return run.whole().limit(0)


def _with_own(run: Ingredients, came: DataFrame) -> DataFrame:
    """Rows that come; of a view of files, with those that its partitions have."""
    definition = run.launch.definition
    if definition.storage.commits:
        return came
    return within(held(run.session, definition), definition, run.launch.run.slices).union(came)


def _changes(run: Ingredients, work: ByRows) -> RowChanges | None:
    """The rows that come and go; ``None`` if changed rows make none."""
    frames = [_shaped(run, each) for each in terms(run, work.since, run.shim.changed_rows)]
    if not frames:
        return None
    changes = run.shim.row_changes(frames)
    if changes is None:
        raise _too_many()
    return changes


def _shaped(run: Ingredients, rows: DataFrame) -> DataFrame:
    """Rows of a term with the columns of the view and their weights, in the slices of the run."""
    definition = run.launch.definition
    named = rows.toDF(*(each.name for each in definition.columns), WEIGHT)
    columns = (F.col(sql.identifier(each.name)).cast(each.type).alias(each.name) for each in definition.columns)
    return within(named.select(*columns, F.col(sql.identifier(WEIGHT))), definition, run.launch.run.slices)


def _only_added(run: Ingredients, came: DataFrame | None) -> Rows:
    """No row goes: changes of several rows may cancel out."""
    found = _with_own(run, _nothing(run) if came is None else came)
    if not run.launch.definition.storage.commits:
        return Rows(lambda: found, reads_itself=True)
    weighed = found.withColumn(WEIGHT, F.lit(1))
    return Rows(lambda: weighed, KeyFiles.none(found), reads_itself=True)


def _reached(run: Ingredients, changes: RowChanges) -> Reach:
    """The rows that go, by the columns of which equal values are found in files."""
    columns = tuple(each.name for each in run.launch.definition.columns if comparable(each.type))
    if not columns:
        raise ChangesUnknown(Code.VIEW_COLUMN_TYPE, "it has no column by which rows that go are found")
    reach = Reach.of(run.shim, [changes.went.select(*map(sql.identifier, columns))], columns, MOST)
    if reach is None:
        raise _too_many()
    return reach


def _replaced(run: Ingredients, changes: RowChanges, reach: Reach) -> Rows:
    """All copies of rows that go are taken out, with those that look like them. What stays of these is written again,
    beside the rows that come."""
    definition, slices = run.launch.definition, run.launch.run.slices
    files = run.files(reach)
    with finding_changes(run.shim):
        if files is None:
            table = run.formats.of_view(definition).rows(run.session, definition)
            old = within(cast(table, definition), definition, slices)
        else:
            old = cast(files.rows, definition)
        mine = F.expr(condition(definition, slices))
        instead = changes.instead(reach.among(reach.near(old.where(mine))))
    if instead is None:
        raise _too_many()
    if instead.missing:
        lacks = f"it lacks {instead.missing} of the rows that are to go"
        raise ChangesUnknown(Code.METHOD_ROWS_MISSING, lacks)
    if files is None:
        found = reach.outside(old).unionByName(instead.rows)
    else:
        found = reach.weighing(old, mine).unionByName(instead.rows.withColumn(WEIGHT, F.lit(1)))
    return Rows(lambda: found, files, reads_itself=True)


def _too_many() -> ChangesUnknown:
    said = f"more than {MOST:,} rows come and go, or look like those; rows of files that were written anew count"
    return ChangesUnknown(Code.METHOD_TOO_MUCH_CHANGED, said)
