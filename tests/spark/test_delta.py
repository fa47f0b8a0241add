"""Looks at Delta tables find the partitions that each kind of write changed, from the log alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from headwater.model.partition import Slice
from headwater.model.seen import Seen, TableQuestion
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.delta.snapshot import Snapshot
from headwater.spark.tables.delta.tables import DeltaTables

pytestmark = pytest.mark.long

DATABASE = "deltas"


class Lake:
    """Delta tables of one database, and how the adapter sees them."""

    def __init__(self, session: SparkSession) -> None:
        self.session, self.tables = session, DeltaTables(Shim(session), Sessions(session))
        self._seen: dict[str, str] = {}

    def sql(self, text: str) -> list:
        return self.session.sql(text).collect()

    def look(self, table: str, since: str = "") -> Seen:
        name = table if table.startswith("path:") else f"{DATABASE}.{table}"
        [seen] = self.tables.look([TableQuestion(name, None, since)])
        self._seen[table] = seen.snapshot
        return seen

    def after(self, table: str, *statements: str) -> Seen:
        """The look that follows statements, at the differences that they made."""
        before = self.look(table, self._seen.get(table, "")).snapshot
        for statement in statements:
            self.sql(statement)
        return self.look(table, before)

    @contextmanager
    def setting(self, name: str, value: str) -> Iterator[None]:
        """A setting of the session, for this block."""
        self.session.conf.set(name, value)
        try:
            yield
        finally:
            self.session.conf.unset(name)

    def place(self, table: str) -> Path:
        return Path(self.sql(f"DESCRIBE DETAIL {table}")[0]["location"].removeprefix("file:"))


@pytest.fixture(scope="module")
def lake(application: SparkSession) -> Iterator[Lake]:
    session = application.newSession()
    session.sql(f"CREATE DATABASE {DATABASE}")
    session.sql(f"USE {DATABASE}")
    yield Lake(session)
    session.sql(f"DROP DATABASE {DATABASE} CASCADE")


def changed(seen: Seen) -> list[str]:
    """The partitions that a look found to differ, as it says: by their values, joined."""
    assert not seen.lost and set(seen.partitions) == set(seen.looked)
    assert set(seen.partitions.values()) <= {seen.snapshot}
    return sorted(" ".join(str(value) for _, value in each.bound) for each in seen.partitions)


# --- writes

TABLES = {
    "plain": "",
    "vectors": "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
    "mapped": "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'true')",
    "feed": "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
}

DYNAMIC = "SET spark.sql.sources.partitionOverwriteMode = dynamic"
STATIC = "SET spark.sql.sources.partitionOverwriteMode = static"
MERGE = "MERGE INTO {t} USING (SELECT {n} AS y UNION ALL SELECT -1 AS y) ON x = y AND p = '{a}'"

WRITES: dict[str, tuple[str, list[str], list[str]]] = {
    "insert": ("plain", ["INSERT INTO {t} VALUES (5, '{b}')"], ["b"]),
    "insert of no rows": ("plain", ["INSERT INTO {t} SELECT * FROM {t} WHERE x < -100"], []),
    "insert, by names of a mapping": ("mapped", ["INSERT INTO {t} VALUES (5, '{b}')"], ["b"]),
    "overwrite of a partition": ("plain", ["INSERT OVERWRITE {t} PARTITION (p = '{a}') VALUES (9)"], ["a"]),
    "dynamic overwrite": ("plain", [DYNAMIC, "INSERT OVERWRITE {t} VALUES (9, '{a}')", STATIC], ["a"]),
    "replace where": ("plain", ["INSERT INTO {t} REPLACE WHERE p = '{b}' VALUES (9, '{b}')"], ["b"]),
    "delete of a partition": ("plain", ["DELETE FROM {t} WHERE p = '{b}'"], ["b"]),
    "delete of rows": ("plain", ["DELETE FROM {t} WHERE x = {n} AND p >= '{a}'"], ["a"]),
    "delete of rows, with vectors": ("vectors", ["DELETE FROM {t} WHERE x = {n}"], ["a"]),
    "two deletes of a file": ("vectors", ["DELETE FROM {t} WHERE x = {n}", "DELETE FROM {t} WHERE x = {n} + 1"], ["a"]),
    "delete of no rows": ("vectors", ["DELETE FROM {t} WHERE x < -100"], []),
    "update": ("plain", ["UPDATE {t} SET x = -x WHERE x = {n}"], ["a"]),
    "update, with vectors": ("vectors", ["UPDATE {t} SET x = -x WHERE x = {n}"], ["a"]),
    "update, of names of a mapping": ("mapped", ["UPDATE {t} SET x = -x WHERE x = {n}"], ["a"]),
    "update that moves rows": ("plain", ["UPDATE {t} SET p = '{b}' WHERE p = '{a}'"], ["a", "b"]),
    "update, with a change data feed": ("feed", ["UPDATE {t} SET x = -x WHERE x = {n}"], ["a"]),
    "merge that updates": ("vectors", [MERGE + " WHEN MATCHED THEN UPDATE SET x = -x"], ["a"]),
    "merge that deletes": ("plain", [MERGE + " WHEN MATCHED THEN DELETE"], ["a"]),
    "merge that inserts": ("plain", [MERGE + " WHEN NOT MATCHED THEN INSERT (x, p) VALUES (y, '{c}')"], ["c"]),
    "merge that finds nothing": ("plain", [MERGE + " AND x < -100 WHEN MATCHED THEN DELETE"], []),
    "compaction": ("plain", ["INSERT INTO {t} VALUES (5, '{b}')", "OPTIMIZE {t} WHERE p = '{b}'"], ["b"]),
    "compaction alone": ("feed", ["OPTIMIZE {t} ZORDER BY (x)"], []),
    "purge": ("mapped", ["DELETE FROM {t} WHERE x = {n}", "REORG TABLE {t} APPLY (PURGE)"], ["a"]),
    "clean-up": ("plain", ["VACUUM {t}"], []),
    "properties": ("plain", ["ALTER TABLE {t} SET TBLPROPERTIES ('mine' = '1')", "COMMENT ON TABLE {t} IS 'x'"], []),
    "a constraint": ("plain", ["ALTER TABLE {t} ADD CONSTRAINT small CHECK (x < 1000000)"], []),
    "row tracking": ("plain", ["ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')"], []),
}


@pytest.fixture(scope="module")
def written(lake: Lake) -> Lake:
    """Each case has partitions of its own: a with the numbers n and n + 1, and b."""
    for table, properties in TABLES.items():
        lake.sql(f"CREATE TABLE {table} (x INT, p STRING) USING delta PARTITIONED BY (p) {properties}")
        rows = [
            f"({n}, '{n}a'), ({n + 1}, '{n}a'), (0, '{n}b')"
            for n, (of, _, _) in zip(range(0, 1000, 10), WRITES.values(), strict=False)
            if of == table
        ]
        lake.sql(f"INSERT INTO {table} VALUES {', '.join(rows)}")
    return lake


@pytest.mark.parametrize("name", WRITES)
def test_a_write_changes_its_partitions(written: Lake, name: str) -> None:
    (table, statements, expected), n = WRITES[name], 10 * list(WRITES).index(name)
    words = {"t": table, "n": n, **{each: f"{n}{each}" for each in "abc"}}
    seen = written.after(table, *(each.format_map(words) for each in statements))
    assert changed(seen) == [words[each] for each in expected]


# --- writes of whole tables

OVERWRITE = "INSERT OVERWRITE whole VALUES (9, 'a')"

WHOLE_WRITES: dict[str, tuple[list[str], list[str]]] = {
    "overwrite": ([OVERWRITE], ["a", "b"]),
    "truncate": (["TRUNCATE TABLE whole"], ["a"]),
    "restore": (["INSERT INTO whole VALUES (1, 'c')", "RESTORE whole TO VERSION AS OF {before}"], []),
    "restore past the record": (["RESTORE whole TO VERSION AS OF 1"], ["a", "b"]),
}
"""In this order: each begins where the one before ended."""


def test_a_write_changes_the_whole_table(lake: Lake) -> None:
    lake.sql("CREATE TABLE whole (x INT, p STRING) USING delta PARTITIONED BY (p)")
    lake.sql("INSERT INTO whole VALUES (1, 'a'), (2, 'b')")
    for name, (statements, expected) in WHOLE_WRITES.items():
        before = Snapshot.read(lake.look("whole").snapshot).version
        seen = lake.after("whole", *(each.format(before=before) for each in statements))
        assert (name, changed(seen)) == (name, expected)


def test_a_table_that_is_replaced_is_another_one(lake: Lake) -> None:
    lake.sql("CREATE TABLE replaced (x INT, p STRING) USING delta PARTITIONED BY (p)")
    lake.sql("CREATE TABLE other USING delta PARTITIONED BY (p) AS SELECT 7 AS x, 'z' AS p")
    for statement in [
        "CREATE OR REPLACE TABLE replaced USING delta PARTITIONED BY (p) AS SELECT 1 AS x, 'y' AS p",
        "CREATE OR REPLACE TABLE replaced (x INT, p STRING) USING delta PARTITIONED BY (p)",
    ]:
        before = lake.look("replaced")
        after = lake.after("replaced", statement)
        assert after.incarnation != before.incarnation and after.looked is None
        assert after.lost == "it is another table now"
    assert after.partitions == {}
    assert changed(lake.after("replaced", "CREATE OR REPLACE TABLE replaced SHALLOW CLONE other")) == ["z"]


def test_streams_change_the_partitions_of_each_batch(lake: Lake, tmp_path: Path) -> None:
    lake.sql("CREATE TABLE stream (x INT, p STRING) USING delta PARTITIONED BY (p)")
    for p in "ab":
        lake.look("stream")
        lake.session.createDataFrame([(1, p)], "x INT, p STRING").coalesce(1).write.parquet(f"{tmp_path}/in/{p}")
        rows = lake.session.readStream.schema("x INT, p STRING").parquet(f"{tmp_path}/in/*")
        writer = rows.writeStream.format("delta").option("checkpointLocation", f"{tmp_path}/c")
        before = lake.look("stream").snapshot
        writer.trigger(availableNow=True).toTable(f"{DATABASE}.stream").awaitTermination()
        assert changed(lake.look("stream", before)) == [p]


def test_a_table_without_partition_columns_has_one_partition(lake: Lake) -> None:
    lake.sql("CREATE TABLE clustered (x INT) USING delta CLUSTER BY (x)")
    assert lake.look("clustered").partitions.keys() == {Slice()}
    assert changed(lake.after("clustered", "INSERT INTO clustered VALUES (1), (2)")) == [""]
    assert changed(lake.after("clustered", "OPTIMIZE clustered", "ALTER TABLE clustered CLUSTER BY NONE")) == []


def test_a_generated_column_partitions(lake: Lake) -> None:
    """``PARTITIONED BY`` a column that the table makes from another one."""
    columns = "t TIMESTAMP, p DATE GENERATED ALWAYS AS (CAST(t AS DATE))"
    with lake.setting("spark.databricks.delta.generatedColumn.allowNullable", "true"):
        lake.sql(f"CREATE TABLE made ({columns}) USING delta PARTITIONED BY (p)")
        seen = lake.after("made", "INSERT INTO made (t) VALUES (TIMESTAMP'2024-02-03 04:05:06')")
    assert changed(seen) == ["2024-02-03"]


# --- partition values

VALUES = {
    "STRING": (["'a b'", "'x=y/z%'", "'ü\"'", "''", "NULL"], ["None", "a b", "x=y/z%", 'ü"']),
    "INT": (["-5", "0", "NULL"], ["-5", "0", "None"]),
    "BIGINT": (["3000000000"], ["3000000000"]),
    "DATE": (["DATE'2024-02-29'"], ["2024-02-29"]),
    "BOOLEAN": (["true"], ["true"]),
    "DECIMAL(10,2)": (["1.5", "-0.05"], ["-0.05", "1.50"]),
    "DOUBLE": (["1e10", "0.5"], ["0.5", "1.0E10"]),
    "TIMESTAMP": (["TIMESTAMP'2024-01-01 10:00:00.5'", "TIMESTAMP'2024-07-01 00:00:00'"],)
    + (["2024-01-01 10:00:00.5", "2024-07-01 00:00:00"],),
    "TIMESTAMP_NTZ": (["TIMESTAMP_NTZ'2024-01-01 10:00:00.5'"], ["2024-01-01 10:00:00.5"]),
}


@pytest.mark.parametrize("kind", VALUES)
def test_partition_values_are_spelled_as_spark_spells_them(lake: Lake, kind: str) -> None:
    """By a look at the differences, by one at the whole table, and by Spark's own cast."""
    written, expected = VALUES[kind]
    table = f"v_{kind.split('(')[0]}"
    lake.sql(f"CREATE TABLE {table} (x INT, p {kind}) USING delta PARTITIONED BY (p)")
    rows = ", ".join(f"(1, {each})" for each in written)
    seen = lake.after(table, f"INSERT INTO {table} VALUES {rows}")
    assert changed(seen) == expected
    assert lake.look(table).partitions == seen.partitions
    cast = lake.sql(f"SELECT DISTINCT NULLIF(CAST(p AS STRING), '') AS p FROM {table}")
    assert {Slice.of(p=row["p"]) for row in cast} == seen.partitions.keys()


