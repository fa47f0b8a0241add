"""What identifies the meaning of an analysed query, and nothing else.

Columns that a source has and the query does not read are no part of it, nor are comments: adding a
column to a table must not compute anew every view that reads the table.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from headwater.spark.jvm.wire import Plan

BY_NAME = {
    "Aggregate", "Filter", "GlobalLimit", "Join", "LocalLimit", "LocalRelation", "OneRowRelation", "Project",
    "Relation", "Sort", "SubqueryAlias", "View", "Window",
}  # fmt: skip
"""Operators for which a column that no expression names is as good as absent. For others (``UNION``,
``DISTINCT``, …) the positions of all columns count."""


def fingerprint(description: Plan, zones: Mapping[str, str] | None = None) -> str:
    """A digest of what ``PlanJson.analysed`` wrote, equal when the query's meaning is.

    Args:
        zones: of the sources whose partitions are spelled in another zone than UTC: the maps depend on these.
    """
    kept = _kept(description)
    numbers: dict[int, int] = {}

    def rebuilt(value: Any, key: str = "") -> Any:
        match value:
            case Mapping():
                return {name: rebuilt(each, name) for name, each in sorted(value.items()) if name != "comment"}
            case list() if key == "output":
                return [rebuilt(each, "id") for each in value if kept(each)]
            case list() if key in ("columns", "attributes"):
                return [rebuilt(each) for each in value if kept(each["id"])]
            case list():
                return [rebuilt(each) for each in value]
            case int() if key in ("id", "attr") and not isinstance(value, bool):
                return numbers.setdefault(value, len(numbers))
        return value

    described = {name: rebuilt(description[name], name) for name in ("plan", "columns", "attributes")}
    return digest({**described, "functions": description["functions"], "zones": dict(zones or {})})


def paths_by_column(description: Plan) -> list[str]:
    """The paths that an analysed query reads whose files lie in directories of partition values."""
    relations = (each for each in _parts(description["plan"]) if each.get("op") == "Relation")
    return sorted({each["path"] for each in relations if each.get("path") and each.get("partition_columns")})


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def _kept(description: Plan):
    """Which column numbers count: all but those of a source that nothing names."""
    parts = list(_parts(description["plan"]))
    if any(each["op"] not in BY_NAME for each in parts if "op" in each):
        return lambda number: True
    named = {each["attr"] for each in parts if "attr" in each}
    named |= {column["id"] for column in description["columns"]}
    for call in parts:
        if "call" in call and call.get("plan"):
            named |= set(call["plan"]["output"])  # a subquery's columns count by position
    offered = {column["id"] for each in parts if each.get("op") == "Relation" for column in each["columns"]}
    return lambda number: number in named or number not in offered


def _parts(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
        for each in value.values():
            yield from _parts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _parts(each)
