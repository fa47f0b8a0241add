"""Rows with some keys are found by a condition just as a join would find them."""

from __future__ import annotations

from functools import reduce

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.rows_by_keys import WEIGHT, Reach

KINDS = {
    "integers": ["1", "2", "NULL", "-7", "2147483647"],
    "decimals": ["CAST(1 AS DECIMAL(30, 2))", "1.10", "NULL", "-0.01", "1234567890123456789012345.67"],
    "floats": ["CAST('NaN' AS DOUBLE)", "0.0D", "-0.0D", "NULL", "1e300D", "double('-infinity')"],
    "strings": ["CAST(X'ff' AS STRING)", "CAST(X'fe' AS STRING)", "''", "NULL", "'a'", "'A'", "'a '"],
    "collated": [each + " COLLATE UTF8_LCASE" for each in ("'a'", "'A'", "'b'", "NULL", "'B'", "''")],
    "trimmed": [each + " COLLATE UTF8_BINARY_RTRIM" for each in ("'a'", "'a '", "'b'", "NULL", "' a'")],
    "bytes": ["X''", "X'00'", "X'ff'", "NULL", "X'0000'"],
    "days": ["DATE'1582-10-04'", "DATE'0001-01-01'", "NULL", "DATE'2024-02-29'"],
    "times": [
        "TIMESTAMP'1883-11-18 12:00:00.000001'",
        "TIMESTAMP'1883-11-18 12:00:00'",
        "NULL",
        "TIMESTAMP'2024-01-01'",
    ],
    "times without a zone": ["TIMESTAMP_NTZ'1582-10-10 00:00:00'", "TIMESTAMP_NTZ'2024-03-31 02:30:00'", "NULL"],
    "truths": ["true", "false", "NULL"],
    "spans": ["INTERVAL '1' DAY", "INTERVAL '24' HOUR", "NULL", "INTERVAL '2' DAY"],
    "months": ["INTERVAL '1' YEAR", "INTERVAL '12' MONTH", "NULL", "INTERVAL '2' MONTH"],
    "lists": ["array(1, NULL)", "array(1)", "NULL", "array()", "array(1, 2)"],
    "structs": [
        "named_struct('a', 1, 'b', 0.0D)",
        "named_struct('a', 1, 'b', -0.0D)",
        "NULL",
        "named_struct('a', 2, 'b', 1D)",
    ],
}
"""Values of a type; those before the last two are keys."""

THOROUGH = pytest.mark.thorough


def values(session: SparkSession, kind: str, most: int | None = None) -> DataFrame:
    rows = " UNION ALL ".join(f"SELECT {each} AS k, {n} AS n" for n, each in enumerate(KINDS[kind][:most]))
    return session.sql(f"SELECT k, cast(n % 2 AS STRING) AS other, n FROM ({rows})")


def agreeing(frame: DataFrame, keys: DataFrame, columns: tuple[str, ...]) -> Column:
    return reduce(Column.__and__, [frame[each].eqNullSafe(keys[each]) for each in columns])


def numbers(frame: DataFrame) -> list[tuple[int, ...]]:
    return sorted(tuple(row) for row in frame.select("n", *([WEIGHT] if WEIGHT in frame.columns else [])).collect())


@pytest.mark.parametrize("columns", [("k",), ("k", "other")], ids=["one", "two"])
@pytest.mark.parametrize("most", [pytest.param(0, marks=THOROUGH), pytest.param(None, marks=THOROUGH), -2])
@pytest.mark.parametrize("kind", [each if each == "strings" else pytest.param(each, marks=THOROUGH) for each in KINDS])
def test_a_condition_finds_what_a_join_finds(
    plain_spark: SparkSession, kind: str, most: int | None, columns: tuple[str, ...]
) -> None:
    rows, keys = values(plain_spark, kind), values(plain_spark, kind, most) if most != 0 else None
    keys = (rows.where("false") if keys is None else keys).select(*columns)
    reach = Reach.of(Shim(plain_spark), [keys, keys], columns, 100)
    assert reach is not None and reach.count == keys.distinct().count() == reach.rows.distinct().count()
    for frame in (rows, rows.where("n >= 0").repartition(2)):
        semi = frame.join(keys.distinct(), agreeing(frame, keys, columns), "left_semi")
        anti = frame.join(keys.distinct(), agreeing(frame, keys, columns), "left_anti")
        assert numbers(reach.among(frame)) == numbers(semi)
        assert numbers(semi) == numbers(reach.among(reach.near(frame)))
        assert numbers(reach.over(frame, frame.where("false"))) == numbers(anti)
        new = frame.withColumn("n", F.col("n") + 100)
        weighed = [(n, 0) for (n,) in numbers(anti)] + [(n, -1) for (n,) in numbers(semi)]
        weighed += [(n + 100, 1) for (n,) in numbers(semi)]
        assert numbers(reach.weighed(frame, new, F.lit(True))) == sorted(weighed)
        spared = [(n, 0) for (n,) in numbers(frame)] + [(n + 100, 1) for (n,) in numbers(semi)]
        assert numbers(reach.weighed(frame, new, F.lit(False))) == sorted(spared)


@pytest.mark.parametrize("count", [1000, 1001])
def test_many_keys_are_joined(plain_spark: SparkSession, count: int) -> None:
    rows = plain_spark.range(5000).selectExpr("nullif(id, 7) AS k", "CAST(id AS INT) AS n")
    reach = Reach.of(Shim(plain_spark), [plain_spark.range(count).selectExpr("nullif(id, 7) AS k")], ("k",), 5000)
    assert reach is not None and reach.count == count
    joined = "Join" in reach.among(rows)._jdf.queryExecution().optimizedPlan().toString()
    assert joined is (count > 1000)
    assert numbers(reach.among(reach.near(rows))) == [(n,) for n in range(count)]
    assert numbers(reach.over(rows, rows.where("false"))) == [(n,) for n in range(count, 5000)]


def test_columns_of_another_type_are_joined(plain_spark: SparkSession) -> None:
    rows = plain_spark.sql("SELECT CAST(id AS STRING) AS k, CAST(id AS INT) AS n FROM range(9)")
    reach = Reach.of(Shim(plain_spark), [plain_spark.sql("SELECT 3 AS k")], ("k",), 5)
    assert reach is not None and numbers(reach.among(reach.near(rows))) == [(3,)]


def test_strings_that_spark_pads_are_found_as_it_compares_them(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE wide (k CHAR(5), n INT) USING parquet")
    spark.sql("CREATE TABLE narrow (k CHAR(2)) USING parquet")
    spark.sql("INSERT INTO wide VALUES ('a', 0), ('ab', 1), ('b', 2), (NULL, 3), ('abc', 4)")
    spark.sql("INSERT INTO narrow VALUES ('a'), (NULL)")
    rows = spark.table("wide")
    for keys in (spark.table("narrow"), rows.where("n IN (0, 3)").select("k")):
        reach = Reach.of(Shim(spark), [keys], ("k",), 5)
        assert reach is not None
        wanted = numbers(rows.alias("v").join(keys.alias("w"), F.expr("v.k <=> w.k"), "left_semi"))
        assert numbers(reach.among(reach.near(rows))) == wanted == [(0,), (3,)]


def test_too_many_keys_are_none(plain_spark: SparkSession) -> None:
    keys = plain_spark.sql("SELECT id % 11 AS k FROM range(0, 100, 1, 4)")
    assert Reach.of(Shim(plain_spark), [keys], ("k",), 10) is None
    reach = Reach.of(Shim(plain_spark), [keys], ("k",), 11)
    assert reach is not None and reach.count == 11
