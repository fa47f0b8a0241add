"""The only loop: journal an event, apply it, carry out what follows.

Several threads may record events; one lock orders them. Several engines may share a store; the store
orders them (see ``headwater.store.sql``), and only the holder of its lease starts and publishes runs.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from attrs import evolve

from headwater.engine.choose import Choice, Ready, ready, skipped, started, unneeded, unspread_images, wake_at
from headwater.engine.coverage import unknown_images
from headwater.engine.transition import transition
from headwater.model.action import Action, Clean
from headwater.model.error import HeadwaterError, LeaseLost, PlanError, StillAlive
from headwater.model.event import Evaluated, Event, Restarted, Skipped, Started
from headwater.model.partition import Slice
from headwater.model.state import State
from headwater.ports import Clock, Entry, Store, Warehouse
from headwater.runtime.evaluate import Wanted, evaluated
from headwater.runtime.execute import Runner
from headwater.runtime.summaries import Summaries
from headwater.store.journal import Compacted, Stale
from headwater.store.keeper import HISTORY, Keeper
from headwater.store.replay import restored, uncollected

log = logging.getLogger("headwater")

Arrange = Callable[[State, Sequence[Ready]], Iterable[Choice]]

Change = tuple[str, Iterable[Slice], Callable[[State, int], "Event | None"]]
"""A table, the slices of it that a change starts at, and what makes the event (see ``Runtime.change``)."""

LEASE = 15_000
"""How long (ms) a lease lasts; after it, another engine takes over. It is renewed when half of it is over, so an engine
may be held up for the other half."""


class SystemClock:
    """The time of day."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000


