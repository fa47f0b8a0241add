"""Every statement of the outer surface, in a PySpark session."""

from __future__ import annotations

import datetime
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import until
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, database, drain, drain_in_vain

from headwater.engine.tell.refreshes import REFRESHES
from headwater.model.event import Changed, Dropped, Published, Started
from headwater.spark.jvm.jar import build_jar

QUERY = "SELECT month, sum(amount) AS total FROM sales GROUP BY month"
YEARS = "SELECT left(month, 4) AS year, sum(total) AS total FROM monthly GROUP BY 1"


@pytest.fixture(scope="module")
def shop(application: SparkSession) -> Iterator[SparkSession]:
    """``sales``, ``monthly`` over it and ``yearly`` over that, for tests that only look."""
    session = application.newSession()
    name = f"shop{uuid.uuid4().hex[:6]}"
    session.sql(f"CREATE DATABASE {name}")
    session.sql(f"USE {name}")
    make_sales(session)
    session.sql(f"CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {QUERY}")
    session.sql(f"CREATE MATERIALIZED VIEW yearly AS {YEARS}")
    yield session
    session.sql(f"DROP DATABASE {name} CASCADE")


@pytest.fixture
def sales(spark: SparkSession) -> SparkSession:
    make_sales(spark)
    return spark


def make_sales(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE sales (id INT, amount INT, month STRING) USING parquet PARTITIONED BY (month)")
    spark.sql("INSERT INTO sales VALUES (1, 10, '2024-01'), (2, 20, '2024-02'), (3, 30, '2024-02')")


def said(spark: SparkSession, statement: str) -> str:
    [[result]] = spark.sql(statement).collect()
    return result


def refused(spark: SparkSession, statement: str) -> str:
    with pytest.raises(PySparkException) as error:
        spark.sql(statement).collect()
    return str(error.value)


def shown(spark: SparkSession, view: str):
    [row] = spark.sql(f"SHOW MATERIALIZED VIEWS IN {database(spark)} LIKE '{view}'").collect()
    return row


def published(journal: Journal) -> list[str]:
    return [event.view.split(".")[1] for event in journal.events() if isinstance(event, Published)]


def details(spark: SparkSession, view: str) -> dict[str, str]:
    """What Spark's own DESCRIBE says of a view's table."""
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {view}").collect()
    return {row["col_name"]: row["data_type"] for row in rows}


def rows(found) -> frozenset:
    """Rows of which each is there once, whatever the order of columns."""
    return frozenset(frozenset(row.asDict().items()) for row in found)


class Watch(threading.Thread):
    """Reads a view over and over in a session of its own, and gathers the distinct answers."""

    def __init__(self, spark: SparkSession, view: str) -> None:
        super().__init__(daemon=True)
        self._session, self._name = spark.newSession(), f"{database(spark)}.{view}"
        self._stopped = threading.Event()
        self._seen: set = set()

    def run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._seen.add(rows(self._session.table(self._name).collect()))
            except PySparkException as error:
                self._seen.add(error.getCondition() or str(error))
            time.sleep(0.05)

    def stop(self) -> set:
        self._stopped.set()
        self.join()
        return self._seen


def comments(spark: SparkSession, view: str) -> dict[str, str | None]:
    return {row["col_name"]: row["comment"] for row in spark.sql(f"DESCRIBE TABLE {view}").collect()}


# --- CREATE


def test_create_with_every_clause(sales: SparkSession) -> None:
    """Types, comments, format and properties are those of the statement, also after refreshes."""
    sales.sql("""
        CREATE MATERIALIZED VIEW IF NOT EXISTS full_dress (
            total DECIMAL(20, 2) COMMENT 'it''s the sum', m STRING COMMENT 'the month')
        USING orc PARTITIONED BY (m) COMMENT 'what was "sold"'
        TBLPROPERTIES ('headwater.freshness' = '10 minutes', team = 'finance')
        AS SELECT sum(amount), month FROM sales GROUP BY month""")

    def check() -> None:
        found = details(sales, "full_dress")
        assert (found["Provider"], found["Comment"]) == ("orc", 'what was "sold"')
        assert found["Owner"] == details(sales, "sales")["Owner"]
        assert "team=finance" in found["Table Properties"]
        assert "headwater.freshness=10 minutes" in found["Table Properties"]
        kept = comments(sales, "full_dress")
        assert (kept["total"], kept["m"]) == ("it's the sum", "the month")
        assert sales.table("full_dress").schema.simpleString() == "struct<total:decimal(20,2),m:string>"

    check()
    sales.sql("INSERT INTO sales VALUES (9, 5, '2024-01'), (9, 5, '2024-09')")
    drain(sales)
    sales.sql("REFRESH MATERIALIZED VIEW full_dress FULL")
    check()
    assert {tuple(map(str, row)) for row in sales.table("full_dress").collect()} == {
        ("15.00", "2024-01"),
        ("50.00", "2024-02"),
        ("5.00", "2024-09"),
    }
    again = said(sales, "CREATE MATERIALIZED VIEW IF NOT EXISTS full_dress AS SELECT 1 AS one")
    assert "full_dress exists already; nothing was done" in again
    assert "exists already" in refused(sales, "CREATE MATERIALIZED VIEW full_dress AS SELECT 1 AS one")


def test_comments_of_the_source_are_kept(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE named (id INT COMMENT 'who', n INT) USING parquet COMMENT 'a table'")
    spark.sql("CREATE MATERIALIZED VIEW copied AS SELECT id, n + 1 AS n FROM named")
    assert comments(spark, "copied") == {"id": "who", "n": None}


@pytest.mark.thorough
def test_created_empty_without_rows(spark: SparkSession) -> None:
    """A view over an empty table is an empty table with the right columns, partitioned or not."""
    spark.sql("CREATE TABLE sales (id INT, amount INT, month STRING) USING parquet PARTITIONED BY (month)")
    spark.sql(f"CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {QUERY}")
    spark.sql("CREATE MATERIALIZED VIEW flat AS SELECT id FROM sales")
    assert spark.table("monthly").collect() == spark.table("flat").collect() == []
    assert spark.table("monthly").columns == ["total", "month"]


def test_fill_later(sales: SparkSession) -> None:
    made = said(sales, f"CREATE MATERIALIZED VIEW later TBLPROPERTIES ('headwater.fill' = 'later') AS {QUERY}")
    assert "filled in the background" in made
    drain(sales)
    assert_equals_query(sales, "later", QUERY)


def test_replace_unchanged_does_nothing(sales: SparkSession, journal: Journal) -> None:
    create = "CREATE OR REPLACE MATERIALIZED VIEW monthly PARTITIONED BY (month) {} AS {}"
    assert "created: 2 partitions, 2 rows" in said(sales, create.format("", QUERY))
    journal.mark()
    for query in (QUERY, QUERY.replace("SELECT", "select\n  ").replace("AS total", "as total -- the sum\n")):
        assert "has this definition already; nothing was done" in said(sales, create.format("", query))
    sales.conf.set("spark.headwater.wait", "true")
    assert "has this definition already; nothing was done" in said(sales, create.format("", QUERY))
    assert journal.events() == []


def test_replace_of_words_only_rebuilds_nothing(sales: SparkSession, journal: Journal) -> None:
    """Another comment, other properties: the data is the same."""
    create = "CREATE OR REPLACE MATERIALIZED VIEW monthly {} {} TBLPROPERTIES ({}) AS {}"
    sales.sql(create.format("", "COMMENT 'one'", "a = '1', b = '1'", QUERY))
    journal.mark()
    told = said(sales, create.format("(month STRING COMMENT 'm', total BIGINT)", "COMMENT 'two'", "b = '2'", QUERY))
    assert "keeps its data" in told
    assert published(journal) == []
    found = details(sales, "monthly")
    assert found["Comment"] == "two"
    assert "b=2" in found["Table Properties"]
    assert "a=1" not in found["Table Properties"]
    assert comments(sales, "monthly") == {"month": "m", "total": None}
    drain(sales)
    assert_equals_query(sales, "monthly", QUERY)


def test_replace_with_another_query_reaches_downstream(sales: SparkSession, journal: Journal) -> None:
    sales.sql(f"CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {QUERY}")
    sales.sql(f"CREATE MATERIALIZED VIEW yearly AS {YEARS}")
    journal.mark()
    doubled = QUERY.replace("sum(amount)", "2 * sum(amount)")
    told = said(sales, f"CREATE OR REPLACE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {doubled}")
    assert "replaced: 2 partitions, 2 rows" in told
    drain(sales)
    assert published(journal) == ["monthly", "yearly"]
    assert_equals_query(sales, "monthly", doubled)
    assert_equals_query(sales, "yearly", YEARS)
    reason = sales.sql("SHOW REFRESHES FOR yearly LIMIT 1").first()["reason"]
    assert reason == f"{database(sales)}.monthly was redefined"


@pytest.mark.thorough
def test_replace_with_other_columns_and_partitions(sales: SparkSession) -> None:
    """The view takes another shape; who read it before reads the new one in the same session.

    Readers meanwhile see the old rows or the new ones, or for a moment no table, but no mixture.
    """
    sales.sql(f"CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {QUERY}")
    sales.sql("CREATE MATERIALIZED VIEW everything AS SELECT * FROM monthly")
    before = sales.table("monthly").collect()
    watch = Watch(sales, "monthly")
    watch.start()
    wide = "SELECT month, sum(amount) AS total, count(*) AS n FROM sales GROUP BY month"
    for partitioning in ("PARTITIONED BY (month)", "USING json PARTITIONED BY (n)", ""):
        sales.sql(f"CREATE OR REPLACE MATERIALIZED VIEW monthly {partitioning} COMMENT 'wide' AS {wide}")
        assert_equals_query(sales, "monthly", wide)
        assert {row["n"] for row in sales.table("monthly").collect()} == {1, 2}
        assert details(sales, "monthly")["Comment"] == "wide"
    allowed = {rows(before), rows(sales.sql(wide).collect()), "TABLE_OR_VIEW_NOT_FOUND"}
    assert watch.stop() <= allowed
    drain(sales)
    assert_equals_query(sales, "everything", "SELECT * FROM monthly")
    sales.sql(f"CREATE OR REPLACE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {QUERY}")
    assert sorted(sales.table("monthly").collect()) == sorted(before)


def test_readers_see_the_old_view_until_the_new_one_is_published(sales: SparkSession) -> None:
    """A redefinition that cannot be computed leaves what was there."""
    sales.sql(f"CREATE MATERIALIZED VIEW monthly AS {QUERY}")
    before = sorted(sales.table("monthly").collect())
    broken = "SELECT month, CAST(raise_error('no ' || month) AS INT) AS n, 1 AS more FROM sales"
    assert "no 2024" in refused(sales, f"CREATE OR REPLACE MATERIALIZED VIEW monthly AS {broken}")
    assert sorted(sales.table("monthly").collect()) == before
    assert sorted(sales.newSession().table(f"{database(sales)}.monthly").collect()) == before
    row = shown(sales, "monthly")
    assert row["state"] == "failing"
    assert "no 2024" in row["reason"]
    sales.sql(f"CREATE OR REPLACE MATERIALIZED VIEW monthly AS {QUERY}")
    assert shown(sales, "monthly")["state"] == "fresh"


# --- names


@pytest.mark.thorough
def test_spellings_of_a_name(sales: SparkSession) -> None:
    """Backticks, case, database and catalog are spelled as anywhere in Spark."""
    here = database(sales)
    sales.sql(f"CREATE MATERIALIZED VIEW `Mixed` AS {QUERY}")
    sales.sql("CREATE MATERIALIZED VIEW reader AS SELECT count(*) AS n FROM MIXED")
    sales.sql("INSERT INTO sales VALUES (4, 40, '2024-03')")
    drain(sales)
    assert sales.table("reader").first()["n"] == 3
    elsewhere = sales.newSession()
    for name in ("`mixed`", "Mixed", f"{here}.MIXED", f"`{here}`.`mixed`", f"spark_catalog.{here}.mixed"):
        session = elsewhere if here in name else sales
        assert session.sql(f"REFRESH MATERIALIZED VIEW {name} FULL").count() == 1
        assert "fresh" in session.sql(f"EXPLAIN REFRESH {name}").first()[0]
    assert "exists already" in refused(sales, f"CREATE MATERIALIZED VIEW mixed AS {QUERY}")
    assert "dropped" in said(sales, "DROP MATERIALIZED VIEW Reader")
    assert "dropped" in said(elsewhere, f"DROP MATERIALIZED VIEW spark_catalog.{here}.`MIXED`")


@pytest.mark.thorough
def test_names_that_need_backticks(sales: SparkSession) -> None:
    for name in ("`order`", "`1st`"):
        sales.sql(
            f"CREATE MATERIALIZED VIEW {name} PARTITIONED BY (`the month`) AS "
            "SELECT sum(amount) AS `total (EUR)`, month AS `the month` FROM sales GROUP BY month"
        )
        [row] = sales.sql(f"REFRESH MATERIALIZED VIEW {name} PARTITION (`the month` = '2024-02') FULL").collect()
        assert row["partition"] == "the month=2024-02"
        assert sales.table(name).count() == 2
        sales.sql(f"DROP MATERIALIZED VIEW {name}")
    message = refused(sales, f"CREATE MATERIALIZED VIEW `my view` AS {QUERY}")
    assert "my view" in message
    assert "failed at this statement" not in message


def test_view_in_another_database(sales: SparkSession) -> None:
    other = f"other{uuid.uuid4().hex[:6]}"
    sales.sql(f"CREATE DATABASE {other}")
    try:
        sales.sql(f"CREATE MATERIALIZED VIEW {other}.monthly AS {QUERY}")
        assert_equals_query(sales, f"{other}.monthly", QUERY)
        assert sales.sql(f"SHOW MATERIALIZED VIEWS IN {other}").count() == 1
        assert "no materialized view" in refused(sales, "DESCRIBE MATERIALIZED VIEW monthly")
    finally:
        sales.sql(f"DROP DATABASE {other} CASCADE")
    drain(sales)
    assert sales.sql(f"SHOW MATERIALIZED VIEWS IN {other}").count() == 0


# --- REFRESH


def test_refresh_returns_a_row_for_each_partition(sales: SparkSession) -> None:
    sales.sql(f"CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {QUERY}")
    here = database(sales)
    assert sales.sql("REFRESH MATERIALIZED VIEW monthly").collect() == []
    sales.sql("INSERT INTO sales VALUES (4, 40, '2024-02'), (5, 50, '2024-03')")
    answer = sales.sql("REFRESH MATERIALIZED VIEW monthly")
    assert answer.columns == [*REFRESHES]
    rows = answer.collect()
    assert [row["partition"] for row in rows] == ["month=2024-02", "month=2024-03"]
    for row in rows:
        assert (row["view"], row["mode"], row["status"], row["rows"]) == (
            f"{here}.monthly",
            "partition",
            "published",
            1,
        )
        assert row["reason"].startswith(f"{here}.sales[")
        assert row["error"] is None
        assert row["seconds"] > 0
        assert isinstance(row["started_at"], datetime.datetime)
    assert len({row["run_id"] for row in rows}) == 1
    [one] = sales.sql("REFRESH MATERIALIZED VIEW monthly PARTITION (MONTH = '2024-01') FULL").collect()
    assert (one["partition"], one["mode"]) == ("month=2024-01", "partition")
    everything = sales.sql("REFRESH MATERIALIZED VIEW monthly FULL").collect()
    assert {row["partition"] for row in everything} == {"month=2024-01", "month=2024-02", "month=2024-03"}
    assert {row["mode"] for row in everything} == {"full"}
    assert {row["reason"] for row in everything} == {
        f"{here}.monthly was to be refreshed, by REFRESH MATERIALIZED VIEW"
    }


def test_refresh_of_an_unpartitioned_view_and_what_it_reads(sales: SparkSession) -> None:
    sales.sql(f"CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {QUERY}")
    sales.sql(f"CREATE MATERIALIZED VIEW yearly AS {YEARS}")
    sales.sql("INSERT INTO sales VALUES (4, 40, '2025-02')")
    [row] = sales.sql("REFRESH MATERIALIZED VIEW yearly").collect()
    assert (row["partition"], row["rows"]) == ("()", 2)
    assert_equals_query(sales, "monthly", QUERY)
    assert_equals_query(sales, "yearly", YEARS)


@pytest.mark.thorough
def test_typed_partition_values(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE days (flag BOOLEAN, d DATE, n INT) USING parquet PARTITIONED BY (d, n)")
    spark.sql("INSERT INTO days VALUES (true, DATE '2024-01-05', 7), (true, DATE '2024-01-06', -1), (false, NULL, 8)")
    spark.sql("CREATE MATERIALIZED VIEW copy PARTITIONED BY (d, n) AS SELECT flag, d, n FROM days")
    for written, read in (
        ("d = DATE '2024-01-05', n = 7", "d=2024-01-05, n=7"),
        ("d = '2024-1-5', n = '07'", "d=2024-01-05, n=7"),
        ("d = '2024-01-06', n = -1", "d=2024-01-06, n=-1"),
        ("n = 8, d = NULL", "d=NULL, n=8"),
        ("n = 7", "d=2024-01-05, n=7"),
    ):
        [row] = spark.sql(f"REFRESH MATERIALIZED VIEW copy PARTITION ({written}) FULL").collect()
        assert row["partition"] == read
    assert_equals_query(spark, "copy", "SELECT * FROM days")


def test_drain_returns_everything_refreshed(sales: SparkSession) -> None:
    sales.sql(f"CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {QUERY}")
    sales.sql(f"CREATE MATERIALIZED VIEW yearly AS {YEARS}")
    sales.sql("INSERT INTO sales VALUES (4, 40, '2024-02')")
    answer = sales.sql("REFRESH MATERIALIZED VIEWS")
    assert answer.columns == [*REFRESHES]
    here = database(sales)
    mine = [(row["view"], row["partition"]) for row in answer.collect() if row["view"].startswith(here)]
    assert mine == [(f"{here}.monthly", "month=2024-02"), (f"{here}.yearly", "()")]


# --- SHOW, DESCRIBE, EXPLAIN


def test_show_views(shop: SparkSession) -> None:
    here = database(shop)
    answer = shop.sql(f"SHOW MATERIALIZED VIEWS IN {here}")
    counts = ["partitions", "behind", "staleness", "bound", "attainable"]
    assert answer.columns == ["database", "view", "state", *counts, "fresh_to", "refreshed_at", "reason", "codes"]
    rows = answer.collect()
    assert [(row["database"], row["view"], row["partitions"]) for row in rows] == [
        (here, "monthly", 2),
        (here, "yearly", 1),
    ]
    assert {(row["state"], row["behind"], row["reason"]) for row in rows} == {("fresh", 0, "")}
    for pattern, views in {"month*": ["monthly"], "MONTH*|y*": ["monthly", "yearly"], "x*": []}.items():
        found = shop.sql(f"SHOW MATERIALIZED VIEWS FROM `{here}` LIKE '{pattern}'").collect()
        assert [row["view"] for row in found] == views
    assert {row["view"] for row in shop.sql("SHOW MATERIALIZED VIEWS").collect()} >= {"monthly", "yearly"}


def test_describe(shop: SparkSession) -> None:
    here = database(shop)
    short = {row["name"]: row["value"] for row in shop.sql("DESCRIBE MATERIALIZED VIEW monthly").collect()}
    assert (short["month"], short["total"], short["query"]) == ("STRING", "BIGINT", QUERY)
    assert "# reads" not in short
    rows = shop.sql("DESC MATERIALIZED VIEW EXTENDED yearly").collect()
    assert rows[0].asDict().keys() == {"name", "value", "note"}
    values = [(row["name"], row["value"]) for row in rows]
    assert (f"{here}.monthly", "as a whole: the view has one partition [view.unpartitioned]") in values
    told = shop.sql("DESCRIBE MATERIALIZED VIEW EXTENDED monthly").collect()
    titles = [n for n, row in enumerate(told) if row["name"].startswith("# ")]
    sections = {
        told[start]["name"]: {row["name"]: row for row in told[start:end]}
        for start, end in zip(titles, [*titles[1:], len(told)], strict=True)
    }
    assert sections["# reads"][f"{here}.sales"]["value"] == "by month = month"
    assert re.match(r"\d+", sections["# cut"][f"{here}.sales"]["value"])
    extended = {row["name"]: row for row in told}
    assert extended["partitions"]["value"] == "2"
    assert extended[f"with {here}.sales"]["value"] == "yes"
    for partition in ("month=2024-01", "month=2024-02"):
        assert extended[partition]["value"].isdigit()
        assert re.fullmatch(rf"{here}\.sales \d+", extended[partition]["note"])


def test_what_is_pending_is_shown(sales: SparkSession) -> None:
    here = database(sales)
    sales.sql(f"CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {QUERY}")
    assert said(sales, "ALTER MATERIALIZED VIEW monthly SUSPEND").startswith(f"{here}.monthly is suspended")
    sales.sql("INSERT INTO sales PARTITION (month = '2024-02') VALUES (4, 40)")
    lines = [row["plan"] for row in sales.sql("EXPLAIN REFRESH monthly").collect()]
    assert lines[0].startswith(f"{here}.monthly: 1 of 2 partitions behind, refresh by partition")
    assert lines[1].startswith(f"  month=2024-02: {here}.sales[month=2024-02] changed (INSERT INTO)")
    assert "RESUME" in lines[2]
    assert lines[3] == f"  depends on {here}.sales by month = month"
    assert re.fullmatch(r"  method: by partition, 1 of 2 partitions, about .* s( \(.* core-seconds\))?", lines[4])
    assert re.fullmatch(r"    in full would take about .* s( \(.* core-seconds\))?", lines[5])
    assert [line.split(" is out: ")[0] for line in lines[6:]] == ["    by keys", "    by changes"]
    rows = sales.sql("DESCRIBE MATERIALIZED VIEW EXTENDED monthly").collect()
    assert any(row["name"] == "month=2024-02" and "INSERT INTO" in row["value"] for row in rows)
    row = shown(sales, "monthly")
    assert (row["state"], row["behind"]) == ("suspended", 1)
    assert "is suspended" in refused(sales, "REFRESH MATERIALIZED VIEW monthly")
    drain(sales)
    assert shown(sales, "monthly")["state"] == "suspended"
    sales.sql("ALTER MATERIALIZED VIEW monthly RESUME")
    drain(sales)
    assert shown(sales, "monthly")["state"] == "fresh"
    assert_equals_query(sales, "monthly", QUERY)
    lines = [row["plan"] for row in sales.sql("EXPLAIN REFRESH MATERIALIZED VIEW monthly").collect()]
    assert lines[0] == f"{here}.monthly: nothing to do, 2 of 2 partitions are fresh"


def test_show_refreshes(shop: SparkSession) -> None:
    here = database(shop)
    answer = shop.sql("SHOW REFRESHES FOR yearly LIMIT 1")
    assert answer.columns == [*REFRESHES]
    [row] = answer.collect()
    assert (row["view"], row["partition"], row["mode"], row["status"]) == (f"{here}.yearly", "()", "full", "published")
    assert row["reason"] == f"{here}.yearly was created"
    assert shop.sql("SHOW REFRESHES LIMIT 3").count() == 3
    assert {row["view"] for row in shop.sql("SHOW REFRESHES FOR monthly").collect()} == {f"{here}.monthly"}


def test_a_time_is_shown_whatever_the_session_calls_a_timestamp(shop: SparkSession) -> None:
    [expected] = shop.sql("SHOW REFRESHES LIMIT 1").collect()
    shop.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    try:
        assert shop.sql("SHOW REFRESHES LIMIT 1").collect() == [expected] and expected["started_at"]
    finally:
        shop.conf.unset("spark.sql.timestampType")


@pytest.mark.parametrize("mode", ["", "EXTENDED", "FORMATTED", "COST", "CODEGEN"])
def test_what_is_explained_is_not_created(shop: SparkSession, mode: str) -> None:
    """Spark analyses a statement that it explains, and Headwater answers a statement while Spark analyses it."""
    lines = shop.sql(f"EXPLAIN {mode} CREATE MATERIALIZED VIEW explained AS SELECT count(*) AS n FROM sales").collect()
    assert f"{database(shop)}.sales" in "".join(line[0] for line in lines)
    assert not shop.catalog.tableExists("explained")
    assert shop.sql("SHOW MATERIALIZED VIEWS LIKE 'explained'").collect() == []


def test_reasons_are_sentences(sales: SparkSession) -> None:
    """Each kind of change is told as what happened to which partitions of which table."""
    here = database(sales)
    sales.sql(f"CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {QUERY}")
    for statement, sentence in (
        (
            "INSERT INTO sales PARTITION (month = '2024-01') VALUES (4, 40)",
            "sales[month=2024-01] changed (INSERT INTO)",
        ),
        ("INSERT INTO sales VALUES (4, 40, '2024-05')", "sales[month=2024-05] appeared (INSERT INTO)"),
        ("ALTER TABLE sales DROP PARTITION (month = '2024-05')", "sales[month=2024-05] disappeared (DROP PARTITION)"),
    ):
        sales.sql(statement)
        drain(sales)
        reason = sales.sql("SHOW REFRESHES FOR monthly LIMIT 1").first()["reason"]
        # A check that comes before the hint does not know the command.
        assert reason in (f"{here}.{sentence}", f"{here}.{sentence.split(' (')[0]}")
    gone = sales.sql("SHOW REFRESHES FOR monthly LIMIT 1").first()
    assert (gone["partition"], gone["rows"], gone["status"]) == ("month=2024-05", 0, "published")


# --- ALTER and DROP


def test_set_properties(sales: SparkSession, journal: Journal) -> None:
    sales.sql(f"CREATE MATERIALIZED VIEW monthly TBLPROPERTIES (team = 'a') AS {QUERY}")
    journal.mark()
    sales.sql("ALTER MATERIALIZED VIEW monthly SET TBLPROPERTIES ('headwater.freshness' = '5 minutes', team = 'b')")
    assert "team=b" in details(sales, "monthly")["Table Properties"]
    told = {row["name"]: row["value"] for row in sales.sql("DESCRIBE MATERIALIZED VIEW EXTENDED monthly").collect()}
    assert (told["team"], told["headwater.freshness"]) == ("b", "5 minutes")
    assert published(journal) == []
    assert "did you mean 'headwater.freshness'?" in refused(
        sales, "ALTER MATERIALIZED VIEW monthly SET TBLPROPERTIES ('headwater.freshnes' = '5 minutes')"
    )


def test_unset_properties(sales: SparkSession, journal: Journal) -> None:
    properties = "TBLPROPERTIES (team = 'a', 'headwater.freshness' = '5 minutes', 'headwater.settle' = '0 seconds')"
    sales.sql(f"CREATE MATERIALIZED VIEW monthly {properties} AS {QUERY}")
    journal.mark()
    unset = "ALTER MATERIALIZED VIEW monthly UNSET TBLPROPERTIES {}"
    assert "headwater.freshness = 5 minutes is unset" in said(sales, unset.format("(team, 'headwater.freshness')"))
    assert "has no property team; it has headwater.settle" in refused(sales, unset.format("(team)"))
    assert "nothing was done" in said(sales, unset.format("IF EXISTS (team)"))
    assert not {"team=a", "headwater.freshness"} & set(
        details(sales, "monthly")["Table Properties"].strip("[]").split(",")
    )
    told = {row["name"]: row["value"] for row in sales.sql("DESCRIBE MATERIALIZED VIEW EXTENDED monthly").collect()}
    assert ("headwater.freshness" in told, told["headwater.settle"]) == (False, "0 seconds")
    assert published(journal) == []
    told_of = said(sales, f"CREATE OR REPLACE MATERIALIZED VIEW monthly AS {QUERY}")
    assert "keeps its data" in told_of
    assert "; dropped headwater.settle = 0 seconds, which the statement does not state" in told_of


@pytest.mark.thorough
def test_rename(sales: SparkSession, journal: Journal) -> None:
    here = database(sales)
    sales.sql(f"CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {QUERY}")
    journal.mark()
    assert said(sales, "ALTER MATERIALIZED VIEW monthly RENAME TO By_Month") == f"{here}.monthly is now {here}.by_month"
    assert "no materialized view" in refused(sales, "REFRESH MATERIALIZED VIEW monthly")
    sales.sql("INSERT INTO sales VALUES (4, 40, '2024-02')")
    drain(sales)
    assert_equals_query(sales, "by_month", QUERY)
    assert published(journal) == ["by_month"]
    # The old name is free, and the two do not share a directory.
    sales.sql(f"CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {QUERY}")
    sales.sql("DROP MATERIALIZED VIEW monthly")
    assert_equals_query(sales, "by_month", QUERY)
    sales.sql("CREATE MATERIALIZED VIEW reader AS SELECT count(*) AS n FROM by_month")
    assert f"is read by {here}.reader" in refused(sales, "ALTER MATERIALIZED VIEW by_month RENAME TO other")
    assert "sales exists already" in refused(sales, "ALTER MATERIALIZED VIEW reader RENAME TO sales")
    kept = "is kept for a table that is to replace"
    assert kept in refused(sales, "ALTER MATERIALIZED VIEW reader RENAME TO sales__headwater")
    message = refused(sales, "ALTER MATERIALIZED VIEW reader RENAME TO default.reader")
    assert "failed at this statement" not in message
    assert sales.table("reader").first()["n"] == 2


@pytest.mark.parametrize("format", ["parquet", "delta"])
def test_a_view_takes_the_name_of_a_table_that_others_read(sales: SparkSession, format: str) -> None:
    """Nobody looks between the statements."""
    sales.sql(f"CREATE TABLE totals USING {format} AS SELECT 1L AS id, 1L AS amount")
    sales.sql("CREATE MATERIALIZED VIEW reader AS SELECT sum(amount) AS total FROM totals")
    sales.sql(
        f"CREATE MATERIALIZED VIEW made USING {format} AS SELECT CAST(id AS BIGINT), CAST(amount AS BIGINT) FROM sales"
    )
    drain(sales)
    sales.sql("DROP TABLE totals")
    sales.sql("ALTER MATERIALIZED VIEW made RENAME TO totals")
    drain(sales)
    assert_equals_query(sales, "reader", "SELECT sum(amount) AS total FROM sales")
    sales.sql("INSERT INTO sales VALUES (4, 40, '2024-02')")
    drain(sales)
    assert_equals_query(sales, "reader", "SELECT sum(amount) AS total FROM sales")


@pytest.mark.thorough
def test_a_table_that_has_the_name_of_a_replacement_stays(sales: SparkSession) -> None:
    """Headwater makes a table of this name for a view that gets other columns."""
    sales.sql("CREATE TABLE monthly__headwater USING parquet AS SELECT 7 AS mine")
    sales.sql(f"CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {QUERY}")
    for format in ("parquet", "delta"):
        again = f"CREATE OR REPLACE MATERIALIZED VIEW monthly USING {format} AS SELECT count(*) AS n FROM sales"
        assert "monthly__headwater is another table" in refused(sales, again)
        assert sales.table("monthly__headwater").first()[0] == 7


def test_explain_create_refuses_what_create_refuses(sales: SparkSession) -> None:
    sales.sql("CREATE TABLE taken (a INT) USING parquet")
    create = "CREATE MATERIALIZED VIEW {} AS SELECT id FROM sales"
    for statement, why in (
        (create.format("taken"), "exists and is not a materialized view"),
        ("CREATE MATERIALIZED VIEW lines USING csv AS SELECT id FROM sales", "is an empty line"),
    ):
        assert why in refused(sales, f"EXPLAIN {statement}") and why in refused(sales, statement)
    [told, *_] = sales.sql(f"EXPLAIN {create.format('free')}").collect()
    assert "can be created" in told[0]
    assert not sales.catalog.tableExists("free")


def test_a_property_that_changes_rows_is_refused(sales: SparkSession) -> None:
    create = "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('{}' = '1') AS SELECT id FROM sales"
    for name in ("current-snapshot-id", "Cherry-Pick-Snapshot-Id"):
        assert f"'{name}' changes the rows of a table" in refused(sales, create.format(name))


def test_drop(sales: SparkSession, warehouse: Path) -> None:
    here = database(sales)
    sales.sql(f"CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {QUERY}")
    sales.sql(f"CREATE MATERIALIZED VIEW yearly AS {YEARS}")
    sales.sql("INSERT INTO sales VALUES (4, 40, '2024-02')")
    drain(sales)
    for drop in ("DROP MATERIALIZED VIEW monthly", "DROP TABLE monthly", "DROP TABLE IF EXISTS monthly PURGE"):
        assert refused(sales, drop) == f"{here}.monthly is read by {here}.yearly; drop it first", "no plan follows"
    assert said(sales, "DROP MATERIALIZED VIEW yearly") == f"{here}.yearly dropped"
    assert said(sales, "DROP MATERIALIZED VIEW IF EXISTS monthly") == f"{here}.monthly dropped"
    assert not sales.catalog.tableExists("monthly")
    assert sorted(each.name for each in (warehouse / f"{here}.db").iterdir()) == ["sales"]
    assert "nothing was done" in said(sales, "DROP MATERIALIZED VIEW IF EXISTS monthly")
    assert "there is no materialized view monthly" in refused(sales, "DROP MATERIALIZED VIEW monthly")
    sales.sql(f"CREATE MATERIALIZED VIEW monthly AS {QUERY}")
    assert_equals_query(sales, "monthly", QUERY)


@pytest.mark.parametrize("using", ["parquet", "delta", "iceberg"])
def test_drop_table_ends_the_run_of_a_view_for_good(sales: SparkSession, journal: Journal, using: str) -> None:
    """Its first run would take minutes."""
    view = f"{database(sales)}.v"
    query = "SELECT max(hash(s.id, r.id)) AS h FROM sales s CROSS JOIN range(9000000000) r"
    if using == "iceberg":
        view = f"lake.{view}"
        sales.sql(f"CREATE NAMESPACE lake.{database(sales)}")
    sales.sql(f"CREATE MATERIALIZED VIEW {view} USING {using} TBLPROPERTIES ('headwater.fill' = 'later') AS {query}")
    until(
        lambda: any(isinstance(each, Started) and each.view == view for each in journal.events()),
        "start of its refresh",
    )
    sales.sql(f"DROP TABLE {view}")
    drain(sales)
    assert sales.sql(f"SHOW MATERIALIZED VIEWS IN {view.removesuffix('.v')}").collect() == []
    assert any(isinstance(each, Dropped) and each.view == view for each in journal.events())
    assert not sales.newSession().catalog.tableExists(view)


def test_drop_table_and_drop_database_clean_up(spark: SparkSession, warehouse: Path) -> None:
    """Spark's own statements over a view do what ``DROP MATERIALIZED VIEW`` does."""
    here, name = database(spark), f"gone{uuid.uuid4().hex[:6]}"
    spark.sql(f"CREATE DATABASE {name}")
    spark.sql(f"USE {name}")
    make_sales(spark)
    for view in ("monthly", "second"):
        spark.sql(f"CREATE MATERIALIZED VIEW {view} PARTITIONED BY (month) AS {QUERY}")
    spark.sql(f"CREATE MATERIALIZED VIEW {here}.outside AS SELECT * FROM {name}.monthly")
    spark.sql("DROP TABLE second")
    drain(spark)
    assert [row["view"] for row in spark.sql(f"SHOW MATERIALIZED VIEWS IN {name}").collect()] == ["monthly"]
    assert not (warehouse / f"{name}.db" / "second").exists()
    spark.sql(f"USE {here}")
    spark.sql(f"DROP DATABASE {name} CASCADE")
    assert "outside is broken" in drain_in_vain(spark)
    assert spark.sql(f"SHOW MATERIALIZED VIEWS IN {name}").collect() == []
    assert not (warehouse / f"{name}.db").exists()
    row = shown(spark, "outside")
    assert row["state"] == "broken"
    assert f"{name}" in row["reason"]
    assert spark.table("outside").count() == 2


# --- what else concerns a view


@pytest.mark.thorough
def test_statistics_follow_refreshes(sales: SparkSession) -> None:
    sales.sql(f"CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {QUERY}")
    sales.sql("CREATE MATERIALIZED VIEW flat USING json AS SELECT * FROM sales")

    def rows(view: str) -> int:
        return int(re.search(r"(\d+) rows", details(sales, view)["Statistics"])[1])

    assert (rows("monthly"), rows("flat")) == (2, 3)
    sales.sql("INSERT INTO sales VALUES (4, 40, '2024-02'), (5, 50, '2024-03')")
    drain(sales)
    assert (rows("monthly"), rows("flat")) == (3, 5)
    sales.sql("ALTER TABLE sales DROP PARTITION (month = '2024-02')")
    drain(sales)
    assert (rows("monthly"), rows("flat")) == (2, 2)
    sales.sql("REFRESH MATERIALIZED VIEW monthly FULL")
    assert rows("monthly") == 2
    size = int(re.search(r"(\d+) bytes", details(sales, "monthly")["Statistics"])[1])
    files = sales.table("monthly").inputFiles()
    assert size == sum(os.path.getsize(each.removeprefix("file://")) for each in files)


def test_a_publication_changes_nothing_else_in_the_metastore(sales: SparkSession) -> None:
    """What Hive's metastore holds of a table, Spark's own properties with its schema included."""
    how = "USING orc COMMENT 'all' TBLPROPERTIES ('owner team' = 'a')"
    sales.sql(f"CREATE MATERIALIZED VIEW flat {how} AS SELECT * FROM sales")

    def held() -> dict[str, str]:
        catalog = sales._jsparkSession.sharedState().externalCatalog().unwrapped()
        table = catalog.client().getTable(sales.catalog.currentDatabase(), "flat")
        found = {"schema": table.schema().json(), "kind": table.tableType().name(), "comment": str(table.comment())}
        for named in (table.properties(), table.storage().properties()):
            pairs = named.iterator()
            while pairs.hasNext():
                pair = pairs.next()
                found[pair._1()] = pair._2()
        return found | {"location": table.storage().locationUri().get().toString()}

    before = held()
    sales.sql("INSERT INTO sales VALUES (4, 40, '2024-02')")
    drain(sales)
    after = held()
    assert before.keys() == after.keys()
    assert {name for name in before if before[name] != after[name]} - {"transient_lastDdlTime"} == {
        *("location", "path", "headwater.version", "spark.sql.statistics.totalSize", "spark.sql.statistics.numRows")
    }
    assert after["path"] == after["location"]
    assert after["spark.sql.statistics.numRows"] == "4"


DIRECT = {
    "insert": "INSERT INTO monthly VALUES (1, '2024-01')",
    "overwrite": "INSERT OVERWRITE monthly PARTITION (month = '2024-01') VALUES (1)",
    "truncate": "TRUNCATE TABLE monthly",
    "add partition": "ALTER TABLE monthly ADD PARTITION (month = '2030-01')",
    "drop partition": "ALTER TABLE monthly DROP PARTITION (month = '2024-01')",
    "rename partition": "ALTER TABLE monthly PARTITION (month = '2024-01') RENAME TO PARTITION (month = '2030-01')",
    "set location": "ALTER TABLE monthly SET LOCATION '/tmp/nowhere'",
    "rename": "ALTER TABLE monthly RENAME TO others",
    "add columns": "ALTER TABLE monthly ADD COLUMNS (more INT)",
    "change column": "ALTER TABLE monthly ALTER COLUMN total COMMENT 'mine'",
    "repair": "MSCK REPAIR TABLE monthly",
    "unset marker": "ALTER TABLE monthly UNSET TBLPROPERTIES ('headwater.view')",
    "set properties": "ALTER TABLE monthly SET TBLPROPERTIES ('headwater.freshness' = '1 hour')",
}


def test_direct_writes_are_refused(shop: SparkSession) -> None:
    """Each names the view and what to do instead, and changes nothing."""
    before = sorted(shop.table("monthly").collect())
    rows = shop.sql("SELECT CAST(1 AS BIGINT) AS total, '2024-01' AS month")
    attempts = {name: lambda text=text: shop.sql(text) for name, text in DIRECT.items()} | {
        "insertInto": lambda: rows.write.insertInto("monthly"),
        "append": lambda: rows.write.mode("append").partitionBy("month").saveAsTable("monthly"),
        "saveAsTable": lambda: rows.write.mode("overwrite").saveAsTable("monthly"),
        "stream": lambda: (
            shop.readStream.table("sales")
            .selectExpr("CAST(1 AS BIGINT) AS total", "month")
            .writeStream.option("checkpointLocation", f"/tmp/headwater-{uuid.uuid4().hex}")
            .toTable("monthly")
        ),
    }
    allowed = []
    for name, attempt in attempts.items():
        try:
            attempt()
            allowed.append(name)
        except PySparkException as error:
            if "monthly is a materialized view" not in str(error) or "CREATE OR REPLACE" not in str(error):
                allowed.append(f"{name}: {error}")
    assert allowed == []
    assert sorted(shop.newSession().table(f"{database(shop)}.monthly").collect()) == before
    assert shown(shop, "monthly")["state"] == "fresh"


@pytest.mark.thorough
@pytest.mark.parametrize("partitioning", ["", "PARTITIONED BY (month)"])
def test_files_written_past_headwater_are_repaired(
    sales: SparkSession, journal: Journal, tmp_path: Path, partitioning: str
) -> None:
    sales.sql(f"CREATE MATERIALIZED VIEW monthly {partitioning} AS {QUERY}")
    sales.sql(f"CREATE MATERIALIZED VIEW yearly AS {YEARS}")
    place = os.path.dirname(sales.table("monthly").where("month = '2024-02'").inputFiles()[0])
    kept = sales.table("monthly").drop(*(["month"] if partitioning else []))
    rows = kept.limit(1).toPandas()
    journal.mark()
    sales.createDataFrame(rows, kept.schema).coalesce(1).write.parquet(str(tmp_path / "forged"))
    [forged] = (tmp_path / "forged").glob("part-*.parquet")
    shutil.copy(forged, place.removeprefix("file:"))  # a session with Headwater refuses to write there
    drain(sales)
    [drift] = [event for event in journal.events() if isinstance(event, Changed) and event.table.endswith("monthly")]
    assert "written past Headwater" in drift.verb
    assert [str(each.slice) for each in drift.partitions] == ["month=2024-02" if partitioning else "()"]
    assert_equals_query(sales, "monthly", QUERY)
    assert_equals_query(sales, "yearly", YEARS)
    assert "written past Headwater" in sales.sql("SHOW REFRESHES FOR monthly LIMIT 1").first()["reason"]


# --- statements with parameters, scripts, pipelines


def test_parameters(sales: SparkSession) -> None:
    """Stock statements, ``CREATE`` and Headwater's own take named and positional arguments."""
    assert sales.sql("SELECT :n + 1 AS n", args={"n": 1}).first()["n"] == 2
    assert sales.sql("SELECT count(*) AS n FROM sales WHERE month = ?", args=["2024-02"]).first()["n"] == 2
    sales.sql(
        "CREATE OR REPLACE MATERIALIZED VIEW IDENTIFIER(:name) PARTITIONED BY (month) AS "
        "SELECT month, count(*) AS n FROM sales WHERE amount >= :least AND month <> '?' GROUP BY month",
        args={"name": "big", "least": 20},
    )
    assert [tuple(row) for row in sales.table("big").collect()] == [(2, "2024-02")]
    sales.sql("INSERT INTO sales VALUES (?, ?, ?)", args=[6, 60, "2024-01"])
    [row] = sales.sql("REFRESH MATERIALIZED VIEW big PARTITION (month = :m) FULL", args={"m": "2024-01"}).collect()
    assert row["partition"] == "month=2024-01"
    assert sales.sql("SHOW REFRESHES FOR big LIMIT ?", args=[1]).count() == 1
    assert sales.sql("SHOW MATERIALIZED VIEWS LIKE :p", args={"p": "nothing like it"}).count() == 0
    assert_equals_query(sales, "big", "SELECT month, count(*) AS n FROM sales WHERE amount >= 20 GROUP BY month")


def test_scripts(sales: SparkSession) -> None:
    """SQL scripting goes on as without Headwater; a script may declare and refresh views."""
    [row] = sales.sql("""
        BEGIN
          DECLARE n INT DEFAULT 0;
          WHILE n < 2 DO
            SET n = n + 1;
            INSERT INTO sales VALUES (n, n, '2024-07');
          END WHILE;
          CREATE MATERIALIZED VIEW scripted AS SELECT month, sum(amount) AS total FROM sales GROUP BY month;
          EXECUTE IMMEDIATE 'REFRESH MATERIALIZED VIEWS';
          SELECT total FROM scripted WHERE month = '2024-07';
        END""").collect()
    assert row["total"] == 3


def test_wait_returns_when_views_are_fresh(sales: SparkSession) -> None:
    sales.sql(f"CREATE MATERIALIZED VIEW monthly AS {QUERY}")
    sales.conf.set("spark.headwater.wait", "true")
    sales.sql("INSERT INTO sales VALUES (4, 40, '2024-02')")
    assert_equals_query(sales, "monthly", QUERY)


@pytest.mark.thorough
def test_wait_for_each_write_of_a_multi_insert(sales: SparkSession) -> None:
    sales.sql("CREATE TABLE returns (id INT, amount INT, month STRING) USING parquet")
    sales.sql(f"CREATE MATERIALIZED VIEW monthly AS {QUERY}")
    sales.sql("CREATE MATERIALIZED VIEW returned AS SELECT sum(amount) AS total FROM returns")
    sales.conf.set("spark.headwater.wait", "true")
    rows = "FROM (SELECT 4 AS id, 40 AS amount, '2024-02' AS month) "
    first, last = "INSERT INTO sales SELECT * ", "INSERT INTO returns SELECT * "
    for statement in (rows + first + last, rows + last + first):
        sales.sql(statement)
        assert_equals_query(sales, "monthly", QUERY)
        assert_equals_query(sales, "returned", "SELECT sum(amount) AS total FROM returns")


@pytest.mark.long
def test_declarative_pipelines_project(tmp_path: Path) -> None:
    """A project of Spark's Declarative Pipelines runs as it does without the extension."""
    (tmp_path / "transformations").mkdir()
    (tmp_path / "spark-pipeline.yml").write_text(
        f"name: shop\nstorage: file://{tmp_path}/storage\nlibraries:\n  - glob:\n      include: transformations/**\n"
    )
    (tmp_path / "transformations" / "views.sql").write_text(
        "CREATE MATERIALIZED VIEW numbers AS SELECT id, id % 3 AS rest FROM range(10);\n"
        "CREATE MATERIALIZED VIEW rests AS SELECT rest, count(*) AS n FROM numbers GROUP BY rest;\n"
        # The engine starts when an application pauses for three seconds.
        "CREATE MATERIALIZED VIEW paused AS SELECT reflect('java.lang.Thread', 'sleep', 9000L) AS x FROM range(1);\n"
    )
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\ntouch {tmp_path}/engine-was-started\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    settings = {
        "spark.jars": build_jar(),
        "spark.sql.extensions": "io.headwater.spark.HeadwaterExtensions",
        "spark.headwater.python": python,
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": tmp_path / "warehouse",
    }
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("".join(f"{k} {v}\n" for k, v in settings.items()))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "SPARK_CONF_DIR": str(tmp_path / "conf")}
    command = ["spark-pipelines", "run"]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    assert "Run is COMPLETED" in run.stdout + run.stderr
    assert (tmp_path / "warehouse" / "rests" / "_SUCCESS").exists()
    # A project may end before its engine has opened the store, so the test asks for the start alone.
    assert (tmp_path / "engine-was-started").exists()
