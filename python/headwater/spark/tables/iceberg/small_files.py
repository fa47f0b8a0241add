"""Puts small files of a view together, as Iceberg's own ``rewrite_data_files`` does.

Its snapshot says ``replace``, so no row counts as changed. It keeps the properties of the table, and with these the
version that was published last. The clean-up keeps files of three days that no snapshot names (``retention.py``).
"""

from __future__ import annotations

import json

from py4j.java_gateway import JavaObject

from headwater.model.view import Definition
from headwater.spark.jvm.sessions import LENIENT, Sessions, having
from headwater.spark.tables.compaction import Compaction, PutTogether
from headwater.spark.tables.iceberg.calls import Calls

NEVER = 1 << 60
"""No file is so large, so none is written anew for its size."""


class SmallFiles:
    """Finds files of views, and puts them together."""

    def __init__(self, calls: Calls, sessions: Sessions) -> None:
        self._calls, self._sessions = calls, sessions

    def sizes(self, table: JavaObject) -> list[int]:
        """The bytes of each file; none of a table that its owner partitioned."""
        return json.loads(self._calls.sizes(table))

    def compact(self, definition: Definition, table: JavaObject, compaction: Compaction) -> PutTogether:
        options = {
            "min-file-size-bytes": str(compaction.below),
            "target-file-size-bytes": str(compaction.target),
            "max-file-size-bytes": str(NEVER),
            "min-input-files": "2",
        }
        session = self._sessions.of_table(definition.settings, alone=True)
        with having(session, dict.fromkeys(LENIENT, "false")):
            before, after = json.loads(self._calls.compact(session._jsparkSession, table, options))
        return PutTogether(before, after)
