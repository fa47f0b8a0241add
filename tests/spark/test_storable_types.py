"""A type that a format cannot store is refused when the view is created, in words, and nothing is left behind."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import database

TYPES = {
    "void": "NULL",
    "array<void>": "array()",
    "struct<a:void>": "named_struct('a', NULL)",
    "map<void,void>": "map()",
    "interval": "make_interval(0, 1, 0, id, 0, 0, 0)",
    "interval month": "INTERVAL '3' MONTH",
    "array<interval day to second>": "array(INTERVAL '3' DAY)",
    "variant": "parse_json('[1]')",
    "timestamp_ntz": "TIMESTAMP_NTZ'2024-01-01 00:00:00'",
}

OTHERS = [pytest.param(each, marks=pytest.mark.thorough) for each in ("parquet", "orc", "json", "csv", "delta")]


@pytest.mark.parametrize("format", ["iceberg", *OTHERS])
def test_a_view_is_filled_or_refused_by_its_column_and_type(spark: SparkSession, format: str) -> None:
    spark.sql("CREATE TABLE t USING parquet AS SELECT 1 AS id")
    here = f"lake.{database(spark)}" if format == "iceberg" else database(spark)
    if format == "iceberg":
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {here}")
    for n, (type, value) in enumerate(TYPES.items()):
        query, view = f"SELECT id, {value} AS x FROM spark_catalog.{database(spark)}.t", f"{here}.v{n}"
        try:
            spark.sql(f"CREATE MATERIALIZED VIEW {view} USING {format} AS {query}")
        except PySparkException as error:
            said = str(error).splitlines()[0]
            assert "Headwater failed" not in said and "tries again" not in said, (type, said)
            assert not spark.catalog.tableExists(view), (type, said)
            continue
        assert spark.table(view).count() == 1, type
        spark.sql(f"DROP MATERIALIZED VIEW {view}")
