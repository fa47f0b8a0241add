"""Iceberg tables as their catalogs have them now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from attrs import frozen
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headwater.model.name import TableName, named
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.iceberg import schemas
from headwater.spark.tables.iceberg.at import At, Metadata
from headwater.spark.tables.iceberg.calls import Calls
from headwater.spark.tables.iceberg.partitioning import Spec

KEPT = 1000
"""The number of layouts that are kept."""


@frozen
class Layout:
    """The columns and the partitioning of a table, as both are now. They change seldom.

    Attributes:
        specs: every partition spec that files of the table have, by number.
        described: the one of new files, in Iceberg's JSON form.
        digest: equal while both are the same.
    """

    schema: schemas.Schema
    specs: Mapping[int, Spec]
    described: Mapping[str, Any]
    digest: str


@frozen
class Loaded:
    """A table at one moment.

    Attributes:
        table: Iceberg's own object. Another program's commit changes nothing in it.
        incarnation: a number of the table's own, of 48 bits.
    """

    table: JavaObject
    metadata: Metadata
    incarnation: int
    layout: Layout

    @property
    def at(self) -> At:
        return self.metadata.at

    @property
    def spec(self) -> Spec:
        """The partition spec of new files."""
        return self.layout.specs[self.metadata.spec]

    def property(self, name: str) -> str:
        """A property of the table; empty if it has none of that name."""
        return self.metadata.properties.get(name) or ""


class Catalogs:
    """Finds tables in the catalogs of a session."""

    def __init__(self, shim: Shim, session: SparkSession, calls: Calls) -> None:
        self._shim, self._session, self._calls = shim, session, calls
        self._layouts: dict[tuple[str, int, int, int], Layout] = {}

    def table(self, key: str) -> JavaObject | None:
        """Iceberg's object of a table, as the table is now; ``None`` if there is no Iceberg table of this name."""
        if not isinstance(named(key), TableName):
            return None
        try:
            found = self._shim.table(self._session, key)
        except Py4JJavaError as error:
            if not self._calls.isAbsent(error.java_exception):
                raise
            return None
        return None if found is None else self._calls.table(found)

    def loaded(self, key: str) -> Loaded | None:
        """A table as it is now; ``None`` if there is no Iceberg table of this name."""
        table = self.table(key)
        if table is None:
            return None
        now = Metadata.read(self._calls.state(table))
        incarnation = int(hashlib.sha256(now.uuid.encode()).hexdigest()[:12], 16)
        known = now.uuid, now.schema, now.spec, now.specs
        if known not in self._layouts:
            while len(self._layouts) >= KEPT:
                del self._layouts[next(iter(self._layouts))]
            self._layouts[known] = self._layout(table, now)
        return Loaded(table, now, incarnation, self._layouts[known])

    def schemas(self, table: JavaObject) -> dict[int, schemas.Schema]:
        """All schemas that a table has or had, in Iceberg's JSON form, as far as it knows them."""
        return {each["schema-id"]: each for each in json.loads(self._calls.shapes(table))["schemas"]}

    # --- inside

    def _layout(self, table: JavaObject, now: Metadata) -> Layout:
        known = self.schemas(table)
        described = {each["spec-id"]: each for each in json.loads(self._calls.shapes(table))["specs"]}
        columns: dict[int, tuple[str, str]] = {}
        for each in (*known.values(), known[now.schema]):
            columns |= schemas.columns(each)
        schema, spec = known[now.schema], described[now.spec]
        taken = [each["name"] for each in schema["fields"]]
        specs = {number: Spec.of(each, columns, taken) for number, each in described.items()}
        return Layout(schema, specs, spec, schemas.digest(schema, spec))
