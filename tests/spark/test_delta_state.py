"""The log of a Delta table is read in three ways: by the checksum of the last commit, by Delta's Kernel, and by jobs of
Spark. Each of them gives the same answers, and the first two start no job."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from delta_calls import CODE, compiled_delta
from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession
from spark_jobs import jobs_of_this_thread
from support import database

from headwater.spark.tables.delta.calls import Calls, Opened, active
from headwater.spark.tables.delta.layout import Layout

OWNER = "me"


class Ways:
    """Delta's calls as engines have them, with the Kernel, and without it."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        spark.sql("CREATE TABLE loader USING delta AS SELECT 1 AS x")
        self._jvm: Any = spark._jvm
        self.kernel = self._jvm.io.headwater.spark.Compiled.calls("delta")
        self.plain = compiled_delta(spark, "loader", CODE.read_text())

    def answers(self, calls: Calls, place: str, condition: str) -> tuple[dict[str, Any], list[int]]:
        """What the log says of the table at a place, and the jobs that it took."""
        self._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        with active(calls, self._spark):
            opened = calls.at(self._spark._jsparkSession, place)
            head = json.loads(opened.told())
            with jobs_of_this_thread(self._spark) as jobs:
                told = _told(self._spark, opened, head["version"], Layout.read(head["metadata"]), condition)
        return told, jobs


def _told(spark: SparkSession, opened: Opened, version: int, layout: Layout, condition: str) -> dict[str, Any]:
    session = spark._jsparkSession
    everything = _actions(opened.draft(OWNER).everything(session))
    paths = sorted(everything)
    plain = [each for each in paths if "deletionVector" not in everything[each]]
    found = opened.named([posixpath.basename(each) for each in plain])
    return {
        "bytes": opened.bytes(),
        "count": opened.count(),
        "published": opened.published(OWNER),
        "unpublished": opened.published("somebody else"),
        "everything": everything,
        "within": _actions(opened.draft(OWNER).within(session, condition)),
        "named": None if found is None else sorted(_actions(found)),
        "absent": opened.named([*map(posixpath.basename, plain), "absent.parquet"]),
        "partitions": _sorted(opened.partitions(version, layout.keys, None)),
        "some partitions": _sorted(opened.partitions(version, layout.keys, paths[:1])),
    }


def _actions(files: JavaObject) -> dict[str, dict[str, Any]]:
    """The actions that add files, by their paths, with all that a run needs."""
    texts = [files.apply(n).json() for n in range(files.size())]
    names = ("partitionValues", "size", "modificationTime", "deletionVector", "baseRowId", "defaultRowCommitVersion")
    found = {}
    for action in (json.loads(each)["add"] for each in texts):
        (action.get("deletionVector") or {}).pop("maxRowIndex", None)
        found[action["path"]] = {name: action[name] for name in names if action.get(name) is not None}
    assert len(found) == len(texts)
    return found


def _sorted(text: str) -> list[list[str | None]]:
    return sorted(json.loads(text), key=lambda each: [str(value) for value in each])


@pytest.fixture
def ways(spark: SparkSession) -> Iterator[Ways]:
    yield Ways(spark)


@frozen
class Made:
    """A table: the statements that make it, and a condition on its partitions.

    Attributes:
        listed: whether its checksum has its files.
        known: whether the driver reads its log.
    """

    statements: tuple[str, ...]
    condition: str = "true"
    listed: bool = True
    known: bool = True


