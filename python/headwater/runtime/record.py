"""The record of one engine: the state that the journal tells, and the only way to add to it.

Several threads may record events; one lock orders them. Several engines may share a store; the store orders them (see
``headwater.store``). Nothing slow is done under the lock: expressions are evaluated before it is taken.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar, overload

from attrs import frozen

from headwater.engine.record.transition import transition
from headwater.engine.requests.coverage import unknown_images
from headwater.model.command import Wanted
from headwater.model.error import HeadwaterError
from headwater.model.event import Evaluated, Event
from headwater.model.partition import Slice
from headwater.model.state import State
from headwater.model.version import Version
from headwater.ports import Clock, Entry, Evaluator, Store
from headwater.runtime.evaluate import evaluated, questions
from headwater.store.journal import Compacted, Stale
from headwater.store.recovery import restored, uncollected

log = logging.getLogger("headwater")

Build = Callable[[State, Version], Event | None]
"""Makes an event of the state and a fresh version. It may be called again when another engine was faster, and may
answer ``None`` when there is nothing (any more) to record."""

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
    """The store's time, told by a clock of this machine between two words of the store."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._behind = clock, 0

    def now(self) -> int:
        return self._clock.now() + self._behind

    def hear(self, at: int) -> None:
        """The store says that it is ``at`` (ms)."""
        if abs(at - self.now()) > NOTICED:
            self._behind = at - self._clock.now()


@frozen
class Change:
    """A change to be recorded: a table, the slices of it that the change starts at, and what makes the event."""

    table: str
    slices: tuple[Slice, ...]
    build: Build


class Recorder:
    """The record of one engine on one store.

    Attributes:
        state: everything on record. It changes with each event, so others than the loop and the waits ask ``read``.
        seq: the last entry of the journal that it reflects.
        lock: orders all access; ``changed`` is notified after every event.
        clock: the store's time.
    """

    def __init__(self, store: Store, evaluator: Evaluator, clock: Clock) -> None:
        self.store, self.evaluator, self.clock = store, evaluator, StoreTime(clock)
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.clock.hear(store.now())
        self.state, self.seq = restored(store)

    def read(self, ask: Callable[[State], Read]) -> Read:
        """The answer of a function of the state. ``ask`` is quick, and asks nothing of the world: everybody waits for
        it. The next event changes the state in place, so the answer must be no part of it that changes: neither the
        state, nor a ``ViewState``, nor a ``TableRecord``, nor a dict of theirs. Frozen values and copies are safe."""
        with self.lock:
            return ask(self.state)

    def sync(self) -> None:
        """Applies what other engines appended to the journal."""
        with self.lock:
            try:
                with uncollected():
                    for entry in self.store.read(self.seq):
                        self._apply(entry)
            except Compacted:
                self.state, self.seq = restored(self.store)
            self.changed.notify_all()

    @overload
    def record(self, build: Callable[[State, Version], Sure]) -> Sure: ...

    @overload
    def record(self, build: Callable[[State, Version], Sure | None]) -> Sure | None: ...

    def record(self, build: Build) -> Event | None:
        """Journals an event, then applies it."""
        [event] = self._record([build])
        return event

    @overload
    def change(self, table: str, slices: Iterable[Slice], build: Callable[[State, Version], Sure]) -> Sure: ...

    @overload
    def change(self, table: str, slices: Iterable[Slice], build: Build) -> Event | None: ...

    def change(self, table: str, slices: Iterable[Slice], build: Build) -> Event | None:
        """Records an event that starts at slices of a table, after evaluating the partition columns that are computed
        from them, here and downstream."""
        [event] = self.change_all([Change(table, tuple(slices), build)])
        return event

    def change_all(self, changes: Sequence[Change]) -> list[Event | None]:
        """Records several changes in one transaction of the store, each as ``change`` does. None may depend on
        another."""
        refused: Wanted = frozenset()
        while True:
            with self.lock:
                wanted = {each for one in changes for each in unknown_images(self.state, one.table, one.slices)}
                if wanted <= refused:
                    return self._record([each.build for each in changes])
            refused |= self.evaluate(frozenset(wanted - refused))

    def evaluate(self, wanted: Wanted) -> Wanted:
        """Records computed values, and returns those that the warehouse cannot tell. They stay unknown, and their
        columns free: more is refreshed, nothing is missed."""
        asked = self.read(lambda state: questions(state, wanted))
        try:
            images = evaluated(self.evaluator, asked)
        except HeadwaterError as error:
            log.warning("a partition column cannot be computed: %s", error)
            return wanted
        self.record(lambda _state, _version: Evaluated(self.clock.now(), images))
        return frozenset()

    def attempt(
        self, build: Callable[[State, Version], Event], by: int | None, evicting: int | None = None
    ) -> Event | None:
        """Journals an event in the name of an engine, unless other engines journaled anything meanwhile: then that is
        applied instead.

        Raises:
            TakenOver: the engine was given up by another one.
            StillAlive: the engine that is to be evicted was heard of again.
        """
        with self.lock:
            try:
                entry = self.store.append(lambda version: build(self.state, version), self.seq, by, evicting)
            except Stale:
                self.sync()
                return None
            self._apply(entry)
            self.changed.notify_all()
            return entry.event

    # --- inside

    def _record(self, builds: Sequence[Build]) -> list[Event | None]:
        with self.lock:
            while builds:
                try:  # the store refuses what entries of others come before, so they need not be looked for first
                    return self._appended(builds)
                except Stale:
                    self.sync()
            return []

    def _appended(self, builds: Sequence[Build]) -> list[Event | None]:
        made: list[Event | None] = []

        def build(version: Version, place: int) -> Event | None:
            made[place:] = [builds[place](self.state, version)]
            return made[place]

        entries = self.store.append_all([partial(build, place=place) for place in range(len(builds))], self.seq)
        for entry in entries:
            self._apply(entry)
        self.changed.notify_all()
        return made

    def _apply(self, entry: Entry) -> None:
        self.state = transition(self.state, entry.event)
        self.seq = entry.seq  # with each, so that an entry that cannot be read leaves none to be applied twice
