"""Carries out runs: computes them side by side, publishes them, and tells the runtime how they ended.

What is kept close at hand for its readers, and what is made of something that is not published yet, is
*prepared* first: on record, so that readers can run, while its track is free for them. It is brought to the
warehouse and published by one thread, in the order in which it was prepared. That is the order of the graph: a
run starts on what is prepared already.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Condition, RLock
from typing import Protocol

from attrs import evolve

from headwater.engine.coverage import images_of_readers, wanted_of
from headwater.model.action import Launch
from headwater.model.error import DriverGone, HeadwaterError, LeaseLost, RefreshCancelled
from headwater.model.event import Event, Failed, Prepared, Published
from headwater.model.state import Run, State, Version
from headwater.ports import Clock, Store, Warehouse, Written
from headwater.runtime.evaluate import Wanted

log = logging.getLogger("headwater")

PATIENCE = 1.0
"""How long (s) the publisher waits before it asks again whether what a run is on was published."""


class Host(Protocol):
    """The runtime, as far as a runner uses it."""

    lock: RLock
    changed: Condition
    state: State
    clock: Clock
    store: Store
    warehouse: Warehouse

    def record(self, build: Callable[[State, Version], Event | None]) -> Event | None: ...

    def evaluate(self, unknown: Callable[[], Wanted]) -> None: ...

    def leads_as(self, epoch: int, again: bool = False) -> bool: ...

    def step(self) -> int | None: ...


class Runner:
    """The runs of one engine that are under way.

    Attributes:
        mine: those that have not ended: their versions, each with its view.
    """

    def __init__(self, runtime: Host, tracks: int) -> None:
        self._runtime, self._tracks = runtime, tracks
        self._computing = ThreadPoolExecutor(tracks, "headwater-refresh")
        self._publisher = ThreadPoolExecutor(1, "headwater-publish")
        self.mine: dict[Version, str] = {}
        self._prepared: set[Version] = set()
        self._readable: set[Version] = set()
        self._publishing: set[Version] = set()
        self._ended: list[tuple[Run, Published | Failed]] = []

    @property
    def free(self) -> int:
        """How many more runs may start."""
        return self._tracks - len(self.mine.keys() - self._prepared)

    def submit(self, launch: Launch, epoch: int) -> None:
        self._computing.submit(self._carry_out, launch, epoch, self._compute)

    def preempt(self, state: State) -> None:
        """Cancels what a change preempted, and what was put back while it runs. A run between two Spark jobs has none
        to cancel, so that is tried at each step; one that is about to publish is let go on."""
        for run in state.running.values():
            if run.preempted and run.version in self.mine.keys() - self._publishing:
                self._runtime.warehouse.cancel(run.view, run.version)
        for version in self.mine.keys() - {run.version for run in state.running.values()}:
            self._runtime.warehouse.cancel(self.mine[version], version)

    def record_ended(self) -> None:
        """Journals how runs ended; what the store does not take now is kept for the next time. A run that came to
        nothing with another one ended all the same, which history tells."""
        while self._ended:
            run, event = self._ended[0]
            self._record(run, event)
            del self._ended[0]
        for version in self._readable - wanted_of(self._runtime.state) - self.mine.keys():
            self._readable.discard(version)
            self._runtime.warehouse.release(version)

    def close(self) -> None:
        for pool in (self._computing, self._publisher):
            pool.shutdown(wait=False, cancel_futures=True)

    # --- inside

    def _carry_out(self, launch: Launch, epoch: int, work: Callable[[Launch, int], Published | None]) -> None:
        run, began = launch.run, self._runtime.clock.now()

        def failed(error: str, cancelled: bool = False) -> Failed:
            now = self._runtime.clock.now()
            return Failed(now, run.version, run.view, error, _between(began, now), cancelled)

        event: Published | Failed | None
        try:
            event = work(launch, epoch)
            if event is None:
                return  # it is prepared, and will be published
        except RefreshCancelled as error:
            event = failed(str(error), cancelled=True)
        except LeaseLost as error:
            log.warning("%s was not published: %s", run.view, error)
            fenced = self._runtime.leads_as(epoch) and not isinstance(error, DriverGone)
            event = failed(str(error)) if fenced else None
        except HeadwaterError as error:
            event = failed(str(error))
        except Exception as error:  # whatever went wrong is this refresh's failure, and is shown as such
            log.exception("the refresh of %s failed", run.view)
            event = failed(f"{type(error).__name__}: {error}")
        with self._runtime.lock:
            self.mine.pop(run.version, None)
            for versions in (self._prepared, self._publishing):
                versions.discard(run.version)
            if event is not None:
                self._ended.append((run, event))
        self._step(run)

    def _step(self, run: Run) -> None:
        try:
            self._runtime.step()
        except HeadwaterError as error:
            log.warning("what became of the refresh of %s is recorded at the next step: %s", run.view, error)

    def _compute(self, launch: Launch, epoch: int) -> Published | None:
        run, began = launch.run, self._runtime.clock.now()
        if run.kept or run.on or run.shared:
            with self._runtime.lock:
                self._readable.add(run.version)
        written = self._runtime.warehouse.compute(launch)
        seconds = _between(began, self._runtime.clock.now())
        with self._runtime.lock:
            alone = not (run.kept or _awaited(self._runtime.state, run))
        if alone:
            return self._publish(launch, written, epoch, seconds)
        self._confirm(launch, epoch)
        now = self._runtime.clock.now()
        prepared = Prepared(now, run.version, run.view, written.made, written.removed)

        def publish(launch: Launch, epoch: int) -> Published:
            return self._bring(launch, written, epoch, seconds)

        with self._runtime.lock:  # so that what will be on this run comes after it
            self._record(run, prepared)
            self._prepared.add(run.version)
            self._publisher.submit(self._carry_out, launch, epoch, publish)
        self._step(run)
        return None

    def _bring(self, launch: Launch, written: Written, epoch: int, seconds: float) -> Published:
        self._confirm(launch, epoch)
        began = self._runtime.clock.now()
        brought = self._runtime.warehouse.bring(launch, written)
        copying = 0.0 if brought is written else _between(began, self._runtime.clock.now())
        seconds += copying
        with self._runtime.lock:
            while self._runtime.leads_as(epoch) and _awaited(self._runtime.state, launch.run):
                self._runtime.changed.wait(PATIENCE)
                self._step(launch.run)
        return evolve(self._publish(launch, brought, epoch, seconds), copying=round(1e6 * copying), held=brought.held)

    def _publish(self, launch: Launch, written: Written, epoch: int, seconds: float) -> Published:
        run, began = launch.run, self._runtime.clock.now()
        with self._runtime.lock:
            self._confirm(launch, epoch)
            self._publishing.add(run.version)
        replaced = self._runtime.warehouse.publish(launch, written)
        now = self._runtime.clock.now()
        try:
            self._runtime.store.discard(run.view, replaced.locations, now)
        except HeadwaterError as error:
            log.warning("the superseded files of %s are removed later, as orphans: %s", run.view, error)
        made = tuple(evolve(each, unchanged=each.slice in replaced.unchanged) for each in written.made)
        seconds = round(seconds + _between(began, now), 3)  # the clock has whole milliseconds, their sum is shown
        return Published(
            now,
            run.version,
            run.view,
            made,
            written.removed,
            seconds,
            written.size,
            written.moved,
            scanned=written.scanned,
            effort=written.effort,
        )

    def _record(self, run: Run, event: Prepared | Published | Failed) -> None:
        """Journals what became of a run. Its readers are told of the partitions that it made as they see them, by
        their computed columns."""
        if not isinstance(event, Failed):
            made = [*(each.slice for each in event.made), *event.removed]
            self._runtime.evaluate(lambda: images_of_readers(self._runtime.state, run.view, made))
        self._runtime.record(lambda state, _: event if isinstance(event, Failed) or _is_running(state, run) else None)

    def _confirm(self, launch: Launch, epoch: int) -> None:
        """Raises:
        LeaseLost: another engine acts now.
        RefreshCancelled: the run is not wanted any more.
        """
        run = launch.run
        with self._runtime.lock:
            if not self._runtime.leads_as(epoch, again=True):
                raise LeaseLost("another engine took over this store while it was computed")
            if not _is_running(self._runtime.state, run):
                raise RefreshCancelled(
                    f"{run.view} was dropped, renamed or redefined while it was computed, or what it read was not "
                    "published"
                )
            if self._runtime.state.running[run.view].preempted:
                raise RefreshCancelled(f"a change came for what was computed of {run.view}; both run together now")


def _between(began: int, ended: int) -> float:
    """Seconds between two times of the clock (ms); none if it went back."""
    return max(0, ended - began) / 1000


def _is_running(state: State, run: Run) -> bool:
    known = state.running.get(run.view)
    return known is not None and known.version == run.version


def _awaited(state: State, run: Run) -> bool:
    """Whether a run is on one that is not published yet."""
    return any(other.version in run.on for other in state.running.values())