ODD = "(1, 'a b'), (2, '100%/=:ü'), (3, ''), (4, NULL), (5, 'a%20b'), (6, '''\"')"
BY_P = "CREATE TABLE {t} (x INT, p STRING) USING delta PARTITIONED BY (p)"
VECTORS = f"{BY_P} TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
TYPED = """CREATE TABLE {t} (x INT, day DATE, n DECIMAL(10,2), at TIMESTAMP, b BOOLEAN) USING delta
PARTITIONED BY (day, n, at, b)"""
MAPPED = f"{BY_P} TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
DOTTED = """CREATE TABLE {t} (x INT, `a.b` STRING) USING delta PARTITIONED BY (`a.b`)
TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"""
RENAMED = "ALTER TABLE {t} RENAME COLUMN p TO `another p`"
TRACKED = f"{BY_P} TBLPROPERTIES ('delta.enableRowTracking' = 'true')"
EXPIRING = f"{BY_P} TBLPROPERTIES ('delta.setTransactionRetentionDuration' = 'interval 30 days')"
MANY = "CREATE TABLE {t} USING delta AS SELECT /*+ REPARTITION(60, id) */ id FROM range(500)"
ROWS = "INSERT INTO {t} VALUES (1, 'a'), (2, 'a'), (3, 'b'), (4, 'c')"

VERSION_2 = f"{VECTORS[:-1]}, 'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '2')"
STRUCTS = f"""{BY_P} TBLPROPERTIES ('delta.checkpointInterval' = '2',
'delta.checkpoint.writeStatsAsStruct' = 'true', 'delta.checkpoint.writeStatsAsJson' = 'false')"""
VALUES = """INSERT INTO {t} VALUES (2, NULL, 2, NULL, false),
(1, DATE'2024-01-01', 1.5, TIMESTAMP'2024-01-01 10:00:00.5', true)"""
OF_SOURCE = [each.replace("{t}", "{t}_source") for each in (BY_P, ROWS)]

