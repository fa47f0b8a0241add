"""Changes of Iceberg tables that Spark's SQL cannot make, by Iceberg's Java API: what other engines write."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from java_calls import Java
from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.iceberg import IcebergTables


class Writer:
    """Another engine, which writes one table."""

    def __init__(self, spark: SparkSession, key: str) -> None:
        self._java, self._spark, self._key = Java(spark), spark, key
        self._catalogs = IcebergTables(Shim(spark), Sessions(spark))._catalogs

    def upsert(
        self,
        gone: Sequence[Mapping[str, Any]],
        came: Sequence[Mapping[str, Any]] = (),
        partition: Sequence[Any] = (),
        spec: int | None = None,
    ) -> None:
        """Deletes by values the rows that equal one of ``gone``, and adds ``came`` in the same commit, as Flink does.

        Args:
            partition: the values of the partition of both.
            spec: the number of the partition spec, if it is not the newest one.
        """
        table = self.table()
        placed = table.spec() if spec is None else table.specs().get(spec)
        delta = table.newRowDelta()
        if gone:
            deleted = table.schema().select(list(gone[0]))
            numbers = [table.schema().findField(each).fieldId() for each in gone[0]]
            factory = self._factory(table, equality=(deleted, numbers))
            writer = factory.newEqualityDeleteWriter(self._file(table), placed, self._partition(placed, partition))
            delta.addDeletes(self._written(writer, deleted, gone).deleteFiles()[0])
        if came:
            writer = self._factory(table).newDataWriter(self._file(table), placed, self._partition(placed, partition))
            delta.addRows(self._written(writer, table.schema(), came).dataFiles()[0])
        delta.commit()
        self._noticed()

    def add_columns(self, columns: Mapping[str, tuple[str, str]]) -> None:
        """Adds columns in which rows of before have a value, too: each with its type as Iceberg spells it, and the
        value in Iceberg's JSON form."""
        update = self.table().updateSchema()
        for name, (type, default) in columns.items():
            of = self._java("iceberg.types.Types.fromPrimitiveString", type)
            value = self._java("iceberg.SingleValueParser.fromJson", of, default)
            update.addColumn(name, of, self._java("iceberg.expressions.Expressions.lit", value).to(of))
        update.commit()
        self._noticed()

    def table(self) -> JavaObject:
        table = self._catalogs.table(self._key)
        assert table is not None
        return table

    # --- inside

    def _noticed(self) -> None:
        """A session of Spark keeps what it knows of a table, for half a minute."""
        self._spark.catalog.refreshTable(self._key)

    def _factory(self, table: JavaObject, equality: tuple[JavaObject, list[int]] | None = None) -> JavaObject:
        builder = self._java("iceberg.data.GenericFileWriterFactory$Builder", table)
        if equality is not None:
            schema, numbers = equality
            builder = builder.equalityDeleteRowSchema(schema).equalityFieldIds(self._java.numbers(*numbers))
        return builder.build()

    def _file(self, table: JavaObject) -> JavaObject:
        out = table.io().newOutputFile(f"{table.location()}/data/{uuid.uuid4()}.parquet")
        return self._java("iceberg.encryption.EncryptedFiles.plainAsEncryptedOutput", out)

    def _partition(self, spec: JavaObject, values: Sequence[Any]) -> JavaObject | None:
        if not values:
            return None
        record = self._java("iceberg.data.GenericRecord.create", spec.partitionType())
        for n, value in enumerate(values):
            record.set(n, value)
        return record

    def _written(self, writer: JavaObject, schema: JavaObject, rows: Sequence[Mapping[str, Any]]) -> JavaObject:
        for row in rows:
            record = self._java("iceberg.data.GenericRecord.create", schema)
            for name, value in row.items():
                record.setField(name, value)
            writer.write(record)
        writer.close()
        return writer.result()
