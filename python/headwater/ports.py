"""The ports: what the core and the runtime need from the world. They know nothing else of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from attrs import frozen

from headwater.engine.tell.status import Summary
from headwater.model.command import Launch, Replaced, Written
from headwater.model.event import Event
from headwater.model.partition import Value
from headwater.model.state import State
from headwater.model.version import Version
from headwater.model.view import Definition


class Clock(Protocol):
    def now(self) -> int:
        """Milliseconds since the epoch."""


class Entry(Protocol):
    """A journal entry."""

    @property
    def seq(self) -> int: ...

    @property
    def event(self) -> Event: ...


@frozen
class Beat:
    """An engine's place among the engines on a store, at one moment.

    Attributes:
        number: its own; another one than before if it was evicted meanwhile.
        at: the store's time (ms).
        last: the number of the journal's last entry.
        overdue: the numbers of other engines whose time is up; they are to be evicted.
        leads: whether it has the lowest number of those alive.
        known: the numbers of all engines that were not evicted.
    """

    number: int
    at: int
    last: int
    overdue: tuple[int, ...]
    leads: bool
    known: frozenset[int]


@frozen
class Member:
    """An engine that was not evicted; its time is up at ``until`` (ms), unless it renews it. ``alive``: it is not."""

    name: str
    number: int
    until: int
    alive: bool


@frozen
class Mark:
    """That there is a snapshot as of the entry ``seq``, kept ``at`` that time (ms)."""

    seq: int
    at: int


class Store(Protocol):
    """See ``headwater.store.sql_store``, whose parts also say what each method promises."""

    def now(self) -> int: ...

    def append(
        self, build: Callable[[int], Event], after: int, by: int | None = None, evicting: int | None = None
    ) -> Entry: ...

    def append_all(
        self, builds: Iterable[Callable[[int], Event | None]], after: int, by: int | None = None
    ) -> Sequence[Entry]: ...

    def raise_version(self, at_least: int) -> None: ...

    def read(self, after: int = 0) -> Iterator[Entry]: ...

    def keep_snapshot(self, seq: int, state: State, going: Callable[[], bool] = ...) -> bool: ...

    def snapshot(self) -> tuple[int, State] | None: ...

    def base(self) -> tuple[int, State]: ...

    def newest(self) -> Mark | None: ...

    def compact(self, before: int, apart: int = 0) -> None: ...

    def beat(self, name: str, lasting: int) -> Beat: ...

    def leave(self, name: str) -> None: ...

    def expire(self, number: int) -> None: ...

    def engines(self) -> Sequence[Member]: ...

    def summarise(self, seq: int, summarised: Summary, detail: str | None = None) -> None: ...

    def discard(self, view: str, paths: Iterable[str], now: int) -> None: ...


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
