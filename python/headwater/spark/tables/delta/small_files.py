"""Puts small files of a view together, by one commit that says that no row changed.

Delta's own ``OPTIMIZE`` writes and commits at one go. Between the two, this looks whether a clean-up deleted the files.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from headwater.model.error import CompactionFailed
from headwater.model.view import Definition
from headwater.spark.jvm.sessions import LENIENT, Sessions, having
from headwater.spark.tables.compaction import Compaction, PutTogether
from headwater.spark.tables.delta.calls import Calls, active
from headwater.spark.tables.delta.publications import Publications
from headwater.spark.tables.view_tables import gone

WHOLE_FILES = {"spark.sql.files.maxRecordsPerFile": "0"}
"""With a limit of rows, small files could become as many small files, after each publication anew."""


class SmallFiles:
    """Finds files of views, and puts them together.

    Args:
        now: the time (ms).
    """

    def __init__(
        self,
        calls: Calls,
        sessions: Sessions,
        publications: Publications,
        now: Callable[[], float] = lambda: time.time() * 1000,
    ) -> None:
        self._calls, self._sessions, self._publications, self._now = calls, sessions, publications, now

    def sizes(self, definition: Definition) -> list[int]:
        """The bytes of each file; none of a table that its owner clusters, and of one whose rows have numbers."""
        log = self._publications.opened(definition)
        return [] if log is None else json.loads(log.opened.sizes())

    def compact(self, definition: Definition, compaction: Compaction) -> PutTogether:
        log = self._publications.opened(definition)
        if log is None:
            raise gone(definition.view)
        session, begun = self._sessions.of_table(definition.settings, alone=True), self._now()
        with having(session, dict.fromkeys(LENIENT, "false") | WHOLE_FILES), active(self._calls, session):
            together = log.opened.together(compaction.below, compaction.target)
            # As before a publication: VACUUM deletes files that no commit names after the table's retention time.
            if not log.opened.areThere(together.staged(), int(self._now() - begun)):
                raise CompactionFailed(
                    "VACUUM deleted files of its compaction, which took longer than files are kept; "
                    "set delta.deletedFileRetentionDuration to more; the small files stay",
                    definition.view,
                )
            if together.before():
                together.commit(session._jsparkSession)
        return PutTogether(together.before(), together.after())
