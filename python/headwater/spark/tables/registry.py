"""The lake formats that an application has."""

from __future__ import annotations

from headwater.ports import TableFormat
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.delta import DeltaTables
from headwater.spark.tables.iceberg import IcebergTables

FORMATS = (DeltaTables, IcebergTables)


def opened(shim: Shim, sessions: Sessions) -> list[TableFormat]:
    """The formats whose jars the application was started with."""
    return [each(shim, sessions) for each in FORMATS if shim.has(each.name)]
