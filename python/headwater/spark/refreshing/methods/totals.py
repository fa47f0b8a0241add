"""Refreshes by changes: the totals of rows that came and went are added to those on record, and the rows of the view
are computed from the result.

Example: a row of ``sales`` with customer 7 and price 10 came. In the totals, customer 7 has one row more, and its sum
is 10 higher. No other row of ``sales`` is read, and of the totals only the bucket with customer 7.

Each run leaves totals of its own, in a directory beside the view's rows (``buckets.py``). What it published goes on
record together with a digest of them, so totals of a run that was lost are never taken for others.
"""

from __future__ import annotations

import posixpath
import time
from collections.abc import Collection, Sequence

from attrs import frozen
from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame

from headwater.model.error import ChangesUnknown
from headwater.model.reason import Code
from headwater.model.work import ByTotals, LeftTotals
from headwater.spark.jvm.failures import finding_changes
from headwater.spark.jvm.query_totals import ChangedGroups, QueryTotals
from headwater.spark.refreshing.changed_rows import as_of_the_run, in_driver, terms
from headwater.spark.refreshing.methods import keys
from headwater.spark.refreshing.methods.buckets import Manifest, TotalsDirectory
from headwater.spark.refreshing.methods.extremes import looked_up
from headwater.spark.refreshing.methods.touched import shown
from headwater.spark.refreshing.recipe import Ingredients, Rows
from headwater.spark.tables.hidden import HIDDEN
from headwater.spark.tables.key_files import may_stay
from headwater.spark.tables.rows_by_keys import Reach

FEW = 20_000
"""Changed groups that are brought to the driver. More are in all buckets."""

SMALL_CHANGE = 64 << 20
"""Bytes of changed files. Of more, nobody expects few groups."""

ONE_TASK = 4 << 20
"""Bytes that one task reads, groups and writes sooner than several exchange them."""


@frozen
class Left:
    """Totals that a run leaves.

    Attributes:
        touched: the buckets that it wrote.
        seconds: that it took to read and write them.
        groups: those that changed, if they are few.
        near: the totals of the touched buckets, if they are in the driver.
    """

    directory: TotalsDirectory
    totals: QueryTotals
    manifest: Manifest
    touched: Collection[int]
    seconds: float
    groups: ChangedGroups | None = None
    near: DataFrame | None = None

    def rows(self, few: bool) -> DataFrame:
        """All totals; ``few``: those of the touched buckets at least."""
        if self.near is not None and (few or len(self.touched) == len(self.manifest.buckets)):
            return self.near
        return self.directory.read(self.manifest, self.touched if few else None)

    @property
    def told(self) -> LeftTotals:
        return LeftTotals(self.manifest.digest, self.manifest.bytes, self.seconds)


def rows(run: Ingredients, work: ByTotals) -> Rows:
    """The rows by the new totals; of a large view, those that changes reach.

    Raises:
        ChangesUnknown: it is not known what to add to the totals.
    """
    query, where = run.analysed(), place(run)
    if not where:
        raise ChangesUnknown(Code.METHOD_TOTALS_LOST, "its table has no directory now")
    with finding_changes(run.shim):
        left = _renewed(run, work, query, where)
        shows = _shown(run, work, query, left)
    reach = _reached(run, work) if shows is None else shows
    files = None if reach is None else run.files(reach)
    with finding_changes(run.shim):
        few = shows is not None and files is not None
        totals = left.rows(few)

    def planned() -> DataFrame:
        computed = run.cut(left.totals.finished(totals, disordered=few))
        if reach is None or files is None:
            return computed
        return keys.frame(run, reach, computed, files.rows)

    return Rows(planned, files, left.told)


def place(run: Ingredients) -> str:
    """The directory of a view's totals; empty if the view has no place yet."""
    location = run.formats.of_view(run.launch.definition).location(run.launch.definition)
    return posixpath.join(location, HIDDEN) if location else ""


