"""Views without an aggregate: as many copies of a row go as changed rows take away."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import DataFrame, SparkSession
from support import Journal, assert_equals_query, database
from test_by_keys import runs
from test_key_files import LARGE, most_files_stay, shop

from headwater.model.work import Mode
from headwater.spark.jvm.row_changes import RowChanges
from headwater.spark.jvm.shim import Shim

ASKED = "TBLPROPERTIES ('headwater.method' = 'incremental, full')"
FOLLOWED = (Mode.CHANGES, "")


def changes(spark: SparkSession, *terms: str) -> RowChanges:
    """By terms of rows ``(k, w, weight)``."""
    found = Shim(spark).row_changes([rows(spark, each, "k, w, weight") for each in terms])
    assert found is not None
    return found


def rows(spark: SparkSession, values: str, columns: str) -> DataFrame:
    return spark.sql(f"SELECT * FROM VALUES {values} AS v({columns})")


def bag(frame: DataFrame) -> Counter[str]:
    return Counter(str(tuple(row)) for row in frame.collect())


def test_copies_of_a_row_go_one_by_one(spark: SparkSession) -> None:
    found = changes(spark, "(1, 'a', -1), (1, 'a', -1), (2, 'b', 1)", "(3, 'c', -1), (1, 'a', 1), (2, 'b', 1)")
    assert found.going == 2 and bag(found.went) == Counter(["(1, 'a')", "(3, 'c')"])
    assert bag(found.came) == Counter({"(2, 'b')": 2})
    there = rows(spark, "(1, 'a'), (1, 'a'), (1, 'a'), (3, 'c'), (3, 'd')", "k, w")
    instead = found.instead(there)
    assert instead is not None and not instead.missing
    assert bag(instead.rows) == Counter({"(2, 'b')": 2, "(1, 'a')": 2, "(3, 'd')": 1})
    lacking = found.instead(rows(spark, "(3, 'd')", "k, w"))
    assert lacking is not None and lacking.missing == 2


def test_rows_are_the_same_by_their_bytes(spark: SparkSession) -> None:
    def collated(values: str, *more: str) -> DataFrame:
        return rows(spark, values, ", ".join(("k", "w", *more))).selectExpr("k", "w COLLATE UTF8_LCASE AS w", *more)

    nan = "(CAST('NaN' AS DOUBLE), NULL"
    found = Shim(spark).row_changes([collated(f"(0.0D, 'a', -1), {nan}, -1)", "weight")])
    assert found is not None
    instead = found.instead(collated(f"(-0.0D, 'a'), (0.0D, 'A'), {nan}), (0.0D, 'a')"))
    assert instead is not None and not instead.missing
    assert bag(instead.rows) == Counter(["(-0.0, 'a')", "(0.0, 'A')"])
    alike = found.instead(collated(f"(-0.0D, 'a'), {nan})"))
    assert alike is not None and alike.missing == 1


SALES = """SELECT CAST(id % 4 AS INT) AS customer, CAST(id % 3 AS DECIMAL(9, 2)) AS price,
CASE id % 5 WHEN 0 THEN 0.0D WHEN 1 THEN -0.0D WHEN 2 THEN CAST('NaN' AS DOUBLE) WHEN 3 THEN NULL ELSE 1.5D END AS w,
named_struct('a', array(id % 2, NULL), 'm', map('x', id % 2)) AS deep FROM range(60)"""


@pytest.mark.parametrize(
    "format",
    ["delta", pytest.param("iceberg", marks=pytest.mark.thorough), pytest.param("parquet", marks=pytest.mark.thorough)],
)
def test_equal_rows_and_those_that_only_look_equal_go_as_often_as_they_should(
    spark: SparkSession, journal: Journal, format: str
) -> None:
    place = f"lake.{database(spark)}" if format == "iceberg" else database(spark)
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {place}")
    spark.sql(f"CREATE TABLE sales USING delta AS {SALES}")
    query = "SELECT customer, w, deep FROM sales WHERE price < 2"
    spark.sql(f"CREATE MATERIALIZED VIEW {place}.v USING {format} {ASKED} AS {query}")
    journal.mark()
    statements = (
        "DELETE FROM sales WHERE customer = 1 AND w = 0 AND price = 1",
        "UPDATE sales SET w = -w WHERE customer = 2",
        "UPDATE sales SET price = 1 WHERE customer = 3 AND price = 0",  # no row of the view differs
    )
    for statement in statements:
        spark.sql(statement)
        spark.sql("REFRESH MATERIALIZED VIEWS")
        assert bag(spark.newSession().sql(f"TABLE {place}.v")) == bag(spark.sql(query))
    assert runs(journal.events(), f"{place}.v") == [FOLLOWED] * 3


@pytest.mark.thorough
def test_a_row_that_comes_takes_away_what_an_outer_join_had(spark: SparkSession, journal: Journal) -> None:
    spark.sql("CREATE TABLE customers USING delta AS SELECT CAST(id AS INT) AS customer FROM range(9)")
    spark.sql(f"CREATE TABLE sales USING delta AS {SALES}")
    query = "SELECT c.customer, s.n, s.p FROM customers c LEFT JOIN (SELECT customer, count(*) AS n, sum(price) AS p "
    query += "FROM sales GROUP BY customer) s ON c.customer = s.customer"
    spark.sql(f"CREATE MATERIALIZED VIEW v USING delta {ASKED} AS {query}")
    journal.mark()
    for statement in (
        "INSERT INTO sales (customer, price) VALUES (7, 5), (1, 2)",
        "DELETE FROM sales WHERE customer IN (2, 7)",
        "DELETE FROM customers WHERE customer < 2",
    ):
        spark.sql(statement)
        spark.sql("REFRESH MATERIALIZED VIEWS")
        assert_equals_query(spark, "v", query)
    assert runs(journal.events(), f"{database(spark)}.v") == [FOLLOWED] * 3


@pytest.mark.thorough
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_file_that_was_written_anew_has_few_changes(spark: SparkSession, journal: Journal, format: str) -> None:
    """Views that go on from the same snapshot compare its 200,000 rows once."""
    sales = "SELECT id, concat('n', id % 100) AS note, CAST(id % 97 AS DECIMAL(9, 2)) AS price FROM range(200000)"
    table, view = shop(spark, format, sales, "notes")
    copied, joined = (
        f"SELECT {each} FROM {table} t" for each in ("id, note, CAST(price AS DOUBLE) AS p", "t.id, o.note")
    )
    joined += f" JOIN {table} o ON o.id = t.id + 1"
    queries = {
        view: copied,
        f"{view}_joined": joined,
        f"{view}_sums": f"SELECT note, sum(id) AS s FROM {table} GROUP BY note",
    }
    for name, query in queries.items():
        spark.sql(f"CREATE MATERIALIZED VIEW {name} USING {format} {ASKED} AS {query}")
    journal.mark()
    for statement in (
        f"DELETE FROM {table} WHERE id BETWEEN 1000 AND 1099",
        f"UPDATE {table} SET price = price + 1, note = concat(note, '!') WHERE id % 5 = 1 AND id < 90000",
    ):
        spark.sql(statement)
        spark.sql("REFRESH MATERIALIZED VIEWS")
        for name, query in queries.items():
            assert_equals_query(spark, name, query)
    events = journal.events()
    assert {name: runs(events, name)[0] for name in queries} == dict.fromkeys(queries, FOLLOWED)


@pytest.mark.long
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_files_without_rows_that_go_stay(spark: SparkSession, journal: Journal, format: str) -> None:
    table, view = shop(spark, format, LARGE, "notes")
    query = f"SELECT /*+ REPARTITION_BY_RANGE(20, id) */ id, note, CAST(price AS DOUBLE) AS price FROM {table}"
    spark.sql(f"CREATE MATERIALIZED VIEW {view} USING {format} {ASKED} AS {query}")
    journal.mark()
    statements = {
        f"UPDATE {table} SET price = 77 WHERE id IN (4711, 4712)": 150_000,
        f"DELETE FROM {table} WHERE id BETWEEN 100000 AND 100099": 149_900,
        f"INSERT INTO {table} VALUES (-1, 5, NULL), (-1, 5, NULL), (NULL, 1, 'new')": 149_903,
        f"DELETE FROM {table} WHERE id = 4711": 149_902,
    }
    events = most_files_stay(spark, journal, view, format, query, statements)
    assert runs(events, view) == [FOLLOWED] * 4
