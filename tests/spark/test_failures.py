"""How failures of Spark are told apart: by types and conditions, never by words of the user's own."""

from __future__ import annotations

from collections import Counter

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import assert_equals_query, database, drain

from headwater.spark.jvm.shim import Shim
from headwater.spark.jvm.wire import FailureKind

WORDS = "FILE_NOT_EXIST: the job was cancelled, no space left on device"


def kind(spark: SparkSession, work) -> FailureKind:
    with pytest.raises((PySparkException, Py4JJavaError)) as raised:
        work()
    return Shim(spark).failure(raised.value).kind


def test_words_of_the_users_own_decide_nothing(spark: SparkSession) -> None:
    assert kind(spark, lambda: spark.sql(f"SELECT raise_error('{WORDS}')").collect()) is FailureKind.OTHER


def test_a_query_at_fault_is_told_as_such(spark: SparkSession) -> None:
    assert kind(spark, lambda: spark.sql("SELECT nothing FROM range(1)")) is FailureKind.ANALYSIS
    assert kind(spark, lambda: spark.sql("SELECT FROM WHERE")) is FailureKind.ANALYSIS


def test_a_file_that_went_away_is_told_from_one_that_is_damaged(spark: SparkSession, tmp_path) -> None:
    place = tmp_path / "a b"
    spark.range(3).write.parquet(str(place))
    frame = spark.read.parquet(str(place))
    parts = sorted(place.glob("*.parquet"))
    content = parts[0].read_bytes()
    parts[0].write_bytes(b"damaged")
    assert kind(spark, lambda: frame.collect()) is FailureKind.OTHER
    parts[0].write_bytes(content)
    for each in parts:
        each.unlink()
    assert kind(spark, lambda: frame.collect()) is FailureKind.SOURCE_GONE


@pytest.mark.parametrize("format", ["parquet", "delta"])
def test_the_cause_of_a_failing_write_is_shown(spark: SparkSession, format: str) -> None:
    spark.sql("CREATE TABLE numbers USING parquet AS SELECT 0 AS n")
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO") as raised:
        spark.sql(f"CREATE MATERIALIZED VIEW v USING {format} AS SELECT 1 / n AS x FROM numbers")
    assert "TASK_WRITE_FAILED" not in str(raised.value)
    spark.sql("DROP MATERIALIZED VIEW v")


TEXTS = "2024-01-01 12:30:00", " 2024-1-1 ", "2024", "2024-03-15T12", "", "T", "abc", "12:ab", "1:2:3:4", "25:00", "é"
"""Texts with a day, and texts that are no moments."""

CASTS = {
    "cast": "SELECT id, CAST(x AS TIMESTAMP) AS t FROM texts WHERE id < 4 OR id = 99",
    "tried": "SELECT id, try_to_timestamp(x) AS t FROM texts",
    "compared": "SELECT id FROM texts WHERE TRY_CAST(x AS TIMESTAMP) > '2000-01-01' OR id < 0",
    "joined": "SELECT t.id FROM texts t JOIN texts u ON TRY_CAST(t.x AS TIMESTAMP) = TRY_CAST(u.x AS TIMESTAMP)",
    "nested": "SELECT id FROM texts WHERE id IN (SELECT id FROM texts WHERE hour(TRY_CAST(x AS TIMESTAMP)) = 12)",
    "summed": "SELECT id % 2 AS k, max(TRY_CAST(x AS TIMESTAMP)) AS t, count(*) AS n FROM texts GROUP BY id % 2",
}


@pytest.fixture
def texts(spark: SparkSession) -> SparkSession:
    spark.sql("CREATE TABLE texts (id INT, x STRING) USING delta")
    rows = spark.createDataFrame([*enumerate((*TEXTS, None))], "id INT, x STRING")
    rows.coalesce(1).write.insertInto("texts")
    return spark


