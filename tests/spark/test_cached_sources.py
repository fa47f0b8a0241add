"""Refreshes read the files of a source, and not what a user has cached of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support import database, drain


@pytest.mark.parametrize("format", ["parquet", pytest.param("csv", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("cached", ["sales", pytest.param("through", marks=pytest.mark.thorough)])
def test_a_file_that_came_past_a_cached_table_is_read(
    spark: SparkSession, warehouse: Path, format: str, cached: str
) -> None:
    spark.sql(f"CREATE TABLE sales (n INT, day INT) USING {format} PARTITIONED BY (day)")
    spark.sql("INSERT INTO sales VALUES (1, 1)")
    spark.sql("CREATE VIEW through AS SELECT * FROM sales")
    spark.sql(f"CREATE MATERIALIZED VIEW v AS SELECT sum(n) AS s FROM {cached}")
    spark.sql(f"CACHE TABLE {cached}")
    spark.table(cached).collect()
    [file] = (warehouse / f"{database(spark)}.db" / "sales" / "day=1").glob("part-*")
    shutil.copyfile(file, file.with_name(f"part-9{file.suffix}"))
    drain(spark)
    assert spark.table("v").first()[0] == 2
    assert spark.sql("VERIFY MATERIALIZED VIEW v").first().result == "equal"
    spark.sql("CREATE MATERIALIZED VIEW w AS SELECT sum(n) AS s FROM sales")
    assert spark.table("w").first()[0] == 2
    spark.sql(f"UNCACHE TABLE {cached}")


@pytest.mark.thorough
def test_the_settings_of_who_cached_a_table_are_not_those_of_a_view(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "day=1").mkdir()
    (tmp_path / "day=1" / "1.csv").write_text("2024-01-01 20:00:00\n")
    spark.sql(f"CREATE TABLE moments (at TIMESTAMP, day INT) USING csv PARTITIONED BY (day) LOCATION '{tmp_path}'")
    spark.sql("MSCK REPAIR TABLE moments")
    other = spark.newSession()
    other.sql(f"USE {database(spark)}")
    other.sql("SET TIME ZONE 'Asia/Tokyo'")
    other.sql("CACHE TABLE moments")
    spark.sql("SET TIME ZONE 'UTC'")
    spark.sql("CREATE MATERIALIZED VIEW v AS SELECT unix_timestamp(at) AS at FROM moments")
    assert spark.table("v").first()[0] == 1704139200
    other.sql("UNCACHE TABLE moments")
