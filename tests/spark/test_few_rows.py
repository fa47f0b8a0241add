"""Changed rows in the memory of the driver: the same rows, of all types, and no more than few."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from spark_jobs import jobs_of_this_thread

from headwater.model.seen import ChangedRows
from headwater.spark.jvm.shim import Shim

MOST = 10_000
"""Rows, as ``FewRows.scala`` has it."""

ODD = {
    "strings": "SELECT CAST(X'ff00fe' AS STRING) AS c UNION ALL SELECT '' UNION ALL SELECT NULL UNION ALL SELECT 'é'",
    "bytes": "SELECT X'00ff80' AS c UNION ALL SELECT X''",
    "times": "SELECT TIMESTAMP'1883-11-18 12:00:00.000001' AS c UNION ALL SELECT TIMESTAMP'0001-01-01 00:00:00' "
    "UNION ALL SELECT TIMESTAMP'2024-10-27 00:30:00+00:00' UNION ALL SELECT TIMESTAMP'2024-10-27 01:30:00+00:00'",
    "times without a zone": "SELECT TIMESTAMP_NTZ'1582-10-10 01:02:03.999999' AS c",
    "days": "SELECT DATE'0001-01-01' AS c UNION ALL SELECT DATE'9999-12-31' UNION ALL SELECT DATE'1582-10-10'",
    "decimals": "SELECT CAST('-12345678901234567890.123456789012345678' AS DECIMAL(38, 18)) AS c UNION ALL SELECT 0",
    "small decimals": "SELECT CAST(-0.07 AS DECIMAL(3, 2)) AS c",
    "floats": "SELECT CAST(-0.0 AS DOUBLE) AS c UNION ALL SELECT CAST('NaN' AS DOUBLE) UNION ALL SELECT 0.0D",
    "months": "SELECT INTERVAL '-3-7' YEAR TO MONTH AS c",
    "spans": "SELECT INTERVAL '106751991 04:00:54.775806' DAY TO SECOND AS c",
    "collated": "SELECT 'Ä' COLLATE UNICODE_CI AS c UNION ALL SELECT 'a' COLLATE UNICODE_CI",
    "nested": "SELECT named_struct('a', array(1, NULL), 'm', map('k', X'ff'), 's', CAST(X'fe' AS STRING)) AS c",
    "variants": """SELECT parse_json('{"a": [1, null, 1.50]}') AS c""",
}


@pytest.fixture
def shim(plain_spark: SparkSession) -> Shim:
    return Shim(plain_spark)


def spelled(frame: DataFrame) -> list[tuple[str, ...]]:
    """Rows as Spark spells their bytes, so that no value passes through Python."""
    return sorted(tuple(row) for row in frame.select(F.expr(_spelling(frame))).collect())


def _spelling(frame: DataFrame) -> str:
    match frame.schema["c"].dataType.typeName():
        case "variant":
            return "to_json(c)"
        case "struct":
            return "to_json(named_struct('a', c.a, 'm', hex(c.m['k']), 's', hex(c.s)))"
        case "string" | "binary":
            return "coalesce(hex(c), 'NULL')"
        case "double":
            return "CAST(c AS STRING)"
        case _:
            return "coalesce(CAST(c AS STRING), 'NULL') || ' ' || coalesce(hex(hash(c)), '')"


@pytest.mark.parametrize("kind", ODD)
def test_rows_of_each_type_are_the_same_in_memory(plain_spark: SparkSession, shim: Shim, kind: str) -> None:
    there = plain_spark.sql(f"SELECT /*+ REPARTITION(2) */ c FROM ({ODD[kind]})")
    [found] = shim.few_rows([ChangedRows(there, None)])
    assert found.few and found.removed is None
    assert found.added.schema["c"].dataType == there.schema["c"].dataType
    assert spelled(found.added) == spelled(there)
    [none] = shim.few_rows([ChangedRows(there, there)])
    assert none.few and none.added.count() == 0 and none.removed is None


def test_rows_on_both_sides_cancel_out_as_often_as_they_are_there(plain_spark: SparkSession, shim: Shim) -> None:
    def rows(*values: str) -> DataFrame:
        return plain_spark.sql(
            f"SELECT CAST(x AS DOUBLE) AS c FROM VALUES {', '.join(f'({v})' for v in values)} AS t(x)"
        )

    changed = ChangedRows(rows("1", "1", "2", "NULL", "0D"), rows("1", "2", "3", "NULL", "-0D"), lasting=False)
    [found] = shim.few_rows([changed])
    assert (spelled(found.added), spelled(found.removed)) == ([("0.0",), ("1.0",)], [("-0.0",), ("3.0",)])
    assert found.lasting, "what came and went in between is on both sides, and so on neither"


@pytest.mark.parametrize(("rows", "few"), [(0, True), (MOST, True), (MOST + 1, False)])
def test_more_rows_than_few_stay_where_they_are(plain_spark: SparkSession, shim: Shim, rows: int, few: bool) -> None:
    there, one = (plain_spark.range(0, each, 1, 3).selectExpr("id AS c") for each in (rows, 1))
    large, small = shim.few_rows([ChangedRows(there, None), ChangedRows(None, one)])
    assert (large.few, small.few) == (few, True)
    assert large.added.count() == rows and small.added is None and small.removed.count() == 1


def test_rows_of_many_bytes_stay_where_they_are(plain_spark: SparkSession, shim: Shim) -> None:
    there = plain_spark.range(3).selectExpr("repeat('x', 1000000) AS c")
    [found] = shim.few_rows([ChangedRows(there, None)])
    assert found.added is there and not found.few


@pytest.mark.parametrize("kind", ODD)
def test_many_rows_of_each_type_cancel_out(plain_spark: SparkSession, shim: Shim, kind: str) -> None:
    odd = plain_spark.sql(ODD[kind])
    many = plain_spark.sql(f"SELECT /*+ REPARTITION(3) */ c FROM ({ODD[kind]}) CROSS JOIN range({MOST + 1})")
    [found] = shim.few_rows([ChangedRows(many, many.union(odd))])
    assert found.few and found.netted and found.added.count() == 0
    assert spelled(found.removed) == spelled(odd)
    [none] = shim.few_rows([ChangedRows(many, many)])
    assert none.few and none.removed is None


def test_many_rows_that_are_left_are_read_as_often_as_wanted(plain_spark: SparkSession, shim: Shim) -> None:
    def twice(first: int, last: int) -> DataFrame:
        return plain_spark.sql(f"SELECT a.id AS c, repeat('x', 20) AS w FROM range({first}, {last}) a, range(2)")

    [found] = shim.few_rows([ChangedRows(twice(0, 30_000), twice(20_000, 60_000), lasting=False)])
    assert found.netted and not found.few and found.lasting
    there = shim.rows_in(plain_spark.newSession(), found)
    for each in (found, there, found):
        ranges = [
            tuple(side.agg(F.min("c"), F.max("c"), F.count("c"), F.countDistinct("c")).collect()[0])
            for side in (each.added, each.removed)
        ]
        assert ranges == [(0, 19_999, 40_000, 20_000), (30_000, 59_999, 60_000, 30_000)]
    joined = there.added.join(there.removed, "w").limit(1)
    assert joined.count() == 1, "rows of both sides are joined"


def test_one_job_reads_the_rows_of_all_tables(plain_spark: SparkSession, shim: Shim) -> None:
    tables = [plain_spark.range(each + 1).selectExpr("id AS c", f"{each} AS n") for each in range(4)]
    with jobs_of_this_thread(plain_spark) as jobs:
        found = shim.few_rows([ChangedRows(each, each.where("c > 0")) for each in tables])
    assert len(jobs) == 1
    with jobs_of_this_thread(plain_spark) as jobs:
        assert [each.added.collect() for each in found] == [[(0, n)] for n in range(4)]
        assert shim.few_rows(found)[0].added.collect() == [(0, 0)]
    assert not jobs
