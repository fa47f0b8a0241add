"""Jobs: derived tables computed by Python functions, in one graph with the views in SQL."""

from __future__ import annotations

import uuid

import job_examples
import pytest
from attrs import evolve
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, database, drain

import headwater
from headwater.model.error import DefinitionError, HeadwaterError
from headwater.model.event import Failed, Published

WEEKLY = "SELECT trunc(day, 'week') AS week, sum(total) AS total FROM daily GROUP BY 1"


@pytest.fixture
def daily(spark: SparkSession) -> SparkSession:
    return with_daily(spark, 14)


def with_daily(spark: SparkSession, last: int) -> SparkSession:
    """``sales`` of so many days, and ``daily``, which sums them up."""
    spark.sql("CREATE TABLE sales (amount INT, day DATE) USING parquet PARTITIONED BY (day)")
    days = ", ".join(f"({day}, DATE '2024-01-{day:02d}')" for day in range(1, last + 1))
    spark.sql(f"INSERT INTO sales VALUES {days}")
    query = "SELECT day, sum(amount) AS total FROM sales GROUP BY day"
    spark.sql(f"CREATE MATERIALIZED VIEW daily PARTITIONED BY (day) AS {query}")
    return spark


def test_a_job_stands_in_one_graph_with_views(daily, journal: Journal):
    assert headwater.register(daily, job_examples.weekly)[0].endswith("weekly created: 2 partitions, 2 rows")
    daily.sql("CREATE MATERIALIZED VIEW overall AS SELECT sum(total) AS total FROM weekly")
    drain(daily)
    journal.mark()
    daily.sql("INSERT INTO sales VALUES (100, DATE '2024-01-09')")
    drain(daily)
    _, refreshed = journal.changed_and_refreshed("sales")
    assert refreshed == [("daily", "day=2024-01-09"), ("overall", "()"), ("weekly", "week=2024-01-08")]
    assert_equals_query(daily, "weekly", WEEKLY)
    row = daily.sql("SHOW REFRESHES FOR weekly LIMIT 1").first()
    assert row["partition"] == "week=2024-01-08" and "sales[day=2024-01-09] changed (INSERT INTO)" in row["reason"]
    daily.sql("INSERT INTO sales VALUES (1, DATE '2024-01-02')")
    assert any("week=2024-01-01" in line for [line] in daily.sql("EXPLAIN REFRESH weekly").collect())


def test_a_job_that_is_as_before_is_left_alone(daily):
    headwater.register(daily, job_examples.weekly)
    [said] = headwater.register(daily, job_examples.weekly)
    assert said.endswith("weekly has this definition already; nothing was done")


@pytest.mark.parametrize("deeper", ["", ".`my shop`"])
def test_a_job_is_declared_where_a_view_would_be(spark: SparkSession, deeper: str) -> None:
    """In the current catalog and database, which gives the names of its sources their meaning, too."""
    place = f"lake.{database(spark)}{deeper}"
    for each in dict.fromkeys((f"lake.{database(spark)}", place)):
        spark.sql(f"CREATE NAMESPACE {each}")
    spark.sql("CREATE TABLE daily (total INT, day DATE) USING parquet PARTITIONED BY (day)")
    spark.sql(f"USE {place}")
    spark.sql("CREATE TABLE daily (total INT, day DATE) USING iceberg PARTITIONED BY (day)")
    spark.sql("INSERT INTO daily VALUES (1, DATE '2024-01-01'), (2, DATE '2024-01-02')")
    said = headwater.register(spark, job_examples.weekly)
    assert said == [f"{place}.weekly created: 1 partition, 1 row"]
    spark.sql("INSERT INTO daily VALUES (100, DATE '2024-01-09')")
    drain(spark)
    assert sorted(tuple(row) for row in spark.sql(WEEKLY).collect()) == sorted(
        tuple(row) for row in spark.newSession().table(f"{place}.weekly").collect()
    )
    assert headwater.register(spark, job_examples.weekly)[0].endswith("already; nothing was done")
    spark.sql("DROP MATERIALIZED VIEW weekly")
    spark.sql("USE spark_catalog.default")


def test_a_job_is_declared_in_a_database_whose_name_needs_quotes(spark: SparkSession) -> None:
    number = str(uuid.uuid4().int)[:12]
    spark.sql(f"CREATE DATABASE `{number}`")
    spark.sql(f"USE `{number}`")
    spark.sql("CREATE TABLE daily (total INT, day DATE) USING parquet PARTITIONED BY (day)")
    assert headwater.register(spark, job_examples.weekly)[0].startswith(f"{number}.weekly created")
    spark.sql("DROP MATERIALIZED VIEW weekly")
    spark.sql("USE default")
    spark.sql(f"DROP DATABASE `{number}` CASCADE")