def test_timestamps_in_the_log_may_be_local_or_of_utc(lake: Lake) -> None:
    """The texts of UTC are the same in sessions of all zones. A local one is another moment in each."""
    lake.sql("CREATE TABLE times (x INT, p TIMESTAMP) USING delta PARTITIONED BY (p)")
    for utc in ("true", "false"):
        with lake.setting("spark.databricks.delta.write.utcTimestampPartitionValues", utc):
            lake.sql("INSERT INTO times VALUES (1, TIMESTAMP'2024-01-01 10:00:00')")
        zone = lake.session.newSession()
        zone.conf.set("spark.sql.session.timeZone", "America/New_York")
        [seen] = DeltaTables(Shim(zone), Sessions(zone)).look([TableQuestion(f"{DATABASE}.times")])
        assert seen.partitions.keys() == {Slice.of(p="2024-01-01 10:00:00") if utc == "true" else Slice()}


# --- columns

COLUMNS: list[tuple[list[str], bool, str]] = [
    (["ADD COLUMNS (z INT AFTER x)"], True, ""),
    (["ALTER COLUMN x COMMENT 'number'"], False, ""),
    (["RENAME COLUMN z TO renamed"], True, ""),
    (["ALTER COLUMN renamed FIRST"], True, ""),
    (["DROP COLUMN renamed"], True, ""),
    (["ADD COLUMNS (s STRUCT<a: INT>)"], True, ""),
    (["ADD COLUMNS (s.b INT)"], True, ""),
    (["DROP COLUMN y", "ADD COLUMNS (y INT)"], True, "its column y is another one than before"),
    (["ALTER COLUMN x TYPE BIGINT"], True, "its column x has another type than before"),
    (
        ["RENAME COLUMN x TO o", "RENAME COLUMN y TO x", "RENAME COLUMN o TO y"],
        True,
        "its column x is another one than before",
    ),
    (["RENAME COLUMN p TO q"], True, "it was partitioned by p, and is by q"),
]
"""Changes by ``ALTER TABLE``, in this order; whether the schema is another one then; why all partitions changed."""


