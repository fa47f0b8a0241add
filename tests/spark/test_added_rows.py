"""Views without an aggregate: new rows of their sources are added to them, and rows that went are taken out."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, database
from test_by_keys import runs

from headwater.model.event import Published, Started
from headwater.model.work import ByRows, Mode

ASKED = "TBLPROPERTIES ('headwater.method' = 'incremental, full')"
ADDED = (Mode.CHANGES, "")
SALES = "SELECT id, CAST(id % 4 AS STRING) AS day, CAST(id AS DECIMAL(9, 2)) AS price FROM range(100)"
BY_DAY = f"CREATE TABLE sales USING delta PARTITIONED BY (day) AS {SALES}"
CHEAP = "SELECT id, price * 2 AS double, day FROM sales WHERE price < 150"


def follow(spark: SparkSession, journal: Journal, view: str, query: str, *statements: str) -> list[tuple[Mode, str]]:
    """How a view followed statements, each by a refresh, after which it equals its query. No refresh may run before:
    a view that was suspended is resumed by the first of the statements."""
    journal.mark()
    for each in statements:
        spark.sql(each)
        spark.sql("REFRESH MATERIALIZED VIEWS")
        assert_equals_query(spark, view, query)
    return runs(journal.events(), f"{database(spark)}.{view}")


@pytest.mark.parametrize(
    "format", [pytest.param("delta", marks=pytest.mark.thorough), pytest.param("parquet", marks=pytest.mark.long)]
)
def test_rows_that_came_are_added_to_their_partitions(spark: SparkSession, journal: Journal, format: str) -> None:
    spark.sql(BY_DAY)
    spark.sql(f"CREATE MATERIALIZED VIEW cheap USING {format} PARTITIONED BY (day) {ASKED} AS {CHEAP}")
    told = follow(
        spark,
        journal,
        "cheap",
        CHEAP,
        "INSERT INTO sales (id, day, price) VALUES (-1, '1', 5.00), (-1, '1', 5.00), (-2, '2', 7.00)",
        "INSERT INTO sales (id, day, price) VALUES (-3, '1', 500.00)",
        "INSERT INTO sales (id, day, price) VALUES (-4, '1', NULL), (-5, '1', 1), (-8, '9', 3)",
        "INSERT INTO sales (id, day, price) VALUES (-6, '1', 3), (-7, '2', 4)",
        "UPDATE sales SET price = 8 WHERE id = -5",
        "INSERT INTO sales (id, day, price) VALUES (-9, '9', 3)",
        "INSERT INTO sales (id, day, price) VALUES (-9, '9', 3)",
    )
    # The third statement writes a new partition, too, and the fourth two of different states. The fifth changes a row.
    whole = (Mode.PARTITION, "")
    assert told == [ADDED, ADDED, whole, whole, ADDED, ADDED, ADDED]
    [row] = spark.sql("SHOW REFRESHES FOR cheap LIMIT 1").collect()
    assert (row["mode"], row["rows"]) == ("incremental", 3)


@pytest.mark.long
def test_a_publication_of_new_rows_replaces_no_file(spark: SparkSession, journal: Journal) -> None:
    spark.sql(f"CREATE TABLE sales USING delta AS {SALES}")
    spark.sql(f"CREATE MATERIALIZED VIEW cheap USING delta {ASKED} AS {CHEAP}")
    query = "SELECT day, count(*) AS n, sum(double) AS s FROM cheap GROUP BY day"
    spark.sql(f"CREATE MATERIALIZED VIEW days USING delta {ASKED} AS {query}")
    before = {row[0] for row in spark.sql("SELECT DISTINCT _metadata.file_path FROM cheap").collect()}
    told = follow(spark, journal, "cheap", CHEAP, *(f"INSERT INTO sales VALUES (-{n}, '1', 5)" for n in (1, 2, 3)))
    assert told == [ADDED] * 3
    assert before < {row[0] for row in spark.sql("SELECT DISTINCT _metadata.file_path FROM cheap").collect()}
    last = spark.sql("DESCRIBE HISTORY cheap").where("operation = 'WRITE'").first()  # a VACUUM may have come since
    assert last["operationParameters"]["mode"] == "Append"
    assert_equals_query(spark, "days", query)
    journal.mark()
    spark.sql("REFRESH MATERIALIZED VIEW cheap FULL")
    [published] = [each for each in journal.events() if isinstance(each, Published) and each.view.endswith("cheap")]
    assert published.made[0].unchanged, "the sum of the rows is that of all rows"


@pytest.mark.thorough
def test_the_view_above_an_appended_view_follows_its_rows(spark: SparkSession, journal: Journal) -> None:
    spark.sql(f"CREATE TABLE sales USING delta AS {SALES}")
    spark.sql(f"CREATE MATERIALIZED VIEW cheap USING delta {ASKED} AS {CHEAP}")
    above = "SELECT id, double + 1 AS more FROM cheap WHERE day = '1'"
    spark.sql(f"CREATE MATERIALIZED VIEW above USING delta {ASKED} AS {above}")
    told = follow(spark, journal, "above", above, *(f"INSERT INTO sales VALUES (-{n}, '1', 5)" for n in (1, 2)))
    assert told == [ADDED] * 2


@pytest.mark.long
def test_new_rows_of_a_table_without_partitions_reach_all_of_a_view(spark: SparkSession, journal: Journal) -> None:
    """Partitions without new rows count as unchanged."""
    spark.sql(f"CREATE TABLE sales USING delta AS {SALES}")
    spark.sql(f"CREATE MATERIALIZED VIEW cheap USING delta PARTITIONED BY (day) {ASKED} AS {CHEAP}")
    told = follow(
        spark,
        journal,
        "cheap",
        CHEAP,
        "INSERT INTO sales VALUES (-1, '1', 5)",
        "INSERT INTO sales VALUES (-2, '1', 5), (-3, '7', 5)",
        "DELETE FROM sales WHERE id = -1",
        "INSERT INTO sales VALUES (-4, '7', 5)",
    )
    assert told == [ADDED] * 4
    journal.mark()
    spark.sql("INSERT INTO sales VALUES (-5, '1', 5)")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    [published] = [each for each in journal.events() if isinstance(each, Published)]
    assert {each.slice.value("day"): each.unchanged for each in published.made} == {
        **dict.fromkeys(("0", "2", "3", "7"), True),
        "1": False,
    }


@pytest.mark.long
def test_new_rows_of_several_sources_are_joined_once(spark: SparkSession, journal: Journal) -> None:
    spark.sql(f"CREATE TABLE sales USING delta AS {SALES}")
    spark.sql("CREATE TABLE days USING delta AS SELECT CAST(id AS STRING) AS day, array(id, 7) AS codes FROM range(4)")
    spark.sql(f"CREATE TABLE old USING delta AS {SALES}")
    query = (
        "WITH j AS (SELECT s.id, s.price, d.codes FROM sales s JOIN days d ON s.day = d.day) "
        "SELECT id, price, code FROM j LATERAL VIEW explode(codes) AS code WHERE id NOT IN (SELECT id FROM range(5)) "
        "UNION ALL SELECT id, price, 0 FROM old ORDER BY id"
    )
    spark.sql(f"CREATE MATERIALIZED VIEW joined USING delta {ASKED} AS {query}")
    spark.sql("ALTER MATERIALIZED VIEW joined SUSPEND")
    spark.sql("INSERT INTO sales VALUES (-1, '1', 5), (-2, '8', 5)")
    spark.sql("INSERT INTO days VALUES ('1', array(5, 6)), ('8', array())")
    spark.sql("INSERT INTO old VALUES (1, '1', 1)")
    told = follow(
        spark,
        journal,
        "joined",
        query,
        "ALTER MATERIALIZED VIEW joined RESUME",
        "INSERT INTO days VALUES ('8', array(1))",
        "INSERT INTO old VALUES (2, '1', 1)",
    )
    assert told == [ADDED] * len(told)
    told = follow(
        spark, journal, "joined", query, "DELETE FROM old WHERE id = 2", "INSERT INTO sales VALUES (3, '1', 1)"
    )
    assert told == [ADDED] * 2


@pytest.mark.long
def test_new_rows_of_an_iceberg_table_are_added(spark: SparkSession, journal: Journal) -> None:
    spark.sql(f"CREATE NAMESPACE lake.{database(spark)}")
    table = f"lake.{database(spark)}.t"
    spark.sql(f"CREATE TABLE {table} USING iceberg AS SELECT id, id % 3 AS k FROM range(100)")
    query = f"SELECT id, k + 1 AS k FROM {table} WHERE k > 0"
    spark.sql(f"CREATE MATERIALIZED VIEW copied USING delta {ASKED} AS {query}")
    told = follow(
        spark,
        journal,
        "copied",
        query,
        f"INSERT INTO {table} VALUES (-1, 1)",
        f"INSERT INTO {table} VALUES (-2, 0), (-3, 2)",
        f"DELETE FROM {table} WHERE id = -3",
        f"INSERT INTO {table} VALUES (-4, 1)",
    )
    assert told == [ADDED] * 4
    [first] = spark.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at LIMIT 1").collect()
    told = follow(
        spark, journal, "copied", query, f"CALL lake.system.rollback_to_snapshot('{table}', {first['snapshot_id']})"
    )
    assert told == [(Mode.CHANGES, f"{table} was put back")], "what was inserted since is gone"


@pytest.mark.long
def test_a_view_that_another_program_wrote_is_computed_as_a_whole(spark: SparkSession, journal: Journal) -> None:
    """The engine begins to add rows before it can know."""
    spark.sql(f"CREATE TABLE sales USING delta AS {SALES}")
    spark.sql(f"CREATE MATERIALIZED VIEW cheap USING delta {ASKED} AS {CHEAP}")
    place = spark.sql("DESCRIBE DETAIL cheap").first()["location"]
    stranger = spark.newSession()
    stranger.conf.set("spark.headwater.internal", "true")  # else the extension refuses it
    rows = stranger.read.format("delta").load(place).limit(1)
    rows.write.format("delta").mode("append").option("userMetadata", "another program").save(place)
    spark.sql("INSERT INTO sales VALUES (-1, '1', 5)")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    assert_equals_query(spark, "cheap", CHEAP)
    begun = [each for each in journal.events() if isinstance(each, Started)][-1]
    assert not isinstance(begun.work, ByRows) or runs(journal.events(), begun.view)[-1][1]
