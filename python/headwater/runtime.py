"""The only loop: journal an event, apply it, carry out what follows.

Several threads may record events; one lock orders them. Several engines may share a store; the store
orders them (see ``headwater.store.sql``), and only the holder of its lease starts and publishes runs.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from attrs import evolve

from headwater.engine.choose import ready, skipped, started, unneeded, wake_at
from headwater.engine.coverage import unknown_images
from headwater.engine.transition import transition
from headwater.images import evaluated
from headwater.model.action import Action, Clean, Launch
from headwater.model.error import DriverGone, HeadwaterError, LeaseLost, RefreshCancelled
from headwater.model.event import Evaluated, Event, Failed, Published, Restarted, Skipped, Started
from headwater.model.partition import Slice
from headwater.model.state import Run, State
from headwater.ports import Clock, Entry, Store, Warehouse
from headwater.store.replay import uncollected
from headwater.store.sql import Stale
from headwater.summaries import Summaries

log = logging.getLogger("headwater")

Change = tuple[str, Iterable[Slice], Callable[[State, int], "Event | None"]]
"""A table, the slices of it that a change starts at, and what makes the event (see ``Runtime.change``)."""

LEASE = 15_000
"""How long (ms) an engine may act without renewing; after it, another takes over."""


class SystemClock:
    """The time of day."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000