def kept(run: Ingredients, place: str, query: DataFrame) -> Left:
    """Computes and writes all totals of a query."""
    began = time.monotonic()
    totals, directory = _opened(run, query, place)
    manifest = directory.write(totals.rows())
    directory.keep(manifest, run.launch.totals)
    return Left(directory, totals, manifest, range(len(manifest.buckets)), time.monotonic() - began)


# --- inside


def _opened(run: Ingredients, query: DataFrame, place: str) -> tuple[QueryTotals, TotalsDirectory]:
    totals = run.shim.totals(query)
    return totals, TotalsDirectory(run.shim, run.session, totals, place, run.launch.run.version)


def _renewed(run: Ingredients, work: ByTotals, query: DataFrame, place: str) -> Left:
    """The totals on record with those of the rows that came and went since then."""
    totals, directory = _opened(run, query, place)
    before = directory.recorded(work.before)

    def small(most: int) -> bool:
        return work.churn <= most or in_driver(run, work.since)

    changed = terms(run, work.since, lambda each: run.shim.totals(each).terms(small(ONE_TASK)))
    _refuse_other_columns(before, changed)
    at_once = bool(changed) and small(ONE_TASK) and _is_lone(run, work, totals, before)
    groups = totals.collected(changed, FEW) if changed and small(SMALL_CHANGE) and not at_once else None
    touched = _touched(before, changed, groups)
    few, began = (at_once or groups is not None) and before.size(touched) <= ONE_TASK, time.monotonic()

    def anew(keys: JavaObject) -> DataFrame:
        return as_of_the_run(run, lambda each: run.shim.totals(each).within(keys))

    def added() -> DataFrame:
        known = directory.read(before, touched)
        if groups is None:
            return totals.changed(known, changed, few)
        known, come = looked_up(run.shim, totals, known, groups, few, anew)
        return totals.changed(known, [come], few)

    manifest, near = directory.write_some(work.before.version, before, added, touched, few)
    directory.keep(manifest, run.launch.totals)
    if len(manifest.buckets) != len(before.buckets):
        touched = range(len(manifest.buckets))
    return Left(directory, totals, manifest, touched, time.monotonic() - began, groups, near)


def _is_lone(run: Ingredients, work: ByTotals, totals: QueryTotals, before: Manifest) -> bool:
    """Whether the changed groups need not be known: there is one bucket, no group can lose its extreme, and all rows of
    the view are written. Then no job asks for them first. Changed rows of one place make few groups; those that are
    joined with others may make many."""
    places = sum(len(each.occurrences) for each in run.launch.definition.dependencies)
    return len(before.buckets) == places == 1 and not totals.has_extremes and not may_stay(run.launch, work)


def _touched(before: Manifest, changed: Sequence[DataFrame], groups: ChangedGroups | None) -> Collection[int]:
    """The buckets with groups that changed."""
    if not changed:
        return ()
    return range(len(before.buckets)) if groups is None else groups.buckets(len(before.buckets))


def _refuse_other_columns(before: Manifest, changed: Sequence[DataFrame]) -> None:
    """Refuses totals with columns of other types than those of changed rows, which the weight follows."""
    known = [(each.name, each.dataType) for each in before.columns.fields]
    if any([(each.name, each.dataType) for each in frame.schema.fields[:-1]] != known for frame in changed):
        raise ChangesUnknown(Code.METHOD_TOTALS_LOST, "the columns of its totals have other types now")


def _shown(run: Ingredients, work: ByTotals, query: DataFrame, left: Left) -> Reach | None:
    """The groups that changed, if the rows of all others may stay, and no total of these matters to the rows of the
    changed ones."""
    if left.groups is None or not may_stay(run.launch, work):
        return None
    return shown(run, query, left.totals, left.groups)


def _reached(run: Ingredients, work: ByTotals) -> Reach | None:
    """The keys that changes reach, if all rows of the view with other keys may stay."""
    if not may_stay(run.launch, work):
        return None
    try:
        with finding_changes(run.shim):
            return keys.reached(run, work.since)
    except ChangesUnknown:
        return None
