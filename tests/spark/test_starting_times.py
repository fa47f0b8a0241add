"""Views that start at certain times only, as their owner writes and sees it."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

FAR = "'headwater.schedule' = '0 6 29 2 * Europe/Berlin'"


def rows(spark: SparkSession, text: str) -> list[tuple]:
    return [tuple(row) for row in spark.sql(text).collect()]


def explained(spark: SparkSession, view: str) -> str:
    return "\n".join(row[0] for row in spark.sql(f"EXPLAIN REFRESH {view}").collect())


def test_a_view_waits_for_its_time_and_a_statement_does_not(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE s (k INT) USING parquet")
    spark.sql("INSERT INTO s VALUES (1)")
    spark.sql(f"CREATE MATERIALIZED VIEW v TBLPROPERTIES ({FAR}) AS SELECT count(*) AS n FROM s")
    assert rows(spark, "SELECT * FROM v") == [(1,)]
    spark.sql("INSERT INTO s VALUES (2)")
    said = explained(spark, "v")
    assert "headwater.schedule is '0 6 29 2 *' in Europe/Berlin; starts in" in said and "[wait.schedule]" in said
    assert rows(spark, "SELECT * FROM v") == [(1,)]
    spark.sql("REFRESH MATERIALIZED VIEW v")
    assert rows(spark, "SELECT * FROM v") == [(2,)]


def test_a_view_waits_for_its_gap_and_a_statement_does_not(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE s (k INT) USING delta")
    spark.sql("CREATE MATERIALIZED VIEW v USING delta AS SELECT count(*) AS n FROM s")
    spark.sql("ALTER MATERIALIZED VIEW v SET TBLPROPERTIES ('headwater.gap' = '2 hours')")
    spark.sql("INSERT INTO s VALUES (1)")
    said = explained(spark, "v")
    assert "headwater.gap is 7200 s from start to start; starts in" in said and "[wait.gap]" in said
    spark.sql("REFRESH MATERIALIZED VIEW v")
    assert rows(spark, "SELECT * FROM v") == [(1,)]
    spark.sql("ALTER MATERIALIZED VIEW v UNSET TBLPROPERTIES ('headwater.gap')")
    spark.sql("INSERT INTO s VALUES (2)")
    assert "wait.gap" not in explained(spark, "v")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("at six", "is not a time; write one such as 06:00"),
        ("0 0 30 2 *", "is not a time"),
        ("06:00 Mars", "'headwater.schedule': the clocks of the zone Mars are not known here"),
    ],
)
def test_a_time_that_nobody_understands_is_refused(spark: SparkSession, text: str, said: str) -> None:
    spark.sql("CREATE TABLE s (k INT) USING parquet")
    with pytest.raises(PySparkException, match=said):
        spark.sql(f"CREATE MATERIALIZED VIEW v TBLPROPERTIES ('headwater.schedule' = '{text}') AS SELECT k FROM s")
    spark.sql("CREATE MATERIALIZED VIEW v AS SELECT k FROM s")
    with pytest.raises(PySparkException, match=said):
        spark.sql(f"ALTER MATERIALIZED VIEW v SET TBLPROPERTIES ('headwater.schedule' = '{text}')")
