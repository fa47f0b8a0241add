"""Iceberg tables in catalogs of all kinds, written by all kinds of programs, and in a bad state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from found import look
from iceberg_table import A1, ALL, B1, C1, Table
from java_calls import Java
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from support import database

from headwater.model.partition import Slice
from headwater.model.seen import Seen
from headwater.model.view import Pairs
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.jvm.wire import encode
from headwater.spark.refreshing.changed_rows import PINS
from headwater.spark.tables.iceberg import IcebergTables

ROW = "SELECT 9 AS id, 9 AS n, TIMESTAMP '2024-01-01 12:00:00' AS ts, 'b' AS p"


def directory(iceberg: Table) -> Path:
    return Path(iceberg.look().location.removeprefix("file:"))


# --- programs


@pytest.mark.long
def test_writes_of_data_frames_and_streams(iceberg: Table, tmp_path: Path) -> None:
    spark, row = iceberg.spark, iceberg.spark.sql(ROW)
    iceberg.make()

    def stream() -> None:
        row.write.parquet(str(tmp_path / "rows"))
        rows = spark.readStream.schema(row.schema).parquet(str(tmp_path / "rows"))
        writer = rows.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).toTable(iceberg.key).awaitTermination()

    def batches() -> None:
        rows = spark.readStream.schema(row.schema).parquet(str(tmp_path / "rows"))
        writer = rows.writeStream.option("checkpointLocation", str(tmp_path / "checkpoints"))
        written = writer.foreachBatch(lambda frame, _: frame.writeTo(iceberg.key).append())
        written.trigger(availableNow=True).start().awaitTermination()

    for work, changed in (
        (lambda: row.writeTo(iceberg.key).append(), {B1}),
        (lambda: row.writeTo(iceberg.key).overwritePartitions(), {B1}),
        (lambda: row.writeTo(iceberg.key).overwrite(F.col("p") == "b"), {B1}),
        (stream, {B1}),
        (batches, {B1}),
        (lambda: row.write.mode("overwrite").insertInto(iceberg.key), ALL),
    ):
        before = iceberg.look()
        work()
        assert set(iceberg.look(before.snapshot).looked) == changed


@pytest.mark.thorough
def test_files_that_are_added_as_they_are(iceberg: Table, tmp_path: Path) -> None:
    """The first ones bring names by which their columns are found. Those hold for all files without ids."""
    spark = iceberg.spark
    spark.sql("CREATE TABLE t (id INT, p STRING) USING iceberg PARTITIONED BY (p)")
    spark.sql("INSERT INTO t VALUES (0, 'a')")

    def added(p: str) -> Seen:
        before, files = iceberg.look(), tmp_path / p
        spark.sql(f"SELECT 1 AS id, '{p}' AS p").write.partitionBy("p").parquet(str(files))
        target = iceberg.key.removeprefix("lake.")
        spark.sql(f"CALL lake.system.add_files(table => '{target}', source_table => '`parquet`.`{files}`')")
        return iceberg.look(before.snapshot)

    first = added("b")
    assert first.looked is None and "by other names" in first.lost
    assert added("c").looked == (Slice.of(p="c"),)


@pytest.mark.parametrize("partition", ["p=a/ts_day=2024-01-01", ""])
def test_deletes_by_equality(iceberg: Table, partition: str) -> None:
    """Flink writes them. Those of no partition hold for all, and a look says so."""
    iceberg.make("'format-version' = '2'")
    before = iceberg.look()
    java = Java(iceberg.spark)
    found = java("iceberg.spark.Spark3Util.loadIcebergTable", iceberg.spark._jsparkSession, iceberg.key)
    spec = found.spec() if partition else java("iceberg.PartitionSpec.unpartitioned")
    if not partition:
        found.updateSpec().removeField("p").removeField("ts_day").commit()
        found.updateSpec().addField("p").addField(java("iceberg.expressions.Expressions.day", "ts")).commit()
        before = iceberg.look()
        spec = next(each for each in found.specs().values() if each.isUnpartitioned())
    deletes = java("iceberg.FileMetadata.deleteFileBuilder", spec).ofEqualityDeletes(java.numbers(1))
    deletes = deletes.withPath(f"{found.location()}/deletes.parquet").withFormat("parquet").withFileSizeInBytes(10)
    deletes = (deletes.withPartitionPath(partition) if partition else deletes).withRecordCount(1).build()
    found.newRowDelta().addDeletes(deletes).commit()
    after = iceberg.look(before.snapshot)
    if partition:
        assert after.looked == (A1,) and not after.lost
    else:
        assert "older partitioning" in after.lost and after.looked is None


def test_commits_of_another_program_are_seen_though_the_catalog_keeps_tables(iceberg: Table) -> None:
    iceberg.make()
    before = iceberg.look()
    java = Java(iceberg.spark)
    other = java("iceberg.hadoop.HadoopTables", iceberg.spark._jsc.hadoopConfiguration()).load(str(directory(iceberg)))
    file = java("iceberg.DataFiles.builder", other.spec()).withPath(f"{other.location()}/x.parquet")
    file = file.withPartitionPath("p=c/ts_day=2024-01-01").withFileSizeInBytes(10).withRecordCount(1).build()
    other.newAppend().appendFile(file).commit()
    assert iceberg.look(before.snapshot).looked == (C1,)


# --- reads


def test_a_snapshot_is_read_with_the_columns_of_now(iceberg: Table) -> None:
    iceberg.spark.sql("CREATE TABLE t (id INT, n INT, s STRUCT<a: INT, b: INT>, l ARRAY<STRUCT<x: INT>>) USING iceberg")
    iceberg.spark.sql("INSERT INTO t VALUES (1, 2, named_struct('a', 3, 'b', 4), array(named_struct('x', 5)))")
    before = iceberg.look()
    iceberg.run(
        [
            "ALTER TABLE t RENAME COLUMN n TO m",
            "ALTER TABLE t ALTER COLUMN id TYPE BIGINT",
            "ALTER TABLE t ADD COLUMN new STRING FIRST",
            "ALTER TABLE t DROP COLUMN s.a",
            "ALTER TABLE t ADD COLUMN s.c STRING",
            "ALTER TABLE t ALTER COLUMN l.element.x TYPE BIGINT",
            "INSERT INTO t SELECT 'x', 9, 9, named_struct('b', 9, 'c', 'x'), array(named_struct('x', 9))",
        ]
    )
    pin = iceberg.tables.pin(iceberg.key, before.snapshot)
    iceberg.spark.conf.set(PINS, encode({iceberg.key: pin}))
    found = iceberg.spark.sql("SELECT * FROM t")
    [row] = found.collect()
    iceberg.spark.conf.unset(PINS)
    assert (row.new, row.id, row.m, tuple(row.s), [each.x for each in row.l]) == (None, 1, 2, (4, None), [5])
    assert [(each.name, each.dataType) for each in found.schema] == [
        (each.name, each.dataType) for each in iceberg.spark.table("t").schema
    ]


def test_a_table_without_a_row_is_pinned_too(iceberg: Table) -> None:
    iceberg.spark.sql("CREATE TABLE t (id INT) USING iceberg")
    assert iceberg.tables.pin(iceberg.key, iceberg.look().snapshot).version == ""


# --- names


def test_a_namespace_may_lie_in_another_one(iceberg: Table) -> None:
    place = f"lake.{database(iceberg.spark)}.deep.`er than`"
    for each in (f"lake.{database(iceberg.spark)}.deep", place):
        iceberg.spark.sql(f"CREATE NAMESPACE {each}")
    iceberg.spark.sql(f"CREATE TABLE {place}.`a table` USING iceberg AS {ROW}")
    assert look(iceberg.tables, f"{place}.`a table`").partitions.keys() == {Slice()}
    iceberg.spark.sql(f"DROP TABLE {place}.`a table`")
    assert not look(iceberg.tables, f"{place}.`a table`").exists


class InOneSession(Sessions):
    """All of a session's settings hold for statements about tables too."""

    def of_table(self, settings: Pairs = ()) -> SparkSession:
        return self._base


