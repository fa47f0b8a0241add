"""Refreshes by keys of large views in Delta and Iceberg: files without these keys stay as they are."""

from __future__ import annotations

import pytest
from processes import until
from pyspark.sql import SparkSession
from support import Journal, database
from test_by_keys import runs

from headwater.model.event import Event, Published
from headwater.model.work import Mode

ROWS = 150_000
LARGE = f"""SELECT /*+ REPARTITION_BY_RANGE(20, id) */ id, CAST(id % 10 AS INT) AS price,
IF(id % 7 = 0, NULL, sha2(CAST(id AS STRING), 512)) AS note FROM range({ROWS})"""
"""Some 10 MB."""
QUERY = "SELECT /*+ REPARTITION_BY_RANGE(20, id) */ id, price, note, price * 2 AS double FROM {table}"


def made(events: list[Event], view: str) -> tuple[int, str]:
    """The rows and the content sum of the last publication of a view."""
    return [(one.rows, one.content) for e in events if isinstance(e, Published) and e.view == view for one in e.made][
        -1
    ]


def files(spark: SparkSession, view: str, format: str) -> set[str]:
    name = "_metadata.file_path" if format == "delta" else "_file"
    return {row[0] for row in spark.sql(f"SELECT DISTINCT {name} FROM {view}").collect()}


def shop(spark: SparkSession, format: str, rows: str, name: str) -> tuple[str, str]:
    """A table ``sales`` with rows, and the name of a view, in the catalog of a format."""
    place = f"lake.{database(spark)}" if format == "iceberg" else database(spark)
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {place}")
    spark.sql(f"CREATE TABLE {place}.sales USING {format} AS {rows}")
    return f"{place}.sales", f"{place}.{name}"


def most_files_stay(
    spark: SparkSession, journal: Journal, view: str, format: str, query: str, statements: dict[str, int]
) -> list[Event]:
    """What was recorded while statements were followed, each by a refresh that replaced one or two files; with the rows
    that the view has then."""
    events, last = [], files(spark, view, format)
    for statement, rows in statements.items():
        spark.sql(statement)
        spark.sql("REFRESH MATERIALIZED VIEWS")
        events += journal.events()
        now = files(spark, view, format)
        assert len(last & now) >= len(last) - 2, "most files stay"
        assert last != now
        last = now
        assert made(events, view)[0] == rows
        for one, other in ((f"TABLE {view}", query), (query, f"TABLE {view}")):
            assert not spark.sql(f"({one}) EXCEPT ALL ({other})").take(1)
    return events


@pytest.mark.long
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_files_without_the_keys_stay(spark: SparkSession, journal: Journal, format: str) -> None:
    table, view = shop(spark, format, LARGE, "doubled")
    query = QUERY.format(table=table)
    asked = "TBLPROPERTIES ('headwater.method' = 'keys, full')"
    spark.sql(f"CREATE MATERIALIZED VIEW {view} USING {format} {asked} AS {query}")
    first = made(journal.events(), view)
    statements = {
        f"UPDATE {table} SET price = 77 WHERE id IN (4711, 4712)": ROWS,
        f"DELETE FROM {table} WHERE id BETWEEN 100000 AND 100099": ROWS - 100,
        f"INSERT INTO {table} VALUES (-1, 5, NULL), (-1, 5, NULL), (NULL, 1, 'new')": ROWS - 97,
    }
    events = most_files_stay(spark, journal, view, format, query, statements)
    assert runs(events, view) == [(Mode.KEYS, "")] * 3
    spark.sql(f"UPDATE {table} SET price = id % 10 WHERE id IN (4711, 4712)")
    spark.sql(f"DELETE FROM {table} WHERE id < 0 OR id IS NULL")
    back = LARGE.replace("REPARTITION_BY_RANGE(20, id)", "REPARTITION(1)")
    spark.sql(f"INSERT INTO {table} {back} WHERE id BETWEEN 100000 AND 100099")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    assert made(journal.events(), view) == first, "the sum of the content follows what came and went"


GROUPS = 20_000
SPREAD = f"SELECT /*+ REPARTITION(3) */ pmod(id * 7919, {GROUPS}) AS customer, 1 AS n FROM range({{rows}})"


