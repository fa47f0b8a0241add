"""Which rows belong to a partition: by the condition of a refresh, by the count of a write, and in the directories."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from support import Journal, assert_equals_query, database, drain

from headwater.spark.jvm import sql
from headwater.spark.jvm.counted import counts, slice_of
from headwater.spark.jvm.shim import Shim

VALUES = {
    "STRING": ["'EU'", "''", "NULL", "'__HIVE_DEFAULT_PARTITION__'", "' '", "'a/b=c%'", r"r'a\b'", '''"it's"''', "'é'"],
    "VARCHAR(9)": ["'EU'", "''", "NULL"],
    "DATE": ["DATE '2024-01-15'", "NULL"],
    "TIMESTAMP": [
        "TIMESTAMP '2024-10-27 00:30:00Z'",
        "TIMESTAMP '2024-10-27 01:30:00Z'",
        "TIMESTAMP '2024-10-27 02:30:00Z'",
        "NULL",
    ],
    "DECIMAL(9,2)": ["1.5", "1.50", "-3", "NULL"],
    "BOOLEAN": ["true", "false", "NULL"],
}
"""Of each type, values that a partition column may have. At the end of summer time two hours have one text."""


@pytest.fixture(params=["true", "false"], ids=["escaped literals", "literals"])
def berlin(application: SparkSession, request) -> SparkSession:
    session = application.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    session.conf.set("spark.sql.parser.escapedStringLiterals", request.param)
    session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    return session


def rows_of(session: SparkSession, type: str) -> DataFrame:
    values = " UNION ALL ".join(f"SELECT CAST({each} AS {type}) AS p" for each in VALUES[type])
    return session.sql(f"SELECT row_number() OVER (ORDER BY p) AS x, p, p AS q FROM ({values})")


@pytest.mark.parametrize("type", VALUES)
def test_condition_count_and_directories_agree(berlin: SparkSession, tmp_path: Path, type: str) -> None:
    shim, frame, place = Shim(berlin), rows_of(berlin, type), str(tmp_path / "data")
    counted = shim.counted(frame, ("p", "q"), False)
    counted.frame.write.partitionBy("p", "q").parquet(place)
    by_count = {each: made.rows for each, made in counts(counted.sums(), ("p", "q")).items()}
    written = {slice_of(each, ("p", "q")): each.location for each in shim.written(place, 2)}
    assert by_count == {each: berlin.read.parquet(location).count() for each, location in written.items()}
    types = {"p": type, "q": type}
    assert by_count == {each: frame.where(sql.predicate([each], types)).count() for each in written}
    one = {each: frame.where(sql.predicate([each.keep(["p"])], types)).count() for each in written}
    assert by_count == one


@pytest.mark.parametrize("type", VALUES)
def test_rows_in_memory_have_the_values_that_files_give_back(berlin: SparkSession, tmp_path: Path, type: str) -> None:
    frame, place = rows_of(berlin, type), str(tmp_path / "data")
    kept = Shim(berlin).counted(frame, ("p",), True).frame
    kept.write.partitionBy("p").parquet(place)
    read = berlin.read.parquet(place).selectExpr("x", f"CAST(p AS {type}) AS p")
    assert Counter(kept.select("x", "p").collect()) == Counter(read.collect())


REGIONS = "SELECT split_part(p, '_', 2) AS region, sum(x) AS total FROM places GROUP BY 1"


@pytest.mark.thorough
def test_the_null_partition_holds_the_empty_string(spark: SparkSession, journal: Journal) -> None:
    spark.sql("CREATE TABLE places (x INT, p STRING) USING parquet PARTITIONED BY (p)")
    spark.sql("INSERT INTO places VALUES (1, 'de_EU'), (2, 'none'), (8, NULL)")
    spark.sql(f"CREATE MATERIALIZED VIEW regions PARTITIONED BY (region) AS {REGIONS}")
    spark.sql("CREATE MATERIALIZED VIEW over PARTITIONED BY (region) AS SELECT region, total FROM regions")
    journal.mark()
    spark.sql("INSERT INTO places VALUES (16, 'none')")
    drain(spark)
    expected = {("EU", 1), (None, 18), (None, 8)}
    for view in ("regions", "over"):
        assert (
            set(map(tuple, spark.newSession().table(f"{database(spark)}.{view}").select("region", "total").collect()))
            == expected
        )
    _, published = journal.changed_and_refreshed("")
    assert published == [("over", "region=NULL"), ("regions", "region=NULL")]
    for named in ("''", "NULL"):
        done = spark.sql(f"REFRESH MATERIALIZED VIEW regions PARTITION (region = {named}) FULL").collect()
        assert [row["partition"] for row in done] == ["region=NULL"]
    assert_equals_query(spark, "over", "SELECT nullif(region, '') AS region, total FROM regions")


@pytest.mark.thorough
def test_a_write_to_the_empty_string_is_one_to_the_null_partition(spark: SparkSession, journal: Journal) -> None:
    spark.sql("CREATE TABLE places (x INT, p STRING) USING parquet PARTITIONED BY (p)")
    spark.sql("INSERT INTO places VALUES (1, 'EU'), (2, '')")
    spark.sql("CREATE MATERIALIZED VIEW copy PARTITIONED BY (p) AS SELECT x, p FROM places")
    told = "CASE WHEN p IS NULL THEN 'null' WHEN p = '' THEN 'empty' ELSE p END"
    spark.sql(f"CREATE MATERIALIZED VIEW told PARTITIONED BY (k) AS SELECT x, {told} AS k FROM places")
    journal.mark()
    spark.sql("INSERT INTO places SELECT 4, ''")
    drain(spark)
    changed, published = journal.changed_and_refreshed(f"{database(spark)}.places")
    assert (changed, published) == ({"p=NULL"}, [("copy", "p=NULL"), ("told", "k=null")])
    assert_equals_query(spark, "copy", "SELECT x, p FROM places")
    assert_equals_query(spark, "told", f"SELECT x, {told} AS k FROM places")


def test_other_parser_settings(spark: SparkSession, journal: Journal) -> None:
    """Definition, map and condition hold quotes and backslashes, in a session that reads a backslash as itself."""
    spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    spark.sql("CREATE TABLE places (x INT, p STRING) USING parquet PARTITIONED BY (p)")
    spark.sql("INSERT INTO places VALUES (1, 'EU'), (2, 'US')")
    query = """SELECT x, CASE p WHEN 'EU' THEN "it's" ELSE 'a\\b' END AS k FROM places"""
    spark.sql(f"""CREATE MATERIALIZED VIEW told PARTITIONED BY (k) COMMENT "it's" AS {query}""")
    assert Counter(spark.table("told").collect()) == Counter(spark.sql(query).collect())
    journal.mark()
    spark.sql("INSERT INTO places VALUES (4, 'EU')")
    spark.sql("INSERT INTO places VALUES (8, 'US')")
    drain(spark)
    assert {each for _, each in journal.changed_and_refreshed("")[1]} == {"k=it's", "k=a\\b"}
    assert Counter(spark.table("told").collect()) == Counter(spark.sql(query).collect())
    assert spark.catalog.getTable("told").description == "it's"
