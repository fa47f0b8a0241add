"""Refreshes by changes: the totals of rows that came and went are added to those on record, and the rows of the view
are computed from the result.

Example: a row of ``sales`` with customer 7 and price 10 came. In the totals, customer 7 has one row more, and its sum
is 10 higher. No other row of ``sales`` is read.

Each run leaves totals of its own, in a directory beside the view's rows. What it published goes on record together with
a digest of their files, so totals of a run that was lost are never taken for others.
"""

from __future__ import annotations

import contextlib
import hashlib
import posixpath
from collections.abc import Iterator, Mapping

from attrs import evolve, frozen
from pyspark.sql import DataFrame, SparkSession

from headwater.model.command import Launch
from headwater.model.error import Untold
from headwater.model.version import Version
from headwater.model.work import ByTotals, Totals
from headwater.spark.jvm.failures import fallen_back, telling
from headwater.spark.jvm.shim import Shim
from headwater.spark.refreshing.changed_rows import ChangeFollower, Query
from headwater.spark.tables.formats import Formats
from headwater.spark.tables.hidden import HIDDEN

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
    """Totals that a run left.

    Attributes:
        query: of the run, analysed.
        rows: the totals.
        digest: of their files.
        instead: why a run by changes computed them anew; empty if it did not.
    """

    query: DataFrame
    rows: DataFrame
    digest: str
    instead: str = ""


@frozen
class _Making:
    """Totals that a run makes.

    Attributes:
        place: the directory of the view's totals.
        analysed: analyses the query of the view with the pins that its session has at that moment.
        query: that of the run.
    """

    session: SparkSession
    launch: Launch
    place: str
    analysed: Query
    query: DataFrame


class TotalsKeeper:
    """Makes and keeps the totals of views."""

    def __init__(self, shim: Shim, formats: Formats, following: ChangeFollower) -> None:
        self._shim, self._formats, self._following = shim, formats, following

    def leave(self, session: SparkSession, launch: Launch, analysed: Query) -> Left | None:
        """The totals of a run's query, written to where later runs find them; ``None`` if the view has no place yet.

        Args:
            analysed: analyses the query of the view with the pins that its session has at that moment.
        """
        location, instead = self._formats.of_view(launch.definition).location(launch.definition), ""
        if not location:
            return None
        making = _Making(session, launch, posixpath.join(location, HIDDEN), analysed, analysed())
        if isinstance(work := launch.run.work, ByTotals):
            try:
                with telling(self._shim):
                    return self._kept(making, self._changed(making, work))
            except Untold as untold:
                instead = fallen_back(launch, str(untold))
        return evolve(self._kept(making, self._shim.totals(making.query)), instead=instead)

    # --- inside

    def _changed(self, making: _Making, work: ByTotals) -> DataFrame:
        """The totals on record with those of the rows that came and went since then.

        Raises:
            Untold: nobody can say.
        """
        before = _on_record(making, work.before)
        since = dict(work.since)
        sides = self._following.sides(making.session, making.launch, since, making.analysed, self._shim.totals)
        return self._shim.with_totals(making.query, before, sides)

    def _kept(self, making: _Making, rows: DataFrame) -> Left:
        """Writes totals, and removes those that no later run needs."""
        run, before = making.launch.run, making.launch.totals
        own = _name(run.version)
        path = posixpath.join(making.place, own)
        found = written(making.session, rows, path)
        needed = {own} if before is None else {own, _name(before.version)}
        for name in self._shim.names(making.place):
            if name not in needed:
                self._shim.delete(posixpath.join(making.place, name))
        return Left(making.query, found, _digest(found))


def _on_record(making: _Making, before: Totals) -> DataFrame:
    """The totals on record.

    Raises:
        Untold: their files are not all there.
    """
    found = read(making.session, posixpath.join(making.place, _name(before.version)))
    if _digest(found) != before.digest:
        raise Untold("the files of its totals are not all there")
    return found


def written(session: SparkSession, rows: DataFrame, path: str) -> DataFrame:
    """Rows of a session, as they are read back from a directory to which they are written."""
    with _with(session, WRITTEN):
        rows.write.mode("overwrite").parquet(path)
    return session.read.options(**READ).schema(rows.schema).parquet(path)


def read(session: SparkSession, path: str) -> DataFrame:
    """Totals that an earlier run wrote."""
    with _with(session, FOUND):
        return session.read.options(**READ).parquet(path)


@contextlib.contextmanager
def _with(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Lets a session have some settings for a moment. It is of this thread alone."""
    before = {name: session.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, kept in before.items():
            if kept is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, kept)


def _name(version: Version) -> str:
    return f"v{version}"


def _digest(totals: DataFrame) -> str:
    """A value that differs if a file is gone or another one came. Spark gives each file a name of its own."""
    names = sorted(each.rpartition("/")[2] for each in totals.inputFiles())
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:32]
