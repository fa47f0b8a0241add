"""Iceberg tables: the changes between two snapshots, reads at a snapshot, and views that one commit publishes."""

from headwater.spark.tables.iceberg.tables import IcebergTables

__all__ = ["IcebergTables"]
