"""Which partitions of a view follow a change, end to end: what is refreshed, what is read for it, what is said."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, database, drain

QUERIES = {
    "daily": ("day", "SELECT day, sum(amount) AS total FROM sales GROUP BY day"),
    "by_month": ("month", "SELECT trunc(day, 'MM') AS month, sum(amount) AS total FROM sales GROUP BY 1"),
    "by_quarter": (
        "quarter",
        "SELECT CAST(date_trunc('QUARTER', month) AS DATE) AS quarter, sum(total) AS total FROM by_month GROUP BY 1",
    ),
    "paired": (
        "day",
        "SELECT s.day, count(*) AS n FROM sales s JOIN visits v ON s.day = v.on_day AND s.shop = v.shop GROUP BY s.day",
    ),
    "either": (
        "day",
        "SELECT day, 'sale' AS what FROM sales UNION ALL SELECT on_day, 'visit' FROM visits WHERE shop > 0",
    ),
    "named": ("day", "SELECT s.day, n.name, s.amount FROM sales s JOIN names n ON s.shop = n.shop"),
    "running": ("day", "SELECT day, sum(sum(amount)) OVER (ORDER BY day) AS so_far FROM sales GROUP BY day"),
    "stated": ("day", "SELECT day, sum(sum(amount)) OVER (ORDER BY day) AS so_far FROM sales GROUP BY day"),
}


@pytest.fixture(scope="module")
def shop(application: SparkSession) -> Iterator[SparkSession]:
    """Sales and visits by day, names of shops, and a view for each way to depend on them."""
    session = application.newSession()
    name = f"maps{uuid.uuid4().hex[:6]}"
    session.sql(f"CREATE DATABASE {name}")
    session.sql(f"USE {name}")
    session.sql("CREATE TABLE sales (shop INT, amount INT, day DATE) USING parquet PARTITIONED BY (day)")
    session.sql("CREATE TABLE visits (shop INT, on_day DATE) USING parquet PARTITIONED BY (on_day)")
    session.sql("CREATE TABLE names AS SELECT 1 AS shop, 'first' AS name")
    days = "VALUES DATE '2024-01-01', DATE '2024-01-02', DATE '2024-02-01', DATE '2024-04-01'"
    session.sql(f"INSERT INTO sales SELECT 1, 10, col1 FROM {days}")
    session.sql(f"INSERT INTO visits SELECT 1, col1 FROM {days}")
    for view, (column, query) in QUERIES.items():
        extra = "TBLPROPERTIES ('headwater.dependency.sales' = 'day = day')" if view == "stated" else ""
        session.sql(f"CREATE MATERIALIZED VIEW {view} PARTITIONED BY ({column}) {extra} AS {query}")
    yield session
    session.sql(f"DROP DATABASE {name} CASCADE")


def follow(spark: SparkSession, warehouse: Path, write: str) -> dict[str, set[str]]:
    """The partitions of each view that are refreshed after a write."""
    journal = Journal(warehouse, database(spark))
    spark.sql(write)
    drain(spark)
    _, published = journal.changed_and_refreshed("")
    found: dict[str, set[str]] = {}
    for view, partition in published:
        found.setdefault(view, set()).add(partition)
    return found


ALL_DAYS = {"day=2024-01-01", "day=2024-01-02", "day=2024-02-01", "day=2024-04-01"}


@pytest.mark.thorough
def test_what_follows_a_change(shop: SparkSession, warehouse: Path) -> None:
    """Identity, truncation, a view by another unit, equality in a join, the branches of a union."""
    followed = follow(shop, warehouse, "INSERT INTO sales VALUES (1, 5, DATE '2024-01-02')")
    one_day = {"day=2024-01-02"}
    assert followed == {
        "daily": one_day,
        "by_month": {"month=2024-01-01"},
        "by_quarter": {"quarter=2024-01-01"},
        "paired": one_day,
        "either": one_day,
        "named": one_day,
        "running": ALL_DAYS,
        "stated": one_day,
    }
    for view, (_, query) in QUERIES.items():
        if view != "stated":  # its map says less than its query needs, as the user asked
            assert_equals_query(shop, view, query)
    followed = follow(shop, warehouse, "INSERT OVERWRITE visits PARTITION (on_day = DATE '2024-02-01') VALUES (1), (1)")
    assert followed == {"paired": {"day=2024-02-01"}, "either": {"day=2024-02-01"}}
    followed = follow(shop, warehouse, "INSERT OVERWRITE names VALUES (1, 'renamed')")
    assert followed == {"named": ALL_DAYS}
    for view in ("paired", "either", "named"):
        assert_equals_query(shop, view, QUERIES[view][1])


@pytest.mark.thorough
def test_a_declared_type_names_the_partitions(spark: SparkSession, warehouse: Path) -> None:
    """The query says TIMESTAMP and the view DATE: the view and a view over it follow, and an emptied month goes."""
    spark.sql("CREATE TABLE sales (amount DECIMAL(10,2), day DATE) USING parquet PARTITIONED BY (day)")
    spark.sql("INSERT INTO sales VALUES (1, DATE '2024-01-05'), (2, DATE '2024-02-05')")
    monthly = "SELECT sum(amount), date_trunc('MONTH', day) FROM sales GROUP BY 2"
    spark.sql(f"CREATE MATERIALIZED VIEW s (rev DECIMAL(20,2), month DATE) PARTITIONED BY (month) AS {monthly}")
    yearly = "SELECT year(month) AS year, sum(rev) AS rev FROM s GROUP BY 1"
    spark.sql(f"CREATE MATERIALIZED VIEW t (year STRING, rev DECIMAL(30,2)) PARTITIONED BY (year) AS {yearly}")
    followed = follow(spark, warehouse, "INSERT INTO sales VALUES (4, DATE '2024-02-06')")
    assert followed == {"s": {"month=2024-02-01"}, "t": {"year=2024"}}
    assert [tuple(map(str, row)) for row in spark.sql("TABLE t").collect()] == [("7.00", "2024")]
    followed = follow(spark, warehouse, "ALTER TABLE sales DROP PARTITION (day = DATE '2024-01-05')")
    assert followed == {"s": {"month=2024-01-01"}, "t": {"year=2024"}}
    assert [str(row.month) for row in spark.sql("TABLE s").collect()] == ["2024-02-01"]
    assert [tuple(map(str, row)) for row in spark.sql("TABLE t").collect()] == [("6.00", "2024")]


def test_explain_says_why_the_whole_view(shop: SparkSession) -> None:
    told = {view: [row["plan"] for row in shop.sql(f"EXPLAIN REFRESH {view}").collect()] for view in QUERIES}
    here = database(shop)
    depends = {view: [line.strip() for line in lines if line.startswith("  depends")] for view, lines in told.items()}
    assert depends["daily"] == [f"depends on {here}.sales by day = day"]
    assert depends["by_month"][0].startswith(f"depends on {here}.sales by month = ")
    assert "trunc" in depends["by_month"][0].lower()
    assert depends["by_quarter"][0].startswith(f"depends on {here}.by_month by quarter = ")
    assert set(depends["paired"]) == {
        f"depends on {here}.sales by day = day",
        f"depends on {here}.visits by day = on_day",
    }
    assert set(depends["either"]) == set(depends["paired"])
    assert f"depends on {here}.names as a whole: names is not partitioned [source.unpartitioned]" in depends["named"]
    [running] = depends["running"]
    assert running.startswith(f"depends on {here}.sales as a whole: `day` ")
    assert depends["stated"] == [f"depends on {here}.sales by day = day (stated)"]


@pytest.mark.thorough
def test_a_map_stated_later(spark: SparkSession, warehouse: Path) -> None:
    """``SET TBLPROPERTIES`` may state a map; from then on only what it says is refreshed."""
    spark.sql("CREATE TABLE sales (amount INT, day DATE) USING parquet PARTITIONED BY (day)")
    spark.sql("INSERT INTO sales VALUES (1, DATE '2024-01-01'), (1, DATE '2024-01-02')")
    query = "SELECT max(day) + 1 AS next, sum(amount) AS total FROM sales GROUP BY weekday(day)"
    spark.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (next) AS {query}")
    assert follow(spark, warehouse, "INSERT INTO sales VALUES (5, DATE '2024-01-02')")["v"] == {
        "next=2024-01-02",
        "next=2024-01-03",
    }
    spark.sql("ALTER MATERIALIZED VIEW v SET TBLPROPERTIES ('headwater.dependency.sales' = 'next = date_add(day, 1)')")
    drain(spark)
    followed = follow(spark, warehouse, "INSERT INTO sales VALUES (7, DATE '2024-01-02')")
    assert followed == {"v": {"next=2024-01-03"}}
    assert_equals_query(spark, "v", query)
    spark.sql("ALTER MATERIALIZED VIEW v SET TBLPROPERTIES ('headwater.dependency.sales' = 'all')")
    drain(spark)
    [_, depends] = [row["plan"] for row in spark.sql("EXPLAIN REFRESH v").collect()]
    assert (
        depends
        == f"  depends on {database(spark)}.sales as a whole: the property says all (stated) [view.dependency_all]"
    )


@pytest.mark.thorough
def test_a_window_stated(spark: SparkSession, warehouse: Path) -> None:
    """A moving sum over two days: nothing can be derived, the property says which days a day reaches."""
    spark.sql("CREATE TABLE sales (amount INT, day DATE) USING parquet PARTITIONED BY (day)")
    spark.sql("INSERT INTO sales SELECT 1, DATE '2024-02-27' + CAST(id AS INT) FROM range(5)")
    query = (
        "SELECT s.day, sum(p.amount) AS total FROM (SELECT DISTINCT day FROM sales) s "
        "JOIN sales p ON p.day BETWEEN s.day - 1 AND s.day GROUP BY s.day"
    )
    spark.sql(
        "CREATE MATERIALIZED VIEW moving PARTITIONED BY (day) "
        f"TBLPROPERTIES ('headwater.dependency.sales' = 'DAY - 1 .. DAY') AS {query}"
    )
    followed = follow(spark, warehouse, "INSERT INTO sales VALUES (5, DATE '2024-02-28')")
    assert followed == {"moving": {"day=2024-02-28", "day=2024-02-29"}}
    assert_equals_query(spark, "moving", query)
    [_, depends] = [row["plan"] for row in spark.sql("EXPLAIN REFRESH moving").collect()]
    assert depends == f"  depends on {database(spark)}.sales by day = DAY - 1 .. DAY OF day (stated)"


@pytest.mark.thorough
@pytest.mark.parametrize("rule", ["d = to_date(ts)", "DAY", "d = DAY.hours('Europe/Berlin') OF ts"])
def test_a_rule_over_moments_reads_them_as_the_view_does(spark: SparkSession, rule: str) -> None:
    """A Delta table names its partitions in UTC, where the evening of one day is the next day of Berlin."""
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    spark.sql("CREATE TABLE sales (x INT, ts TIMESTAMP) USING delta PARTITIONED BY (ts)")
    query = "SELECT sum(x) AS n, to_date(ts) AS d FROM sales GROUP BY to_date(ts)"
    stated = f"""TBLPROPERTIES ("headwater.dependency.sales" = "{rule}")"""
    spark.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (d) {stated} AS {query}")
    for moment, day in (("2024-05-01 22:30:00 UTC", "2024-05-02"), ("2024-05-01 21:30:00 UTC", "2024-05-01")):
        spark.sql(f"INSERT INTO sales VALUES (1, TIMESTAMP '{moment}')")
        [refreshed] = drain(spark)
        assert (refreshed["partition"], refreshed["status"]) == (f"d={day}", "published")
    assert sorted(spark.sql("SELECT n, d FROM v").collect()) == sorted(spark.sql(query).collect())  # in this zone


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("rule", "day"),
    [
        ("trunc(date, 'MM')", "2024-02-01"),
        ("date + INTERVAL 1 DAY", "2024-02-06"),
        ("timestampadd(DAY, 2, date)", "2024-02-07"),
        ("date_add(date, extract(DAY FROM `date`))", "2024-02-10"),
        ("CAST(replace(concat(date, ';'), ';', '') AS DATE)", "2024-02-05"),
        ("if(first = 'a', date, DATE '2024-03-01')", "2024-02-05"),
    ],
)
def test_a_rule_over_columns_that_are_called_like_keywords(
    spark: SparkSession, warehouse: Path, rule: str, day: str
) -> None:
    spark.sql("CREATE TABLE sales (x INT, date DATE, first STRING) USING parquet PARTITIONED BY (date, first)")
    query = f"SELECT CAST({rule} AS DATE) AS p, sum(sum(x)) OVER () AS n FROM sales GROUP BY 1"
    stated = f"""TBLPROPERTIES ("headwater.dependency.sales" = "p = {rule}")"""
    spark.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (p) {stated} AS {query}")
    assert follow(spark, warehouse, "INSERT INTO sales VALUES (1, DATE '2024-02-05', 'a')") == {"v": {f"p={day}"}}


@pytest.mark.thorough
def test_a_window_into_texts_of_months_reaches_all_of_them(spark: SparkSession, warehouse: Path) -> None:
    spark.sql("CREATE TABLE sales (x INT, day DATE) USING parquet PARTITIONED BY (day)")
    spark.sql("INSERT INTO sales VALUES (1, DATE '2024-01-05'), (2, DATE '2024-02-05')")
    query = "SELECT date_format(day, 'yyyyMM') AS month, sum(x) AS n FROM sales GROUP BY 1"
    stated = "TBLPROPERTIES ('headwater.dependency.sales' = 'MONTH.days()')"
    spark.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (month) {stated} AS {query}")
    followed = follow(spark, warehouse, "INSERT INTO sales VALUES (5, DATE '2024-02-06')")
    assert followed == {"v": {"month=202401", "month=202402"}}
    assert_equals_query(spark, "v", query)
    [_, depends] = [row["plan"] for row in spark.sql("EXPLAIN REFRESH v").collect()]
    assert depends.endswith("(stated) [view.dependency_spelling]")


# --- what a refresh reads


def scans(spark: SparkSession, view: str) -> dict[str, tuple[int, str]]:
    """For each table that the newest refresh of a view scanned: how many partitions, by which filters.

    Both are Spark's own account of what ran: a metric and the node of the physical plan.
    """
    spark._jsc.sc().listenerBus().waitUntilEmpty()
    store = spark._jsparkSession.sharedState().statusStore()
    named = f"refresh {database(spark)}.{view}:"
    newest = [each for each in listed(store.executionsList()) if (each.description() or "").startswith(named)][-1]
    values = store.executionMetrics(newest.executionId())
    found = {}
    for node in listed(store.planGraph(newest.executionId()).allNodes()):
        table = re.search(r"Scan parquet spark_catalog\.\w+\.(\w+)", node.name())
        numbers = [m.accumulatorId() for m in listed(node.metrics()) if m.name() == "number of partitions read"]
        if table and numbers:
            filters = re.search(r"PartitionFilters: \[(.*?)\], \w", node.desc())[1]
            found[table[1]] = (int(values.apply(numbers[0])), filters)
    return found


def listed(sequence) -> list:
    return [sequence.apply(at) for at in range(sequence.size())]


def test_a_refresh_reads_only_the_partitions_it_needs(shop: SparkSession) -> None:
    """The predicate on the view's partitions reaches the scan of each source, through joins and unions."""
    shop.sql("INSERT INTO sales VALUES (1, 1, DATE '2024-01-01')")
    drain(shop)
    read = {view: {table: count for table, (count, _) in scans(shop, view).items()} for view in QUERIES}
    assert read == {
        "daily": {"sales": 1},
        "by_month": {"sales": 2},
        "by_quarter": {"by_month": 2},
        "paired": {"sales": 1, "visits": 1},
        "either": {"sales": 1, "visits": 1},
        "named": {"sales": 1},
        "running": {"sales": 4},
        "stated": {"sales": 4},
    }
    assert "day" in scans(shop, "daily")["sales"][1]
    assert "2024-01-01" in scans(shop, "daily")["sales"][1]
    assert "2024-01-01" in scans(shop, "paired")["visits"][1]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("period(day)", "period, which may be redefined"),
        ("date_add(day, CAST(rand() * 3 AS INT))", "rand()"),
        ("least(day, current_date())", "current_date()"),
        ("(SELECT max(day) FROM sales)", "reads sales, whose rows may change"),
        ("trunk(day, 'MM')", "trunk"),
        ("trunc(day", "is no expression"),
    ],
)
def test_a_rule_has_one_value_for_good(spark: SparkSession, rule: str, why: str) -> None:
    """Headwater keeps each value that it computed."""
    spark.sql("CREATE FUNCTION period(d DATE) RETURNS DATE RETURN trunc(d, 'MM')")
    spark.sql("CREATE TABLE sales (x INT, day DATE) USING parquet PARTITIONED BY (day)")
    stated = f"""TBLPROPERTIES ('headwater.dependency.sales' = "p = {rule}")"""
    view = f"CREATE MATERIALIZED VIEW v PARTITIONED BY (p) {stated}"
    with pytest.raises(PySparkException, match=re.escape(why)):
        spark.sql(f"{view} AS SELECT sum(x) AS s, trunc(day, 'MM') AS p FROM sales GROUP BY 2").collect()
