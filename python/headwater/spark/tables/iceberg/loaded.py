"""Iceberg tables as their catalogs have them now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from attrs import frozen
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headwater.model.name import TableName, named
from headwater.spark.tables.iceberg import schemas
from headwater.spark.tables.iceberg.at import At
from headwater.spark.tables.iceberg.java import Java
from headwater.spark.tables.iceberg.partitioning import Spec

ABSENT = (
    "org.apache.spark.sql.catalyst.analysis.NoSuchTableException",
    "org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException",
    "org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException",
    "iceberg.exceptions.NoSuchTableException",
    "iceberg.exceptions.NoSuchNamespaceException",
)
KEPT = 1000
"""The number of layouts that are kept."""


@frozen
class Layout:
    """The columns and the partitioning of a table, as both are now. They change seldom.

    Attributes:
        specs: every partition spec that files of the table have, by number.
        digest: equal while both are the same.
    """

    schema: schemas.Schema
    specs: Mapping[int, Spec]
    digest: str


@frozen
class Loaded:
    """A table at one moment.

    Attributes:
        table: Iceberg's own object. Another program's commit changes nothing in it.
        incarnation: a number of the table's own, of 48 bits.
    """

    table: JavaObject
    at: At
    incarnation: int
    layout: Layout

    @property
    def spec(self) -> Spec:
        """The partition spec of new files."""
        return self.layout.specs[self.at.spec]

    def property(self, name: str) -> str:
        """A property of the table; empty if it has none of that name."""
        return self.table.properties().get(name) or ""


class Catalogs:
    """Finds tables in the catalogs of a session."""

    def __init__(self, java: Java) -> None:
        self._java = java
        self._layouts: dict[tuple[str, int, int, int], Layout] = {}

    def table(self, key: str) -> JavaObject | None:
        """Iceberg's object of a table, as the table is now; ``None`` if there is no Iceberg table of this name.

        A catalog may keep objects for a while, and one of a table that is gone looks like the table that has its name
        now. So the catalog forgets it first.
        """
        name = named(key)
        if not isinstance(name, TableName):
            return None
        self._java("org.apache.spark.sql.headwater.Access.activate", self._java.session._jsparkSession)
        return self._anew(name)

    def loaded(self, key: str) -> Loaded | None:
        """A table as it is now; ``None`` if there is no Iceberg table of this name."""
        table = self.table(key)
        if table is None:
            return None
        own, at = str(table.uuid()), At.now(table)
        incarnation = int(hashlib.sha256(own.encode()).hexdigest()[:12], 16)
        known = own, at.schema, at.spec, table.specs().size()
        if known not in self._layouts:
            while len(self._layouts) >= KEPT:
                del self._layouts[next(iter(self._layouts))]
            self._layouts[known] = self._layout(table, at)
        return Loaded(table, at, incarnation, self._layouts[known])

    def schema(self, table: JavaObject, number: int) -> schemas.Schema | None:
        """A schema that a table has or had, in Iceberg's JSON form; ``None`` if it is not known any more."""
        schema = table.schemas().get(number)
        return None if schema is None else self._schema(schema)

    def spec(self, loaded: Loaded, schema: schemas.Schema) -> Spec:
        """A table's partitioning, as its slices were spelled while the table had another schema."""
        described = json.loads(self._java("iceberg.PartitionSpecParser.toJson", loaded.table.spec()))
        return Spec.of(described, schemas.columns(schema), [each["name"] for each in schema["fields"]])

    def every_schema(self, table: JavaObject) -> list[schemas.Schema]:
        """All schemas that a table has or had, as far as it knows them."""
        return [self._schema(each) for each in table.schemas().values()]

    # --- inside

    def _layout(self, table: JavaObject, at: At) -> Layout:
        schema = self._schema(table.schema())
        columns: dict[int, tuple[str, str]] = {}
        for each in (*self.every_schema(table), schema):
            columns |= schemas.columns(each)
        described = {
            number: json.loads(self._java("iceberg.PartitionSpecParser.toJson", each))
            for number, each in table.specs().items()
        }
        taken = [each["name"] for each in schema["fields"]]
        specs = {number: Spec.of(each, columns, taken) for number, each in described.items()}
        return Layout(schema, specs, schemas.digest(schema, described[at.spec]))

    def _schema(self, schema: JavaObject) -> schemas.Schema:
        return json.loads(self._java("iceberg.SchemaParser.toJson", schema))

    def _found(self, name: TableName) -> JavaObject | None:
        """Iceberg's object; ``None``: the table has another format."""
        table = self._catalog(name).loadTable(self._identifier(name))
        return table.table() if self._java.is_a(table, "iceberg.spark.source.SparkTable") else None

    def _anew(self, name: TableName) -> JavaObject | None:
        """Iceberg's object, when the catalog has forgotten the one that it kept."""
        self._catalog(name).invalidateTable(self._identifier(name))
        try:
            return self._found(name)
        except (Py4JError, PySparkException) as error:
            if not self._java.raised(error, *ABSENT):
                raise
        self._java("io.headwater.spark.Catalogs.requireDirectory", self._java.session._jsparkSession, name.catalog)
        return None

    def _catalog(self, name: TableName) -> JavaObject:
        return self._java.session._jsparkSession.sessionState().catalogManager().catalog(name.catalog)

    def _identifier(self, name: TableName) -> JavaObject:
        namespace = self._java.array("java.lang.String", *name.namespace)
        return self._java("org.apache.spark.sql.connector.catalog.Identifier.of", namespace, name.name)
