"""A replica is a copy of one table with snapshots, in a format whose commits compare; everything else is refused."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import assert_equals_query, database, drain
from test_anomalies import SLOW

ON = "TBLPROPERTIES ('headwater.replica' = 'on')"
COPY = "SELECT * FROM s"


@pytest.fixture
def source(spark: SparkSession) -> SparkSession:
    spark.sql("CREATE TABLE s (`Än-Id` INT, part STRING) USING delta PARTITIONED BY (part)")
    spark.sql("INSERT INTO s VALUES (1, 'a'), (2, 'b'), (3, NULL)")
    return spark


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_replica_follows_its_source(source: SparkSession, format: str) -> None:
    place = "" if format == "delta" else f"lake.{database(source)}."
    if place:
        source.sql(f"CREATE NAMESPACE IF NOT EXISTS {place[:-1]}")
    source.sql(f"CREATE MATERIALIZED VIEW {place}copy USING {format} PARTITIONED BY (part) {ON} AS {COPY}")
    source.sql("INSERT INTO s VALUES (4, 'b')")
    drain(source)
    source.sql("DELETE FROM s WHERE part = 'a'")
    source.sql("ALTER TABLE s ADD COLUMN more INT")
    source.sql("INSERT INTO s VALUES (5, 'c', 7)")
    drain(source)
    assert_equals_query(source, f"{place}copy", "SELECT `Än-Id`, part FROM s")
    source.sql(f"REFRESH MATERIALIZED VIEW {place}copy FULL")
    assert_equals_query(source, f"{place}copy", "SELECT `Än-Id`, part FROM s")


@pytest.mark.parametrize(
    ("using", "query"),
    [
        ("delta", "SELECT * FROM s WHERE part = 'a'"),
        ("delta", "SELECT part, `Än-Id` FROM s"),
        ("delta", "SELECT `Än-Id` + 1 AS `Än-Id`, part FROM s"),
        ("delta", "SELECT DISTINCT * FROM s"),
        ("delta", "SELECT * FROM s UNION ALL SELECT * FROM s"),
        ("delta", "SELECT * FROM through"),
        ("delta", "SELECT * FROM files"),
    ],
)
def test_a_query_that_copies_no_table_is_refused(source: SparkSession, using: str, query: str) -> None:
    source.sql("CREATE VIEW through AS SELECT * FROM s")
    source.sql("CREATE TABLE files (id INT) USING parquet")
    with pytest.raises(PySparkException, match=r"'headwater.replica': a replica is SELECT \* FROM one table in"):
        source.sql(f"CREATE MATERIALIZED VIEW v USING {using} {ON} AS {query}")
    source.sql(f"CREATE MATERIALIZED VIEW v USING {using} AS {query}")
    with pytest.raises(PySparkException, match=r"'headwater.replica': a replica is"):
        source.sql("ALTER MATERIALIZED VIEW v SET TBLPROPERTIES ('headwater.replica' = 'on')")


@pytest.mark.parametrize(
    ("format", "also", "said"),
    [
        ("parquet", "", "several stores cannot publish into one table of files"),
        ("delta", ", 'headwater.propagate' = 'marked'", "leave 'headwater.propagate' out"),
        ("delta", ", 'headwater.group' = 'g', 'headwater.group.commit' = 'together'", "each store has epochs of its"),
    ],
)
def test_a_replica_that_cannot_be_kept_is_refused(source: SparkSession, format: str, also: str, said: str) -> None:
    stated = ON.replace(")", f"{also})")
    with pytest.raises(PySparkException, match=said):
        source.sql(f"CREATE MATERIALIZED VIEW v USING {format} {stated} AS {COPY}")


def test_replicas_of_members_have_epochs_with_one_state(source: SparkSession) -> None:
    member = "USING delta TBLPROPERTIES ('headwater.group' = 'g')"
    source.sql(f"CREATE MATERIALIZED VIEW quick {member} AS SELECT count(*) AS n FROM s")
    source.sql(f"CREATE MATERIALIZED VIEW slow {member} AS SELECT count(*) AS n FROM s WHERE {SLOW}")
    copy = "USING delta TBLPROPERTIES ('headwater.replica' = 'on', 'headwater.group' = 'copies')"
    for each in ("quick", "slow"):
        source.sql(f"CREATE MATERIALIZED VIEW {each}_copy {copy} AS SELECT * FROM {each}")
    source.conf.set("spark.headwater.read", "consistent")
    try:
        read = []
        for number in range(10, 14):
            source.sql(f"INSERT INTO s VALUES ({number}, 'b')")
            source.sql("REFRESH MATERIALIZED VIEW quick_copy")
            read += source.sql("SELECT q.n AS quick, s.n AS slow FROM quick_copy q CROSS JOIN slow_copy s").collect()
        assert all(row.quick == row.slow for row in read), read
        source.sql("REFRESH MATERIALIZED VIEW GROUP copies")
        assert [row.n for row in source.sql("SELECT n FROM slow_copy").collect()] == [7]
    finally:
        source.conf.unset("spark.headwater.read")
