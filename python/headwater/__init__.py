"""Headwater keeps the derived tables of a Spark warehouse consistent with their sources.

What is named here is for programs that embed the engine. It is loaded when it is asked for, so that
the command line need not wait for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_WHERE = {
    "Engine": "headwater.embed",
    "table": "headwater.embed",
    "job": "headwater.jobs",
    "read": "headwater.spark.process.read_group",
    "register": "headwater.spark.process.register",
    "Windowed": "headwater.model.dependency",
    "Computed": "headwater.model.dependency",
    "Slice": "headwater.model.partition",
    "Made": "headwater.model.event",
    "Replaced": "headwater.model.command",
    "Written": "headwater.model.command",
    **dict.fromkeys(("HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"), "headwater.model.calendar"),
}
__all__ = ["__version__", *_WHERE]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)
