"""Headwater for other programs: the same core over any warehouse, without Spark."""

from __future__ import annotations

import hashlib
import os
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import inf
from pathlib import Path
from types import TracebackType
from typing import Protocol, TypeVar

from attrs import frozen

from headwater.algebra import graph
from headwater.engine.tell import report
from headwater.engine.tell.consistency import Verdict, horizontal, vertical
from headwater.engine.tell.refreshes import REFRESHES
from headwater.engine.tell.waiting import settled
from headwater.model.calendar import Window
from headwater.model.command import Launch, Replaced, Written
from headwater.model.dependency import Dependency, Expression, Occurrence, Same, Windowed
from headwater.model.error import DefinitionError, StatementError
from headwater.model.event import FRESH, Changed, Declared, Dropped, Observed
from headwater.model.name import split
from headwater.model.partition import WHOLE, Slice, Value, Version
from headwater.model.policy import DEPENDENCY, PREFIX
from headwater.model.properties import check_properties
from headwater.model.state import State
from headwater.model.view import Definition, Query
from headwater.ports import Clock, Evaluator
from headwater.runtime.loop import Loop
from headwater.runtime.recorder import Recorder, SystemClock
from headwater.runtime.wait import Waiting
from headwater.store.sql_store import SqlStore

Answer = TypeVar("Answer")


STEP = 1.0
"""So often (s) an engine looks at the time, and at what other programs did, while somebody waits."""


def table(name: str, /, **columns: str | Window | Expression) -> Dependency:
    """How a derived table reads a source.

        table("daily", month=Windowed("day", MONTH.days()))

    Each argument is a partition column of the derived table. Its value is the equal partition column of the
    source, or a window over one. A change reaches all values of a column that is left out. In a job,
    ``partition=window`` maps the only partition column to the source's.
    """
    bound = {column: _expression(each) for column, each in columns.items()}
    return Dependency(name, (Occurrence(tuple(bound.items())),), stated=True)


def _expression(each: str | Window | Expression) -> Expression:
    match each:
        case str():
            return Same(each)
        case Window():
            return Windowed("", each)
        case _:
            return each


class Warehouse(Evaluator, Protocol):
    """Where a program has its derived tables. Methods are called from worker threads, several at once."""

    def compute(self, launch: Launch) -> Written:
        """Computes a run's slices into a place that no reader sees.

        Raises:
            RefreshFailed: the work failed.
            RefreshCancelled: somebody cancelled it.
        """

    def publish(self, launch: Launch, written: Written) -> Replaced:
        """Makes readers see what was written, whole or not at all, in place of everything in the run's slices.

        ``written.removed`` may be incomplete there: an engine that was killed may have published a partition that is
        not on record.
        """

    def remove(self, definition: Definition) -> None:
        """Removes a dropped table, and what was written for it."""

    def cancel(self, view: str, version: Version) -> None:
        """Stops what computes a run of a table, if anything does."""


@frozen
class _Port:
    """The engine's port over a program's warehouse: nothing is kept in memory there."""

    warehouse: Warehouse

    def compute(self, launch: Launch, sees: Mapping[str, Version]) -> Written:
        return self.warehouse.compute(launch)

    def bring(self, launch: Launch, written: Written) -> Written:
        return written

    def release(self, version: Version) -> None:
        pass

    def publish(self, launch: Launch, written: Written) -> Replaced:
        return self.warehouse.publish(launch, written)

    def cancel(self, view: str, version: Version) -> None:
        self.warehouse.cancel(view, version)


class _NoLooks:
    """The program itself tells of its writes, so nothing is looked at."""

    def look(self, launch: Launch, before: bool) -> None:
        pass

    def look_again(self, tables: Iterable[str]) -> None:
        pass

    def reshaped(self, view: str) -> None:
        pass


