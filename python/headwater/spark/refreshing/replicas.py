"""Replicas: copies of a table that several stores may keep. The snapshot of the source decides whose copy readers see
([Xu23] §5, multiple primary replicas).

Example: two stores keep ``mart.sales``, and the source has snapshot 8. One store publishes that. The other one finds
its rows there and publishes nothing. If it was slower, and about to publish snapshot 7, its publication is refused.
"""

from __future__ import annotations

from attrs import evolve, frozen
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headwater.model.command import Launch, Replaced, Written
from headwater.model.error import RefreshCancelled
from headwater.model.measure import Measured
from headwater.model.partition import WHOLE, Version
from headwater.model.reason import Code
from headwater.model.seen import TableQuestion
from headwater.spark.jvm import sql
from headwater.spark.jvm.counted import counts
from headwater.spark.jvm.shim import Shim
from headwater.spark.refreshing.changed_rows import pinned
from headwater.spark.tables.registry import Formats
from headwater.spark.tables.table_format import LastPublished
from headwater.spark.tables.view_tables import emptied


@frozen
class AlreadyThere:
    """The rows of a run are there already, in the state ``at`` of the view's table."""

    at: str


@frozen
class Found:
    """The table of a replica, as a run found it: its state, and whether all that led to it was looked at."""

    version: Version
    at: str
    looked_at: bool


class Replicas:
    """What other stores published of the replicas of this one."""

    def __init__(self, shim: Shim, formats: Formats) -> None:
        self._shim, self._formats = shim, formats
        self._found: dict[str, Found] = {}

    def standing(self, session: SparkSession, launch: Launch) -> Written | None:
        """The output of a run of a replica whose rows are there already; ``None``: it has to copy them. After a write
        that was no publication it copies them, whatever the newest publication says.

        Raises:
            RefreshCancelled: a newer snapshot of the source is there than this store knows.
        """
        run, definition = launch.run, launch.definition
        newest, pins = self._formats.of_view(definition).newest(definition), dict(run.snapshots)
        if newest is None:
            return None
        known = pins.get(run.view, "")
        self._found[run.view] = Found(run.version, newest.at, newest.at == known)
        [source] = definition.sources
        mine, there = pins.get(source, ""), newest.sources.get(source, "")
        if launch.doubted or not mine or not there or not self._are_publications(run.view, known):
            return None
        tables = self._formats.of(source)
        if tables.is_same(mine, there):
            return self._counted(session, launch, newest)
        if not tables.precedes(source, there, mine) and not self._is_now(source, mine):
            said = f"{run.view} has newer rows of {source} than this store knows; it is looked at again"
            raise RefreshCancelled(said, run.view, Code.RUN_TABLE_CHANGED, look_at=(source, run.view))
        return None

    def upon(self, launch: Launch) -> Launch:
        """A run that is published upon the state that it found, and no other. If that is not on record, nobody has
        looked whether another program wrote there, so the publication does not say that all rows are of one snapshot.
        """
        found = self._found.pop(launch.run.view, None)
        if found is None or found.version != launch.run.version:
            return launch
        return evolve(launch, upon=found.at, complete=launch.complete and found.looked_at)

    # --- inside

    def _are_publications(self, view: str, since: str) -> bool:
        """Whether all that came to a view since the state on record are publications of it."""
        if not since:
            return False
        [seen] = self._formats.look([TableQuestion(view, since=since)])
        return seen.published and not seen.lost and seen.unreadable is None

    def _is_now(self, source: str, snapshot: str) -> bool:
        """Whether a source is in that state now. A table that was put back comes to a state that precedes another."""
        [seen] = self._formats.look([TableQuestion(source, since=snapshot)])
        return self._formats.of(source).is_same(seen.snapshot, snapshot)

    def _counted(self, session: SparkSession, launch: Launch, newest: LastPublished) -> Written:
        """The rows that are there, of each partition of the run."""
        run, definition = launch.run, launch.definition
        columns = definition.partitioned_by
        self._shim.renew(session, (run.view,))
        with pinned(session, self._formats.pins({run.view: newest.at})):
            rows = session.table(sql.with_catalog(run.view))
            if WHOLE not in run.slices:
                rows = rows.where(sql.predicate(run.slices, {each.name: each.type for each in definition.columns}))
            narrow = rows.select(*[F.col(sql.identifier(each)) for each in columns] or [F.lit(1).alias("one")])
            counted = self._shim.counted(narrow, columns, hashed=False)
            counted.frame.write.format("noop").mode("overwrite").save()
        known = {
            each: evolve(made, fingerprint=f"v{run.version}", content="")
            for each, made in counts(counted.sums(), columns).items()
        }
        gone = emptied(launch, known, self._formats.of_view(definition).look)
        return Written((*known.values(),), gone, AlreadyThere(newest.at), measured=Measured(found=True))


def shown(written: Written) -> Replaced | None:
    """What readers see of an output that was there already; ``None``: it is to be published."""
    return Replaced(snapshot=written.handle.at) if isinstance(written.handle, AlreadyThere) else None