@pytest.mark.thorough
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_full_refresh_puts_near_groups_together(spark: SparkSession, journal: Journal, format: str) -> None:
    """The engine of these tests does so with small views, too."""
    table, view = shop(spark, format, SPREAD.format(rows=2 * GROUPS), "near")
    query = f"SELECT sum(n) AS n, customer FROM {table} GROUP BY customer"
    asked = "TBLPROPERTIES ('headwater.method' = 'incremental, full')"
    spark.sql(f"CREATE MATERIALIZED VIEW {view} USING {format} {asked} AS {query}")
    journal.mark()
    assert len(files(spark, view, format)) > 10
    statements = {
        f"INSERT INTO {table} VALUES (4711, 5)": GROUPS,
        f"DELETE FROM {table} WHERE customer IN (8, 9)": GROUPS - 2,
        f"INSERT INTO {table} VALUES (NULL, 2), (8, 1)": GROUPS,
    }
    events = most_files_stay(spark, journal, view, format, query, statements)
    assert runs(events, view) == [(Mode.CHANGES, "")] * 3


TEXTS = (
    f"SELECT CAST(id % {ROWS} AS INT) AS customer, 1 AS n, sha2(CAST(id AS STRING), 512) AS note FROM range({{rows}})"
)
PER_CUSTOMER = (
    "SELECT /*+ REPARTITION_BY_RANGE(20, customer) */ customer, note, sum(n) AS n FROM {table} GROUP BY customer, note"
)


@pytest.mark.long
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_files_without_the_groups_stay(spark: SparkSession, journal: Journal, format: str) -> None:
    """The groups of a view with totals are its keys."""
    table, view = shop(spark, format, TEXTS.format(rows=ROWS), "totals")
    query = PER_CUSTOMER.format(table=table)
    asked = "TBLPROPERTIES ('headwater.method' = 'incremental, full')"
    spark.sql(f"CREATE MATERIALIZED VIEW {view} USING {format} {asked} AS {query}")
    journal.mark()
    statements = {
        f"INSERT INTO {table} {TEXTS.format(rows=3)}": ROWS,
        f"UPDATE {table} SET n = 5 WHERE customer IN (4711, 4712)": ROWS,
        f"DELETE FROM {table} WHERE customer = 4713": ROWS - 1,
        f"INSERT INTO {table} VALUES (NULL, 2, 'new'), (-1, 3, NULL)": ROWS + 1,
    }
    events = most_files_stay(spark, journal, view, format, query, statements)
    assert runs(events, view) == [(Mode.CHANGES, "")] * 4


@pytest.mark.thorough
def test_a_new_partition_that_waits_keeps_the_rows_that_other_runs_saw(spark: SparkSession, journal: Journal) -> None:
    """The partition ``b`` comes, and waits for another view. A run of ``a`` makes totals of both, and rows of ``a``."""
    place = database(spark)
    table, view = f"{place}.t", f"{place}.v"
    rows = "SELECT id AS k, xxhash64(id) AS x, 'a' AS p FROM range(1200000)"
    spark.sql(f"CREATE TABLE {table} USING delta PARTITIONED BY (p) AS {rows}")
    rows = "SELECT id - 9 AS k, 1 AS n, p FROM range(1200009), VALUES ('a'), ('b') AS (p) WHERE p = 'a' OR id < 20"
    spark.sql(f"CREATE TABLE {place}.w USING delta PARTITIONED BY (p) AS {rows}")
    hour = "USING delta PARTITIONED BY (p) TBLPROPERTIES ('headwater.freshness' = '1 hour')"
    spark.sql(f"CREATE MATERIALIZED VIEW {place}.u {hour} AS SELECT k, max(n) AS n, p FROM {place}.w GROUP BY p, k")
    query = f"SELECT k, sum(CAST(x AS DECIMAL(20))) AS x, p FROM {table} JOIN {place}.u USING (p, k) GROUP BY p, k"
    asked = "TBLPROPERTIES ('headwater.method' = 'incremental, full', 'headwater.consistency' = 'eventual')"
    spark.sql(f"CREATE MATERIALIZED VIEW {view} USING delta PARTITIONED BY (p) {asked} AS {query}")
    journal.mark()
    spark.sql(f"INSERT INTO {place}.w VALUES (3, 2, 'b')")
    spark.sql(f"INSERT INTO {table} VALUES (1, 10, 'b')")
    spark.sql(f"INSERT INTO {table} VALUES (-9, 1, 'a')")
    until(lambda: not spark.table(view).where("k = -9").isEmpty(), "refresh of one partition", 60)
    assert spark.table(view).where("p = 'b'").isEmpty()
    spark.sql(f"INSERT INTO {table} VALUES (2, 20, 'b')")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    assert spark.sql(f"SELECT k, x FROM {view} WHERE p = 'b' ORDER BY k").collect() == [(1, 10), (2, 20)]
    assert runs(journal.events(), view) == [(Mode.CHANGES, "")] * 2
