"""The ports: what the core and the runtime need from the world. They know nothing else of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from headwater.model.command import Launch, Replaced, Written
from headwater.model.partition import Value, Version
from headwater.model.view import Definition


class Clock(Protocol):
    def now(self) -> int:
        """Milliseconds since the epoch."""


class Warehouse(Protocol):
    """Where the tables are. Methods are called from worker threads, several at once.

    ``bring`` and ``release`` are called only if the schedule keeps something in memory.
    """

    def compute(self, launch: Launch, sees: Mapping[str, Version]) -> Written:
        """Computes a run's slices into a place that no reader sees; in memory, if the run is ``kept``. What it
        reads of the runs that it is ``on`` is what those computed. The first of those that share a scan makes it, if
        it is to see the same versions of its sources.

        Raises:
            ChangesUnknown: the run cannot follow the changes of its sources. The kernel decides what it does instead.
            RefreshFailed: the work failed.
            RefreshCancelled: somebody cancelled it.
        """

    def bring(self, launch: Launch, written: Written) -> Written:
        """Copies what ``compute`` kept in memory to where it will be published from. Called once for each run
        that is prepared, kept or not; what lies there already is returned as it is.

        Raises:
            RefreshFailed: the work failed.
        """

    def release(self, version: Version) -> None:
        """Forgets what was computed by a run that is over, and that no other run reads or will read, and the scans
        that it shared with others that are forgotten, too."""

    def publish(self, launch: Launch, written: Written) -> Replaced:
        """Makes readers see what was written, whole or not at all.

        Raises:
            TakenOver: a higher version is published already.
        """

    def cancel(self, view: str, version: Version) -> None:
        """Stops what computes a run of a view, if anything does."""


class RunObserver(Protocol):
    """Looks at tables on behalf of runs, and what follows of them. Methods are called from worker threads."""

    def look(self, launch: Launch, before: bool) -> None:
        """Looks at the base tables that a run reads, and records how they differ. Done ``before`` it reads and after,
        so that what it may have seen is on record, and a request remains if that changed meanwhile. What is found
        before, the run reads.

        Raises:
            RefreshFailed: the work failed.
            RefreshCancelled: one of them cannot be read now.
        """

    def look_again(self, tables: Iterable[str]) -> None:
        """Looks at tables that a run did not find as they are on record, and records how they differ."""

    def reshaped(self, view: str) -> None:
        """Finds out what the readers of a view mean that was published with other columns, before they run."""


class Evaluator(Protocol):
    """The meaning of computed partition columns."""

    def evaluate(
        self, definition: Definition, sql: str, inputs: Sequence[tuple[Value, ...]], names: Sequence[str]
    ) -> list[Value]:
        """The values of a computed partition column for each tuple of input values.

        Raises:
            RefreshFailed: it cannot be evaluated.
        """
