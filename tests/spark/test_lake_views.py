"""Views over lake tables, from a write to the rows that a reader sees."""

from __future__ import annotations

from pyspark.sql import SparkSession
from support import database


def test_a_view_follows_an_iceberg_table(spark: SparkSession) -> None:
    table = f"lake.{database(spark)}.t"
    spark.sql(f"CREATE TABLE {table} (x INT, day DATE) USING iceberg PARTITIONED BY (day)")
    spark.sql(f"INSERT INTO {table} VALUES (1, DATE'2024-01-01'), (2, DATE'2024-01-02')")
    spark.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (day) AS SELECT sum(x) AS s, day FROM {table} GROUP BY day")
    spark.sql(f"INSERT INTO {table} VALUES (5, DATE'2024-01-02')")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    assert [row["s"] for row in spark.sql("SELECT s FROM v ORDER BY day").collect()] == [1, 7]