class Runtime:
    """One engine on one store.

    Attributes:
        state: everything known; read it only while holding ``lock``.
        lock: orders all access; ``changed`` is notified after every event.
        arrange: in which order what is ready starts, and what is close at hand then.
    """

    def __init__(
        self,
        store: Store,
        warehouse: Warehouse,
        clock: Clock,
        holder: str,
        *,
        tracks: int = 2,
        acts: bool = True,
        history: int = HISTORY,
    ) -> None:
        self.store, self.warehouse, self.clock = store, warehouse, clock
        self.holder, self.acts = holder, acts
        self.state, self.seq = State(), 0
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self._epoch: int | None = None
        self.arrange: Arrange = lambda state, found: map(Choice, found)
        self._runner = Runner(self, tracks)
        self._closed = False
        self._summaries, self._keeper = Summaries(store, clock), Keeper(store, history)
        self.state, self.seq = restored(store)

    @property
    def leads(self) -> bool:
        """Whether this engine holds the lease."""
        return self._epoch is not None

    @property
    def number(self) -> int:
        """This engine's number, while it leads."""
        return self._epoch or 0

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

    def record(self, build: Callable[[State, int], Event | None]) -> Event | None:
        """Journals the event that ``build`` makes of the state and a fresh version, then applies it.

        ``build`` may be called again when another engine was faster, and may answer ``None`` when
        there is nothing (any more) to record.
        """
        with self.lock:
            event, actions = self._append(build, None)
            self.changed.notify_all()
        for action in actions:
            self._carry_out(action)
        return event

    def change(self, table: str, slices: Iterable[Slice], build: Callable[[State, int], Event | None]) -> Event | None:
        """Records an event that starts at slices of a table, after evaluating the partition columns
        that are computed from them, here and downstream."""
        with self.lock:
            starting = tuple(slices)
            self.evaluate(lambda: unknown_images(self.state, table, starting))
            return self.record(build)

    def change_all(self, changes: Iterable[Change]) -> None:
        """Records several changes in one transaction of the store, each as ``change`` does. None may depend
        on another."""
        with self.lock:
            builds = []
            for table, slices, build in changes:
                starting = tuple(slices)
                self.evaluate(lambda table=table, starting=starting: unknown_images(self.state, table, starting))
                builds.append(lambda version, build=build: build(self.state, version))
            entries: Iterable[Entry] | None = None if builds else ()
            while entries is None:
                try:
                    entries = self.store.append_all(builds, self.seq)
                except Stale:
                    self.sync()
            for entry in entries:
                self._apply(entry)
            self.changed.notify_all()

    def evaluate(self, unknown: Callable[[], Wanted]) -> None:
        """Records computed values that are not known, until there are none; those that the warehouse cannot tell stay
        unknown."""
        with self.lock:
            while wanted := unknown():
                try:
                    images = evaluated(self.state, self.warehouse, wanted)
                except HeadwaterError as error:
                    # Without an image the column stays free: more is refreshed, nothing is missed.
                    log.warning("a partition column cannot be computed: %s", error)
                    break
                self.record(lambda _state, _version, images=images: Evaluated(self.clock.now(), images))

    def step(self) -> int | None:
        """Takes or renews the lease, starts what is ready and keeps the store's summary; when to step again
        (ms), if known."""
        if not self.acts:
            self.sync()
            return None
        with self.lock:
            self._runner.record_ended()
            self._lead()
            epoch = self._epoch
            if epoch is not None:
                self._runner.preempt(self.state)
                self._start(epoch)
            if self.leads:
                self._summaries.keep(self.state, self.seq)
                self._keeper.keep(self.state, self.seq)
            return wake_at(self.state, self.clock.now())

    def close(self) -> None:
        """Ends this engine: it starts and publishes nothing any more, and gives the lease back."""
        with self.lock:
            self._closed = True
            if self.leads:
                self.store.leave(self.holder)
            self._epoch = None
        self._runner.close()
        self._keeper.close()

    def leads_as(self, epoch: int, again: bool = False) -> bool:
        """Whether this engine holds the lease that it held in ``epoch``; ``again``: after it asked the store."""
        with self.lock:
            if again:
                self._lead()
            return self._epoch == epoch

    # --- inside

    def _append(
        self, build: Callable[[State, int], Event | None], epoch: int | None, evicting: int | None = None
    ) -> tuple[Event | None, list[Action]]:
        nothing = _Nothing()

        def checked(version: int) -> Event:
            event = build(self.state, version)
            if event is None:
                raise nothing
            return event

        while True:
            try:  # the store refuses what another engine's entries come before, so they need not be looked for first
                entry = self.store.append(checked, self.seq, epoch, evicting)
            except Stale:
                self.sync()
                continue
            except _Nothing:
                return None, []
            return entry.event, self._apply(entry)

    def _apply(self, entry: Entry) -> list[Action]:
        self.state, actions = transition(self.state, entry.event)
        self.seq = entry.seq  # with each, so that an entry that cannot be read leaves none to be applied twice
        return actions

    def _lead(self) -> None:
        beat = None if self._closed else self.store.beat(self.holder, LEASE)
        epoch = beat.number if beat is not None and beat.leads else None
        if epoch != self._epoch:
            self._epoch = None  # until the takeover is on record: the runs of the engine before are put back by it
            if epoch is not None:
                with contextlib.suppress(LeaseLost, StillAlive):
                    for each in beat.overdue or (None,):
                        self._append(lambda _state, _version: Restarted(self.clock.now()), epoch, each)
                    self._epoch = epoch
        self.sync()

    def _arranged(self, found: Sequence[Ready]) -> list[Choice]:
        """What could start, by the plan. A plan is advice: where none can be made, refreshes run without."""
        try:
            return list(self.arrange(self.state, found))
        except PlanError as error:
            log.warning("refreshes run unplanned, and nothing is kept: %s", error)
            return [Choice(each) for each in found]

    def _start(self, epoch: int) -> None:
        """Starts what is ready. What is on record is under way, whatever the store says to the next."""
        self._skip(epoch)
        for choice in self._arranged(ready(self.state, self.clock.now())):
            if self._runner.free < 1:
                break

            def build(state: State, version: int, choice=choice) -> Started | None:
                now = self.clock.now()
                still = [each for each in ready(state, now) if each.view == choice.ready.view]
                return started(state, evolve(choice, ready=still[0]), version, now) if still else None

            try:
                event, actions = self._append(build, epoch)
            except LeaseLost:
                self._epoch = None
                break
            if event is not None:
                self._runner.mine[event.version] = event.view
                for launch in actions:
                    self._runner.submit(launch, epoch)
        self.changed.notify_all()

    def _skip(self, epoch: int) -> None:
        """Completes what need not run, and then what need not run because of that."""
        while unneeded(self.state):
            self.evaluate(lambda: unspread_images(self.state))

            def build(state: State, version: int) -> Skipped | None:
                found = unneeded(state)
                return skipped(state, found[0], version, self.clock.now()) if found else None

            try:
                self._append(build, epoch)
            except LeaseLost:
                self._epoch = None
                return

    def _carry_out(self, action: Action) -> None:
        match action:
            case Clean(definition, running):
                if running is not None:
                    self.warehouse.cancel(definition.view, running)
                self.warehouse.remove(definition)


class _Nothing(Exception):
    """There is nothing to record."""