def test_the_session_catalog_may_hold_iceberg_tables_beside_others(spark: SparkSession, tmp_path: Path) -> None:
    """As a user sets it up who has no other catalog; of the same name as a table of another catalog, too."""
    place = database(spark)
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.spark_catalog", "org.apache.iceberg.spark.SparkSessionCatalog")
    session.conf.set("spark.sql.catalog.spark_catalog.type", "hive")
    # Derby has no table of locks.
    session.conf.set("spark.sql.catalog.spark_catalog.hadoop.iceberg.engine.hive.lock-enabled", "false")
    tables = IcebergTables(Shim(session), InOneSession(session))
    session.sql(f"CREATE NAMESPACE lake.{place}")
    session.sql(f"CREATE TABLE lake.{place}.t USING iceberg AS SELECT 1 AS x")
    session.sql(f"CREATE TABLE {place}.t USING iceberg PARTITIONED BY (p) AS {ROW}")
    before, other = look(tables, f"{place}.t"), look(tables, f"lake.{place}.t")
    assert set(before.partitions) == {Slice.of(p="b")} and set(other.partitions) == {Slice()}
    session.sql(f"INSERT INTO {place}.t {ROW}")
    assert look(tables, f"{place}.t", since=before.snapshot).looked == (Slice.of(p="b"),)
    assert look(tables, f"lake.{place}.t", since=other.snapshot).looked == ()
    session.sql(f"DROP TABLE {place}.t")
    assert not look(tables, f"{place}.t").exists
    session.sql(f"CREATE TABLE {place}.t USING parquet LOCATION '{tmp_path}/t' AS {ROW}")
    assert not look(tables, f"{place}.t").exists, "a table of another format has the name"


