"""How far the refreshes of a Spark application have come."""

from __future__ import annotations

from typing import Any

from attrs import frozen
from pyspark.sql import SparkSession

from headwater.spark.jvm import wire


@frozen
class Progress:
    """A refresh under way, by the jobs of it that started so far.

    Attributes:
        tasks, done: how many tasks they have, and how many of these are done.
        rows_read, bytes_read, rows, bytes: what those read and wrote.
        copied, size: bytes that are brought from memory to the warehouse, and how many there are; 0 while none are.
    """

    view: str
    version: int
    tasks: int
    done: int
    rows_read: int
    bytes_read: int
    rows: int
    bytes: int
    copied: int
    size: int


def progress(session: SparkSession) -> list[Progress]:
    """The refreshes of which a Spark job runs, or whose output is copied."""
    jvm: Any = session._jvm
    told = jvm.io.headwater.spark.Progress.of(session._jsparkSession)
    return wire.decode(told, list[Progress])
