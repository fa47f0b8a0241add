"""Refreshes by keys: only the rows that changes of the sources reach are computed anew."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlparse

import pytest
from processes import until
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, database

from headwater.model.error import ChangesUnknown
from headwater.model.event import Event, Published, Reworked, Started
from headwater.model.work import ByKeys, Mode
from headwater.spark.refreshing.changed_rows import LENIENT, refuse_lenient

MANY = (
    "SELECT /*+ REPARTITION(20) */ id, CAST(id % 1000 AS INT) AS customer, CAST(id AS DECIMAL(12, 2)) AS price "
    "FROM range(100000)"
)

ASKED = "TBLPROPERTIES ('headwater.method' = 'keys, full')"


def runs(events: Iterable[Event], view: str) -> list[tuple[Mode, str]]:
    """The method of each run of a view, and why it computed whole partitions instead."""
    events = [each for each in events if getattr(each, "view", "") == view]
    begun = {each.version: each for each in events if isinstance(each, Started)}
    instead = {each.version: str(each.why) for each in events if isinstance(each, Reworked)}
    return [
        (begun[each.version].work.mode, instead.get(each.version, "")) for each in events if isinstance(each, Published)
    ]


@pytest.mark.long
def test_a_changed_row_is_followed_by_its_key(spark: SparkSession, journal: Journal) -> None:
    table, view = f"{database(spark)}.sales", f"{database(spark)}.per_customer"
    spark.sql(f"CREATE TABLE {table} USING delta AS {MANY}")
    query = f"SELECT customer, count(*) AS n, sum(price) AS price FROM {table} GROUP BY customer"
    spark.sql(f"CREATE MATERIALIZED VIEW {view} USING delta {ASKED} AS {query}")
    for statement in (
        f"INSERT INTO {table} VALUES (-1, 7, 5.00), (-2, NULL, 1.00)",
        f"INSERT INTO {table} VALUES (-3, 5000, 5.00)",
        f"UPDATE {table} SET customer = customer + 1 WHERE id = 4711",
        f"DELETE FROM {table} WHERE customer IS NULL",
    ):
        spark.sql(statement)
        spark.sql("REFRESH MATERIALIZED VIEWS")
        assert_equals_query(spark, view, query)
    assert runs(journal.events(), view)[1:] == [(Mode.KEYS, "")] * 4


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["keys", "incremental"])
def test_values_within_values_that_are_never_null(spark: SparkSession, journal: Journal, method: str) -> None:
    """Tables do not keep that they are never NULL."""
    spark.sql("CREATE TABLE t (k INT, x INT) USING delta")
    spark.sql("INSERT INTO t VALUES (1, 1), (2, NULL)")
    query = "SELECT k, named_struct('a', array(x), 'b', map(1, named_struct('c', 2))) AS s FROM t WHERE k > 0"
    asked = f"TBLPROPERTIES ('headwater.method' = '{method}, full')"
    spark.sql(f"CREATE MATERIALIZED VIEW v USING delta {asked} AS {query}")
    for statement in ("INSERT INTO t VALUES (3, 3)", "UPDATE t SET x = 5 WHERE k = 2", "DELETE FROM t WHERE k = 1"):
        spark.sql(statement)
        spark.sql("REFRESH MATERIALIZED VIEWS")
        assert spark.sql("VERIFY MATERIALIZED VIEW v").first().result == "equal"
    expected = {"keys": Mode.KEYS, "incremental": Mode.CHANGES}[method]
    assert runs(journal.events(), f"{database(spark)}.v")[1:] == [(expected, "")] * 3


@pytest.mark.parametrize(
    "columns", ["sum(x) AS s", "d, x, sum(x) OVER (PARTITION BY t.p, t.k ORDER BY d) AS s"], ids=["sums", "window"]
)
def test_partitions_that_reflect_several_states_get_the_changes_of_each(
    spark: SparkSession, journal: Journal, columns: str
) -> None:
    """The partition ``b`` waits for another view, and ``a`` goes on without it. Then a run computes both."""
    keyed = "USING delta PARTITIONED BY (p)"
    spark.sql(f"CREATE TABLE w (p STRING, k INT, n INT) {keyed}")
    spark.sql(f"CREATE TABLE t (p STRING, k INT, d INT, x INT) {keyed}")
    spark.sql("INSERT INTO w VALUES ('a', 1, 1), ('a', 9, 1), ('b', 1, 1)")
    spark.sql("INSERT INTO t VALUES ('a', 1, 1, 1), ('b', 1, 1, 1)")
    hour = "TBLPROPERTIES ('headwater.freshness' = '1 hour')"
    spark.sql(f"CREATE MATERIALIZED VIEW u {keyed} {hour} AS SELECT p, k, max(n) AS n FROM w GROUP BY p, k")
    query = f"SELECT t.p, t.k, {columns} FROM t JOIN u ON t.p = u.p AND t.k = u.k"
    query += "" if "OVER" in columns else " GROUP BY t.p, t.k"
    asked = "'headwater.method' = 'keys', 'headwater.consistency' = 'eventual'"
    spark.sql(f"CREATE MATERIALIZED VIEW v {keyed} TBLPROPERTIES ({asked}) AS {query}")
    spark.sql("INSERT INTO w VALUES ('b', 3, 2)")
    spark.sql("INSERT INTO t VALUES ('b', 1, 2, 10)")
    spark.sql("INSERT INTO t VALUES ('a', 9, 1, 1)")
    until(lambda: not spark.table("v").where("k = 9").isEmpty(), "refresh of one partition", 60)
    spark.sql("INSERT INTO w VALUES ('a', 3, 2)")
    spark.sql("INSERT INTO t VALUES ('a', 9, 3, 5)")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    assert_equals_query(spark, "v", query)
    view, events = f"{database(spark)}.v", journal.events()
    [*_, begun] = [each for each in events if isinstance(each, Started) and each.view == view]
    assert isinstance(begun.work, ByKeys) and len(begun.needs) == 2
    assert len([source for source, _ in begun.work.since if source.endswith(".t")]) == 2, "two states"
    assert runs(events, view)[-1] == (Mode.KEYS, "")


@pytest.mark.thorough
def test_a_subquery_that_names_columns_around_it_is_followed_by_keys(spark: SparkSession, journal: Journal) -> None:
    """Spark cannot infer conditions through the union of its rows with those that stay."""
    spark.sql("CREATE TABLE customers USING delta AS SELECT id AS customer, 'north' AS region FROM range(9)")
    spark.sql("CREATE TABLE sales USING delta AS SELECT id, id % 5 AS customer, id AS price FROM range(40)")
    query = "SELECT c.customer, (SELECT max(s.price) FROM sales s WHERE s.customer = c.customer) AS p FROM customers c"
    spark.sql(f"CREATE MATERIALIZED VIEW nested USING delta TBLPROPERTIES ('headwater.method' = 'keys') AS {query}")
    for statement in ("INSERT INTO sales VALUES (90, 7, 90), (91, NULL, 91)", "DELETE FROM sales WHERE customer = 3"):
        spark.sql(statement)
        spark.sql("REFRESH MATERIALIZED VIEWS")
        assert_equals_query(spark, "nested", query)
    assert runs(journal.events(), f"{database(spark)}.nested")[1:] == [(Mode.KEYS, "")] * 2


@pytest.mark.thorough
@pytest.mark.parametrize("name", LENIENT)
def test_a_session_that_leaves_out_rows_of_missing_files_is_refused(spark: SparkSession, name: str) -> None:
    """An application may be configured so. The rows of a file that was cleaned up would be left out, and their keys."""
    refuse_lenient(spark)
    spark.conf.set(name, "true")
    with pytest.raises(ChangesUnknown, match=name):
        refuse_lenient(spark)


@pytest.mark.thorough
def test_rows_that_were_cleaned_up_are_computed_as_whole_partitions(spark: SparkSession, journal: Journal) -> None:
    view = f"{database(spark)}.sums"
    whole = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')"
    spark.sql(f"CREATE TABLE t USING delta {whole} AS SELECT 1 AS k, 1 AS x")
    query = "SELECT k, sum(x) AS s FROM t GROUP BY k"
    spark.sql(f"CREATE MATERIALIZED VIEW sums USING delta {ASKED} AS {query}")
    [file] = spark.table("t").inputFiles()
    spark.sql("ALTER MATERIALIZED VIEW sums SUSPEND")
    spark.sql("UPDATE t SET k = 2")
    Path(urlparse(file).path).unlink()
    spark.sql("ALTER MATERIALIZED VIEW sums RESUME")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    assert_equals_query(spark, view, query)
    [(mode, instead)] = runs(journal.events(), view)[1:]
    assert mode is Mode.KEYS and instead


def just_after_a_check(spark: SparkSession, other: SparkSession) -> None:
    """Returns when all tables were looked at, which is a minute before the next time. ``other`` tells nobody what it
    writes."""
    place = database(spark)
    spark.sql("CREATE TABLE untold USING delta AS SELECT 1 AS x")
    spark.sql("CREATE MATERIALIZED VIEW checked USING delta AS SELECT count(*) AS n FROM untold")
    other.sql(f"INSERT INTO {place}.untold VALUES (2)")
    until(lambda: spark.table(f"{place}.checked").first()["n"] == 2, "check", 120)


@pytest.mark.long
def test_rows_that_another_program_wrote_into_a_view_do_not_stay(spark: SparkSession, journal: Journal) -> None:
    """The publication of another partition has them in its snapshot, before anybody looked at them."""
    columns, view = "USING delta PARTITIONED BY (p)", f"{database(spark)}.sums"
    spark.sql(f"CREATE TABLE t {columns} AS SELECT k, p, 1 AS x FROM VALUES (1, 'a'), (1, 'b') AS v(k, p)")
    query = "SELECT k, sum(x) AS s, p FROM t GROUP BY k, p"
    spark.sql(f"CREATE MATERIALIZED VIEW sums {columns} {ASKED} AS {query}")
    other = spark.newSession()
    other.conf.set("spark.headwater.internal", "true")
    just_after_a_check(spark, other)
    other.sql(f"INSERT INTO {view} VALUES (77, 77, 'b')")
    events: list[Event] = []

    def seen() -> list[tuple[Mode, str]]:
        events.extend(journal.events())
        return runs(events, view)

    for count, partition in enumerate("ab", 2):
        spark.sql(f"INSERT INTO t VALUES (2, '{partition}', 5)")
        until(lambda count=count: len(seen()) == count, "refresh")  # a statement would look at the view
    [first, second] = seen()[1:]
    spark.sql("REFRESH MATERIALIZED VIEWS")
    assert_equals_query(spark, view, query)
    assert first == (Mode.KEYS, "") and second[0] is Mode.KEYS and "past Headwater" in second[1]
