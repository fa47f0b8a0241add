"""Looks at Delta tables: their state now, and the difference from the state on record, from the log alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from attrs import evolve
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headwater.model.error import RefreshFailed
from headwater.model.partition import Slice, Value
from headwater.model.reason import Code, Reason
from headwater.model.seen import Seen, TableQuestion
from headwater.model.view import UTC, ZONE
from headwater.spark.jvm import sql
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables import catalog, zones
from headwater.spark.tables.delta.layout import Layout, conflict
from headwater.spark.tables.delta.log import Cut, Log, Logs, NotDelta
from headwater.spark.tables.delta.log_changes import Changes, Values, are_by, changes, is_by
from headwater.spark.tables.delta.snapshot import Snapshot, incarnation
from headwater.spark.tables.delta.values import MOMENT, Spelling, is_local, spelling

ASKED = 1_000
"""So many values Spark is asked for at once."""


class DeltaLooks:
    """Looks at tables, in the session of an engine."""

    def __init__(self, logs: Logs, shim: Shim, sessions: Sessions) -> None:
        self._logs, self._shim, self._sessions = logs, shim, sessions
        self._spellings: dict[str, Spelling] = {}

    def look(self, look: TableQuestion) -> Seen:
        """A table as it is now: the partitions that changed since the snapshot on record, if the log tells them."""
        try:
            log = self._logs.open(look.table)
            return Seen(look.table, exists=False) if log is None else self._seen(log, look)
        except NotDelta as error:
            return Seen(look.table, unreadable=Reason(Code.SOURCE_FORMAT_CHANGED, str(error)))
        except RefreshFailed as error:
            return Seen(look.table, unreadable=error.reason)
        except (PySparkException, Py4JError) as error:
            if self._shim.is_gone(error):
                raise
            return Seen(look.table, unreadable=Reason(Code.SOURCE_UNREADABLE, self._shim.failure(error).text))

    def touched(self, log: Log, before: Snapshot) -> frozenset[Slice]:
        """The partitions that others changed since a snapshot.

        Raises:
            Cut: the log does not tell.
        """
        return self._touched(log, before, self._changes(log, before))

    # --- inside

    def _changes(self, log: Log, before: Snapshot) -> Changes:
        """What others did since a snapshot. Another engine is one of them, too."""
        if before.table != log.layout.table:
            raise Cut("it is another table now")
        if before.version > log.version:
            raise Cut(f"it was put back to version {log.version}, from {before.version}")
        owner, commits = log.layout.properties.get(catalog.OWNER, ""), []
        for commit in log.since(before):
            actions = commit.actions()
            if commit.version > before.version or not is_by(actions, owner):
                commits.append(actions)
        found = evolve(changes(commits, log.layout.keys), published=are_by(commits, owner))
        self._compare(log, before, found)
        return found

    def _touched(self, log: Log, before: Snapshot, found: Changes) -> frozenset[Slice]:
        values = set(found.touched)
        if found.strays:
            values.update(log.places(before.known, found.strays))
        return frozenset(self._slices(log.layout, values))

    def _seen(self, log: Log, look: TableQuestion) -> Seen:
        head, layout, before = log.head(), log.layout, Snapshot.read(look.since)
        seen = Seen(
            look.table,
            schema=layout.digest,
            incarnation=incarnation(layout.table),
            columns=frozenset(layout.partitioned_by),
            location=log.location,
            owner=layout.properties.get(catalog.OWNER, ""),
            snapshot=str(head),
            pinned=True,
        )
        if not look.since:
            return self._whole(seen, log)
        try:
            if before is None:
                raise Cut("it had another format")
            found = self._changes(log, before)
            touched = self._touched(log, before, found)
        except Cut as cut:
            return self._whole(evolve(seen, lost=str(cut)), log)
        partitions = dict.fromkeys(touched, seen.snapshot)
        return evolve(
            seen,
            partitions=partitions,
            looked=tuple(touched),
            churn=found.churn,
            went=found.went,
            published=found.published,
        )

    def _whole(self, seen: Seen, log: Log) -> Seen:
        return evolve(seen, partitions=dict.fromkeys(self._slices(log.layout, log.partitions()), seen.snapshot))

    def _compare(self, log: Log, before: Snapshot, found: Changes) -> None:
        """Columns that mean something else than before have other values in each row.

        Raises:
            Cut: there are some.
        """
        if not found.layouts:
            return
        was = log.layout_at(before.known)
        for layout in (*map(Layout.of, found.layouts), log.layout):
            why = "it is another table now" if layout.table != was.table else conflict(was, layout)
            if why:
                raise Cut(why)

    def _slices(self, layout: Layout, values: Iterable[Values]) -> list[Slice]:
        """The partitions of some values, as the log spells them."""
        found, names, kinds = list(values), layout.partitioned_by, layout.types
        zone = zones.of_table(layout.properties) if MOMENT in kinds else UTC
        spelling = self._spellings.setdefault(zone, Spelling(partial(self._ask, zone)))
        for n, kind in enumerate(kinds):
            texts = [each[n] for each in found]
            if kind == MOMENT and any(map(is_local, texts)):
                return [Slice()]  # it is another moment for readers of each zone
            spelling.learn(kind, texts)
        return [Slice(zip(names, map(spelling.spelled, kinds, each), strict=True)) for each in found]

    def _ask(self, zone: str, kind: str, texts: Sequence[str]) -> list[Value]:
        told: list[Value] = []
        session = self._sessions.of_table(((ZONE, zone),))
        for at in range(0, len(texts), ASKED):
            listed = ", ".join(f"({n}, {sql.string(text)})" for n, text in enumerate(texts[at : at + ASKED]))
            query = f"SELECT n, {spelling(kind, 'v')} AS told FROM VALUES {listed} AS t(n, v)"
            told += [row["told"] for row in sorted(session.sql(query).collect())]
        return told
