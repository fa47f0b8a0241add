"""Iceberg tables as their catalogs have them now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from attrs import frozen
from py4j.java_gateway import JavaObject, is_instance_of
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.model.name import PathName, TableName, named
from headwater.spark import sql
from headwater.spark.iceberg import schemas
from headwater.spark.iceberg.at import At
from headwater.spark.iceberg.partitioning import Spec

ABSENT = (
    "org.apache.spark.sql.catalyst.analysis.NoSuchTableException",
    "org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException",
    "org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException",
    "org.apache.iceberg.exceptions.NoSuchTableException",
    "org.apache.iceberg.exceptions.NoSuchNamespaceException",
)


@frozen
class Loaded:
    """A table at one moment.

    Attributes:
        table: Iceberg's own object. Another program's commit changes nothing in it.
        schemas: the JSON form of every schema of the table, by number.
        spec: the partition spec of new files.
    """

    table: JavaObject
    at: At
    schema: schemas.Schema
    schemas: Mapping[int, schemas.Schema]
    specs: Mapping[int, Spec]
    digest: str
    properties: Mapping[str, str]

    @property
    def spec(self) -> Spec:
        return self.specs[self.at.spec]

    @property
    def incarnation(self) -> int:
        """A number of the table's own, of 48 bits."""
        return int(hashlib.sha256(str(self.table.uuid()).encode()).hexdigest()[:12], 16)


class Catalogs:
    """Finds tables in the catalogs of a session."""

    def __init__(self, session: SparkSession) -> None:
        self._session, self._jvm, self._gateway = session, session._jvm, session._sc._gateway

    def table(self, key: str) -> JavaObject | None:
        """Iceberg's object of a table, as the table is now; ``None`` if there is no Iceberg table of this name.

        A catalog may keep objects for a while. One that cannot be brought up to date is of a table that is gone.
        """
        name = named(key)
        if not isinstance(name, TableName | PathName):
            return None
        self._jvm.org.apache.spark.sql.headwater.Access.activate(self._session._jsparkSession)
        try:
            found = self._found(name)
            found.refresh()
        except (Py4JError, PySparkException):
            self._forget(name)
            return self._anew(name)
        return found

    def loaded(self, key: str) -> Loaded | None:
        """A table as it is now; ``None`` if there is no Iceberg table of this name."""
        table = self.table(key)
        return None if table is None else self.described(table)

    def described(self, table: JavaObject) -> Loaded:
        iceberg = self._jvm.org.apache.iceberg
        every = {number: json.loads(iceberg.SchemaParser.toJson(each)) for number, each in table.schemas().items()}
        schema, snapshot = json.loads(iceberg.SchemaParser.toJson(table.schema())), table.currentSnapshot()
        columns = {
            number: each for known in (*every.values(), schema) for number, each in schemas.columns(known).items()
        }
        described = {
            number: json.loads(iceberg.PartitionSpecParser.toJson(each)) for number, each in table.specs().items()
        }
        at = At(0 if snapshot is None else snapshot.snapshotId(), schema["schema-id"], table.spec().specId())
        return Loaded(
            table,
            at,
            schema,
            every,
            {number: Spec.of(each, columns) for number, each in described.items()},
            schemas.digest(schema, described[at.spec]),
            dict(table.properties()),
        )

    # --- inside

    def _found(self, name: TableName | PathName) -> JavaObject:
        spelled = name.path if isinstance(name, PathName) else ".".join(map(sql.identifier, name.parts))
        return self._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(self._session._jsparkSession, spelled)

    def _anew(self, name: TableName | PathName) -> JavaObject | None:
        try:
            return self._found(name)
        except (Py4JError, PySparkException) as error:
            java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
            if java is not None and any(is_instance_of(self._gateway, java, each) for each in ABSENT):
                return None
            raise

    def _forget(self, name: TableName | PathName) -> None:
        """Lets a catalog look for a table again."""
        if isinstance(name, PathName):
            return
        manager = self._session._jsparkSession.sessionState().catalogManager()
        catalog = manager.catalog(name.catalog)
        namespace = self._gateway.new_array(self._jvm.java.lang.String, len(name.namespace))
        for n, part in enumerate(name.namespace):
            namespace[n] = part
        identifier = self._jvm.org.apache.spark.sql.connector.catalog.Identifier.of(namespace, name.name)
        catalog.invalidateTable(identifier)
