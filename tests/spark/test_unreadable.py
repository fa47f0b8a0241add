"""Tables that cannot be read: their views wait and say why, all others go on."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import assert_equals_query, database, drain, drain_in_vain

LOST = "ftp://127.0.0.1:9/t"  # nobody listens at this port


@pytest.fixture
def two(spark: SparkSession) -> SparkSession:
    """Tables ``t`` and ``u``, a view over each, and one over both views."""
    for table in ("t", "u"):
        spark.sql(f"CREATE TABLE {table} (id INT) USING parquet")
        spark.sql(f"INSERT INTO {table} VALUES (1)")
        spark.sql(f"CREATE MATERIALIZED VIEW of_{table} AS SELECT sum(id) AS s FROM {table}")
    spark.sql("CREATE MATERIALIZED VIEW of_both AS SELECT x.s + y.s AS s FROM of_t x CROSS JOIN of_u y")
    return spark


def lose(spark: SparkSession, table: str) -> str:
    """Moves a table to a place that cannot be read; where it was."""
    rows = spark.sql(f"DESCRIBE EXTENDED {table}").collect()
    place = next(row["data_type"] for row in rows if row["col_name"] == "Location")
    spark.sql(f"ALTER TABLE {table} SET LOCATION '{LOST}'")
    return place


def states(spark: SparkSession) -> dict[str, tuple[str, str]]:
    rows = spark.sql(f"SHOW MATERIALIZED VIEWS IN {database(spark)}").collect()
    return {row["view"]: (row["state"], row["reason"]) for row in rows}


def test_one_unreadable_table_stops_its_own_views_only(two: SparkSession) -> None:
    here = database(two)
    place = lose(two, "t")
    two.sql("INSERT INTO u VALUES (10)")
    said = drain_in_vain(two)
    assert f"{here}.of_t cannot be refreshed now: {here}.t cannot be read" in said and "of_u" not in said
    assert "Every other view that can run is refreshed" in said and "SUSPEND leaves a view out" in said
    assert two.sql("SELECT s FROM of_u").first()[0] == 11
    assert two.sql("SELECT s FROM of_both").first()[0] == 12
    found = states(two)
    assert found["of_u"][0] == found["of_both"][0] == "fresh"
    assert found["of_t"][0] == "unreadable"
    assert f"{here}.t cannot be read" in found["of_t"][1]
    assert "refused" in found["of_t"][1]
    assert "Py4J" not in found["of_t"][1]
    two.sql("ALTER MATERIALIZED VIEW of_t SUSPEND")
    drain(two)
    two.sql("ALTER MATERIALIZED VIEW of_t RESUME")
    two.sql(f"ALTER TABLE t SET LOCATION '{place}'")
    two.sql("INSERT INTO t VALUES (100)")
    drain(two)
    assert {name: state for name, (state, _) in states(two).items()} == dict.fromkeys(
        ("of_t", "of_u", "of_both"), "fresh"
    )
    assert_equals_query(two, "of_both", "SELECT x.s + y.s AS s FROM of_t x CROSS JOIN of_u y")
    assert two.sql("SELECT s FROM of_t").first()[0] == 101


def test_statements_about_other_views_go_on(two: SparkSession) -> None:
    lose(two, "t")
    assert "nothing to do" in two.sql("EXPLAIN REFRESH of_u").first()[0]
    two.sql("REFRESH MATERIALIZED VIEW of_u FULL")
    two.sql("CREATE MATERIALIZED VIEW more AS SELECT count(*) AS n FROM u")
    two.sql("DROP MATERIALIZED VIEW more")


def test_a_refresh_by_hand_says_why_it_cannot_be(two: SparkSession) -> None:
    place = lose(two, "t")
    with pytest.raises(PySparkException, match=r"cannot be read: .*refused"):
        two.sql("REFRESH MATERIALIZED VIEW of_t").collect()
    two.sql(f"ALTER TABLE t SET LOCATION '{place}'")
    two.sql("REFRESH MATERIALIZED VIEW of_t FULL")


def test_a_view_over_an_unreadable_table_is_refused(spark: SparkSession) -> None:
    """Spark itself refuses a table that it cannot reach; one whose partitions it cannot reach is refused by name."""
    spark.sql("CREATE TABLE t (id INT, p STRING) USING parquet PARTITIONED BY (p)")
    spark.sql("INSERT INTO t VALUES (1, 'a')")
    spark.sql(f"ALTER TABLE t PARTITION (p = 'a') SET LOCATION '{LOST}'")
    with pytest.raises(PySparkException, match=r"v reads \w+\.t, which cannot be read: .*refused.*Create it when"):
        spark.sql("CREATE MATERIALIZED VIEW v AS SELECT id FROM t").collect()
    assert not spark.catalog.tableExists("v")
