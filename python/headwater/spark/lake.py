"""The lake formats that an application has."""

from __future__ import annotations

from headwater.ports import TableFormat
from headwater.spark.delta import DeltaTables
from headwater.spark.iceberg import IcebergTables
from headwater.spark.sessions import Sessions
from headwater.spark.shim import Shim

FORMATS = (DeltaTables, IcebergTables)


def opened(shim: Shim, sessions: Sessions) -> list[TableFormat]:
    """The formats whose jars the application was started with."""
    return [each(shim, sessions) for each in FORMATS if shim.has(each.name)]
