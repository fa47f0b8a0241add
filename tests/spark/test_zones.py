"""Views of several time zones over one another, partitioned by moments. A moment has another text in each zone."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from support import database, drain

ZONES = "Europe/Berlin", "UTC", "America/New_York"
LAKES = {"delta": "spark_catalog", "iceberg": "lake"}
HOURS = "2024-03-30 23:00", "2024-03-31 00:00", "2024-10-27 00:00", "2024-10-27 02:00", "2024-11-03 05:30"
"""Moments of UTC about the changes of clocks in Berlin and New York."""
TWICE = "2024-10-27 01:00"
"""Berlin's clock shows it as it showed the hour before. Delta takes both for the first, in any table."""


def moments(session: SparkSession, query: str) -> list[tuple]:
    columns = "unix_micros(ts) AS moment, n"
    return sorted(map(tuple, session.sql(f"SELECT {columns} FROM ({query})").collect()))


@pytest.mark.long
@pytest.mark.parametrize("format", LAKES)
@pytest.mark.parametrize("zones", [(ZONES[0], ZONES[1]), (ZONES[1], ZONES[0]), (ZONES[2], ZONES[0])])
def test_a_change_reaches_its_moment_in_views_of_other_zones(
    spark: SparkSession, format: str, zones: tuple[str, str]
) -> None:
    here = f"{LAKES[format]}.{database(spark)}"
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {here}")
    source, lower, upper = (f"{here}.{name}" for name in ("source", "lower", "upper"))
    spark.sql(f"CREATE TABLE {source} (x BIGINT, ts TIMESTAMP) USING {format} PARTITIONED BY (ts)")
    queries = {
        lower: f"SELECT ts, sum(x) AS n FROM {source} GROUP BY ts",
        upper: f"SELECT ts, max(n) AS n FROM {lower} GROUP BY ts",
    }
    for zone, (view, query) in zip(zones, queries.items(), strict=True):
        spark.conf.set("spark.sql.session.timeZone", zone)
        spark.sql(f"CREATE MATERIALIZED VIEW {view} USING {format} PARTITIONED BY (ts) AS {query}")
    for turn, zone in enumerate((*ZONES, ZONES[0])):
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        hours = HOURS[turn % 2 :: 2] if format == "delta" else (*HOURS[turn % 2 :: 2], TWICE)
        literals = [f"TIMESTAMP'{hour}:00 UTC'" for hour in hours]
        spark.conf.set("spark.sql.session.timeZone", zone)
        spark.sql(f"INSERT INTO {source} VALUES {', '.join(f'({turn + 1}, {each})' for each in literals)}")
        if turn == 2:
            spark.sql(f"DELETE FROM {source} WHERE ts = {literals[0]}")
        drain(spark)
        for view, query in queries.items():
            assert moments(spark, f"SELECT * FROM {view}") == moments(spark, query), (turn, view)


def test_a_view_that_names_moments_keeps_its_zone(spark: SparkSession) -> None:
    """Its partitions on record, and the maps of its readers, have texts of that zone."""
    spark.sql("CREATE TABLE source (x BIGINT, ts TIMESTAMP) USING delta PARTITIONED BY (ts)")
    make = "CREATE OR REPLACE MATERIALIZED VIEW v USING delta PARTITIONED BY (ts) AS SELECT ts, {} AS n FROM source"
    spark.sql(make.format("x"))
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    with pytest.raises(AnalysisException, match="SET TIME ZONE 'UTC', or drop it first"):
        spark.sql(make.format("x + 1"))
    spark.sql("DROP MATERIALIZED VIEW v")
    spark.sql(make.format("x + 1"))


@pytest.mark.long
def test_readers_of_a_view_that_was_made_anew_in_another_zone_are_mapped_anew(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE source (x BIGINT, ts TIMESTAMP) USING delta PARTITIONED BY (ts)")
    make = "CREATE MATERIALIZED VIEW {} USING delta PARTITIONED BY (ts) AS {}"
    lower = make.format("lower", "SELECT ts, sum(x) AS n FROM source GROUP BY ts")
    query = "SELECT ts, max(n) AS n FROM lower GROUP BY ts"
    spark.sql(lower)
    spark.sql(make.format("upper", query))
    spark.sql("DROP TABLE lower")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    spark.sql(lower)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    for hour in HOURS:
        spark.sql(f"INSERT INTO source VALUES (1, TIMESTAMP'{hour}:00')")
        drain(spark)
        assert moments(spark, "SELECT * FROM upper") == moments(spark, query)


@pytest.mark.thorough
@pytest.mark.parametrize("zone", ["PST", "+01:02:03", "UTC+1"])
def test_a_zone_that_java_alone_knows(spark: SparkSession, zone: str) -> None:
    here = f"lake.{database(spark)}"
    spark.sql(f"CREATE NAMESPACE {here}")
    spark.conf.set("spark.sql.session.timeZone", zone)
    spark.sql(f"CREATE TABLE {here}.source (x BIGINT, ts TIMESTAMP) USING iceberg PARTITIONED BY (ts)")
    query = f"SELECT ts, sum(x) AS n FROM {here}.source GROUP BY ts"
    spark.sql(f"CREATE MATERIALIZED VIEW {here}.v USING iceberg PARTITIONED BY (ts) AS {query}")
    for moment in ("2024-05-17 08:00:00", "2024-01-17 08:00:00", "2024-05-17 08:00:00"):
        spark.sql(f"INSERT INTO {here}.source VALUES (1, TIMESTAMP '{moment}')")
        [refreshed] = drain(spark)
        assert (refreshed["partition"], refreshed["status"]) == (f"ts={moment}", "published")
    assert moments(spark, f"SELECT * FROM {here}.v") == moments(spark, query)