def test_columns_change(lake: Lake) -> None:
    lake.sql(
        "CREATE TABLE cols (x INT, y INT, p STRING) USING delta PARTITIONED BY (p) "
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true')"
    )
    lake.sql("INSERT INTO cols VALUES (1, 2, 'a')")
    for statements, differs, why in COLUMNS:
        before = lake.look("cols")
        after = lake.after("cols", *(f"ALTER TABLE cols {each}" for each in statements))
        assert (statements, after.schema != before.schema, after.lost) == (statements, differs, why)
        assert after.incarnation == before.incarnation
        assert len(after.partitions) == (1 if why else 0) and (after.looked is None) == bool(why)
    assert after.columns == {"q"} and after.partitions.keys() == {Slice.of(q="a")}


# --- what happens to logs


def forget(lake: Lake, table: str, *versions: int) -> None:
    """Deletes files of a log, as its clean-up does."""
    for version in versions:
        for file in (lake.place(table) / "_delta_log").glob(f"*{version:020}.json*"):
            file.unlink()


def test_a_log_that_was_cleaned_up_past_the_record(lake: Lake) -> None:
    lake.sql(
        "CREATE TABLE old (x INT, p STRING) USING delta PARTITIONED BY (p) "
        "TBLPROPERTIES ('delta.checkpointInterval' = '2')"
    )
    first = lake.look("old").snapshot
    lake.sql("INSERT INTO old VALUES (1, 'a')")
    second = lake.look("old").snapshot
    for n in range(3):
        lake.sql(f"INSERT INTO old VALUES ({n}, 'b')")
    assert changed(lake.look("old", first)) == ["a", "b"]
    forget(lake, "old", 0, 1)
    assert changed(lake.look("old", second)) == ["b"]
    after = lake.look("old", first)
    assert after.lost == "its log was cleaned up past version 0"
    assert after.looked is None and {str(each) for each in after.partitions} == {"p=a", "p=b"}


