"""Columns of what is shown to people. They travel with the rows: Spark learns names and types from each answer."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NewType, get_type_hints

Time = NewType("Time", int)
"""ms since 1970, shown as a point in time."""


class ColumnType(Enum):
    """A type of columns, as Spark's DDL spells it."""

    STRING = "STRING"
    BIGINT = "BIGINT"
    DOUBLE = "DOUBLE"
    TIMESTAMP = "TIMESTAMP_LTZ"  # what TIMESTAMP means is a setting of the session


Columns = Mapping[str, ColumnType]
"""Names and types, in order."""

LINES: Columns = {"result": ColumnType.STRING}
"""Sentences."""


def columns_of(kind: type) -> Columns:
    """The columns that show the attributes of a class: numbers as numbers, all else as text."""
    return {name: _TYPES.get(hint, ColumnType.STRING) for name, hint in get_type_hints(kind).items()}


_TYPES: Mapping[object, ColumnType] = {
    int: ColumnType.BIGINT,
    int | None: ColumnType.BIGINT,
    float: ColumnType.DOUBLE,
    float | None: ColumnType.DOUBLE,
    Time: ColumnType.TIMESTAMP,
    Time | None: ColumnType.TIMESTAMP,
}