class Engine:
    """Keeps derived tables fresh in a warehouse of the program's own.

    Nothing happens by itself. The program records its changes, and ``drain`` refreshes the tables downstream,
    with ``tracks`` refreshes side by side. Pending refreshes outlive the process in ``store``, a file.

    Raises:
        StoreError: the store cannot be created or opened, or is not one.
    """

    def __init__(self, warehouse: Warehouse, store: str | Path, *, tracks: int = 1, clock: Clock | None = None) -> None:
        self._store = SqlStore(store, clock=clock.now if clock else None)
        name = f"{socket.gethostname()}:{os.getpid()}:embedded"
        self._warehouse, self._recorder = warehouse, Recorder(self._store, warehouse, clock or SystemClock())
        self._loop = Loop(self._recorder, _Port(warehouse), _NoLooks(), name, tracks=tracks)
        self._waiting = Waiting(self._recorder, self._loop, self._store)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        self.close()

    def close(self) -> None:
        """Stops all refreshes; pending ones stay in the store."""
        self._loop.close()
        self._store.close()

    def declare(
        self,
        name: str,
        query: str,
        reads: Sequence[Dependency],
        *,
        partitioned_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Declares a derived table, or redefines it. An unchanged table is left alone.

        The warehouse gives ``query`` its meaning. The whole table is pending afterwards. ``properties`` are those of a
        view; ``headwater.`` may be left out of their names.

        Raises:
            DefinitionError: the name is none, a property is unknown or cannot have its value, a map binds a column
                that the table is not partitioned by, or the table would read itself through others.
        """
        _require_name(name)
        for read in reads:
            for column in {column for occurrence in read.occurrences for column, _ in occurrence.columns}:
                if column not in partitioned_by:
                    raise DefinitionError(
                        "COLUMNS", f"{name} maps {read.source} to {column}, which it is not partitioned by"
                    )
        definition = Definition(
            view=name,
            made_by=Query(query),
            columns=(),
            partitioned_by=tuple(partitioned_by),
            properties=_stated(name, properties or {}),
            fingerprint=hashlib.sha256(query.encode()).hexdigest()[:16],
            dependencies=tuple(reads),
        )
        known = self._recorder.read(lambda state: state.definition(name))
        if known == definition:
            return
        why = "was created" if known is None else "was redefined"

        def declared(state: State) -> Declared:
            graph.refuse_cycle(state.sources, name, definition.sources)  # another program may have closed one
            return Declared(self._now(), FRESH, definition, why)

        self._recorder.record(declared)

    def drop(self, name: str) -> None:
        """Forgets a derived table and lets the warehouse remove it."""
        dropped: list[Definition] = []

        def drop(state: State) -> Dropped | None:
            dropped[:] = filter(None, [state.definition(name)])
            return Dropped(self._now(), name) if dropped else None

        self._recorder.sync()  # another program may have declared it
        self._recorder.record(drop)
        self._loop.step()  # which stops a run of it
        for definition in dropped:
            self._warehouse.remove(definition)

    def changed(self, name: str, *partitions: Mapping[str, Value], gone: bool = False) -> None:
        """Records a write to partitions of a table, or their removal; without a partition, to the whole table.

        Raises:
            StatementError: the value of a partition is no text.
        """
        slices = [_slice(name, each) for each in partitions] or [WHOLE]

        def event(state: State) -> Changed:
            seen = tuple(Observed(each, None if gone else str(state.highest + 1)) for each in slices)
            return Changed(self._now(), FRESH, name, seen, "", 0, "was removed" if gone else "changed")

        self._recorder.record(event)

    def drain(self, timeout: float | None = None) -> list[dict]:
        """Refreshes until no pending table can run, or ``timeout`` seconds are over.

        Returns a row for each refreshed partition, with the columns of ``SHOW REFRESHES``.
        """
        since, version, began = self._recorder.seq, self._waiting.hurry(), time.monotonic()
        over = False
        every = partial(self._waiting.until_fresh, lambda state: set(state.views), version, since=since)
        while not over:
            left = inf if timeout is None else began + timeout - time.monotonic()
            every(timeout=max(0, min(left, STEP)))
            over = left <= STEP or self._recorder.read(partial(_all_settled, version=version))
            if not over:  # a refresh may be due again, and other programs are to hear that this one is there
                self._loop.step()
        ran = every(timeout=0)  # the last refresh may have ended after its wait
        return [dict(zip(REFRESHES, row, strict=True)) for row in (each.row for each in ran)]

    def step(self) -> int | None:
        """Starts the due refreshes, for programs with their own loop. Returns when to call again (ms), if known."""
        return self._loop.step()

    def explain(self, name: str) -> list[str]:
        """The next refresh of a derived table, and its reasons: the lines of ``EXPLAIN REFRESH``.

        Raises:
            StatementError: there is no such table.
        """
        self._known(lambda state: None, name)
        return self._loop.explained(name)

    def consistency(self, name: str, partition: Mapping[str, Value] | None = None) -> tuple[Verdict, ...]:
        """Whether a partition of a derived table, or all of it, reflects every recorded change upstream.

        There is a verdict for each table upstream. If the answer is no, it has the time since then, and the
        requests that will bring the changes.

        Raises:
            StatementError: there is no such table, or the value of the partition is no text.
        """
        asked = _slice(name, partition)
        return self._known(lambda state: vertical(state, name, asked), name)

    def agrees(self, name: str, sibling: str) -> Verdict:
        """Whether two derived tables reflect the same changes of their common sources.

        Raises:
            StatementError: there is no such table.
        """
        return self._known(lambda state: horizontal(state, name, sibling), name, sibling)

    def behind(self) -> Iterable[str]:
        """The derived tables that do not reflect every recorded change yet."""
        return self._recorder.read(lambda state: [name for name in state.views if report.behind(state, name)])

    def _known(self, ask: Callable[[State], Answer], *names: str) -> Answer:
        """The answer of a function of the state, if there are such tables."""

        def asked(state: State) -> Answer:
            for name in names:
                if name not in state.views:
                    raise StatementError(f"there is no derived table {name}")
            return ask(state)

        return self._recorder.read(asked)

    def _now(self) -> int:
        return self._recorder.clock.now()


def _all_settled(state: State, version: Version) -> bool:
    return all(settled(state, name, version) for name in state.views)


def _require_name(name: str) -> None:
    """Refuses what is no name of a table: all that tells of the store takes names apart.

    Raises:
        DefinitionError: the text is none.
    """
    try:
        split(name)
    except ValueError:
        raise DefinitionError(
            "NAME", f"'{name}' is no name of a table; write one, such as daily or shop.daily"
        ) from None


def _stated(name: str, properties: Mapping[str, str]) -> dict[str, str]:
    """The properties of a table under their whole names.

    Raises:
        DefinitionError: one is unknown, is stated twice, or cannot have its value.
    """
    stated: dict[str, str] = {}
    for given, value in properties.items():
        key = given if given.startswith(PREFIX) else f"{PREFIX}{given}"
        if key in stated:
            raise DefinitionError("PROPERTY", f"'{key}' is stated in two spellings; leave one out", name)
        if key.startswith(f"{PREFIX}{DEPENDENCY}"):
            raise DefinitionError("PROPERTY", f"table() says what {name} reads; leave the property '{key}' out", name)
        if key.startswith(f"{PREFIX}group"):  # nobody reads epochs here
            told = f"the engine reads no older versions of {name} in this program; leave the property '{key}' out"
            raise DefinitionError("PROPERTY", told, name)
        if not isinstance(value, str):
            raise DefinitionError("PROPERTY", f"property '{key}' is {value!r}, which is no text; write '{value}'", name)
        stated[key] = value
    check_properties(name, stated)
    return stated


def _slice(name: str, partition: Mapping[str, Value] | None) -> Slice:
    """A partition of a table.

    Raises:
        StatementError: a value is no text, and not ``None`` for the null partition.
    """
    for column, value in (partition or {}).items():
        if not isinstance(value, str | None):
            raise StatementError(
                f"{name}: the partition {column}={value!r} is no text; write it as the table spells it, as '{value}'"
            )
    return Slice.of(partition)
