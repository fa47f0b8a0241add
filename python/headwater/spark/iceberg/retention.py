"""How long a view's earlier snapshots stay: ``headwater.retain``, by Iceberg's own means."""

from __future__ import annotations

import time
from collections.abc import Callable

from py4j.java_gateway import JavaObject

from headwater.model.view import Definition
from headwater.spark.iceberg.java import Java

AGE = "history.expire.max-snapshot-age-ms"
GARBAGE = "gc.enabled"
CLEANED = "headwater.cleaned"
"""The property that says when files were deleted that no snapshot names (ms)."""
DAY = 24 * 3_600_000
UNNAMED = 3 * DAY
"""The age of a file that no snapshot names at which no run can be about to publish it."""


class Retention:
    """Has Iceberg clean up the tables of views, each at most once per its retention time.

    Args:
        now: the time (ms).
    """

    def __init__(self, java: Java, now: Callable[[], float] = lambda: time.time() * 1000) -> None:
        self._java, self._now = java, now
        self._expired: dict[str, float] = {}

    def expire(self, definition: Definition, table: JavaObject) -> None:
        """Deletes what only snapshots older than the retention time have, and, each day, files of runs that ended
        before their publication."""
        retain, now = definition.policy.retain, self._now()
        if now - self._expired.get(definition.view, 0) < retain or table.properties().get(GARBAGE) == "false":
            return
        if AGE not in dict(definition.properties) and table.properties().get(AGE) != str(retain):
            table.updateProperties().set(AGE, str(retain)).commit()
        table.expireSnapshots().commit()
        self._expired[definition.view] = now
        if now - int(table.properties().get(CLEANED) or 0) >= DAY:
            table.updateProperties().set(CLEANED, str(int(now))).commit()
            self._delete_unnamed(table, int(now))

    def _delete_unnamed(self, table: JavaObject, now: int) -> None:
        actions = self._java("iceberg.spark.actions.SparkActions.get", self._java.session._jsparkSession)
        actions.deleteOrphanFiles(table).olderThan(now - UNNAMED).execute()
