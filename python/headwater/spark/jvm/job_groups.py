"""The Spark jobs of runs: each run has a job group, and each thread that runs follow each other in has a pool."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator

from pyspark import SparkContext

from headwater.model.partition import Version
from headwater.model.state import Run

POOL = "headwater"


def group(view: str, version: Version) -> str:
    """The name of a run's Spark jobs, as a job group, and of its copy; by it they are cancelled."""
    return f"headwater {view} {version}"


class JobGroups:
    """Lets Spark know whose the jobs of a thread are."""

    def __init__(self) -> None:
        self._track = _Track(itertools.count())

    def take_up(self, context: SparkContext, run: Run, verb: str) -> None:
        """Lets jobs of this thread be known as a run's."""
        context.setJobGroup(
            group(run.view, run.version), f"{verb} {run.view}: {run.started.reason}", interruptOnCancel=True
        )
        context.setLocalProperty("spark.scheduler.pool", self._track.pool)


class _Track(threading.local):
    """The scheduler pool of a thread that refreshes run in one after the other."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self.pool = f"{POOL}-{next(numbers)}"
