"""The columns of a Delta table, as the action ``metaData`` of its log tells them.

Delta knows a column by its *physical* name. After ``RENAME COLUMN`` it stays the same; a column that was dropped and
added again has another one. So a column with the name of an earlier one may hold other values.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from attrs import field, frozen

_PHYSICAL = "delta.columnMapping.physicalName"
_CHAR, _COLLATIONS = "__CHAR_VARCHAR_TYPE_STRING", "__COLLATIONS"


@frozen
class Layout:
    """The id of a table, its columns and its properties.

    Attributes:
        fields: of the schema, as Spark writes it in JSON.
        partitioned_by: the names of the partition columns, in the order of the table.
    """

    table: str
    fields: tuple[Mapping[str, Any], ...]
    partitioned_by: tuple[str, ...]
    properties: Mapping[str, str] = field(factory=dict)

    @classmethod
    def read(cls, text: str) -> Layout:
        """The layout that an action, as JSON, sets."""
        return cls.of(json.loads(text)["metaData"])

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Layout:
        schema = json.loads(found.get("schemaString") or '{"fields": []}')
        columns = tuple(found.get("partitionColumns") or ())
        return cls(found["id"], tuple(schema["fields"]), columns, found.get("configuration") or {})

    @cached_property
    def by_name(self) -> Mapping[str, Mapping[str, Any]]:
        return {each["name"]: each for each in self.fields}

    @property
    def keys(self) -> tuple[str, ...]:
        """The physical names of the partition columns: by these the log tells the values."""
        return tuple(_physical(self.by_name[name]) for name in self.partitioned_by)

    @property
    def types(self) -> tuple[str, ...]:
        """The types of the partition columns."""
        return tuple(self.by_name[name]["type"] for name in self.partitioned_by)

    @property
    def digest(self) -> str:
        """Differs when a reader of the table may mean something else, or reads other values: comments are no part."""
        told = json.dumps([_told(self.fields), self.partitioned_by, self.keys], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def is_shaped(self, fields: list[Mapping[str, Any]], partitioned_by: tuple[str, ...]) -> bool:
        """Whether it has these columns, in this order, whatever their comments are."""
        return (_plain(self.fields), self.partitioned_by) == (_plain(fields), partitioned_by)


def conflict(before: Layout, after: Layout) -> str:
    """Why nobody can tell which rows differ, as a clause; empty if the columns that both layouts name are the same."""
    if (before.partitioned_by, before.keys) != (after.partitioned_by, after.keys):
        return f"it was partitioned by {_listed(before)}, and is by {_listed(after)}"
    return _differing(before.fields, after.fields, "")


def _listed(layout: Layout) -> str:
    return ", ".join(layout.partitioned_by) or "no column"


def _differing(before: Any, after: Any, path: str) -> str:
    """The same, of the fields of a struct."""
    known = {each["name"].casefold(): each for each in before}
    for each in after:
        was, name = known.get(each["name"].casefold()), f"{path}{each['name']}"
        if was is None:
            continue
        if _physical(was) != _physical(each):
            return f"its column {name} is another one than before"
        if _meaning(was) != _meaning(each):
            return f"its column {name} has another type than before"
        found = _of_types(was["type"], each["type"], name)
        if found:
            return found
    return ""


def _of_types(before: Any, after: Any, name: str) -> str:
    match before, after:
        case {"type": "struct", "fields": mine}, {"type": "struct", "fields": theirs}:
            return _differing(mine, theirs, f"{name}.")
        case {"type": "array", "elementType": mine}, {"type": "array", "elementType": theirs}:
            return _of_types(mine, theirs, f"{name}.element")
        case {"type": "map"}, {"type": "map"}:
            return _of_types(before["keyType"], after["keyType"], f"{name}.key") or _of_types(
                before["valueType"], after["valueType"], f"{name}.value"
            )
        case _ if before == after:
            return ""
    return f"its column {name} has another type than before"


def _physical(column: Mapping[str, Any]) -> str:
    return column.get("metadata", {}).get(_PHYSICAL, column["name"])


def _meaning(column: Mapping[str, Any]) -> list[Any]:
    """What the type of a column does not say: that it is a CHAR, whose values are padded, or how texts are compared.
    The length of a VARCHAR changes no value."""
    notes = column.get("metadata", {})
    padded = [notes[_CHAR]] if re.search(r"\bchar\(", notes.get(_CHAR, ""), re.IGNORECASE) else []
    return [*padded, *([notes[_COLLATIONS]] if _COLLATIONS in notes else [])]


def _told(kind: Any) -> Any:
    """A type, or the fields of a struct, without comments."""
    match kind:
        case [*fields]:
            return [
                [each["name"], _physical(each), each["nullable"], _told(each["type"]), *_meaning(each)]
                for each in fields
            ]
        case {"type": "struct", "fields": fields}:
            return _told(fields)
        case {}:
            return {name: _told(value) for name, value in kind.items()}
    return kind


def _plain(kind: Any) -> Any:
    """The same, without physical names and without which values may be null."""
    match kind:
        case [*fields]:
            return [[each["name"], _plain(each["type"])] for each in fields]
        case {"type": "struct", "fields": fields}:
            return _plain(fields)
        case {}:
            return {
                name: _plain(value)
                for name, value in kind.items()
                if not name.endswith("ContainsNull") and name != "containsNull"
            }
    return kind