# --- bad states


def test_a_record_of_another_format_says_nothing(iceberg: Table) -> None:
    iceberg.make()
    seen = iceberg.look("12")
    assert "another format" in seen.lost and seen.partitions.keys() == ALL


def test_a_version_of_iceberg_that_lacks_a_method_is_refused_in_words(iceberg: Table) -> None:
    spark = iceberg.spark
    code = Path("jvm-shim/src/main/resources/headwater/Iceberg.java").read_text()
    loader = spark._jvm.org.apache.iceberg.spark.SparkTableCache.get().getClass().getClassLoader()
    with pytest.raises(AnalysisException, match="does not work with this version of Iceberg .*snapshotIdsFromTo"):
        spark._jvm.io.headwater.spark.Compiled.compiled(
            "Iceberg", code.replace("snapshotIdsBetween", "snapshotIdsFromTo"), loader
        )


def test_metadata_that_cannot_be_read_is_no_change_and_passes(iceberg: Table) -> None:
    iceberg.make()
    before, metadata = iceberg.look(), directory(iceberg) / "metadata"
    iceberg.run([f"INSERT INTO t {ROW}"])
    [newest] = metadata.glob("v3.metadata.json")
    kept, sums = newest.read_text(), metadata / ".v3.metadata.json.crc"
    sums.unlink(missing_ok=True)
    for spoilt, words in (("{", ""), (json.dumps({**json.loads(kept), "format-version": 9}), "version")):
        newest.write_text(spoilt)
        fresh = Table(iceberg.spark.newSession(), iceberg.key.rpartition(".")[0])
        seen = fresh.look(before.snapshot)
        assert seen.unreadable and words in seen.unreadable.text
    newest.write_text(kept)
    assert iceberg.look(before.snapshot).looked == (B1,)
