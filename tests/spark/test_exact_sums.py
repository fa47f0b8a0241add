"""Sums of floating-point numbers that follow changes: they are the exact ones, rounded once."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from fractions import Fraction

import pytest
from pyspark.sql import SparkSession
from support import Journal, database
from test_by_keys import runs

from headwater.model.work import Mode

ASKED = "TBLPROPERTIES ('headwater.method' = 'incremental, full', 'headwater.floating_point' = 'exact')"
QUERY = (
    "SELECT k, sum(x) AS s, avg(x) AS a, stddev(x) AS d, var_pop(x) AS v, min(x) AS least, max(f) AS most, "
    "sum(f) AS fs, avg(id) AS mean, sum(x) FILTER (WHERE id % 2 = 0) AS even, count(DISTINCT n) AS ns FROM t GROUP BY k"
)
VALUES = (0.1, 0.2, -0.3, 1e16, -1e16, 1e300, 5e-324, 1.5, -0.0, 7.25, 1e-9)


def literal(value: float | None, type: str) -> str:
    return f"CAST({'NULL' if value is None else repr(str(value))} AS {type})"


def insert(spark: SparkSession, chance: random.Random, first: int, count: int, values: tuple[float, ...]) -> None:
    rows = []
    for row in range(first, first + count):
        x = None if chance.random() < 0.1 else chance.choice(values) * chance.choice((1, 1, 3))
        f = chance.choice((0.1, 2.5, -0.0, 1e30))
        big = chance.randrange(1 << 62)
        rows.append(f"({big - big % 4 + row % 4}, {row % 3}, {literal(x, 'DOUBLE')}, {literal(f, 'FLOAT')}, {row % 5})")
    spark.sql(f"INSERT INTO t VALUES {', '.join(rows)}")


def rounded(numbers: list[float]) -> float | None:
    return float(sum(map(Fraction, numbers), Fraction())) if numbers else None


@pytest.mark.thorough
@pytest.mark.parametrize("format", ["delta", pytest.param("parquet", marks=pytest.mark.long)])
def test_exact_sums_follow_rows_that_come_and_go(spark: SparkSession, journal: Journal, format: str) -> None:
    chance, view = random.Random(11), f"{database(spark)}.v"
    spark.sql("CREATE TABLE t (id BIGINT, k INT, x DOUBLE, f FLOAT, n INT) USING delta")
    insert(spark, chance, 0, 40, VALUES)
    spark.sql(f"CREATE MATERIALIZED VIEW v USING {format} {ASKED} AS {QUERY}")
    steps = ("", "DELETE FROM t WHERE x = 1e300", "", "UPDATE t SET x = x / 3 WHERE n = 2", "DELETE FROM t WHERE k = 1")
    for step, statement in enumerate(steps):
        if statement:
            spark.sql(statement)
        else:
            insert(spark, chance, 100 * (step + 1), 20, VALUES)
        spark.sql("REFRESH MATERIALIZED VIEWS")
        groups = defaultdict(list)
        for row in spark.table("t").collect():
            groups[row.k].append(row)
        found = {row.k: row for row in spark.table("v").collect()}
        assert found.keys() == groups.keys()
        for k, rows in groups.items():
            xs, own = [row.x for row in rows if row.x is not None], found[k]
            assert own.s == rounded(xs)
            assert own.a == (own.s / len(xs) if xs else None)
            assert (own.least, own.most) == (min(xs, default=None), max(row.f for row in rows))
            assert own.fs == rounded([row.f for row in rows])
            assert own["mean"] == rounded([float(row.id) for row in rows]) / len(rows)
            assert own.even == rounded([row.x for row in rows if row.x is not None and row.id % 2 == 0])
            if max(map(abs, xs)) < 1e150:
                exact = [Fraction(each) for each in xs]
                middle = sum(exact) / len(exact)
                deviation = sum((each - middle) ** 2 for each in exact)
                assert math.isclose(own.v, float(deviation / len(xs)), rel_tol=1e-15)
                assert len(xs) == 1 or math.isclose(own.d, math.sqrt(deviation / (len(xs) - 1)), rel_tol=1e-15)
    assert runs(journal.events(), view)[1:] == [(Mode.CHANGES, "")] * len(steps)


@pytest.mark.thorough
def test_a_value_without_end_leaves_no_trace(spark: SparkSession, journal: Journal) -> None:
    spark.sql("CREATE TABLE t (id BIGINT, k INT, x DOUBLE, f FLOAT, n INT) USING delta")
    spark.sql("INSERT INTO t VALUES (1, 1, 0.1, 1, 1), (2, 1, 0.2, 1, 1), (3, 2, 1, 1, 1)")
    spark.sql(f"CREATE MATERIALIZED VIEW v USING delta {ASKED} AS {QUERY}")

    def shown() -> list[str]:
        spark.sql("REFRESH MATERIALIZED VIEWS")
        rows = spark.table("v").orderBy("k").collect()
        return [f"{row.s} {row.a} {row.d} {row.least}" for row in rows]

    before = shown()
    for value in ("NaN", "Infinity", "-Infinity"):
        spark.sql(f"INSERT INTO t VALUES (9, 1, CAST('{value}' AS DOUBLE), 1, 1)")
        told = value.lower().replace("infinity", "inf")
        assert shown()[0].split()[:3] == [told, told, "nan"]
        spark.sql("DELETE FROM t WHERE id = 9")
        assert shown() == before
    spark.sql("UPDATE t SET x = NULL")
    assert shown() == ["None None None None"] * 2
    assert {each for each, _ in runs(journal.events(), f"{database(spark)}.v")[1:]} == {Mode.CHANGES}


def test_a_view_asks_for_exact_sums(spark: SparkSession, journal: Journal) -> None:
    """Otherwise sums are as Spark adds them up, and the reason says how to ask."""
    spark.sql("CREATE TABLE t (k INT, x DOUBLE) USING delta")
    spark.sql("INSERT INTO t VALUES (1, 0.1), (1, 0.2), (1, 0.3)")
    spark.sql("CREATE MATERIALIZED VIEW v USING delta AS SELECT k, sum(x) AS s FROM t GROUP BY k")
    spark.sql("INSERT INTO t VALUES (1, 0.4)")
    told = "\n".join(row[0] for row in spark.sql("EXPLAIN REFRESH v").collect())
    assert "the sum of a DOUBLE depends on the order of the rows; 'headwater.floating_point' = 'exact'" in told
    spark.sql("REFRESH MATERIALIZED VIEWS")
    spark.sql(
        "ALTER MATERIALIZED VIEW v SET TBLPROPERTIES "
        "('headwater.floating_point' = 'exact', 'headwater.method' = 'incremental, full')"
    )
    spark.sql("REFRESH MATERIALIZED VIEWS")
    spark.sql("INSERT INTO t VALUES (1, 0.5), (2, 1)")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    assert runs(journal.events(), f"{database(spark)}.v")[-1] == (Mode.CHANGES, "")
    assert {row.k: row.s for row in spark.table("v").collect()} == {1: 1.5, 2: 1.0}
    spark.sql("ALTER MATERIALIZED VIEW v UNSET TBLPROPERTIES ('headwater.floating_point')")
    spark.sql("INSERT INTO t VALUES (2, 1)")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    assert Mode.CHANGES not in {each for each, _ in runs(journal.events(), f"{database(spark)}.v")[-2:]}
    assert spark.sql("VERIFY MATERIALIZED VIEW v").first().result == "equal"
