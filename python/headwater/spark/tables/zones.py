"""The time zones in which timestamps are spelled, where they name partitions of lake tables.

Example: a Delta table is partitioned by ``ts``. The moment 10:00 of UTC is its partition ``ts=2024-01-01 10:00:00``,
whatever the session. In a view that was declared in Berlin, it is ``ts=2024-01-01 11:00:00``.

The directories of a table of files have texts, which mean other moments in other zones. They stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.model.view import UTC, Definition
from headwater.spark.tables import catalog


def of_table(properties: Mapping[str, str]) -> str:
    """The zone of the lake table that has these properties."""
    return catalog.read("", properties).zone if catalog.MARKER in properties else UTC


def shows_moments(definition: Definition) -> bool:
    """Whether partitions of a view are named by timestamps, so that a zone matters."""
    types = {column.name: column.type.upper() for column in definition.columns}
    return any(types[name] == "TIMESTAMP" for name in definition.partitioned_by)
