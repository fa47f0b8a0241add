"""The memory of an application: in a fast volume, else in Spark's own memory, else none.

Example: ``spark.headwater.memory=2g`` on a laptop gives 2 GB of ``/dev/shm``; on executors of other machines, 2 GB of
Spark's own memory.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from headwater.engine.decide.schedule import InOrder, Schedule
from headwater.logger import log
from headwater.memory.buffers import blocks, volume
from headwater.memory.buffers.buffer import Application, Buffer, NoBuffer
from headwater.memory.buffers.volume import NoVolume
from headwater.memory.planning.means import Means
from headwater.spark.jvm.settings import Settings
from headwater.spark.jvm.shim import Shim

SPARK = "spark"
"""The path that means Spark's own memory."""


def buffer(session: SparkSession, shim: Shim, settings: Settings) -> Buffer:
    """The buffer of an application; it has none if nothing is to be kept, or if it refreshes nothing."""
    if settings.role != "auto" or not settings.memory.of(1 << 40):
        return NoBuffer()
    if (settings.memory_path or "").lower() != SPARK:
        local = _is_local(session)
        try:
            return volume.opened(settings.memory, settings.memory_path, local, lambda root: _is_shared(session, root))
        except NoVolume as error:
            log.warning("outputs are kept in Spark's own memory, for they cannot be in a fast volume: %s", error)
    return blocks.opened(shim, settings.memory)


def means(session: SparkSession, shim: Shim, buffer: Buffer, settings: Settings) -> Means | None:
    """All that a plan of this application may use; ``None`` if nothing can be kept."""
    warehouse = session.conf.get("spark.sql.warehouse.dir") or ""
    return buffer.means(Application(session, shim, settings, _is_local(session), warehouse))


def scheduled(means: Means | None) -> Schedule:
    """The schedule of runs, by a plan if keeping saves anything here."""
    if means is None or not means.pays:
        return InOrder()
    # Not at the top: the solver in it takes a second to import.
    from headwater.memory.planning.arrange import ByPlan

    return ByPlan(means)


def _is_local(session: SparkSession) -> bool:
    master = session.sparkContext.master or ""
    return master.startswith("local") and not master.startswith("local-cluster")


def _is_shared(session: SparkSession, root: Path) -> bool:
    """Whether every executor sees a file that the driver's machine has in a directory."""
    handle, name = tempfile.mkstemp(prefix=".headwater-", dir=root)
    os.close(handle)
    try:
        tasks = 2 * session.sparkContext.defaultParallelism
        seen = session.sparkContext.parallelize(range(tasks), tasks).map(lambda _: os.path.exists(name))
        return all(seen.collect())
    finally:
        os.unlink(name)