def test_a_log_that_was_put_back_from_a_copy(lake: Lake, tmp_path: Path) -> None:
    lake.sql("CREATE TABLE copied (x INT, p STRING) USING delta PARTITIONED BY (p)")
    lake.sql("INSERT INTO copied VALUES (1, 'a')")
    place = lake.place("copied")
    shutil.copytree(place, tmp_path / "copy")
    lake.sql("INSERT INTO copied VALUES (2, 'b')")
    before = lake.look("copied").snapshot
    shutil.rmtree(place)
    shutil.copytree(tmp_path / "copy", place)
    after = lake.look("copied", before)
    assert after.lost == "it was put back to version 1, from 2" and len(after.partitions) == 1
    lake.sql("INSERT INTO copied VALUES (3, 'c')")
    after = lake.look("copied", before)
    assert after.lost == "its log was put back from a copy, and went on" and len(after.partitions) == 2
    lake.sql("INSERT INTO copied VALUES (4, 'd')")
    assert lake.look("copied", before).lost == after.lost


def test_a_program_without_delta_makes_a_table_anew_in_the_same_place(lake: Lake, tmp_path: Path) -> None:
    """Delta keeps the log of a path that it read; a table that comes there has another."""
    lake.sql(f"CREATE TABLE there (x INT) USING delta LOCATION '{tmp_path}/there'")
    lake.sql(f"CREATE TABLE new (x INT) USING delta LOCATION '{tmp_path}/new'")
    for n in range(3):
        lake.sql(f"INSERT INTO there VALUES ({n})")
    before = lake.look("there")
    shutil.rmtree(tmp_path / "there")
    assert "/there has no log of Delta; put it back" in lake.look("there", before.snapshot).unreadable.text
    shutil.move(tmp_path / "new", tmp_path / "there")
    after = lake.look("there", before.snapshot)
    assert after.exists and after.incarnation != before.incarnation and after.lost == "it is another table now"


