"""Looks at Iceberg tables: what they are now, and which partitions changed since a snapshot."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headwater.model.error import RefreshFailed
from headwater.model.partition import Region, Slice
from headwater.model.reason import Code, Reason
from headwater.model.seen import Seen, TableQuestion
from headwater.model.view import UTC
from headwater.spark.jvm import paths
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables import catalog, zones
from headwater.spark.tables.iceberg import schemas
from headwater.spark.tables.iceberg.at import At
from headwater.spark.tables.iceberg.calls import Calls
from headwater.spark.tables.iceberg.entries import Placed, placed
from headwater.spark.tables.iceberg.history import History, churn
from headwater.spark.tables.iceberg.loaded import Catalogs, Loaded
from headwater.spark.tables.iceberg.partitioning import Spec


class IcebergLooks:
    """Compares tables with the snapshots on record."""

    def __init__(self, shim: Shim, catalogs: Catalogs, calls: Calls, history: History) -> None:
        self._shim, self._catalogs, self._calls, self._history = shim, catalogs, calls, history
        self._locations: dict[str, str] = {}

    def location(self, table: str) -> str:
        """The directory of a table; empty if nobody looked at it."""
        return self._locations.get(table, "")

    def look(self, look: TableQuestion) -> Seen:
        """A table as it is now, or why nobody can look at it."""
        try:
            loaded = self._catalogs.loaded(look.table)
            if loaded is None:
                return Seen(look.table, exists=False)
            return self._seen(look, loaded)
        except (Py4JError, PySparkException) as error:
            if self._shim.is_gone(error):
                raise
            return Seen(look.table, unreadable=Reason(Code.SOURCE_UNREADABLE, self._shim.failure(error).text))
        except RefreshFailed as error:
            return Seen(look.table, unreadable=error.reason)

    # --- inside

    def _seen(self, look: TableQuestion, loaded: Loaded) -> Seen:
        location = loaded.metadata.location
        self._locations[look.table] = paths.plain(location)
        seen = Seen(
            look.table,
            schema=loaded.layout.digest,
            incarnation=loaded.incarnation,
            columns=frozenset(each.name for each in loaded.spec.bound),
            location=location,
            owner=loaded.property(catalog.OWNER),
            snapshot=str(loaded.at),
            pinned=True,
        )
        changed, lost = self._changed(loaded, look.since) if look.since else (None, "")
        if changed is not None:
            partitions, (churned, went) = dict.fromkeys(changed, seen.snapshot), self._churn(loaded, look.since)
            by = self._is_published(loaded, look.since, seen.owner)
            return evolve(seen, partitions=partitions, looked=tuple(changed), churn=churned, went=went, published=by)
        partitions = dict.fromkeys(self._all(loaded), seen.snapshot)
        if look.slices is None or look.since:
            return evolve(seen, partitions=partitions, lost=lost)
        asked = Region(look.slices)
        some = {each: fingerprint for each, fingerprint in partitions.items() if asked.covers(each)}
        return evolve(seen, partitions=some, asked=look.slices, looked=look.slices, snapshot="")

    def _changed(self, loaded: Loaded, since: str) -> tuple[list[Slice] | None, str]:
        """The partitions that changed since a state; ``None`` and the reason if nobody can say which."""
        was, now = At.of(since), loaded.at
        if was is None:
            return None, "it had another format"
        if was.spec != now.spec:
            return None, "its partitioning changed"
        if was.names != now.names:
            return None, "it finds columns of imported files by other names"
        if was.schema != now.schema and (why := self._replaced(loaded, was)):
            return None, why
        if was.known == was.snapshot == now.snapshot:
            return [], ""
        if was.known == 0 or now.snapshot == 0:
            return None, ""
        before = self._history.between(loaded.table, was.known, was.snapshot)
        after = self._history.between(loaded.table, was.snapshot, now.snapshot)
        if why := before.lost or after.lost:
            return None, why
        others = [each for each in before.snapshots if catalog.OWNER not in each.summary]
        places: set[Placed] = set()
        for snapshot in (*others, *after.snapshots):
            if not snapshot.is_rearranged:
                places |= placed(self._calls.changed(loaded.table, snapshot.number))
        changed = self._slices(loaded, places)
        if not all(map(loaded.spec.is_partition, changed)):
            return None, "files of an older partitioning changed"
        return changed, ""

    def _is_published(self, loaded: Loaded, since: str, owner: str) -> bool:
        """Whether all snapshots since a state that have other rows are publications of the view; false where nobody
        can say."""
        was = At.of(since)
        if was is None or not owner or 0 in (was.known, loaded.at.snapshot):
            return False
        between = self._history.between(loaded.table, was.known, loaded.at.snapshot)
        made = [each for each in between.snapshots if not each.is_rearranged]
        return (
            not between.lost and not between.undone and all(each.summary.get(catalog.OWNER) == owner for each in made)
        )

    def _churn(self, loaded: Loaded, since: str) -> tuple[int | None, int]:
        """Bytes of the files that came and went since a state, and of those that went, at most."""
        was = At.of(since)
        if was is None or 0 in (was.snapshot, loaded.at.snapshot):
            return None, 0
        between = self._history.between(loaded.table, was.snapshot, loaded.at.snapshot)
        churned = churn(between.snapshots)
        return churned, 0 if between.only_adds else churned or 1

    def _replaced(self, loaded: Loaded, was: At) -> str:
        """Why the rows of a table may read otherwise than with the schema of a state; empty if they do not."""
        every = self._catalogs.schemas(loaded.table)
        before = every.get(was.schema)
        if before is None:
            return "the schema on record is gone"
        taken = [each["name"] for each in before["fields"]]
        then = Spec.of(loaded.layout.described, schemas.columns(before), taken)
        if [each.name for each in then.bound] != [each.name for each in loaded.spec.bound]:
            return "its partition columns have other names"
        return schemas.replaced(before, loaded.layout.schema, every.values())

    def _all(self, loaded: Loaded) -> list[Slice]:
        """All partitions. A table whose partitions cannot be told apart has one, with rows or without."""
        if not loaded.spec.bound:
            return [Slice()]
        if loaded.at.snapshot == 0:
            return []
        return self._slices(loaded, placed(self._calls.live(loaded.table, loaded.metadata.snapshot)))

    def _slices(self, loaded: Loaded, places: Iterable[Placed]) -> list[Slice]:
        zone = zones.of_table(loaded.metadata.properties) if loaded.spec.shows_moments else UTC
        found = dict.fromkeys(
            each
            for placed in places
            for each in loaded.spec.slices(loaded.layout.specs[placed.spec], dict(placed.values), zone)
        )
        return sorted(found, key=str)
