"""Views that one commit of a REST catalog shows together.

Example: ``by_shop`` and ``by_day`` are members of a group. Their runs publish to the branch ``headwater`` of their
tables. When both have versions that belong together, one request lets ``main`` of both be at these.

``Iceberg.java`` hands such a table out with the branch in the place of ``main``, so all else follows the branch.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from pyspark.sql import SparkSession

from headwater.model.error import NotNow
from headwater.model.name import TableName, named
from headwater.model.view import Definition
from headwater.spark.tables import catalog
from headwater.spark.tables.iceberg.at import At
from headwater.spark.tables.iceberg.calls import Calls
from headwater.spark.tables.iceberg.loaded import Catalogs
from headwater.spark.tables.table_format import GroupShown

TRIES = 8
"""The number of commits of other programs that a commit gives way to."""


class CommonCommits:
    """Commits of several tables of one catalog."""

    def __init__(self, calls: Calls, catalogs: Catalogs, session: SparkSession) -> None:
        self._calls, self._catalogs, self._session = calls, catalogs, session

    def step_of(self, definition: Definition) -> str:
        """The catalog that can commit the table of a view with others; empty: its catalog cannot."""
        name = named(definition.view)
        if not isinstance(name, TableName) or not self._calls.commitsTogether(self._options(name.catalog)):
            return ""
        return name.catalog

    def show(self, members: Sequence[tuple[Definition, str]]) -> GroupShown:
        """Lets ``main`` of views be at some snapshots."""
        for attempt in range(TRIES):
            if (shown := self._shown(members)) is not None:
                return shown
            time.sleep(0.02 * 2**attempt)
        views = ", ".join(definition.view for definition, _ in members)
        said = f"other programs commit to {views} all the time; their commit together is tried again"
        raise NotNow(said)

    def show_newest(self, definition: Definition) -> None:
        """Lets ``main`` of a view have its newest rows, and removes the branch."""
        table = self._catalogs.table(definition.view)
        if table is not None:
            self._calls.rejoin(table)

    # --- inside

    def _shown(self, members: Sequence[tuple[Definition, str]]) -> GroupShown | None:
        """``None``: a commit of another program came first."""
        views, names, tables, snapshots = list[str](), list[list[str]](), [], list[int]()
        for definition, snapshot in members:
            name, at, table = named(definition.view), At.of(snapshot), self._catalogs.table(definition.view)
            own = table is not None and table.properties().get(catalog.OWNER) == definition.owner
            if not own or at is None or at.snapshot == 0 or not isinstance(name, TableName):
                continue  # it was dropped meanwhile, or has no rows to be shown
            views.append(definition.view)
            names.append([*name.namespace, name.name])
            tables.append(table)
            snapshots.append(at.snapshot)
        if not views:
            return GroupShown()
        place = self.step_of(members[0][0])
        opened = self._calls.catalog(self._session._jsparkSession, place, self._options(place))
        told = self._calls.show(opened, names, tables, snapshots)
        if told is None:
            return None
        foreign, lost = (tuple(views[n] for n in found) for found in json.loads(told))
        return GroupShown(foreign, lost)

    def _options(self, name: str) -> dict[str, str]:
        prefix = f"spark.sql.catalog.{name}."
        every = self._session.conf.getAll
        return {key.removeprefix(prefix): value for key, value in every.items() if key.startswith(prefix)}
