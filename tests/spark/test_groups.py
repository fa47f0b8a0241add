"""Members of a group are read at one state of every table, while programs write it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import database
from test_anomalies import SLOW

import headwater

READ, EPOCH = "spark.headwater.read", "spark.headwater.read.epoch"
BOTH = "SELECT q.n AS quick, s.n AS slow FROM quick q CROSS JOIN slow s"


@pytest.fixture(params=("delta", "iceberg", "parquet"))
def grouped(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """Two views that count the rows of ``s``, of which one is slow, as members of ``revenue``. Views in files read a
    table that has snapshots."""
    here = database(spark)
    place = f"spark_catalog.{here}"
    if request.param == "iceberg":
        place = f"lake.{here}"
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {place}")
        spark.sql(f"USE {place}")
    spark.sql(f"CREATE TABLE s (id INT) USING {'delta' if request.param == 'parquet' else request.param}")
    spark.sql("INSERT INTO s VALUES (0)")
    member = f"USING {request.param} TBLPROPERTIES ('headwater.group' = 'Revenue')"
    spark.sql(f"CREATE MATERIALIZED VIEW quick {member} AS SELECT count(*) AS n FROM s")
    spark.sql(f"CREATE MATERIALIZED VIEW slow {member} AS SELECT count(*) AS n FROM s WHERE {SLOW}")
    named = BOTH.replace("quick q", f"{place}.quick q").replace("slow s", f"{place}.slow s")
    spark.sql(f"CREATE VIEW spark_catalog.{here}.both AS {named}")
    spark.sql("CREATE TEMPORARY VIEW both AS " + f"SELECT * FROM spark_catalog.{here}.both")
    yield spark
    for each in (READ, EPOCH):
        spark.conf.unset(each)
    spark.sql("DROP VIEW both")
    spark.sql(f"USE {place}")


def database_of(spark: SparkSession) -> str:
    """The database of the ordinary view, whatever catalog the session has."""
    [row] = spark.sql("SHOW MATERIALIZED VIEW GROUPS").where("group = 'revenue'").collect()
    [member, *_] = spark.sql(f"DESCRIBE MATERIALIZED VIEW GROUP {row.group}").collect()
    return member.table.split(".")[-2]


def group(spark: SparkSession) -> dict:
    [row] = spark.sql("SHOW MATERIALIZED VIEW GROUPS").where("group = 'revenue'").collect()
    return row.asDict()


def test_statements_read_members_at_one_epoch(grouped: SparkSession) -> None:
    grouped.conf.set(READ, "consistent")
    read = []
    for number in range(1, 5):
        grouped.sql(f"INSERT INTO s VALUES ({number})")
        grouped.sql("REFRESH MATERIALIZED VIEW quick")
        for query in (BOTH, "SELECT * FROM both", f"WITH quick AS (SELECT * FROM quick) {BOTH}"):
            read += [tuple(row) for row in grouped.sql(query).collect()]
    assert all(quick == slow for quick, slow in read), read
    assert read == sorted(read)
    grouped.sql("REFRESH MATERIALIZED VIEW GROUP revenue")
    assert [tuple(row) for row in grouped.sql(BOTH).collect()] == [(5, 5)]


def test_a_session_reads_at_the_epoch_that_it_names(grouped: SparkSession) -> None:
    first = group(grouped)["epoch"]
    grouped.sql("INSERT INTO s VALUES (1), (2)")
    [row] = grouped.sql("REFRESH MATERIALIZED VIEW GROUP revenue").collect()
    assert row.epoch > first and row.oldest <= first and row.reason is None
    grouped.conf.set(EPOCH, str(first))
    assert [tuple(row) for row in grouped.sql("SELECT * FROM both").collect()] == [(1, 1)]
    assert grouped.table("quick").collect()[0].n == 1
    assert grouped.sql("SELECT count(*) FROM s").collect()[0][0] == 3
    grouped.conf.set(READ, "consistent, with sources")
    assert grouped.sql("SELECT count(*) FROM s").collect()[0][0] == 1
    grouped.sql("INSERT INTO s SELECT n + 10 FROM quick")
    grouped.conf.unset(EPOCH)
    grouped.conf.set(READ, "latest")
    assert sorted(row.id for row in grouped.table("s").collect()) == [0, 1, 2, 11]


def test_what_cannot_be_read_is_told(grouped: SparkSession) -> None:
    newest = group(grouped)["epoch"]
    for setting, value, said in (
        (EPOCH, str(newest + 1000), f"there is no epoch {newest + 1000}; the newest is {newest}"),
        (EPOCH, "soon", f"{EPOCH} is 'soon'; write the number of an epoch"),
        (READ, "exactly", f"{READ} is 'exactly'; write latest, consistent"),
    ):
        grouped.conf.set(setting, value)
        with pytest.raises(PySparkException, match=said.replace(".", r"\.")):
            grouped.sql("SELECT * FROM quick")
        assert grouped.sql("SELECT 1").collect()[0][0] == 1
        if setting == EPOCH:
            with pytest.raises(PySparkException, match=said.replace(".", r"\.")):
                grouped.sql("DESCRIBE MATERIALIZED VIEW GROUP revenue")
        grouped.conf.unset(setting)
    with pytest.raises(PySparkException, match="there is no group revenues; did you mean 'revenue'"):
        grouped.sql("DESCRIBE MATERIALIZED VIEW GROUP revenues")


def test_frames_of_all_members_stay_at_one_epoch(grouped: SparkSession) -> None:
    first = group(grouped)["epoch"]
    rows = grouped.sql("DESCRIBE MATERIALIZED VIEW GROUP REVENUE").collect()
    assert [(row.table.split(".")[-1], row.role) for row in rows] == [
        ("quick", "member"),
        ("slow", "member"),
        ("s", "source"),
    ]
    for row in rows:
        assert grouped.sql(f"SELECT * FROM {row.table} VERSION AS OF {row.as_of}").count() == 1
    old = headwater.read(grouped, "revenue")
    grouped.sql("INSERT INTO s VALUES (1), (2)")
    grouped.sql("REFRESH MATERIALIZED VIEW GROUP revenue")
    assert [frame.collect()[0].n for frame in old.values()] == [1, 1]
    assert [frame.collect()[0].n for frame in headwater.read(grouped, "revenue").values()] == [3, 3]
    assert [frame.collect()[0].n for frame in headwater.read(grouped, "revenue", first).values()] == [1, 1]
    assert grouped.conf.get(EPOCH, None) is None
    with pytest.raises(PySparkException, match="there is no epoch 999"):
        headwater.read(grouped, "revenue", 999)


def test_a_cache_holds_the_table_itself(grouped: SparkSession) -> None:
    grouped.conf.set(READ, "consistent")
    grouped.sql("CACHE TABLE quick")
    grouped.conf.set(READ, "latest")
    assert grouped.catalog.isCached("quick")
    grouped.conf.set(READ, "consistent")
    grouped.sql("UNCACHE TABLE quick")
    grouped.conf.set(READ, "latest")
    assert not grouped.catalog.isCached("quick")


def test_a_table_that_a_statement_writes_is_read_as_it_is(grouped: SparkSession) -> None:
    first = group(grouped)["epoch"]
    grouped.sql("INSERT INTO s VALUES (1), (2)")
    grouped.sql("REFRESH MATERIALIZED VIEW GROUP revenue")
    grouped.conf.set(READ, "consistent, with sources")
    grouped.conf.set(EPOCH, str(first))
    assert grouped.table("s").count() == 1
    place = grouped.sql("SELECT current_catalog() AS c, current_schema() AS d").collect()[0]
    grouped.sql(f"CREATE VIEW spark_catalog.{database_of(grouped)}.ids AS SELECT id FROM {place.c}.{place.d}.s")
    grouped.sql("INSERT OVERWRITE s SELECT id FROM s")
    grouped.sql("INSERT OVERWRITE IDENTIFIER('s') SELECT id FROM s")
    grouped.sql(f"INSERT OVERWRITE s SELECT id FROM spark_catalog.{database_of(grouped)}.ids")
    grouped.sql("MERGE INTO s t USING (SELECT id FROM s) q ON t.id = q.id WHEN NOT MATCHED BY SOURCE THEN DELETE")
    grouped.sql("DELETE FROM s WHERE id = 2")
    grouped.conf.set(READ, "latest")
    assert sorted(row.id for row in grouped.table("s").collect()) == [0, 1]


def test_a_temporary_view_hides_no_member_within_an_ordinary_view(grouped: SparkSession) -> None:
    first = group(grouped)["epoch"]
    grouped.sql("INSERT INTO s VALUES (1), (2)")
    grouped.sql("REFRESH MATERIALIZED VIEW GROUP revenue")
    grouped.conf.set(EPOCH, str(first))
    grouped.sql("CREATE TEMPORARY VIEW quick AS SELECT 77 AS n")
    try:
        assert grouped.sql("SELECT quick FROM both").collect()[0][0] == 1
        assert grouped.sql("SELECT n FROM quick").collect()[0][0] == 77
    finally:
        grouped.sql("DROP VIEW quick")


def test_a_member_is_read_by_its_key_from_any_catalog(grouped: SparkSession) -> None:
    here = database_of(grouped)
    other = "spark_catalog.default" if grouped.catalog.currentCatalog() == "lake" else "lake"
    first = group(grouped)["epoch"]
    grouped.sql("INSERT INTO s VALUES (1), (2)")
    grouped.sql("REFRESH MATERIALIZED VIEW GROUP revenue")
    grouped.sql(f"USE {other}")
    assert [frame.collect()[0].n for frame in headwater.read(grouped, "revenue").values()] == [3, 3]
    assert grouped.sql(f"SELECT * FROM spark_catalog.{here}.both").collect()[0] == (3, 3)
    grouped.conf.set(READ, "consistent")
    assert grouped.sql(f"SELECT * FROM spark_catalog.{here}.both").collect()[0] == (3, 3)
    grouped.conf.set(EPOCH, str(first))
    assert grouped.sql(f"SELECT * FROM spark_catalog.{here}.both").collect()[0] == (1, 1)


def test_a_statement_that_keeps_a_query_reads_nothing_at_an_epoch(grouped: SparkSession) -> None:
    here = database_of(grouped)
    grouped.conf.set(EPOCH, "999999")
    query = f"SELECT quick AS n FROM spark_catalog.{here}.both WHERE quick IN (SELECT n FROM quick)"
    [[said]] = grouped.sql(f"CREATE MATERIALIZED VIEW above AS {query}").collect()
    assert "1 row" in said
    grouped.sql(f"CACHE TABLE spark_catalog.{here}.both")
    grouped.conf.set(READ, "latest")
    assert grouped.catalog.isCached(f"spark_catalog.{here}.both")
    grouped.sql("CLEAR CACHE")


def test_readers_see_a_publication_until_the_next_one(grouped: SparkSession) -> None:
    grouped.sql("ALTER MATERIALIZED VIEW slow SET TBLPROPERTIES ('headwater.group.publish' = '0 6 1 1 * Asia/Kolkata')")
    grouped.sql("INSERT INTO s VALUES (1)")
    grouped.sql("REFRESH MATERIALIZED VIEW GROUP revenue")
    row = group(grouped)
    assert row["published"] < row["epoch"] and (row["next_publication"].month, row["next_publication"].day) == (1, 1)
    grouped.conf.set(READ, "consistent, with sources")
    both = f"SELECT *, (SELECT count(*) FROM s) AS rows FROM ({BOTH})"
    assert [tuple(each) for each in grouped.sql(both).collect()] == [(1, 1, 1)]
    assert [each.collect()[0].n for each in headwater.read(grouped, "revenue").values()] == [1, 1]
    grouped.conf.set(EPOCH, str(row["epoch"]))
    assert [tuple(each) for each in grouped.sql(both).collect()] == [(2, 2, 2)]
    grouped.conf.unset(EPOCH)
    grouped.sql("ALTER MATERIALIZED VIEW slow UNSET TBLPROPERTIES ('headwater.group.publish')")
    assert [tuple(each) for each in grouped.sql(both).collect()] == [(2, 2, 2)]


def test_a_publication_is_of_a_group_and_has_a_time(grouped: SparkSession) -> None:
    alter = "ALTER MATERIALIZED VIEW slow SET TBLPROPERTIES ('headwater.group.publish' = '%s')"
    with pytest.raises(PySparkException, match="'at noon' is not a time; write one such as 06:00"):
        grouped.sql(alter % "at noon")
    with pytest.raises(PySparkException, match="the clocks of the zone Mars are not known here"):
        grouped.sql(alter % "06:00 Mars")
    grouped.sql(alter % "06:00")
    with pytest.raises(PySparkException, match="'headwater.group.publish' is for members of a group"):
        grouped.sql("ALTER MATERIALIZED VIEW slow UNSET TBLPROPERTIES ('headwater.group')")
    grouped.sql("ALTER MATERIALIZED VIEW slow UNSET TBLPROPERTIES ('headwater.group', 'headwater.group.publish')")
