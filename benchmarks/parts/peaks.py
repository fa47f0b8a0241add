"""What a refresh takes beside its time: the most memory at any moment, and processors."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.parts.processes import resident, used
from headwater.memory.buffers.volume import size

LOOK = 0.05
"""Seconds between two looks at what is in memory."""


@contextmanager
def watched(spark: SparkSession, volume: Path) -> Iterator[dict[str, Any]]:
    """The most bytes at any moment: resident in the driver's JVM, and kept by Spark or in the fast volume; the
    seconds of processors that the JVM took, and for how long it compiled."""
    peak: dict[str, Any] = {"resident": 0, "volume": 0, "stored": 0}
    ended = threading.Event()
    jvm = spark._jvm.java.lang.ProcessHandle.current().pid()
    before, compiled = used(jvm), _compiled(spark)

    def look() -> None:
        while not ended.wait(LOOK):
            peak["resident"] = max(peak["resident"], resident(jvm))
            peak["volume"] = max(peak["volume"], size(volume))
            peak["stored"] = max(peak["stored"], stored(spark))

    watching = threading.Thread(target=look, daemon=True)
    watching.start()
    try:
        yield peak
    finally:
        ended.set()
        watching.join()
        peak["processor"] = used(jvm) - before
        peak["compiling"] = _compiled(spark) - compiled


def _compiled(spark: SparkSession) -> float:
    """Seconds."""
    return spark._jvm.java.lang.management.ManagementFactory.getCompilationMXBean().getTotalCompilationTime() / 1000


def stored(spark: SparkSession) -> int:
    """Bytes that Spark keeps in memory."""
    return sum(each.memSize() for each in spark._jsc.sc().getRDDStorageInfo())
