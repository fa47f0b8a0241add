"""How long a view's earlier snapshots stay: ``headwater.retain``, by Iceberg's own means."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from headwater.logger import log
from headwater.model.partition import Version
from headwater.model.view import Definition
from headwater.spark.tables.iceberg.calls import Calls

AGE = "history.expire.max-snapshot-age-ms"
GARBAGE = "gc.enabled"
CLEANED = "headwater.cleaned"
"""The property that says when files were deleted that no snapshot names (ms)."""
DAY = 24 * 3_600_000
DEEP = ("", "*/", "*/*/")
"""Where another table within a directory is looked for: by the name of its ``metadata``."""
UNNAMED = 3 * DAY
"""The age of a file that no snapshot names at which no run can be about to publish it."""


class Retention:
    """Has Iceberg clean up the tables of views, each at most once per its retention time.

    Args:
        now: the time (ms).
    """

    def __init__(
        self, calls: Calls, session: SparkSession, now: Callable[[], float] = lambda: time.time() * 1000
    ) -> None:
        self._calls, self._session, self._now = calls, session, now
        self._expired: dict[str, float] = {}

    def expire(self, definition: Definition, table: JavaObject, since: Version | None = None) -> None:
        """Deletes what only snapshots older than the retention time have, and, each day, files of runs that ended
        before their publication. What a version replaced from ``since`` on stays; versions are times (ms)."""
        retain, now = definition.policy.retain, self._now()
        if now - self._expired.get(definition.view, 0) < retain or table.properties().get(GARBAGE) == "false":
            return
        if AGE not in dict(definition.properties) and table.properties().get(AGE) != str(retain):
            self._calls.set(table, AGE, str(retain))
        age = int(table.properties().get(AGE) or retain)
        self._calls.expire(table, int(now) if since is None else min(int(now), since + age))
        self._expired[definition.view] = now
        if now - int(table.properties().get(CLEANED) or 0) >= DAY:
            self._calls.set(table, CLEANED, str(int(now)))
            session = self._session._jsparkSession
            if not self._calls.isAlone(session, table):
                log.warning(
                    "files that nothing names stay beside %s: another table has the directory, too", definition.view
                )
                return
            for place in self._own(table.location()):
                self._calls.deleteUnnamed(session, table, place, int(now) - UNNAMED)

    def _own(self, location: str) -> list[str]:
        """The directories in which only a table's own files lie. In a catalog of directories, the tables of the
        namespace ``d.v`` lie in the directory of a table ``d.v``, perhaps under these names."""

        def found(pattern: str) -> bool:
            return self._calls.exists(self._session._jsparkSession, pattern)

        escaped = re.sub(r"([*?\[\]{}\\])", r"\\\1", location.rstrip("/"))
        return [
            f"{location.rstrip('/')}/{name}"
            for name in ("data", "metadata")
            if found(f"{escaped}/{name}") and not any(found(f"{escaped}/{name}/{deep}metadata") for deep in DEEP)
        ]
