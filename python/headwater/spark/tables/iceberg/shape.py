"""The shape of a view's table: its columns and its partitioning, as Iceberg has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from py4j.java_gateway import JavaObject

from headwater.model.view import Definition
from headwater.spark.jvm import sql
from headwater.spark.tables.iceberg.calls import Calls


class Shapes:
    """Compares the tables of views with their definitions."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def fits(self, table: JavaObject, definition: Definition) -> bool:
        """Whether a table has the columns and the partitioning of a definition."""
        wanted = self._calls.shapeOf(columns(definition), definition.partitioned_by)
        return _plain(wanted) == _plain(self._calls.shape(table))

    def types(self, table: JavaObject) -> dict[str, str]:
        """The type of each plain column, as Iceberg spells it."""
        fields = json.loads(self._calls.shape(table))["schema"]["fields"]
        return {each["name"]: each["type"] for each in fields if isinstance(each["type"], str)}


def columns(definition: Definition) -> str:
    """The columns of a definition, as a statement declares them."""
    return ", ".join(
        f"{sql.identifier(each.name)} {each.type}" + (f" COMMENT {sql.literal(each.comment)}" if each.comment else "")
        for each in definition.columns
    )


def _plain(told: str) -> list[Any]:
    shape = json.loads(told)
    columns = shape["schema"]["fields"]
    names = {each["id"]: each["name"] for each in columns}
    partitioned = [
        (names.get(each["source-id"]), each["transform"])
        for each in shape["spec"]["fields"]
        if each["transform"] != "void"
    ]
    return [_unnumbered(columns), partitioned]


def _unnumbered(value: Any) -> Any:
    """A schema without Iceberg's numbers of columns, and without comments."""
    match value:
        case Mapping():
            return {key: _unnumbered(each) for key, each in value.items() if key not in _NUMBERS}
        case list():
            return [_unnumbered(each) for each in value]
    return value


_NUMBERS = ("id", "element-id", "key-id", "value-id", "doc", "initial-default", "write-default")
