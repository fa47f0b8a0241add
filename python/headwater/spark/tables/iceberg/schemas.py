"""Schemas of Iceberg tables: which columns are the same ones as before, and how an older snapshot has them.

Iceberg knows a column by a number, which a new column of an old name does not have. All functions take Iceberg's JSON
form of a schema.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headwater.spark.jvm import sql

Schema = Mapping[str, Any]

_LATER = ("doc", "write-default", "initial-default", "identifier-field-ids", "schema-id")
"""What changes no row and no meaning of a query."""


def digest(schema: Schema, spec: Mapping[str, Any]) -> str:
    """Equal while a table has the same columns, under the same numbers, and the same partitioning."""
    told = json.dumps([_kept(schema), _kept(spec), "iceberg"], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def columns(schema: Schema) -> dict[int, tuple[str, str]]:
    """Name and type of each column by its number; fields of structures too, with dots between the names."""
    return {number: (name, type) for name, number, type in _columns(schema["fields"])}


def replaced(before: Schema, now: Schema, others: Iterable[Schema]) -> str:
    """Why the rows of a table may read otherwise though nobody wrote them; empty if they do not.

    Args:
        others: all schemas that the table ever had. A name that comes back is another column.
    """
    then = {name: (number, type) for name, number, type in _columns(before["fields"])}
    ever: dict[str, set[int]] = {}
    for each in others:
        for name, number, _ in _columns(each["fields"]):
            ever.setdefault(name, set()).add(number)
    for name, number, type in _columns(now["fields"]):
        if name in then and then[name][0] != number:
            return f"its column {name} is another one than before"
        if name in then and then[name][1] != type:
            return f"its column {name} is a {type} now and was a {then[name][1]}"
        if name not in then and ever.get(name, {number}) != {number}:
            return f"its column {name} is another one than it once was"
    return ""


def adapted(then: Schema, now: Schema) -> tuple[tuple[str, str], ...]:
    """For each column of now an expression over those of ``then``; nothing if the columns are the same."""
    if _kept(then)["fields"] == _kept(now)["fields"]:
        return ()
    before = {each["id"]: each for each in then["fields"]}
    return tuple((each["name"], _field(before.get(each["id"]), each, "")) for each in now["fields"])


def sql_type(type: Any) -> str:
    """A type as Spark's SQL has it."""
    match type:
        case {"type": "struct", "fields": fields}:
            parts = (f"{sql.identifier(each['name'])}: {sql_type(each['type'])}" for each in fields)
            return f"STRUCT<{', '.join(parts)}>"
        case {"type": "list", "element": element}:
            return f"ARRAY<{sql_type(element)}>"
        case {"type": "map", "key": key, "value": value}:
            return f"MAP<{sql_type(key)}, {sql_type(value)}>"
        case str() if type.startswith("fixed"):
            return "BINARY"
        case str():
            return _NAMES.get(type, type.upper().replace(" ", ""))
    raise ValueError(f"no type of Iceberg's: {type}")


_NAMES = {"long": "BIGINT", "timestamp": "TIMESTAMP_NTZ", "timestamptz": "TIMESTAMP", "uuid": "STRING"}


# --- inside


def _kept(value: Any) -> Any:
    match value:
        case Mapping():
            return {key: _kept(each) for key, each in value.items() if key not in _LATER}
        case list():
            return [_kept(each) for each in value]
    return value


def _columns(fields: Iterable[Mapping[str, Any]], within: str = "") -> Iterator[tuple[str, int, str]]:
    for each in fields:
        yield from _of(f"{within}{each['name']}", each["id"], each["type"])


def _of(name: str, number: int, type: Any) -> Iterator[tuple[str, int, str]]:
    match type:
        case str():
            yield name, number, type
        case {"type": "struct", "fields": fields}:
            yield name, number, "struct"
            yield from _columns(fields, f"{name}.")
        case {"type": "list", "element-id": element, "element": inner}:
            yield name, number, "list"
            yield from _of(f"{name}.element", element, inner)
        case {"type": "map", "key-id": key, "key": keys, "value-id": value, "value": inner}:
            yield name, number, "map"
            yield from _of(f"{name}.key", key, keys)
            yield from _of(f"{name}.value", value, inner)


def _field(then: Mapping[str, Any] | None, now: Mapping[str, Any], within: str) -> str:
    """A column of now, made of the same one then, which lies in the structure ``within``."""
    if then is None:
        default = now.get("initial-default")
        literal = "NULL" if default is None else _literal(default, now["type"])
        return f"CAST({literal} AS {sql_type(now['type'])})"
    return _adapted(f"{within}{sql.identifier(then['name'])}", then["type"], now["type"], 0)


def _adapted(value: str, then: Any, now: Any, depth: int) -> str:
    """A value of a type then, as one of the type now. Lambdas in each other name their variables apart."""
    if _kept(then) == _kept(now):
        return value
    match then, now:
        case {"type": "struct", "fields": old}, {"type": "struct", "fields": new}:
            before = {each["id"]: each for each in old}
            parts = ", ".join(
                f"{sql.string(each['name'])}, {_field(before.get(each['id']), each, f'{value}.')}" for each in new
            )
            return f"IF({value} IS NULL, NULL, named_struct({parts}))"
        case {"type": "list", "element": old}, {"type": "list", "element": new}:
            inner = _adapted(f"e{depth}", old, new, depth + 1)
            return f"transform({value}, e{depth} -> {inner})"
        case {"type": "map", "value": old}, {"type": "map", "value": new}:
            inner = _adapted(f"v{depth}", old, new, depth + 1)
            return f"transform_values({value}, (k{depth}, v{depth}) -> {inner})"
    return f"CAST({value} AS {sql_type(now)})"


def _literal(value: Any, type: str) -> str:
    """A value in Iceberg's JSON form, which has hexadecimal digits for bytes. The cast to the type makes it whole."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case str() if type == "binary" or type.startswith("fixed"):
            return sql.string(bytes.fromhex(value))
        case str():
            return sql.string(value)
    return str(value)
