"""The record of one engine: the state that follows from the journal, and the only way to add to it.

Several threads may record events; one lock orders them. Several engines may share a store; the store orders them (see
``headwater.store``). Nothing slow is done under the lock: expressions are evaluated before it is taken.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar, overload

from headwater.engine.record.transition import transition
from headwater.engine.requests.coverage import images_of
from headwater.logger import log
from headwater.model.command import Wanted
from headwater.model.dependency import Computed
from headwater.model.error import HeadwaterError
from headwater.model.event import Evaluated, Event, Image, numbered
from headwater.model.partition import Value
from headwater.model.state import State
from headwater.model.view import Definition
from headwater.ports import Clock, Evaluator
from headwater.store.journal import Compacted, Entry, Stale
from headwater.store.recovery import resumed, uncollected
from headwater.store.sql_store import SqlStore

Build = Callable[[State], Event | None]
"""Makes an event of the state; ``None``: there is nothing (any more) to record, and the store is not asked. The event
is of version ``FRESH`` where the store is to give it one. A build is called again when another engine was faster."""

Sure = TypeVar("Sure", bound=Event)
"""The kind of event that a ``Build`` makes."""

Read = TypeVar("Read")
"""What a reader of the record asks for."""

NOTICED = 50
"""How far (ms) a clock may be off the store's before that is noticed: an answer of the store takes a while itself."""


class SystemClock:
    """The time of day."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000


class StoreTime:
    """The store's time, kept by a clock of this machine between two answers of the store."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._behind = clock, 0

    def now(self) -> int:
        return self._clock.now() + self._behind

    def hear(self, at: int) -> None:
        """The store says that it is ``at`` (ms)."""
        if abs(at - self.now()) > NOTICED:
            self._behind = at - self._clock.now()


class Recorder:
    """The record of one engine on one store.

    Attributes:
        state: everything on record. It changes with each event, so others than the loop and the waits ask ``read``.
        end: the last entry of the journal that it reflects; ``seq``: its number.
        lock: orders all access; ``changed`` is notified after every event.
        clock: the store's time.
    """

    def __init__(self, store: SqlStore, evaluator: Evaluator, clock: Clock) -> None:
        self.store, self.evaluator, self.clock = store, evaluator, StoreTime(clock)
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.clock.hear(store.now())
        self.state, self.end = resumed(store)

    @property
    def seq(self) -> int:
        return self.end.seq

    def read(self, ask: Callable[[State], Read]) -> Read:
        """The answer of a function of the state. ``ask`` is quick, and asks nothing of the world: everybody waits for
        it. The next event changes the state in place, so the answer must be no part of it that changes: neither the
        state, nor a ``ViewState``, nor a ``TableRecord``, nor a dict of theirs. Frozen values and copies are safe."""
        with self.lock:
            return ask(self.state)

    def await_newer(self, seq: int, seconds: float) -> int:
        """Waits until more is on record than an entry and those before it, at most for ``seconds``; the last one."""
        with self.changed:
            self.changed.wait_for(lambda: self.seq != seq, seconds)
            return self.seq

    def sync(self) -> None:
        """Applies what other engines appended to the journal."""
        with self.lock:
            try:
                with uncollected():
                    for entry in self.store.read(self.end):
                        self._apply(entry)
            except Compacted:
                self.state, self.end = resumed(self.store)
            self.changed.notify_all()

    @overload
    def record(self, build: Callable[[State], Sure]) -> Sure: ...

    @overload
    def record(self, build: Callable[[State], Sure | None]) -> Sure | None: ...

    def record(self, build: Build) -> Event | None:
        """Journals an event, then applies it. The partition columns that are computed from where it starts, here and
        downstream, are evaluated before."""
        [event] = self.record_all([build])
        return event

    def record_all(self, builds: Sequence[Build]) -> list[Event | None]:
        """Records several events in one transaction of the store, each as ``record`` does. They follow one another;
        each is built of the state before all of them."""
        refused: Wanted = frozenset()
        while True:
            with self.lock:
                events = [build(self.state) for build in builds]
                wanted = {each for event in events if event for each in images_of(self.state, event)}
                if wanted <= refused:
                    try:  # the store refuses what entries of others come before, so they need not be looked for first
                        return self._appended(events)
                    except Stale:
                        self.sync()
                        continue
            refused |= self.evaluate(frozenset(wanted - refused))

    def evaluate(self, wanted: Wanted) -> Wanted:
        """Records computed values, and returns those that the warehouse cannot compute. They stay unknown, and their
        columns free: more is refreshed, nothing is missed."""
        asked = self.read(lambda state: questions(state, wanted))
        try:
            images = evaluated(self.evaluator, asked)
        except HeadwaterError as error:
            log.warning("a partition column cannot be computed: %s", error)
            return wanted
        self.record(lambda _: Evaluated(self.clock.now(), images))
        return frozenset()

    def attempt(self, event: Event, by: int | None, evicting: int | None = None) -> Event | None:
        """Journals an event in the name of an engine, unless other engines journaled anything meanwhile: then that is
        applied instead.

        Raises:
            TakenOver: the engine was given up by another one.
            StillAlive: the engine that is to be evicted was heard of again.
        """
        with self.lock:
            try:
                entry = self.store.append(partial(numbered, event), self.end, by, evicting)
            except Stale:
                self.sync()
                return None
            self._apply(entry)
            self.changed.notify_all()
            return entry.event

    # --- inside

    def _appended(self, events: Sequence[Event | None]) -> list[Event | None]:
        entries: Iterable[Entry] = ()
        if some := [each for each in events if each is not None]:
            entries = self.store.append_all([partial(numbered, each) for each in some], self.end)
            for entry in entries:
                self._apply(entry)
            self.changed.notify_all()
        recorded = iter(entries)
        return [event and next(recorded).event for event in events]

    def _apply(self, entry: Entry) -> None:
        self.state = transition(self.state, entry.event)
        self.end = entry.end  # with each, so that an entry that cannot be read leaves none to be applied twice


Questions = Mapping[tuple[Definition, Computed], list[tuple[Value, ...]]]
"""Expressions of views, each with the values of its inputs."""


def questions(state: State, wanted: Wanted) -> Questions:
    """The expressions that ``engine.requests.coverage.unknown_images`` asks for, each once with all its inputs, so that
    the warehouse is asked in as few calls as possible."""
    found: dict[tuple[Definition, Computed], list[tuple[Value, ...]]] = {}
    for view, key, inputs in sorted(wanted, key=repr):
        if view not in state.views:
            continue
        definition = state.views[view].definition
        expression = _computed(definition, key)
        if expression is not None:  # else the view was redefined since somebody wanted that
            found.setdefault((definition, expression), []).append(inputs)
    return found


def evaluated(evaluator: Evaluator, asked: Questions) -> tuple[Image, ...]:
    """The answers.

    Raises:
        RefreshFailed: the warehouse cannot evaluate one.
    """
    images: list[Image] = []
    for (definition, expression), inputs in asked.items():
        values = evaluator.evaluate(definition, expression.sql, inputs, expression.inputs)
        images += [(expression.key, each, value) for each, value in zip(inputs, values, strict=True)]
    return tuple(images)


def _computed(definition: Definition, key: str) -> Computed | None:
    occurrences = (each for dependency in definition.dependencies for each in dependency.occurrences)
    columns = (expression for each in occurrences for _, expression in each.columns)
    return next((each for each in columns if isinstance(each, Computed) and each.key == key), None)
