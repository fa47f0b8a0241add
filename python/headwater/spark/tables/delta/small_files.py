"""Puts small files of a view together by Delta's own ``OPTIMIZE``, whose commit says that no row changed."""

from __future__ import annotations

import json

from headwater.model.view import Definition
from headwater.spark.jvm import sql
from headwater.spark.jvm.sessions import LENIENT, Sessions, having
from headwater.spark.tables.compaction import Compaction, PutTogether
from headwater.spark.tables.delta.publications import Publications
from headwater.spark.tables.view_tables import gone

BELOW = "spark.databricks.delta.optimize.minFileSize"
TARGET = "spark.databricks.delta.optimize.maxFileSize"


class SmallFiles:
    """Finds files of views, and puts them together."""

    def __init__(self, sessions: Sessions, publications: Publications) -> None:
        self._sessions, self._publications = sessions, publications

    def sizes(self, definition: Definition) -> list[int]:
        """The bytes of each file; none of a table that its owner clusters, for ``OPTIMIZE`` would write it whole."""
        log = self._publications.opened(definition)
        return [] if log is None else json.loads(log.opened.sizes())

    def compact(self, definition: Definition, compaction: Compaction) -> PutTogether:
        if self._publications.opened(definition) is None:
            raise gone(definition.view)
        bounds = {BELOW: str(compaction.below), TARGET: str(compaction.target)}
        session = self._sessions.of_table(definition.settings, alone=True)
        with having(session, bounds | dict.fromkeys(LENIENT, "false")):
            [done] = session.sql(f"OPTIMIZE {sql.quoted(definition.view)}").collect()
        return PutTogether(done["metrics"]["numFilesRemoved"], done["metrics"]["numFilesAdded"])