@pytest.mark.thorough
def test_a_time_without_a_day_fails_a_refresh(texts: SparkSession) -> None:
    """Spark takes the day of the run for it: the row would be another one tomorrow."""
    refreshing = texts.newSession()
    refreshing.sql(f"USE {database(texts)}")
    refreshing.conf.set("spark.headwater.internal", "true")
    for query in CASTS.values():
        assert Counter(refreshing.sql(query).collect()) == Counter(texts.sql(query).collect()), query
    texts.sql(f"CREATE MATERIALIZED VIEW tried AS {CASTS['tried']}")
    texts.sql("INSERT INTO texts VALUES (99, ' 12:30:00')")
    for query in CASTS.values():
        with pytest.raises(PySparkException, match="the text ' 12:30:00' has a time and no day"):
            refreshing.sql(query).collect()
    with pytest.raises(PySparkException, match="the text ' 12:30:00' has a time and no day"):
        texts.sql("REFRESH MATERIALIZED VIEW tried")
    texts.sql("DELETE FROM texts WHERE id = 99")
    drain(texts)
    assert_equals_query(texts, "tried", CASTS["tried"])


@pytest.mark.long
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_time_without_a_day_fails_a_refresh_by_changes(texts: SparkSession, format: str) -> None:
    place = f"{'lake' if format == 'iceberg' else 'spark_catalog'}.{database(texts)}"
    texts.sql(f"CREATE NAMESPACE IF NOT EXISTS {place}")
    asked = "TBLPROPERTIES ('headwater.method' = 'incremental, full')"
    for view, query in CASTS.items():
        texts.sql(f"CREATE MATERIALIZED VIEW {place}.{view} USING {format} {asked} AS {query}")
        assert_equals_query(texts, f"{place}.{view}", query)
    texts.sql("INSERT INTO texts VALUES (99, 'T1:2')")
    for view in CASTS:
        with pytest.raises(PySparkException, match="has a time and no day"):
            texts.sql(f"REFRESH MATERIALIZED VIEW {place}.{view}")
    texts.sql("DELETE FROM texts WHERE id = 99")
    drain(texts)
    for view, query in CASTS.items():
        assert_equals_query(texts, f"{place}.{view}", query)


def test_a_view_that_raises_the_words_fails_as_itself(spark: SparkSession) -> None:
    """It is not taken for cancelled or overwritten, and tried again as such for ever."""
    spark.sql("CREATE TABLE t (id INT) USING parquet")
    query = f"SELECT IF(id > 1, raise_error('{WORDS}'), id) AS id FROM t"
    spark.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
    spark.sql("INSERT INTO t VALUES (2)")
    with pytest.raises(PySparkException) as raised:
        drain(spark)
    assert f"v could not be refreshed: {WORDS}" in str(raised.value)
    row = spark.sql("SHOW REFRESHES FOR v LIMIT 1").first()
    assert row["status"] == "failed"
    assert WORDS in row["error"]
    with pytest.raises(PySparkException, match="no space left"):
        drain(spark)  # it is tried at once, although it waits for its next attempt
    with pytest.raises(PySparkException, match="no space left"):
        spark.sql("REFRESH MATERIALIZED VIEW v")
    assert [each["status"] for each in spark.sql("SHOW REFRESHES FOR v LIMIT 3").collect()] == ["failed"] * 3
    spark.conf.set("spark.headwater.wait", "true")
    with pytest.raises(PySparkException, match="the write is done, and must not be repeated; .*no space left"):
        spark.sql("INSERT INTO t VALUES (3)")
    assert spark.table("t").count() == 2, "the write is done"
    spark.conf.set("spark.headwater.wait", "false")
    spark.sql("INSERT OVERWRITE t VALUES (1)")
    spark.sql("REFRESH MATERIALIZED VIEW v")
    assert_equals_query(spark, "v", query)


def test_an_error_of_headwater_is_its_sentence_alone(spark: SparkSession) -> None:
    """Spark gives an error that passes a waiting thread the stack of that one, and Connect shows stacks to clients."""
    error = spark._jvm.org.apache.spark.sql.headwater.HeadwaterException("words")
    error.setStackTrace(spark._jvm.java.lang.Thread.currentThread().getStackTrace())
    assert not list(error.getStackTrace()) and error.getMessage() == "words"
