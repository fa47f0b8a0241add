"""The time zones in which timestamps are spelled, where they name partitions of lake tables.

Example: a Delta table is partitioned by ``ts``. The moment 10:00 of UTC is its partition ``ts=2024-01-01 10:00:00``,
whatever the session. In a view that was declared in Berlin, it is ``ts=2024-01-01 11:00:00``.

The directories of a table of files have texts, which mean other moments in other zones. They stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.model.view import Definition
from headwater.spark.jvm.sessions import ZONE
from headwater.spark.tables import catalog

UTC = "UTC"
"""The zone of tables that are no views'."""


def of_view(definition: Definition) -> str:
    """The zone in which a view was declared: in it its runs compute."""
    return dict(definition.settings).get(ZONE, UTC)


def of_table(properties: Mapping[str, str]) -> str:
    """The zone of the lake table that has these properties."""
    return of_view(catalog.read("", properties)) if catalog.MARKER in properties else UTC


def shows_moments(definition: Definition) -> bool:
    """Whether partitions of a view are named by timestamps, so that a zone matters."""
    types = {column.name: column.type.upper() for column in definition.columns}
    return any(types[name] == "TIMESTAMP" for name in definition.partitioned_by)
