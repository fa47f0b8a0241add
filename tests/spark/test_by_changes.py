"""Refreshes by changes: totals of changed rows are added to those of a view's aggregate."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, database
from test_by_keys import MANY, runs

from headwater.model.work import Mode

ASKED = "TBLPROPERTIES ('headwater.method' = 'incremental, full')"
BY_CHANGES = (Mode.CHANGES, "")


def followed(
    spark: SparkSession, journal: Journal, queries: dict[str, str], *statements: str
) -> dict[str, list[tuple[Mode, str]]]:
    """Makes views of queries, which equal these after each statement, and tells how each of their refreshes went."""
    for name, query in queries.items():
        spark.sql(f"CREATE MATERIALIZED VIEW {name} USING delta {ASKED} AS {query}")
    for statement in statements:
        spark.sql(statement)
        spark.sql("REFRESH MATERIALIZED VIEWS")
        for name, query in queries.items():
            assert_equals_query(spark, f"{database(spark)}.{name}", query)
    events = [*journal.events()]
    return {name: runs(events, f"{database(spark)}.{name}")[1:] for name in queries}


@pytest.mark.parametrize(
    "format", [pytest.param("delta", marks=pytest.mark.long), pytest.param("parquet", marks=pytest.mark.thorough)]
)
def test_a_changed_row_is_added_to_the_totals(spark: SparkSession, journal: Journal, format: str) -> None:
    table, view = f"{database(spark)}.sales", f"{database(spark)}.per_customer"
    spark.sql(f"CREATE TABLE {table} USING delta AS {MANY}")
    query = f"SELECT customer, count(*) AS n, sum(price) AS price, avg(price) AS mean FROM {table} GROUP BY customer"
    spark.sql(f"CREATE MATERIALIZED VIEW {view} USING {format} {ASKED} AS {query}")
    for statement in (
        f"INSERT INTO {table} VALUES (-1, 7, 5.00), (-2, NULL, 1.00)",
        f"INSERT INTO {table} VALUES (-3, 5000, 5.00)",
        f"UPDATE {table} SET customer = customer + 1 WHERE id = 4711",
        f"DELETE FROM {table} WHERE customer IS NULL",
        f"UPDATE {table} SET price = NULL WHERE customer = 8",
        f"UPDATE {table} SET price = 1 WHERE id = 8",
    ):
        spark.sql(statement)
        spark.sql("REFRESH MATERIALIZED VIEWS")
        assert_equals_query(spark, view, query)
    assert runs(journal.events(), view)[1:] == [BY_CHANGES] * 6
    described = [row.col_name for row in spark.sql(f"DESCRIBE TABLE {view}").collect()]
    assert spark.table(view).columns == described == ["customer", "n", "price", "mean"], "totals are in no column"


@pytest.mark.long
def test_the_totals_of_several_changed_sources_and_what_is_above_them(spark: SparkSession, journal: Journal) -> None:
    spark.sql("CREATE TABLE sales USING delta AS SELECT id, CAST(id % 9 AS INT) AS customer, id AS x FROM range(100)")
    spark.sql(
        "CREATE TABLE customers USING delta AS SELECT CAST(id AS INT) AS customer, id % 3 AS region FROM range(9)"
    )
    query = (
        "WITH t AS (SELECT region, sum(x) AS s, count(*) AS n FROM sales JOIN customers "
        "USING (customer) GROUP BY region HAVING sum(x) > (SELECT count(*) FROM customers)) "
        "SELECT region, s, rank() OVER (ORDER BY n) AS place FROM t"
    )
    view = f"{database(spark)}.regions"
    spark.sql(f"CREATE MATERIALIZED VIEW regions USING delta {ASKED} AS {query}")
    spark.sql("ALTER MATERIALIZED VIEW regions SUSPEND")
    spark.sql("INSERT INTO sales VALUES (1000, 3, 7), (1001, NULL, 1)")
    spark.sql("UPDATE customers SET region = region + 1 WHERE customer = 3")
    spark.sql("INSERT INTO customers VALUES (3, 8)")
    spark.sql("ALTER MATERIALIZED VIEW regions RESUME")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    assert_equals_query(spark, view, query)
    assert set(runs(journal.events(), view)[1:]) == {BY_CHANGES}


@pytest.mark.thorough
def test_a_table_that_is_joined_with_itself_is_followed(spark: SparkSession, journal: Journal) -> None:
    spark.sql("CREATE TABLE t USING delta AS SELECT id, CAST(id % 9 AS INT) AS k, id % 4 AS x FROM range(100)")
    pairs = "SELECT a.k, count(*) AS n, sum(b.x) AS s FROM t a JOIN t b ON a.k = b.k AND a.id < b.id GROUP BY a.k"
    united = "SELECT k, count(*) AS n FROM (SELECT k FROM t UNION ALL SELECT k + 1 FROM t WHERE x > 1) GROUP BY k"
    views = {"pairs": pairs, "united": united}
    found = followed(
        spark,
        journal,
        views,
        "INSERT INTO t VALUES (100, 3, 7), (101, 3, 1), (102, NULL, 2)",
        "UPDATE t SET k = 4 WHERE id IN (3, 100)",
        "DELETE FROM t WHERE x = 2 AND k < 5",
    )
    assert found == dict.fromkeys(views, [BY_CHANGES] * 3)


@pytest.mark.thorough
def test_the_least_value_of_a_group_that_went_is_looked_up_anew(spark: SparkSession, journal: Journal) -> None:
    """Of few groups by their keys, of more than a condition has, and of one group without a key in the whole table."""
    spark.sql("CREATE TABLE t USING delta AS SELECT id % 3000 AS k, id, CAST(id AS STRING) AS s FROM range(9000)")
    spark.sql("CREATE TABLE u USING delta AS SELECT id AS k, if(id < 9, NULL, id % 4) AS region FROM range(3000)")
    queries = {
        "ends": "SELECT k, min(id) AS least, max(id) AS greatest, count(*) AS n FROM t GROUP BY k",
        "regions": "SELECT region, max(s) AS s, min(id) AS least FROM t JOIN u USING (k) GROUP BY region",
        "of_all": "SELECT max(id) AS greatest, count(*) AS n FROM t",
    }
    found = followed(
        spark,
        journal,
        queries,
        "INSERT INTO t VALUES (0, -5, 'a')",
        "DELETE FROM t WHERE id = 4000",
        "DELETE FROM t WHERE id = -5 OR id = 8999",
        "UPDATE u SET region = 1 WHERE k = 0",
        "UPDATE t SET id = id + 1 WHERE id >= 6000",
        "DELETE FROM t WHERE k < 7",
    )
    assert set(found["ends"]) == set(found["regions"]) == {BY_CHANGES}
    lone = found["of_all"]
    assert lone[:2] == [BY_CHANGES] * 2 and "least or greatest" in lone[2][1], "it has no key"


@pytest.mark.thorough
def test_a_value_counts_until_its_last_row_goes(spark: SparkSession, journal: Journal) -> None:
    spark.sql("CREATE TABLE t USING delta AS SELECT id % 3 AS k, id % 5 AS x, id FROM range(30)")
    spark.sql("CREATE TABLE u USING delta AS SELECT id AS x FROM range(3)")
    queries = {
        "of_groups": "SELECT k, count(DISTINCT x) AS n, sum(DISTINCT x) AS s, sum(id) AS ids FROM t GROUP BY k",
        "of_all": "SELECT count(DISTINCT k, x) AS n, every(id > 0) AS e, bit_xor(id) AS b FROM t",
        "left_over": "SELECT x FROM t EXCEPT SELECT x FROM u",
        "of_each": "SELECT x FROM t UNION SELECT x FROM u UNION SELECT 77",
    }
    found = followed(
        spark,
        journal,
        queries,
        "DELETE FROM t WHERE k = 0 AND x = 0 AND id > 0",
        "DELETE FROM t WHERE k = 0 AND x = 0",
        "INSERT INTO t VALUES (1, 9, 99), (1, NULL, 98), (NULL, 0, 0)",
        "INSERT INTO u VALUES (9), (NULL)",
        "DELETE FROM u WHERE x = 1",
        "UPDATE t SET x = x + 1 WHERE k = 1",
        "DELETE FROM t WHERE k = 2",
        "DELETE FROM t",
    )
    assert all(set(each) == {BY_CHANGES} for each in found.values())


@pytest.mark.long
def test_a_changed_row_of_an_iceberg_table_is_followed(spark: SparkSession, journal: Journal) -> None:
    spark.sql(f"CREATE NAMESPACE lake.{database(spark)}")
    table = f"lake.{database(spark)}.t"
    spark.sql(f"CREATE TABLE {table} USING iceberg AS SELECT id % 3 AS k, id AS x FROM range(100)")
    query, views = f"SELECT k, sum(x) AS s, count(*) AS n FROM {table} GROUP BY k", ("incremental", "keys")
    for method in views:
        asked = f"TBLPROPERTIES ('headwater.method' = '{method}, full')"
        spark.sql(f"CREATE MATERIALIZED VIEW by_{method} USING delta {asked} AS {query}")
    for statement in ("INSERT INTO {t} VALUES (1, 5), (9, 1)", "DELETE FROM {t} WHERE x = 7", "DELETE FROM {t}"):
        spark.sql(statement.format(t=table))
        spark.sql("REFRESH MATERIALIZED VIEWS")
        for method in views:
            assert_equals_query(spark, f"{database(spark)}.by_{method}", query)
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    spark.sql(f"INSERT INTO {table} VALUES (1, 5), (1, 6), (2, 7)")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    spark.sql(f"DELETE FROM {table} WHERE x = 6")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    events = [*journal.events()]
    for method, mode in zip(views, (Mode.CHANGES, Mode.KEYS), strict=True):
        assert_equals_query(spark, f"{database(spark)}.by_{method}", query)
        assert set(runs(events, f"{database(spark)}.by_{method}")[1:]) == {(mode, "")}


@pytest.mark.long
def test_totals_that_were_lost_are_made_anew(spark: SparkSession, journal: Journal) -> None:
    spark.sql("CREATE TABLE t USING delta AS SELECT id % 2 AS k, id FROM range(100)")
    query, view = "SELECT k, sum(id) AS s FROM t GROUP BY k", f"{database(spark)}.sums"
    spark.sql(f"CREATE MATERIALIZED VIEW sums USING delta {ASKED} AS {query}")
    place = Path(spark.sql("DESCRIBE DETAIL sums").first().location.removeprefix("file:")) / ".totals"
    for n in range(2):
        if n:
            shutil.rmtree(place)
        else:
            [each.unlink() for each in place.rglob("*.parquet")]
        spark.sql("INSERT INTO t VALUES (5, 5)")
        spark.sql("REFRESH MATERIALIZED VIEWS")
        assert_equals_query(spark, view, query)
    spark.sql("INSERT INTO t VALUES (5, 5)")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    assert_equals_query(spark, view, query)
    *lost, last = runs(journal.events(), view)[1:]
    assert all(mode is Mode.CHANGES and instead for mode, instead in lost) and last == BY_CHANGES
    spark.sql("VACUUM sums")
    spark.sql("DROP MATERIALIZED VIEW sums")
    assert not place.exists()


@pytest.mark.thorough
def test_a_view_of_one_row_has_it_also_of_no_rows(spark: SparkSession, journal: Journal) -> None:
    spark.sql("CREATE TABLE t (x DECIMAL(5, 1), y INT) USING delta")
    query, view = "SELECT count(*) AS n, sum(x) AS s, avg(y) AS a, max(y) AS m FROM t", f"{database(spark)}.whole"
    spark.sql(f"CREATE MATERIALIZED VIEW whole USING parquet {ASKED} AS {query}")
    for statement in ("INSERT INTO t VALUES (1, 1), (2, NULL)", "INSERT INTO t VALUES (3, 3)", "DELETE FROM t"):
        spark.sql(statement)
        spark.sql("REFRESH MATERIALIZED VIEWS")
        assert_equals_query(spark, view, query)
    assert [mode for mode, _ in runs(journal.events(), view)[1:]] == [Mode.CHANGES] * 3


@pytest.mark.long
def test_a_person_asks_for_all_rows(spark: SparkSession, journal: Journal) -> None:
    """That makes the totals anew, too."""
    spark.sql("CREATE TABLE t USING delta AS SELECT 1 AS k, 1 AS x")
    query, view = "SELECT k, sum(x) AS s FROM t GROUP BY k", f"{database(spark)}.sums"
    spark.sql(f"CREATE MATERIALIZED VIEW sums USING delta {ASKED} AS {query}")
    spark.sql("REFRESH MATERIALIZED VIEW sums FULL")
    spark.sql("INSERT INTO t VALUES (1, 1)")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    assert_equals_query(spark, view, query)
    assert [mode for mode, _ in runs(journal.events(), view)] == [Mode.FULL, Mode.FULL, Mode.CHANGES]


@pytest.mark.long
def test_a_view_that_allows_nothing_else_fails_until_somebody_asks_for_all_rows(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE t USING delta AS SELECT id % 2 AS k, id FROM range(100)")
    query, view = "SELECT max(id) AS most FROM t", f"{database(spark)}.ends"
    asked = "TBLPROPERTIES ('headwater.method' = 'incremental')"
    spark.sql(f"CREATE MATERIALIZED VIEW ends USING delta {asked} AS {query}")
    spark.sql("INSERT INTO t VALUES (0, 500)")
    spark.sql("REFRESH MATERIALIZED VIEW ends")
    assert_equals_query(spark, view, query)
    spark.sql("DELETE FROM t WHERE id = 500")
    with pytest.raises(PySparkException, match="cannot be refreshed by changes: the least or greatest value"):
        spark.sql("REFRESH MATERIALIZED VIEW ends")
    spark.sql("REFRESH MATERIALIZED VIEW ends FULL")
    assert_equals_query(spark, view, query)
    spark.sql("INSERT INTO t VALUES (0, 700)")
    spark.sql("REFRESH MATERIALIZED VIEW ends")
    assert_equals_query(spark, view, query)
    ranked = "SELECT id, rank() OVER (ORDER BY id) AS place FROM t"
    with pytest.raises(PySparkException, match="set it to 'incremental, full'"):
        spark.sql(f"CREATE MATERIALIZED VIEW other USING delta {asked} AS {ranked}")


@pytest.mark.thorough
def test_rows_of_a_rewritten_file_of_iceberg_are_no_lost_extremes(spark: SparkSession, journal: Journal) -> None:
    """Iceberg's changelog has a row that a rewritten file keeps as one that went and came. Few of them cancel out."""
    place = f"lake.{database(spark)}"
    spark.sql(f"CREATE NAMESPACE {place}")
    spark.sql(f"CREATE TABLE {place}.t USING iceberg AS SELECT id % 3 AS k, id AS x FROM range(100)")
    query = f"SELECT k, min(x) AS least, max(x) AS greatest FROM {place}.t GROUP BY k"
    spark.sql(f"CREATE TABLE {place}.other USING iceberg AS SELECT id AS k, id * 10 AS tens FROM range(3)")
    joined = f"SELECT tens, max(x) AS greatest FROM {place}.t JOIN {place}.other USING (k) GROUP BY tens"
    spark.sql(f"CREATE MATERIALIZED VIEW {place}.ends USING iceberg {ASKED} AS {query}")
    spark.sql(f"CREATE MATERIALIZED VIEW {place}.tens USING iceberg {ASKED} AS {joined}")
    for statements in (
        ["UPDATE {t} SET x = 51 WHERE x = 50"],
        ["INSERT INTO {t} VALUES (0, 1000)", "DELETE FROM {t} WHERE x = 1000"],
        ["DELETE FROM {t} WHERE x = 99"],
    ):
        for view in ("ends", "tens"):
            spark.sql(f"ALTER MATERIALIZED VIEW {place}.{view} SUSPEND")
        for each in statements:
            spark.sql(each.format(t=f"{place}.t"))
        for view in ("ends", "tens"):
            spark.sql(f"ALTER MATERIALIZED VIEW {place}.{view} RESUME")
        spark.sql("REFRESH MATERIALIZED VIEWS")
        assert_equals_query(spark, f"{place}.ends", query)
        assert_equals_query(spark, f"{place}.tens", joined)
    events = journal.events()
    for view in ("ends", "tens"):
        assert runs(events, f"{place}.{view}")[1:] == [BY_CHANGES] * 3


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["BIGINT", "DECIMAL(38, 0)"])
def test_a_sum_of_an_ordinary_view_is_as_that_view_adds(spark: SparkSession, journal: Journal, kind: str) -> None:
    """The ordinary view was made without ANSI: a BIGINT that is too large wraps there, and a DECIMAL is NULL."""
    most = "9223372036854775807" if kind == "BIGINT" else "9" * 38
    spark.conf.set("spark.sql.ansi.enabled", "false")
    spark.sql(f"CREATE TABLE t (k INT, x {kind}) USING delta")
    spark.sql(f"INSERT INTO t VALUES (1, {most}), (2, 1), (3, {most})")
    spark.sql("CREATE VIEW sums AS SELECT k, sum(x) AS x FROM t GROUP BY k")
    spark.conf.set("spark.sql.ansi.enabled", "true")
    more = (
        f"INSERT INTO t VALUES (1, {most}), (2, 2)",
        f"INSERT INTO t VALUES (1, {most})",
        "DELETE FROM t WHERE k = 2",
    )
    told = followed(spark, journal, {"v": "SELECT * FROM sums"}, *more)
    if kind == "BIGINT":
        assert told["v"] == [BY_CHANGES] * len(more)
