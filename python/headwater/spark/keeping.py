"""Whether and where an application keeps outputs of runs in memory, and who decides which."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.model.event import Place
from headwater.model.state import State
from headwater.plan.pending import Costs, Means
from headwater.runtime.loop import Arrange
from headwater.spark import blocks, rates, volume
from headwater.spark.blocks import Blocks
from headwater.spark.define import first_line
from headwater.spark.settings import Settings
from headwater.spark.shim import Shim
from headwater.spark.volume import NoVolume, Volume

log = logging.getLogger("headwater")

SPARK = "spark"
"""The path that means Spark's own memory."""


def room(session: SparkSession, shim: Shim, settings: Settings) -> Volume | Blocks | None:
    """Where an application is to keep outputs: in a fast volume or, where there can be none, in Spark's own memory;
    ``None`` if nothing is to be kept, or if it refreshes nothing."""
    if settings.role != "auto" or not settings.memory.of(1 << 40):
        return None
    if (settings.memory_path or "").lower() != SPARK:
        local = _is_local(session)
        try:
            return volume.opened(settings.memory, settings.memory_path, local, lambda root: _is_shared(session, root))
        except NoVolume as error:
            log.warning("outputs are kept in Spark's own memory, for they cannot be in a fast volume: %s", error)
    return blocks.opened(shim, settings.memory)


def arranged(means: Means | None) -> tuple[Arrange | None, Callable[[State, str], list[str]]]:
    """Who plans runs with what may be kept, if that saves anything here, and who says what the plan is for a view."""
    if means is None or not means.pays:
        return None, lambda state, view: []
    # Not at the top: the solver in them takes a second to import.
    from headwater.plan.arrange import Arranger, explained

    return Arranger(means), lambda state, view: explained(state, view, means)


def measured_means(session: SparkSession, shim: Shim, kept: Volume | Blocks | None, settings: Settings) -> Means | None:
    """What runs may keep, and what that saves here; ``None`` if nothing can be kept."""
    if kept is None:
        return None
    try:
        match kept:
            case Volume():
                costs, place = _of_volume(session, shim, kept, settings), Place.VOLUME
            case Blocks():
                costs, place = blocks.measured(session, kept, shim, _warehouse(session)), Place.BLOCKS
    except (Py4JError, PySparkException) as error:
        log.warning("nothing is kept in memory: the warehouse's speed cannot be measured (%s)", first_line(error))
        return None
    return Means(costs, kept.free, settings.tracks, place)


def _of_volume(session: SparkSession, shim: Shim, kept: Volume, settings: Settings) -> Costs:
    # Where tasks run on this machine they share its way to the warehouse; others have theirs.
    streams = session.sparkContext.defaultParallelism if _is_local(session) else 1
    try:
        warehouse = rates.measured(shim, _warehouse(session), streams)
        memory = rates.measured(shim, kept.place(0), streams)
    finally:
        kept.remove(0)
    share = streams / session.sparkContext.defaultParallelism
    return rates.costs(warehouse, memory, share, settings.bandwidth)


def _warehouse(session: SparkSession) -> str:
    return session.conf.get("spark.sql.warehouse.dir")


def _is_local(session: SparkSession) -> bool:
    master = session.sparkContext.master
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