class Runtime:
    """One engine on one store.

    Attributes:
        state: everything known; read it only while holding ``lock``.
        lock: orders all access; ``changed`` is notified after every event.
    """

    def __init__(
        self, store: Store, warehouse: Warehouse, clock: Clock, holder: str, *, tracks: int = 2, acts: bool = True
    ) -> None:
        self.store, self.warehouse, self.clock = store, warehouse, clock
        self.holder, self.tracks, self.acts = holder, tracks, acts
        self.state, self.seq = State(), 0
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self._epoch: int | None = None
        self._workers = ThreadPoolExecutor(tracks, "headwater-refresh")
        self._mine: set[int] = set()
        self._publishing: set[int] = set()
        self._ended: list[tuple[Run, Published | Failed]] = []
        self._closed = False
        self._summaries = Summaries(store, clock)
        self.sync()

    @property
    def leads(self) -> bool:
        """Whether this engine holds the lease."""
        return self._epoch is not None

    def sync(self) -> None:
        """Applies what other engines appended to the journal."""
        with self.lock:
            with uncollected():
                for entry in self.store.read(self.seq):
                    self._apply(entry)
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
            self._evaluate_for(table, tuple(slices))
            return self.record(build)

    def change_all(self, changes: Iterable[Change]) -> None:
        """Records several changes in one transaction of the store, each as ``change`` does. None may depend
        on another."""
        with self.lock:
            builds = []
            for table, slices, build in changes:
                self._evaluate_for(table, tuple(slices))
                builds.append(lambda version, build=build: build(self.state, version))
            entries: Iterable[Entry] | None = None if builds else ()
            while entries is None:
                self.sync()
                with contextlib.suppress(Stale):
                    entries = self.store.append_all(builds, self.clock.now(), self.seq)
            for entry in entries:
                self._apply(entry)
            self.changed.notify_all()

    def step(self) -> int | None:
        """Takes or renews the lease, starts what is ready and keeps the store's summary; when to step again
        (ms), if known."""
        if not self.acts:
            self.sync()
            return None
        with self.lock:
            self._record_ended()
            self._lead()
            epoch = self._epoch
            if epoch is not None:
                self._preempt()
                for launch in self._start(epoch):
                    self._workers.submit(self._refresh, launch, epoch)
            if self.leads:
                self._summaries.keep(self.state, self.seq)
            return wake_at(self.state, self.clock.now())

    def close(self) -> None:
        """Ends this engine: it starts and publishes nothing any more, and gives the lease back."""
        with self.lock:
            self._closed = True
            if self.leads:
                self.store.release(self.holder)
            self._epoch = None
        self._workers.shutdown(wait=False, cancel_futures=True)

    # --- inside

    def _append(
        self, build: Callable[[State, int], Event | None], epoch: int | None
    ) -> tuple[Event | None, list[Action]]:
        nothing = _Nothing()

        def checked(version: int) -> Event:
            event = build(self.state, version)
            if event is None:
                raise nothing
            return event

        while True:
            self.sync()
            try:
                entry = self.store.append(checked, self.clock.now(), self.seq, epoch)
            except Stale:
                continue
            except _Nothing:
                return None, []
            return entry.event, self._apply(entry)

    def _apply(self, entry: Entry) -> list[Action]:
        self.state, actions = transition(self.state, entry.event)
        self.seq = entry.seq  # with each, so that an entry that cannot be read leaves none to be applied twice
        return actions

    def _lead(self) -> None:
        epoch = None if self._closed else self.store.acquire(self.holder, self.clock.now(), LEASE)
        if epoch != self._epoch:
            self._epoch = None  # until the takeover is on record: the runs of the engine before are put back by it
            if epoch is not None:
                with contextlib.suppress(LeaseLost):
                    self._append(lambda _state, _version: Restarted(self.clock.now()), epoch)
                    self._mine.clear()
                    self._epoch = epoch
        self.sync()

    def _start(self, epoch: int) -> list[Launch]:
        self._skip(epoch)
        launches: list[Launch] = []
        for chosen in ready(self.state, self.clock.now()):
            if len(self._mine) >= self.tracks:
                break

            def build(state: State, version: int, chosen=chosen) -> Started | None:
                still = [each for each in ready(state, self.clock.now()) if each.view == chosen.view]
                return started(state, still[0], version, self.clock.now()) if still else None

            try:
                event, actions = self._append(build, epoch)
            except LeaseLost:
                self._epoch = None
                break
            if event is not None:
                self._mine.add(event.version)
                launches += actions
        self.changed.notify_all()
        return launches

    def _preempt(self) -> None:
        """Cancels what a change preempted. A run between two Spark jobs has none to cancel, so that is tried at
        each step; one that is about to publish is let go on."""
        for run in self.state.running.values():
            if run.preempted and run.version in self._mine - self._publishing:
                self.warehouse.cancel(run.view)

    def _skip(self, epoch: int) -> None:
        """Completes what need not run, and then what need not run because of that."""
        while unneeded(self.state):

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
                    self.warehouse.cancel(definition.view)
                self.warehouse.remove(definition)

    def _refresh(self, launch: Launch, epoch: int) -> None:
        run, began = launch.run, self.clock.now()
        try:
            event = self._attempt(launch, epoch, began)
        except RefreshCancelled as error:
            event = self._failed(launch, began, str(error), cancelled=True)
        except LeaseLost as error:
            log.warning("%s was not published: %s", run.view, error)
            fenced = self._epoch == epoch and not isinstance(error, DriverGone)
            event = self._failed(launch, began, str(error)) if fenced else None
        except HeadwaterError as error:
            event = self._failed(launch, began, str(error))
        except Exception as error:  # whatever went wrong is this refresh's failure, and is shown as such
            log.exception("the refresh of %s failed", run.view)
            event = self._failed(launch, began, f"{type(error).__name__}: {error}")
        with self.lock:
            self._mine.discard(run.version)
            self._publishing.discard(run.version)
            if event is not None:
                self._ended.append((run, event))
        try:
            self.step()
        except HeadwaterError as error:
            log.warning("the end of the refresh of %s is recorded at the next step: %s", run.view, error)

    def _record_ended(self) -> None:
        """Journals how this engine's runs ended; what the store does not take now is kept for the next step."""
        while self._ended:
            run, event = self._ended[0]
            self.record(lambda state, _, run=run, event=event: event if _is_running(state, run) else None)
            del self._ended[0]

    def _attempt(self, launch: Launch, epoch: int, began: int) -> Published:
        run = launch.run
        written = self.warehouse.compute(launch)
        with self.lock:
            self._lead()
            if self._epoch != epoch:
                raise LeaseLost("another engine took over this store while it was computed")
            if not _is_running(self.state, run):
                raise RefreshCancelled(f"{run.view} was dropped, renamed or redefined while it was computed")
            if self.state.running[run.view].preempted:
                raise RefreshCancelled(f"a change came for what was computed of {run.view}; both run together now")
            self._publishing.add(run.version)
        replaced = self.warehouse.publish(launch, written)
        now = self.clock.now()
        try:
            self.store.discard(run.view, replaced.locations, now)
        except HeadwaterError as error:
            log.warning("the superseded files of %s are removed later, as orphans: %s", run.view, error)
        made = tuple(evolve(each, unchanged=each.slice in replaced.unchanged) for each in written.made)
        return Published(now, run.version, run.view, made, written.removed, (now - began) / 1000)

    def _failed(self, launch: Launch, began: int, error: str, cancelled: bool = False) -> Failed:
        now = self.clock.now()
        return Failed(now, launch.run.version, launch.run.view, error, (now - began) / 1000, cancelled)

    def _evaluate_for(self, table: str, slices: tuple[Slice, ...]) -> None:
        while wanted := unknown_images(self.state, table, slices):
            try:
                images = evaluated(self.state, self.warehouse, wanted)
            except HeadwaterError as error:
                # Without an image the column stays free: more is refreshed, nothing is missed.
                log.warning("a partition column cannot be computed: %s", error)
                break
            self.record(lambda _state, _version, images=images: Evaluated(self.clock.now(), images))


class _Nothing(Exception):
    """There is nothing to record."""


def _is_running(state: State, run) -> bool:
    known = state.running.get(run.view)
    return known is not None and known.version == run.version
