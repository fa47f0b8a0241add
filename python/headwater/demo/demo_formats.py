"""The table formats that the demo can be played in: the word after ``USING``, and what makes a session know it."""

from __future__ import annotations

from attrs import frozen


@frozen
class DemoFormat:
    """A format of the sources and the views.

    Attributes:
        name: the word after ``USING``.
        package: what ``spark.jars.packages`` names; Spark's own formats need nothing.
        extension: of ``spark.sql.extensions``.
        settings: further settings of every session.
    """

    name: str
    package: str = ""
    extension: str = ""
    settings: tuple[tuple[str, str], ...] = ()


PARQUET = DemoFormat("parquet")

DELTA = DemoFormat(
    "delta",
    "io.delta:delta-spark_4.1_2.13:4.4.0",
    "io.delta.sql.DeltaSparkSessionExtension",
    (
        ("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"),
        # A log of the demo has some hundred files; Delta reads one with 50 tasks.
        ("spark.databricks.delta.snapshotPartitions", "1"),
    ),
)

ICEBERG = DemoFormat(
    "iceberg",
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    (
        ("spark.sql.catalog.spark_catalog", "org.apache.iceberg.spark.SparkSessionCatalog"),
        ("spark.sql.catalog.spark_catalog.type", "hive"),
        # The embedded metastore has no tables for locks. It serves one process, in which no two commits run at once.
        ("spark.hadoop.iceberg.engine.hive.lock-enabled", "false"),
    ),
)

FORMATS = {each.name: each for each in (PARQUET, DELTA, ICEBERG)}
