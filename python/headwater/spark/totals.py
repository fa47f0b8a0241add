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
from collections.abc import Callable, Iterator
from uuid import uuid4

from attrs import evolve, frozen
from pyspark.sql import DataFrame, SparkSession

from headwater.model.command import Launch
from headwater.model.error import Untold
from headwater.model.event import Mode
from headwater.model.state import Version
from headwater.spark import wire
from headwater.spark.failures import telling
from headwater.spark.formats import Formats
from headwater.spark.keyed import refuse_lenient
from headwater.spark.shim import Shim
from headwater.spark.wire import Pin

PINS = "spark.headwater.pins"
"""The setting of a run's session that tells the shim how to read tables (``PinnedSnapshots.scala``)."""

HIDDEN = ".totals"
"""The directory of a view's totals, in that of its table. Spark does not read such a name with a table, and Delta does
not clean it up."""

Query = Callable[[], DataFrame]
"""Analyses the query of a view with the pins that its session has at that moment."""


@frozen
class Left:
    """Totals that a run left.

    Attributes:
        rows: the totals.
        digest: of their files.
        instead: why a run by changes computed them anew; empty if it did not.
    """

    rows: DataFrame
    digest: str
    instead: str = ""


class Totals:
    """Makes and keeps the totals of views."""

    def __init__(self, shim: Shim, formats: Formats) -> None:
        self._shim, self._formats = shim, formats

    def leave(self, session: SparkSession, launch: Launch, query: Query) -> Left | None:
        """The totals of a run's query, written to where later runs find them; ``None`` if the view has no place yet."""
        location, instead = self._formats.of_view(launch.definition).location(launch.definition), ""
        if not location:
            return None
        place = posixpath.join(location, HIDDEN)
        if launch.run.mode is Mode.CHANGES:
            try:
                with telling(self._shim):
                    return self._kept(session, launch, place, self._changed(session, launch, place, query))
            except Untold as untold:
                instead = str(untold)
        return evolve(self._kept(session, launch, place, self._shim.totals(query())), instead=instead)

    # --- inside

    def _changed(self, session: SparkSession, launch: Launch, place: str, query: Query) -> DataFrame:
        """The totals on record with those of the rows that came and went since then.

        Of several changed sources, each is followed while those before it in the query's order are new and those
        after it are old. So no row is counted twice, whatever other sources did ([Garcia98] §4.2).

        Raises:
            Untold: nobody can say.
        """
        refuse_lenient(session)
        run, before = launch.run, _on_record(session, launch, place)
        since, now = dict(run.since), dict(run.snapshots)
        order = [each for each in launch.definition.sources if each in since]
        added: list[DataFrame] = []
        removed: list[DataFrame] = []
        lasting = len(order) == 1
        for n, source in enumerate(order):
            changed = self._formats.changed(session, source, since[source], now[source])
            lasting = lasting and changed.lasting
            snapshots = now | {each: since[each] for each in order[n + 1 :]}
            for rows, side in ((changed.added, added), (changed.removed, removed)):
                if rows is not None:
                    with self._reading(session, launch, snapshots, source, rows):
                        side.append(self._shim.totals(query()))
        return self._shim.with_totals(query(), before, added, removed, lasting)

    @contextlib.contextmanager
    def _reading(
        self, session: SparkSession, launch: Launch, snapshots: dict[str, str], source: str, rows: DataFrame
    ) -> Iterator[None]:
        """Lets queries read tables at these snapshots, and some rows in place of one of them."""
        pins = self._formats.pins(snapshots)
        if lost := snapshots.keys() - pins.keys() - {launch.run.view}:
            raise Untold(f"{', '.join(sorted(lost))} cannot be read at a snapshot any more")
        kept, name = session.conf.get(PINS), uuid4().hex
        self._shim.stand_in(name, rows)
        session.conf.set(PINS, wire.encode(pins | {source: Pin("", rows=name)}))
        try:
            yield
        finally:
            session.conf.set(PINS, kept)
            self._shim.stand_out(name)

    def _kept(self, session: SparkSession, launch: Launch, place: str, rows: DataFrame) -> Left:
        """Writes totals, and removes those that no later run needs."""
        own = _name(launch.run.version)
        path = posixpath.join(place, own)
        rows.write.mode("overwrite").parquet(path)
        needed = {own} if launch.totals is None else {own, _name(launch.totals.version)}
        for name in self._shim.names(place):
            if name not in needed:
                self._shim.delete(posixpath.join(place, name))
        found = session.read.schema(rows.schema).parquet(path)
        return Left(found, _digest(found))


def _on_record(session: SparkSession, launch: Launch, place: str) -> DataFrame:
    """The totals on record.

    Raises:
        Untold: their files are not all there.
    """
    if launch.totals is None:
        raise Untold("it has no totals yet")
    found = session.read.parquet(posixpath.join(place, _name(launch.totals.version)))
    if _digest(found) != launch.totals.digest:
        raise Untold("the files of its totals are not all there")
    return found


def _name(version: Version) -> str:
    return f"v{version}"


def _digest(totals: DataFrame) -> str:
    """A value that differs if a file is gone or another one came. Spark gives each file a name of its own."""
    names = sorted(each.rpartition("/")[2] for each in totals.inputFiles())
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:32]