TABLES = {
    "names with odd characters": Made((BY_P, f"INSERT INTO {{t}} VALUES {ODD}"), "p IN ('a b', 'a%20b') OR p IS NULL"),
    "deletion vectors": Made((VECTORS, ROWS, "DELETE FROM {t} WHERE x = 1", "DELETE FROM {t} WHERE x = 3"), "p <= 'b'"),
    "many files": Made((MANY,), listed=False),
    "a checkpoint": Made(
        (f"{BY_P} TBLPROPERTIES ('delta.checkpointInterval' = '2')", ROWS, ROWS, "DELETE FROM {t} WHERE x = 2", ROWS),
        "p = 'a'",
    ),
    "no rows": Made((BY_P,), "p = 'a'"),
    "no partitions": Made(("CREATE TABLE {t} USING delta AS SELECT 1 AS x", "INSERT INTO {t} VALUES (2)")),
    "typed partitions": Made((TYPED, VALUES), "day >= DATE'2023-01-01' AND n < 2 AND at > TIMESTAMP'1999-01-01' AND b"),
    "column mapping": Made((MAPPED, ROWS, RENAMED, "INSERT INTO {t} VALUES (9, 'z')"), "`another p` > 'a'"),
    "row tracking": Made((TRACKED, ROWS, "UPDATE {t} SET x = 9 WHERE x = 1")),
    "a newer checkpoint": Made((VERSION_2, ROWS, "DELETE FROM {t} WHERE x = 1", ROWS), "p = 'a'"),
    "statistics as structs": Made((STRUCTS, ROWS, ROWS, ROWS), "p = 'b'"),
    "a compaction": Made((BY_P, ROWS, ROWS, "OPTIMIZE {t}"), "p = 'a'"),
    "clustering": Made(("CREATE TABLE {t} (x INT, p STRING) USING delta CLUSTER BY (p)", ROWS, "OPTIMIZE {t}")),
    "a clone": Made((*OF_SOURCE, "CREATE TABLE {t} SHALLOW CLONE {t}_source", ROWS), "p = 'a'"),
    "all rows went": Made((BY_P, ROWS, "DELETE FROM {t}"), "p = 'a'"),
    "names with dots": Made((DOTTED, ROWS), "`a.b` = 'a'"),
    "identifiers expire": Made((EXPIRING, ROWS), "p = 'a'", known=False),
    "a place with odd characters": Made((f"{BY_P} LOCATION '{{root}}/a b%20ü=1'", ROWS), "p = 'a'"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", TABLES)
def test_each_way_gives_the_same_answers(spark: SparkSession, ways: Ways, name: str, tmp_path: Path) -> None:
    made = TABLES[name]
    table = f"{database(spark)}.t"
    for statement in made.statements:
        spark.sql(statement.format(t=table, root=tmp_path))
    rows = spark.table(table).limit(1)
    rows.write.format("delta").mode("append").option("txnAppId", OWNER).option("txnVersion", 7).saveAsTable(table)
    [[place]] = spark.sql(f"DESCRIBE DETAIL {table}").select("location").collect()
    place = place.removeprefix("file:")

    by_checksum, jobs = ways.answers(ways.plain, place, made.condition)
    assert by_checksum["published"] == 7 and by_checksum["unpublished"] == 0
    assert by_checksum["absent"] is None and by_checksum["count"] == len(by_checksum["everything"])
    assert bool(jobs) == (not made.listed or not made.known)
    beside, jobs = ways.answers(ways.kernel, place, made.condition)
    assert beside == by_checksum and bool(jobs) == (not made.known)

    for each in Path(place, "_delta_log").glob("*.crc"):
        each.unlink()
    for each in Path(place, "_delta_log").glob(".*.crc"):  # those of Hadoop, of files that are gone
        each.unlink()
    by_kernel, jobs = ways.answers(ways.kernel, place, made.condition)
    assert by_kernel == by_checksum and bool(jobs) == (not made.known)
    by_spark, jobs = ways.answers(ways.plain, place, made.condition)
    assert by_spark == by_checksum and jobs


def spoilt(checksum: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Checksums that say less than there is, or are of another commit."""
    files, fewer = checksum["allFiles"], checksum["allFiles"][1:]
    agreeing = {"allFiles": fewer, "numFiles": len(fewer), "tableSizeBytes": sum(each["size"] for each in fewer)}
    lost = {name: value for name, value in checksum.items() if name not in ("allFiles", "setTransactions")}
    return {
        "of another commit": {**checksum, **agreeing, "setTransactions": [], "txnId": "another"},
        "of nobody knows which commit": {
            **agreeing,
            **{each: lost[each] for each in lost if each not in ("txnId", *agreeing)},
        },
        "without a file": {**checksum, "allFiles": fewer},
        "with a file twice": {**checksum, "allFiles": [*files, files[0]]},
        "without files and transactions": lost,
    }


@pytest.mark.thorough
def test_a_checksum_of_another_commit_or_of_less_is_not_believed(spark: SparkSession, ways: Ways) -> None:
    table = f"{database(spark)}.t"
    spark.sql(BY_P.format(t=table))
    for n in range(2):
        rows = spark.sql("SELECT 1 AS x, EXPLODE(ARRAY('a', 'b')) AS p")
        rows.write.format("delta").mode("append").option("txnAppId", OWNER).option("txnVersion", n + 6).saveAsTable(
            table
        )
    [[place]] = spark.sql(f"DESCRIBE DETAIL {table}").select("location").collect()
    place = place.removeprefix("file:")
    truth, jobs = ways.answers(ways.plain, place, "p = 'a'")
    assert truth["published"] == 7 and truth["count"] == 4 and not jobs
    last = max(Path(place, "_delta_log").glob("*.crc"))
    whole = json.loads(last.read_text())
    texts = {name: json.dumps(each) for name, each in spoilt(whole).items()}
    for name, text in {**texts, "cut off": json.dumps(whole)[:-9], "empty": ""}.items():
        last.write_text(text)
        last.with_name(f".{last.name}.crc").unlink(missing_ok=True)
        told, jobs = ways.answers(ways.plain, place, "p = 'a'")
        assert told == truth and jobs, name
        told, jobs = ways.answers(ways.kernel, place, "p = 'a'")
        assert told == truth and not jobs, name
