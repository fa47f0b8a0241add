"""Regions of a view as filters of Iceberg's, in its JSON form.

Example: the slices ``p=a`` and ``p=NULL`` are ``p IN ('a', '') OR p IS NULL``. Iceberg keeps the empty string and NULL
apart; a slice does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from headwater.model.partition import NAMELESS, Slice, Value
from headwater.spark.tables.iceberg import values

Filter = Mapping[str, Any] | bool


def region(slices: Iterable[Slice], types: Mapping[str, str], zone: str) -> Filter:
    """The filter that holds for exactly the rows in some slices.

    Args:
        types: the type of each partition column, as Iceberg spells it.
        zone: the zone in which timestamps are spelled.
    """
    distinct = set(slices)
    if Slice() in distinct:
        return True
    filters = []
    for columns in sorted({each.names for each in distinct}):
        filters += _alike(columns, [each for each in distinct if each.names == columns], types, zone)
    return _joined("or", filters)


def _alike(columns: Sequence[str], slices: Sequence[Slice], types: Mapping[str, str], zone: str) -> list[Filter]:
    """Filters for slices that bind the same columns. The column with the most values becomes one list."""
    listed = max(columns, key=lambda column: len({each.value(column) for each in slices}))
    grouped: dict[Slice, list[Value]] = {}
    for each in sorted(slices, key=str):
        grouped.setdefault(each.keep(set(columns) - {listed}), []).append(each.value(listed))
    return [
        _joined(
            "and", [*(_holds(c, [v], types[c], zone) for c, v in rest.bound), _holds(listed, some, types[listed], zone)]
        )
        for rest, some in grouped.items()
    ]


def _holds(column: str, texts: Sequence[Value], type: str, zone: str) -> Filter:
    """That a column has one of these values."""
    literals = [literal for text in texts if text is not None for literal in _literals(text, type, zone)]
    if None in texts and type == "string":
        literals += NAMELESS
    found: list[Filter] = []
    if literals:
        found.append({"type": "in", "term": column, "values": literals})
    if None in texts:
        found.append({"type": "is-null", "term": column})
    return _joined("or", found)


def _literals(text: str, type: str, zone: str) -> list[Any]:
    match type:
        case "boolean":
            return [text == "true"]
        case "int" | "long":
            return [int(text)]
        case "float" | "double":
            return [float(text)]
        case "timestamp":
            return [values.local(text)]
        case "timestamptz":
            return list(values.instants(text, zone))
    return [text]


def _joined(by: str, filters: Sequence[Filter]) -> Filter:
    """The filters as a balanced tree: Iceberg walks it by recursion."""
    if not filters:
        return by == "and"
    level = list(filters)
    while len(level) > 1:
        pairs = [level[at : at + 2] for at in range(0, len(level), 2)]
        level = [reduce(lambda left, right: {"type": by, "left": left, "right": right}, pair) for pair in pairs]
    return level[0]
