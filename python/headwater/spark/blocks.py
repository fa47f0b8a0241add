"""Spark's own memory: where outputs lie for their readers if driver and executors share no fast volume.

Spark holds rows in columnar batches in its block managers, at a level at which what finds no room goes to the
executors' disks. They are encoded for that, and once more for the warehouse, which a volume saves; what that costs is
measured.
"""

from __future__ import annotations

import contextlib
import logging
import time
import uuid
from collections.abc import Callable, Iterator, Sequence

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from headwater.model.state import Version
from headwater.plan.pending import Costs
from headwater.spark.room import Room
from headwater.spark.settings import Memory
from headwater.spark.shim import Shim

log = logging.getLogger("headwater")

LEVEL = "MEMORY_AND_DISK"
PROBED = 100_000
"""Rows that are written, held and read to measure what that takes."""


class Blocks(Room):
    """What Spark holds for one engine."""

    def __init__(self, shim: Shim, limit: int) -> None:
        super().__init__(limit)
        self._shim = shim

    def hold(self, frame: DataFrame, version: Version) -> None:
        """Computes rows and holds them."""
        self._shim.hold(frame, version, LEVEL)

    def size(self, version: Version) -> int:
        return self._shim.held_size(version)

    def remove(self, version: Version) -> None:
        with _unless_gone():
            self._shim.release_held(version)
        super().remove(version)

    def close(self) -> None:
        with _unless_gone():
            self._shim.release_all_held()
        super().close()


@contextlib.contextmanager
def _unless_gone() -> Iterator[None]:
    """Where Spark is gone, it holds nothing either."""
    try:
        yield
    except (Py4JError, ConnectionError) as error:
        log.info("Spark cannot be told to release what it holds: %s", error)


def opened(shim: Shim, memory: Memory) -> Blocks:
    """Room in Spark's memory; never more than Spark has. What an engine left that is gone is released."""
    there = shim.held_room()
    limit = memory.of(there)
    if limit > there:
        log.warning("Spark has %d MB to hold outputs in, so that is what is kept there at most", there >> 20)
    shim.release_all_held()
    return Blocks(shim, min(limit, there))


def measured(session: SparkSession, blocks: Blocks, shim: Shim, directory: str) -> Costs:
    """What holding a byte of an output saves, and costs. A byte is one as files have it.

    Batches are made by the tasks that make the rows, and the warehouse's files by tasks beside those of other runs.
    """
    rows = session.range(0, PROBED, 1, session.sparkContext.defaultParallelism).selectExpr("id", "uuid() AS note")
    noted = [_timed(rows, blocks, shim, session, f"{directory}/.headwater-{uuid.uuid4().hex}/data") for _ in range(2)]
    made, written, held, far, near = (min(times) for times in zip(*(each for each, _ in noted), strict=True))
    size = max(1, noted[0][1])
    return Costs(
        written=(written - held) / size,
        read=max(0.0, far - near) / size,
        copied=max(0.0, written - made) / size,
        moved=max(0.0, written - made) / size,
    )


def _timed(
    rows: DataFrame, blocks: Blocks, shim: Shim, session: SparkSession, place: str
) -> tuple[Sequence[float], int]:
    """µs in which rows are made, written, and held, and read from either place; and how many bytes were written."""
    try:
        made = _micros(lambda: _consume(rows))
        written = _micros(lambda: rows.write.mode("overwrite").parquet(place))
        held = _micros(lambda: blocks.hold(rows, 0))
        far = _micros(lambda: _consume(session.read.parquet(place)))
        near = _micros(lambda: _consume(shim.held(session, 0)))
        return (made, written, held, far, near), sum(each["bytes"] for each in shim.written(place, 0))
    finally:
        blocks.remove(0)
        shim.delete(place.removesuffix("/data"))


def _consume(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _micros(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return 1e6 * (time.perf_counter() - began)
