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

from headwater.model.state import State
from headwater.plan.wave import Means
from headwater.runtime import Arrange
from headwater.spark.define import first_line
from headwater.spark.rates import costs, measured
from headwater.spark.settings import Settings
from headwater.spark.shim import Shim
from headwater.spark.volume import Volume, opened

log = logging.getLogger("headwater")


def volume(session: SparkSession, settings: Settings) -> Volume | None:
    """The volume that an application is to keep outputs in; ``None`` if there is to be none, or can be none, or if it
    refreshes nothing."""
    if settings.role != "auto":
        return None
    local = _is_local(session)
    return opened(settings.memory, settings.memory_path, local, lambda root: _is_shared(session, root))


def arranged(means: Means | None) -> tuple[Arrange | None, Callable[[State, str], list[str]]]:
    """Who plans runs with what may be kept, if that saves anything here, and who says what the plan is for a view."""
    if means is None or not means.pays:
        return None, lambda state, view: []
    # Not at the top: the solver in them takes a second to import.
    from headwater.plan.arrange import Arranger
    from headwater.plan.said import said

    return Arranger(means), lambda state, view: said(state, view, means)


def measured_means(session: SparkSession, shim: Shim, kept: Volume | None, settings: Settings) -> Means | None:
    """What runs may keep, and what that saves here; ``None`` if nothing can be kept."""
    if kept is None:
        return None
    # Where tasks run on this machine they share its way to the warehouse; others have theirs.
    streams = session.sparkContext.defaultParallelism if _is_local(session) else 1
    try:
        warehouse = measured(shim, session.conf.get("spark.sql.warehouse.dir"), streams)
        memory = measured(shim, kept.place(0), streams)
    except (Py4JError, PySparkException) as error:
        log.warning("nothing is kept in memory: the warehouse's speed cannot be measured (%s)", first_line(error))
        return None
    finally:
        kept.remove(0)
    share = streams / session.sparkContext.defaultParallelism
    return Means(costs(warehouse, memory, share, settings.bandwidth), kept.free, settings.tracks)


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
