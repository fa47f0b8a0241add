"""The shape of a view's table: its columns and its partitioning, as Iceberg has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from py4j.java_gateway import JavaObject

from headwater.model.view import Definition
from headwater.spark.jvm import sql
from headwater.spark.tables.iceberg.java import Java


class Shapes:
    """Compares the tables of views with their definitions."""

    def __init__(self, java: Java) -> None:
        self._java = java

    def of(self, definition: Definition) -> tuple[JavaObject, JavaObject]:
        """Schema and partition spec of a definition."""
        columns = ", ".join(_column(each.name, each.type, each.comment) for each in definition.columns)
        parsed = self._java("org.apache.spark.sql.types.StructType.fromDDL", columns)
        texts = "org.apache.spark.sql.catalyst.util.CharVarcharUtils.replaceCharVarcharWithStringInSchema"
        schema = self._java("iceberg.spark.SparkSchemaUtil.convert", self._java(texts, parsed))
        spec = self._java("iceberg.PartitionSpec.builderFor", schema)
        for column in definition.partitioned_by:
            spec = spec.identity(column)
        return schema, spec.build()

    def fits(self, table: JavaObject, definition: Definition) -> bool:
        """Whether a table has the columns and the partitioning of a definition."""
        schema, spec = self.of(definition)
        return self._told(schema, spec) == self._told(table.schema(), table.spec())

    def types(self, table: JavaObject) -> dict[str, str]:
        """The type of each plain column, as Iceberg spells it."""
        fields = json.loads(self._java("iceberg.SchemaParser.toJson", table.schema()))["fields"]
        return {each["name"]: each["type"] for each in fields if isinstance(each["type"], str)}

    def _told(self, schema: JavaObject, spec: JavaObject) -> list[Any]:
        columns = json.loads(self._java("iceberg.SchemaParser.toJson", schema))["fields"]
        names = {each["id"]: each["name"] for each in columns}
        fields = json.loads(self._java("iceberg.PartitionSpecParser.toJson", spec))["fields"]
        partitioned = [
            (names.get(each["source-id"]), each["transform"]) for each in fields if each["transform"] != "void"
        ]
        return [_unnumbered(columns), partitioned]


def _column(name: str, type: str, comment: str) -> str:
    return f"{sql.identifier(name)} {type}" + (f" COMMENT {sql.literal(comment)}" if comment else "")


def _unnumbered(value: Any) -> Any:
    """A schema without Iceberg's numbers of columns, and without comments."""
    match value:
        case Mapping():
            return {key: _unnumbered(each) for key, each in value.items() if key not in _NUMBERS}
        case list():
            return [_unnumbered(each) for each in value]
    return value


_NUMBERS = ("id", "element-id", "key-id", "value-id", "doc", "initial-default", "write-default")
