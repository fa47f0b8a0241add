"""Refreshes by changes: the totals of rows that came and went are added to those on record, and the rows of the view
are computed from the result.

Example: a row of ``sales`` with customer 7 and price 10 came. In the totals, customer 7 has one row more, and its sum
is 10 higher. No other row of ``sales`` is read.

Each run leaves totals of its own, in a directory beside the view's rows. What it published goes on record together with
a digest of their files, so totals of a run that was lost are never taken for others.
"""

from __future__ import annotations

import hashlib
import posixpath

from attrs import frozen
from pyspark.sql import DataFrame, SparkSession

from headwater.model.error import ChangesUnknown
from headwater.model.partition import Version
from headwater.model.reason import Code
from headwater.model.work import ByTotals
from headwater.spark.jvm.failures import finding_changes
from headwater.spark.jvm.sessions import having
from headwater.spark.refreshing.changed_rows import sides
from headwater.spark.refreshing.methods import keys
from headwater.spark.refreshing.recipe import Ingredients, Rows
from headwater.spark.tables.hidden import HIDDEN
from headwater.spark.tables.key_files import may_stay
from headwater.spark.tables.rows_by_keys import Reach

WRITTEN = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.fieldId.write.enabled": "false",
}
"""How totals are written, whatever the application's Parquet files are for: they must be read back as they were."""

FOUND = {
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.respectSummaryFiles": "false",
}
"""How their columns are found."""

READ = {
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "mergeSchema": "false",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
}
"""How they are read. No other setting changes what is read of files that were written so."""


@frozen
class Left:
    """Totals that a run left, with a digest of their files."""

    rows: DataFrame
    digest: str


def rows(run: Ingredients, work: ByTotals) -> Rows:
    """The rows by the new totals; of a large view, those that changes reach.

    Raises:
        ChangesUnknown: it is not known what to add to the totals.
    """
    query, where = run.analysed(), place(run)
    if not where:
        raise ChangesUnknown(Code.METHOD_TOTALS_LOST, "its table has no directory now")
    with finding_changes(run.shim):
        left = kept(run, where, _changed(run, work, query, where))

    def finished() -> DataFrame:
        return run.cut(run.shim.finished(query, left.rows))

    reach = _reached(run, work)
    files = None if reach is None else run.files(reach)
    if reach is None or files is None:
        return Rows(finished, totals=left.digest)
    return Rows(lambda: keys.frame(run.session, reach, run.launch, finished(), files.rows), files, left.digest)


def place(run: Ingredients) -> str:
    """The directory of a view's totals; empty if the view has no place yet."""
    location = run.formats.of_view(run.launch.definition).location(run.launch.definition)
    return posixpath.join(location, HIDDEN) if location else ""


def kept(run: Ingredients, place: str, rows: DataFrame) -> Left:
    """Writes the totals of a run, and removes those that no later run needs."""
    before, own = run.launch.totals, _name(run.launch.run.version)
    found = written(run.session, rows, posixpath.join(place, own))
    needed = {own} if before is None else {own, _name(before.version)}
    for name in run.shim.names(place):
        if name not in needed:
            run.shim.delete(posixpath.join(place, name))
    return Left(found, _digest(found))


# --- inside


def _changed(run: Ingredients, work: ByTotals, query: DataFrame, place: str) -> DataFrame:
    """The totals on record with those of the rows that came and went since then."""
    before = read(run.session, posixpath.join(place, _name(work.before.version)))
    if _digest(before) != work.before.digest:
        raise ChangesUnknown(Code.METHOD_TOTALS_LOST, "the files of its totals are not all there")
    return run.shim.with_totals(query, before, sides(run, work.since, run.shim.totals))


def _reached(run: Ingredients, work: ByTotals) -> Reach | None:
    """The keys that changes reach, if all rows of the view with other keys may stay."""
    if not may_stay(run.launch, work):
        return None
    try:
        with finding_changes(run.shim):
            return run.held.enter_context(keys.reached(run.session, run.formats, run.launch, work.since))
    except ChangesUnknown:
        return None


def written(session: SparkSession, rows: DataFrame, path: str) -> DataFrame:
    """Rows of a session, as they are read back from a directory to which they are written."""
    with having(session, WRITTEN):
        rows.write.mode("overwrite").parquet(path)
    return session.read.options(**READ).schema(rows.schema).parquet(path)


def read(session: SparkSession, path: str) -> DataFrame:
    """Totals that an earlier run wrote."""
    with having(session, FOUND):
        return session.read.options(**READ).parquet(path)


def _name(version: Version) -> str:
    return f"v{version}"


def _digest(totals: DataFrame) -> str:
    """A value that differs if a file is gone or another one came. Spark gives each file a name of its own."""
    names = sorted(each.rpartition("/")[2] for each in totals.inputFiles())
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:32]
