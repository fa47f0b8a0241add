"""Policies as a user states them: which changes reach a view, what becomes of those that come while it is refreshed,
and what it does when a view that it reads cannot be computed."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from processes import Home, until
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, database, drain

from headwater.model.event import Event, Failed, Published, Started
from headwater.spark.jvm.job_groups import group
from headwater.spark.jvm.shim import Shim
from headwater.spark.refreshing.warehouse import SparkWarehouse

DAILY = "SELECT day, sum(amount) AS total FROM sales GROUP BY day"
SPUN = "sum(pmod(hash(x, y), 7))"
LATERAL = "LATERAL VIEW explode(sequence(1, spin)) a AS x LATERAL VIEW explode(sequence(1, 1000)) b AS y"
LONG = {"queue": 20_000, "preempt": 100_000}
"""So many turns take some seconds, in which a Spark job can be cancelled. What is to be cancelled lasts longer than the
statement that does it."""


@pytest.fixture
def sales(spark: SparkSession) -> SparkSession:
    spark.sql("CREATE TABLE sales (amount INT, spin INT, day DATE) USING parquet PARTITIONED BY (day)")
    spark.sql("INSERT INTO sales VALUES (1, 1, DATE '2024-01-01'), (2, 1, DATE '2024-01-02')")
    return spark


def explained(spark: SparkSession, view: str) -> str:
    return "\n".join(line for [line] in spark.sql(f"EXPLAIN REFRESH {view}").collect())


def test_only_what_is_marked_reaches_a_view_that_asks_for_it(sales: SparkSession) -> None:
    sales.sql(f"CREATE MATERIALIZED VIEW daily PARTITIONED BY (day) AS {DAILY}")
    report = "SELECT sum(total) AS total FROM daily"
    sales.sql(f"CREATE MATERIALIZED VIEW report TBLPROPERTIES ('headwater.propagate' = 'marked') AS {report}")
    sales.sql("INSERT INTO sales VALUES (10, 1, DATE '2024-01-02')")
    drain(sales)
    assert_equals_query(sales, "daily", DAILY)
    assert sales.sql("SELECT total FROM report").first()["total"] == 3
    sales.sql("REFRESH MATERIALIZED VIEW daily FULL")
    drain(sales)
    assert sales.sql("SELECT total FROM report").first()["total"] == 13


@pytest.mark.parametrize(
    "policy", [pytest.param("queue", marks=pytest.mark.thorough), pytest.param("preempt", marks=pytest.mark.long)]
)
def test_a_change_while_a_view_is_refreshed_is_next_or_preempts(sales, journal: Journal, policy: str) -> None:
    sales.sql(
        f"CREATE MATERIALIZED VIEW spun PARTITIONED BY (day) TBLPROPERTIES ('headwater.overrun' = '{policy}') AS "
        f"SELECT day, count(*) AS n, {SPUN} AS spun FROM sales {LATERAL} GROUP BY day"
    )
    drain(sales)
    journal.mark()
    events: list[Event] = []

    def seen(kind: type) -> list:
        events.extend(journal.events())
        return [each for each in events if isinstance(each, kind) and each.view == f"{database(sales)}.spun"]

    sales.sql(f"INSERT INTO sales VALUES (1, {LONG[policy]}, DATE '2024-01-01')")
    until(lambda: seen(Started), "refresh of spun")
    sales.sql("INSERT INTO sales VALUES (1, 1, DATE '2024-01-01')")
    drain(sales)
    first, last = ({origin for _, some in each.needs for origin in some} for each in seen(Started))
    cancelled = [each for each in seen(Failed) if each.cancelled]
    if policy == "preempt":
        assert first < last and len(cancelled) == len(seen(Published)) == 1, "both changes are in one run"
        assert sales.sql("SHOW REFRESHES FOR spun LIMIT 2").collect()[1]["status"] == "cancelled"
    else:
        assert not first & last and not cancelled and len(seen(Published)) == 2
    assert sales.sql("SELECT sum(n) FROM spun").first()[0] == (LONG[policy] + 3) * 1000


def running(spark: SparkSession, view: str, version: object) -> list[int]:
    """The stages of a run whose tasks run, as Spark itself counts them."""
    tracker = spark.sparkContext.statusTracker()
    jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup(group(view, version)))
    stages = (tracker.getStageInfo(each) for job in jobs if job for each in job.stageIds)
    return [each.stageId for each in stages if each and each.numActiveTasks]


def test_a_cancelled_run_starts_no_further_job(spark: SparkSession) -> None:
    """One that was given up may come back from a step that nobody could interrupt."""
    context, cancelled = spark.sparkContext, group("d.v", "7.0")
    warehouse = object.__new__(SparkWarehouse)
    warehouse._base, warehouse._shim = spark, Shim(spark)
    context.setJobGroup(cancelled, "a step of the run", interruptOnCancel=True)
    try:
        warehouse._stop(SimpleNamespace(view="d.v", version="7.0"))
        assert spark.range(3).count() == 3, "rows that do not fit in memory are written by the same run"
        warehouse.cancel("d.v", "7.0")
        with pytest.raises(Exception, match="cancelled"):
            spark.range(3).collect()
        context.setJobGroup(group("d.v", "8.0"), "the next run", interruptOnCancel=True)
        assert spark.range(3).count() == 3
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)


@pytest.mark.thorough
def test_a_timeout_ends_the_tasks_of_a_run(sales, journal: Journal) -> None:
    """They look for an interrupt once for a batch of rows, each of which takes microseconds here."""
    sales.sql(
        "CREATE MATERIALIZED VIEW spun TBLPROPERTIES ('headwater.timeout' = '2 seconds') AS "
        f"SELECT day, count(*) AS n, {SPUN} AS spun FROM sales {LATERAL} GROUP BY day"
    )
    drain(sales)
    journal.mark()
    view, events = f"{database(sales)}.spun", []

    def seen(kind: type) -> list:
        events.extend(journal.events())
        return [each for each in events if isinstance(each, kind) and each.view == view]

    sales.sql("INSERT INTO sales SELECT 1, 1, DATE '2024-01-01' FROM range(2000000)")
    worked = set()

    def works() -> bool:
        """A busy machine may plan until the time is over, and the next attempt has another version."""
        worked.update(each.version for each in seen(Started) if running(sales, view, each.version))
        return bool(worked)

    until(works, "tasks of a refresh")
    version = min(worked)
    [ended] = until(lambda: [each for each in seen(Failed) if each.version == version], "end of the refresh", 30)
    assert "headwater.timeout, and was cancelled" in ended.error.text
    until(lambda: not running(sales, view, version), "end of its tasks", 30)
    sales.sql("DROP MATERIALIZED VIEW spun")


@pytest.mark.thorough
def test_a_view_waits_for_one_that_is_broken_or_goes_on_without_it(sales: SparkSession) -> None:
    sales.sql("CREATE TABLE rates USING parquet AS SELECT DATE '2024-01-01' AS day, 2 AS rate")
    rated = "SELECT day, sum(amount * rate) AS total FROM sales JOIN rates USING (day) GROUP BY day"
    sales.sql(f"CREATE MATERIALIZED VIEW rated PARTITIONED BY (day) AS {rated}")
    both = "SELECT sum(total) AS total, (SELECT count(*) FROM sales) AS n FROM rated"
    for policy in ("hold", "release"):
        sales.sql(f"CREATE MATERIALIZED VIEW {policy}s TBLPROPERTIES ('headwater.upstream' = '{policy}') AS {both}")
    drain(sales)
    sales.sql("DROP TABLE rates")
    sales.sql("INSERT INTO sales VALUES (5, 1, DATE '2024-01-01')")
    until(lambda: sales.sql("SELECT n FROM releases").first()["n"] == 3, "what goes on without rated")
    assert sales.sql("SELECT n FROM holds").first()["n"] == 2
    assert "rated is broken" in explained(sales, "holds") and "headwater.upstream = hold" in explained(sales, "holds")
    sales.sql("CREATE TABLE rates USING parquet AS SELECT DATE '2024-01-01' AS day, 3 AS rate")
    drain(sales)
    for view in ("holds", "releases"):
        assert_equals_query(sales, view, both)


@pytest.mark.long
def test_a_budget_makes_the_changes_of_a_table_that_often_changes_wait(tmp_path) -> None:
    home = Home(tmp_path)
    with home.session() as session:
        session.run("CREATE TABLE sales (amount INT) USING parquet")
        session.run("CREATE MATERIALIZED VIEW total AS SELECT sum(amount) AS total FROM sales")
        for _ in range(2):
            session.run("INSERT INTO sales VALUES (1)")
            session.run("REFRESH MATERIALIZED VIEWS")
    with home.session({"spark.headwater.budget": "60"}) as session:
        session.run("INSERT INTO sales VALUES (1)")
        said = "\n".join(line for [line] in session.run("EXPLAIN REFRESH total"))
        assert "core-seconds; the budget is 60 a day" in said
        time.sleep(4)  # without the budget it would have run by now
        assert session.one("SELECT total FROM total") == "2"
        session.run("REFRESH MATERIALIZED VIEWS")  # somebody who waits is served at once
        assert session.one("SELECT total FROM total") == "3"
