"""Queries of changed rows: the query of a view, with the rows that came and went in place of a table.

Example: rows of ``sales`` came, and the view joins ``sales`` with ``shops``. The query of the new rows reads ``shops``
as it is at the snapshot of the run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from headwater.model.command import Launch
from headwater.model.error import Untold
from headwater.model.partition import WHOLE, Region
from headwater.model.seen import TableQuestion
from headwater.spark.jvm import wire
from headwater.spark.jvm.facts import Pin
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.formats import Formats

PINS = "spark.headwater.pins"
"""The setting of a run's session that tells the shim how to read tables (``PinnedSnapshots.scala``)."""

LENIENT = ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles")
"""Settings with which Spark leaves out rows of a file. A file that went away may have been cleaned up since."""

Query = Callable[[], DataFrame]
"""Analyses the query of a view with the pins that its session has at that moment."""


class ChangeFollower:
    """Follows the changed sources of a run."""

    def __init__(self, shim: Shim, formats: Formats) -> None:
        self._shim, self._formats = shim, formats

    def sides(
        self,
        session: SparkSession,
        launch: Launch,
        since: Mapping[str, str],
        analysed: Query,
        made: Callable[[DataFrame], DataFrame],
        only_added: bool = False,
    ) -> list[DataFrame]:
        """A frame for each changed source: of the query with its changed rows in its place.

        Of several changed sources, each is followed while those before it in the query's order are new and those
        after it are old. So no row is counted twice, whatever other sources did ([Garcia98] §4.2).

        Args:
            since: the changed sources, each with the snapshot to go on from.
            made: makes the frame of such a query.
            only_added: refuse rows that went.

        Raises:
            Untold: nobody can say which rows changed.
        """
        refuse_lenient(session)
        now = dict(launch.run.snapshots)
        order = [each for each in launch.definition.sources if each in since]
        sides: list[DataFrame] = []
        for n, source in enumerate(order):
            changed = self._formats.changed(session, source, since[source], now[source])
            if only_added and changed.removed is not None:
                raise Untold(f"rows of {source} went or changed")
            if changed.added is None and changed.removed is None:
                continue
            name, lasting = uuid4().hex, changed.lasting and len(order) == 1
            self._shim.stand_in(name, changed, lasting)
            try:
                snapshots = now | {each: since[each] for each in order[n + 1 :]}
                with self._reading(session, launch, snapshots, source, name):
                    sides.append(made(analysed()))
            finally:
                self._shim.stand_out(name)
        return sides

    @contextlib.contextmanager
    def _reading(
        self, session: SparkSession, launch: Launch, snapshots: dict[str, str], source: str, name: str
    ) -> Iterator[None]:
        """Lets queries read tables at these snapshots, and the stand-in of a name in place of one of them."""
        pins = self._formats.pins(snapshots)
        if lost := snapshots.keys() - pins.keys() - {launch.run.view}:
            raise Untold(f"{', '.join(sorted(lost))} cannot be read at a snapshot any more")
        kept = session.conf.get(PINS) or ""
        session.conf.set(PINS, wire.encode(pins | {source: Pin("", rows=name)}))
        try:
            yield
        finally:
            session.conf.set(PINS, kept)


def refuse_lenient(session: SparkSession) -> None:
    """Refuses to follow changes in a session that may leave out rows.

    Raises:
        Untold: it is one.
    """
    for name in LENIENT:
        if (session.conf.get(name) or "").lower() == "true":
            raise Untold(f"with {name} Spark may leave out rows")


def refuse_drift(formats: Formats, launch: Launch) -> None:
    """Refuses to leave rows of a view as they are that are not those on record. The snapshot on record of a lake table
    may have rows of another program: a publication of other partitions went on from them. A look tells them all the
    same.

    Raises:
        Untold: another program wrote some.
    """
    run, definition = launch.run, launch.definition
    slices = None if WHOLE in run.slices else run.slices
    since = dict(run.snapshots).get(definition.view, "")
    [seen] = formats.of_view(definition).look([TableQuestion(definition.view, slices, since)])
    computed = Region(run.slices)
    there = {each: fingerprint for each, fingerprint in seen.partitions.items() if computed.covers(each)}
    if definition.storage.commits:
        drifted = bool(seen.lost) or not since or bool(there)
    else:
        drifted = there != {each: record.fingerprint for each, record in launch.existing.items()}
    if drifted or not seen.exists or seen.unreadable:
        raise Untold(f"{definition.view} was written past Headwater")
