"""Storage slowed to the speed of a remote one, for measurements on one machine.

Its default is the bandwidth for each core of the server of [Li23] (§VI-A: 519.8 and 358.9 MB/s for 48 cores): 21.7 MB/s
read and 15 MB/s written, for two cores together.
"""

from __future__ import annotations

from pathlib import Path

from headwater.spark.jvm.jar import built

READ, WRITE = 21_700_000, 15_000_000


def settings(*, read: float = READ, write: float = WRITE, open_millis: int = 0) -> dict[str, str]:
    """What Spark is told so that ``slow:`` is the local file system, at this speed (bytes a second of all streams)."""
    return {
        "spark.driver.extraClassPath": str(built("headwater-slow", Path(__file__).parent)),
        "spark.hadoop.fs.slow.impl": "io.headwater.benchmarks.SlowFileSystem",
        "spark.hadoop.fs.slow.read": str(read),
        "spark.hadoop.fs.slow.write": str(write),
        "spark.hadoop.fs.slow.open.millis": str(open_millis),
    }