def test_what_a_job_raises_is_in_the_history(daily, journal: Journal):
    journal.mark()
    with pytest.raises(HeadwaterError, match="no such rate"):
        headwater.register(daily, job_examples.stubborn)
    [error] = {
        each.error.text for each in journal.events() if isinstance(each, Failed) and each.view.endswith(".stubborn")
    }
    assert "the job job_examples:stubborn raised" in error
    assert 'job_examples.py", line' in error and "ValueError: no such rate: EUR/XYZ" in error
    shown = daily.sql("SHOW REFRESHES FOR stubborn LIMIT 1").first()
    assert shown["status"] == "failed" and "no such rate" in shown["error"]
    daily.sql("DROP MATERIALIZED VIEW stubborn")


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (job_examples.lost, ["nowhere, which cannot be read", "cannot be found"]),
        (job_examples.crooked, ["week is by WEEK", "MONTH"]),
        (job_examples.misnamed, ["by dya", "its partition columns are day"]),
        (job_examples.ahead, ["by day = DAY - 1 .. DAY", "strictly back in time"]),
        (job_examples.torn, ["reads itself by day and by month"]),
        (job_examples.vague, ["reads itself by day", "daily does not say which day"]),
    ],
)
def test_a_job_is_checked_when_it_is_declared(daily, job, words):
    with pytest.raises(HeadwaterError) as refused:
        headwater.register(daily, job)
    assert all(each in str(refused.value) for each in words), str(refused.value)


@pytest.mark.long
def test_a_job_that_reads_its_yesterday_goes_on_from_the_day_that_changed(spark, journal: Journal):
    daily = with_daily(spark, 5)
    running = "SELECT day, sum(total) OVER (ORDER BY day) AS held FROM daily"
    assert headwater.register(daily, job_examples.balance)[0].endswith("balance created: 5 partitions, 5 rows")
    assert_equals_query(daily, "balance", running)
    journal.mark()
    daily.sql("INSERT INTO sales VALUES (100, DATE '2024-01-04'), (1, DATE '2024-01-06')")
    drain(daily)
    runs = [each.view.split(".")[1] for each in journal.events() if isinstance(each, Published)]
    assert runs == ["daily", *["balance"] * 3]
    assert_equals_query(daily, "balance", running)
    explained = [line for [line] in daily.sql("EXPLAIN REFRESH balance").collect()]
    assert "  depends on itself by day = DAY - 1 OF day, the earliest first" in explained


@pytest.mark.thorough
def test_a_job_with_several_outputs_is_told_which(daily):
    daily.sql("INSERT INTO sales VALUES (500, DATE '2024-01-03')")
    headwater.register(daily, job_examples.split)
    drain(daily)
    assert_equals_query(daily, "high", "SELECT day, total FROM daily WHERE total >= 100")
    assert_equals_query(daily, "low", "SELECT day, total FROM daily WHERE total < 100")


def test_a_job_of_the_program_itself_is_refused(daily):
    function = headwater.job(outputs=["x"], columns="n INT", deps=[])(lambda spark, partitions, inputs: None)
    with pytest.raises(DefinitionError, match="module of its own"):
        headwater.register(daily, evolve(function, name="__main__:x"))


def test_a_job_cannot_depend_on_an_ordinary_view(spark: SparkSession):
    """It has no changes of its own: those of its tables would reach nobody."""
    spark.sql("CREATE TABLE sales (amount INT, day DATE) USING parquet PARTITIONED BY (day)")
    spark.sql("CREATE VIEW daily AS SELECT * FROM sales")
    with pytest.raises(HeadwaterError, match=r"daily, an ordinary view.*reads \w+\.sales"):
        headwater.register(spark, job_examples.weekly)


def test_a_job_in_files_is_a_member_of_a_group(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE sales (amount INT, day DATE) USING delta")
    spark.sql("INSERT INTO sales VALUES (1, DATE '2024-01-01'), (2, DATE '2024-01-09')")
    member = {"headwater.group": database(spark)}
    spark.sql(
        f"CREATE MATERIALIZED VIEW daily USING parquet PARTITIONED BY (day) TBLPROPERTIES ('headwater.group' = "
        f"'{database(spark)}') AS SELECT day, sum(amount) AS total FROM sales GROUP BY day"
    )
    headwater.register(spark, evolve(job_examples.weekly, properties=member))
    refresh = f"REFRESH MATERIALIZED VIEW GROUP {database(spark)}"
    first = spark.sql(refresh).first()["epoch"]
    old = headwater.read(spark, database(spark))
    spark.sql("INSERT INTO sales VALUES (10, DATE '2024-01-09')")
    assert spark.sql(refresh).first()["epoch"] > first
    newer = headwater.read(spark, database(spark))

    def sums(views) -> list[int]:
        return [frame.groupBy().sum("total").first()[0] for _, frame in sorted(views.items())]

    assert (sums(old), sums(newer)) == ([3, 3], [13, 13])
