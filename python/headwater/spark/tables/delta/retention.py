"""How long the files of a view's earlier versions stay: ``headwater.retain``, by Delta's own means."""

from __future__ import annotations

import time

from headwater.model.error import RefreshCancelled, StatementError
from headwater.model.partition import Version
from headwater.model.policy import pause
from headwater.model.view import Definition
from headwater.spark.jvm import sql
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.delta.publications import Publications
from headwater.spark.tables.delta.stage import Staging

PROPERTY = "delta.deletedFileRetentionDuration"
TASKS = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
"""In so many tasks ``VACUUM`` lists files, several times. Spark's default of 10,000 takes a small table minutes."""
HOUR = 3_600_000  # ms
TASKS_PER_SLOT = 4
"""So that no slot waits long for the others, whose directories have more files."""


class Retention:
    """Has Delta clean up the tables of views, each at most once per its retention time."""

    def __init__(self, shim: Shim, sessions: Sessions, publications: Publications, stage: Staging) -> None:
        self._shim, self._sessions, self._publications, self._stage = shim, sessions, publications, stage
        self._cleaned: dict[str, float] = {}

    def expire(self, definition: Definition, since: Version | None = None) -> bool:
        """Deletes files that no version of the retention time has, nor one that was replaced from ``since`` on.
        Versions are times (ms). False: the view has no table.

        ``VACUUM`` spares the files that were replaced within the time that the table says, and no others: Delta ignores
        ``RETAIN``, and forgets files that were replaced before. So it waits while an epoch names older ones.

        A run whose files wait for their publication is waited for: nobody may delete those.
        """
        try:
            log = self._publications.opened(definition)
        except RefreshCancelled:
            return False
        if log is None:
            return False
        retain, now = definition.policy.retain, time.time() * 1000
        wanted = f"interval {_kept(definition)} milliseconds"
        if now - self._cleaned.get(definition.view, log.created) < retain or self._stage.holds(definition.view):
            return True
        session, table = self._sessions.of_table(definition.settings), sql.with_catalog(definition.view)
        if PROPERTY not in dict(definition.properties) and log.layout.properties.get(PROPERTY) != wanted:
            session.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('{PROPERTY}' = '{wanted}')")
        tasks = TASKS_PER_SLOT * session.sparkContext.defaultParallelism
        stated = _stated(dict(definition.properties).get(PROPERTY, wanted))
        if since is not None and (stated is None or now - since > stated):
            return True  # they may be needed, or how long they stay is written in a way that is not read here
        vacuuming = self._sessions.of_table((*definition.settings, (TASKS, str(tasks))))
        self._shim.run_quietly(vacuuming, f"VACUUM {table}")
        self._cleaned[definition.view] = now
        return True


def _kept(definition: Definition) -> int:
    """How long (ms) replaced files stay. An epoch names the rows of a member until some time after these were replaced:
    when all members have met, and ``headwater.retain`` is over."""
    retain = definition.policy.retain
    return retain if definition.policy.group is None else retain + max(retain, HOUR)


def _stated(text: str) -> int | None:
    """An interval as people write it for Delta, such as ``interval 1 week 2 days``, in ms; ``None`` if it is written
    otherwise."""
    words = text.strip().lower().removeprefix("interval").split()
    try:
        return sum(pause(" ".join(pair)) for pair in zip(words[::2], words[1::2], strict=True)) if words else None
    except (StatementError, ValueError):
        return None
