"""Spark's own memory: the buffer if driver and executors share no fast volume.

Spark holds rows in columnar batches in its block managers; batches that do not fit there go to the executors' disks.
Rows are encoded for that, and once more for the warehouse. A volume saves the second time, so its cost is measured.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator, Sequence

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from headwater.logger import log
from headwater.memory.buffers.buffer import Application, Buffer
from headwater.memory.planning.means import Costs
from headwater.model.command import Launch, Written
from headwater.model.measure import Measured, Place
from headwater.model.partition import Version
from headwater.spark.jvm.counted import Counted, counts
from headwater.spark.jvm.settings import MemoryLimit
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.files import Files
from headwater.spark.tables.writer import Writer

LEVEL = "MEMORY_AND_DISK"
PROBED = 100_000
"""Rows that are written, held and read to measure what that takes."""


class Blocks(Buffer):
    """What Spark holds for one engine."""

    kind = Place.BLOCKS

    def __init__(self, shim: Shim, limit: int) -> None:
        super().__init__(limit)
        self._shim = shim

    def hold(self, frame: DataFrame, version: Version) -> None:
        """Computes rows and holds them."""
        self._shim.hold(frame, version, LEVEL)

    def keep(self, launch: Launch, frame: DataFrame, writer: Writer) -> tuple[Written, Counted]:
        """The time of writing is part of the time in which batches are made."""
        run, columns = launch.run, launch.definition.partitioned_by
        counted = self._shim.counted(frame, columns, launch.definition.policy.cutoff)
        self.hold(counted.frame, run.version)
        made = tuple(counts(counted.sums(), columns).values())
        slices = {each.slice for each in made}
        removed = tuple(each for each in launch.existing if each not in slices)
        measured = Measured(held=self.size(run.version))
        return Written(made, removed, Files(None, {}), self.kind, measured), counted

    def bring(self, session: SparkSession, launch: Launch, kept: Written, writer: Writer) -> Written | None:
        return writer.rewrite(launch, self._shim.held(session, launch.run.version), kept.made)

    def leave(self, frame: DataFrame, number: Version, writer: Writer) -> tuple[str, int]:
        self.hold(frame, number)
        return "", self.size(number)

    def costs(self, application: Application) -> Costs:
        """A byte is one as files have it. Tasks that make rows make batches too; the warehouse's files are made by
        tasks beside those of other runs."""
        session = application.session
        rows = session.range(0, PROBED, 1, session.sparkContext.defaultParallelism).selectExpr("id", "uuid() AS note")
        noted = [self._timed(rows, f"{application.warehouse}/.headwater-{uuid.uuid4().hex}/data") for _ in range(2)]
        made, written, held, far, near = (min(times) for times in zip(*(each for each, _ in noted), strict=True))
        size = max(1, noted[0][1])
        return Costs(
            written=(written - held) / size,
            read=max(0.0, far - near) / size,
            copied=max(0.0, written - made) / size,
            moved=max(0.0, written - made) / size,
        )

    def _timed(self, rows: DataFrame, place: str) -> tuple[Sequence[float], int]:
        """µs in which rows are made, written, and held, and read from either place; and how many bytes were written."""
        shim, session = self._shim, rows.sparkSession
        try:
            made = _micros(lambda: _consume(rows))
            written = _micros(lambda: rows.write.mode("overwrite").parquet(place))
            held = _micros(lambda: self.hold(rows, 0))
            far = _micros(lambda: _consume(session.read.parquet(place)))
            near = _micros(lambda: _consume(shim.held(session, 0)))
            return (made, written, held, far, near), sum(each.bytes for each in shim.written(place, 0))
        finally:
            self.remove(0)
            shim.delete(place.removesuffix("/data"))

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


def opened(shim: Shim, memory: MemoryLimit) -> Blocks:
    """A buffer in Spark's memory; never larger than that. Rows that an engine left behind are released."""
    there = shim.held_room()
    limit = memory.of(there)
    if limit > there:
        log.warning("Spark has %d MB to hold outputs in, so that is what is kept there at most", there >> 20)
    shim.release_all_held()
    return Blocks(shim, min(limit, there))


def _consume(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _micros(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return 1e6 * (time.perf_counter() - began)
