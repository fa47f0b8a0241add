"""The warehouse's port to the rows and scans that stay in memory; ``headwater.memory.buffers`` implements it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from headwater.model.command import Launch, Written
from headwater.model.measure import Moved, Scanned
from headwater.model.partition import Version
from headwater.model.state import Run
from headwater.spark.jvm.counted import Counted
from headwater.spark.jvm.wire import Spent

Stop = Callable[[], object]
"""Lets the Spark jobs of a run fail."""


class Memory(Protocol):
    def overlaid(self, context: SparkContext, run: Run) -> AbstractContextManager[None]:
        """Lets queries of this thread read the rows of other runs, where they lie, and the scans that the run took."""

    def share(
        self, run: Run, frame: Callable[[], DataFrame], seen: Mapping[str, Version], stop: Stop
    ) -> tuple[Scanned, ...]:
        """Takes the scans that a run shares with others. The answer is those that were made for that.

        Args:
            frame: the run's query, whose columns and rows the scans must have.
            seen: the versions of its sources that it is to see.
        """

    def keep(self, launch: Launch, frame: Callable[[], DataFrame], stop: Stop) -> tuple[Written, Counted] | None:
        """Computes a run's rows into memory; ``None`` if they are not to be kept, or do not fit there."""

    def offer(self, launch: Launch, written: Written) -> None:
        """Lets runs that are on this one read its rows."""

    def holds(self, written: Written) -> bool:
        """Whether rows lie in memory, and not in the warehouse yet."""

    def bring(self, session: SparkSession, launch: Launch, kept: Written) -> Written:
        """Copies kept rows to the warehouse.

        Raises:
            RefreshFailed: some are not there any more.
        """

    def published(self, version: Version) -> None:
        """Notes that a run's rows are in the warehouse, too."""

    def release(self, version: Version) -> None:
        """Forgets a run's rows, and the scans that no other run holds."""

    def transfers(self, spent: Spent, run: Run, written: Written) -> tuple[Moved, ...]:
        """The time that a run took to read and to write, by the places where that lies."""