def test_removals_that_name_no_partition(lake: Lake) -> None:
    """Another program need not write the partition of a file that it removes."""
    lake.sql("CREATE TABLE bare (x INT, p STRING) USING delta PARTITIONED BY (p)")
    lake.sql("INSERT INTO bare VALUES (1, 'a'), (2, 'b')")
    before = lake.look("bare").snapshot
    log = lake.place("bare") / "_delta_log"
    added = [json.loads(line).get("add") for line in (log / f"{1:020}.json").read_text().splitlines()]
    [path] = [each["path"] for each in added if each and each["partitionValues"] == {"p": "b"}]
    removal = {"path": path, "dataChange": True, "deletionTimestamp": 1}
    (log / f"{2:020}.json").write_text(json.dumps({"remove": removal}))
    assert changed(lake.look("bare", before)) == ["b"]


def test_tables_at_paths(lake: Lake, tmp_path: Path) -> None:
    place, key = f"{tmp_path}/at path", f"path:file:{tmp_path}/at path"
    assert not lake.look(key).exists
    lake.sql(f"CREATE TABLE delta.`{place}` (x INT, p STRING) USING delta PARTITIONED BY (p)")
    assert changed(lake.after(key, f"INSERT INTO delta.`{place}` VALUES (1, 'a')")) == ["a"]
    assert lake.tables.touches(key, f"{place}/p=a") and not lake.tables.touches(key, f"{tmp_path}/at")


def test_a_table_that_becomes_one_of_delta_or_stays_none(lake: Lake) -> None:
    lake.sql("CREATE TABLE turns USING parquet PARTITIONED BY (p) AS SELECT 1 AS x, 'a' AS p")
    assert "no table that spark_catalog takes for one of Delta" in lake.look("turns").unreadable.text
    lake.sql("CONVERT TO DELTA turns PARTITIONED BY (p STRING)")
    assert lake.look("turns", "a snapshot of files").lost == "it had another format"


def test_newer_checkpoints_and_many_commits(lake: Lake) -> None:
    lake.sql(
        "CREATE TABLE many (x INT, p STRING) USING delta PARTITIONED BY (p) "
        "TBLPROPERTIES ('delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '3')"
    )
    seen = lake.after("many", *(f"INSERT INTO many VALUES ({n}, '{n % 4}')" for n in range(7)))
    assert changed(seen) == ["0", "1", "2", "3"]


def test_a_version_of_delta_whose_writes_have_other_fields_is_refused_in_words(lake: Lake) -> None:
    """Nothing but a trial finds this before rows are computed: the fields are named by their places."""
    jvm = lake.session._jvm
    code = Path("jvm-shim/src/main/resources/headwater/Delta.java").read_text()
    lake.sql("CREATE TABLE t USING delta AS SELECT 1 AS x")
    loader = (
        jvm.org.apache.spark.sql.delta.DeltaLog.forTable(
            lake.session._jsparkSession, lake.sql("DESCRIBE DETAIL t")[0].location
        )
        .getClass()
        .getClassLoader()
    )
    moved = code.replace("values[2] = Option.apply(predicate)", "values[2] = Option.apply(told)")
    with pytest.raises(AnalysisException, match="does not work with this version of Delta .*other fields"):
        jvm.io.headwater.spark.Compiled.compiled("Delta", moved, loader)
