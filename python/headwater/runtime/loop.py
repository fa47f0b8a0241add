"""The interpreter of the kernel: it records and carries out what ``decide`` says, in threads, and answers.

It decides nothing itself. A decision takes the lock of the record; what a command takes in the warehouse does not.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from attrs import evolve

from headwater.engine.decide.flight import Flights, answered, claim, issued, recorded, renumbered, timed
from headwater.engine.decide.kernel import decide
from headwater.engine.decide.readiness import wake_at
from headwater.engine.decide.schedule import InOrder, Schedule
from headwater.engine.decide.starting import Capacity
from headwater.engine.tell.report import explain
from headwater.logger import log
from headwater.model import command as commands
from headwater.model.error import StatementError, StillAlive, TakenOver
from headwater.model.event import EngineLost, Failed
from headwater.model.state import State
from headwater.ports import RunObserver, Warehouse
from headwater.runtime.execute import guarded, performed, planned
from headwater.runtime.recorder import Recorder
from headwater.runtime.summaries import Summaries
from headwater.store.snapshots import HISTORY, Keeper

ALIVE = 15_000
"""How long (ms) an engine is taken to be alive after it was heard of; then others take its runs over. It is heard of
when half of that is over, so it may be held up for the other half."""

Submit = Callable[[commands.Command, Callable[[], None]], None]
"""Lets the work of a command be done, now or later, in a thread of its own or not."""


class Loop:
    """One engine that acts on a store, or only follows what others do there.

    Attributes:
        mine: everything that it knows beside the record; access needs the record's lock.
        leads: whether shared duties are its own, of all engines that act.
        acts: whether it refreshes at all.
        followed: the last entry of the journal of which it has done what follows.
    """

    def __init__(
        self,
        recorder: Recorder,
        warehouse: Warehouse,
        looks: RunObserver,
        engine: str,
        *,
        tracks: int = 2,
        schedule: Schedule[Any] | None = None,
        acts: bool = True,
        history: int = HISTORY,
        submit: Submit | None = None,
    ) -> None:
        self.recorder, self.engine, self.acts, self.leads = recorder, engine, acts, False
        self._store, self._clock, self._warehouse = recorder.store, recorder.clock, warehouse
        self._looks = looks
        self.capacity = Capacity(tracks, schedule or InOrder())
        self.mine = Flights()
        self._pools: _Pools | None = None
        if submit is None:
            self._pools = _Pools(tracks)
            submit = self._pools.submit
        self._submit = submit
        self._closed, self.followed = False, 0
        self._summaries, self._keeper = Summaries(self._store, self._clock, tracks), Keeper(self._store, history)

    def step(self) -> int | None:
        """Says that this engine is alive, and does what is to be done now; when to step again (ms), if known."""
        if not self.acts:
            self.recorder.sync()
            self.followed = self.recorder.seq
            return None
        with self.recorder.lock:
            self._beat()
            self.mine.stopped.clear()
            self._go_on()
            if self.leads:
                self._summaries.keep(self.recorder.state, self.recorder.seq)
                self._keeper.keep(self.recorder.state, self.recorder.end)
            return wake_at(self.recorder.state, self._clock.now())

    def rest(self, seconds: float) -> None:
        """Waits until another thread has recorded what this engine is yet to follow, at most for ``seconds``."""
        with self.recorder.changed:
            self.recorder.changed.wait_for(lambda: self.followed != self.recorder.seq, seconds)

    def explained(self, view: str) -> list[str]:
        """The lines of ``EXPLAIN REFRESH``, from what this engine would do next. A plan that it would make before is
        made here, without the lock.

        Raises:
            StatementError: the view was dropped or renamed meanwhile.
        """
        schedule, mine = self.capacity.schedule, self.mine

        def known(state: State) -> None:
            if view not in state.views:
                raise StatementError(f"there is no materialized view {view}; it was dropped or renamed meanwhile")

        def asked(state: State) -> Any:
            known(state)
            return schedule.question(state, mine.plan) if state.views[view].pending else None

        question = self.recorder.read(asked)
        plan = None if question is None else planned(commands.MakePlan(question), schedule).plan

        def answer(state: State) -> list[str]:
            known(state)
            planned_too = mine if plan is None else evolve(mine, plan=plan)
            return explain(state, view, self._clock.now(), planned_too, self.capacity)

        return self.recorder.read(answer)

    def close(self) -> None:
        """Ends this engine: it starts and publishes nothing any more, and others may take over at once."""
        with self.recorder.lock:
            self._closed = True
            if self.mine.number is not None:
                self._store.leave(self.engine)
                guarded(self._end_runs, "the refreshes of this engine stay on record until another engine begins")
            renumbered(self.mine, None)
            self.leads = False
        self._keeper.close()
        if self._pools is not None:
            self._pools.close()

    # --- inside

    def _end_runs(self) -> None:
        """Records that the runs of this engine came to nothing. Its time is up, so another
        engine may be faster."""
        number = self.mine.number
        assert number is not None

        def mine() -> bool:
            return any(run.engine == number for run in self.recorder.state.running.values())

        while mine():
            self.recorder.attempt(EngineLost(self._clock.now(), number), None, number)

    def _beat(self) -> None:
        if self._closed:
            return
        beat = self._store.beat(self.engine, ALIVE)
        renumbered(self.mine, beat.number)
        self.mine.overdue, self.mine.known, self.leads = beat.overdue, beat.known, beat.leads
        self._clock.hear(beat.at)
        timed(self.mine, self._clock.now())
        if beat.end != self.recorder.end:
            self.recorder.sync()

    def _go_on(self) -> None:
        """Does what follows, until everything is under way or waits."""
        claim(self.mine, self.recorder.state)
        while commands := decide(self.recorder.state, self.mine, self.capacity, self._clock.now()):
            for command in commands:
                if not self._issue(command):
                    break  # the record has changed, so it is decided again
            claim(self.mine, self.recorder.state)
        self.followed = self.recorder.seq

    def _issue(self, command: commands.Command) -> bool:
        match command:
            case commands.Record():
                self._record(command)
                return False
            case commands.Publish() if not self._is_confirmed():
                return False
            case commands.Cancel(version=version):
                self.mine.stopped.add(version)
            case _:
                issued(self.mine, command)
        self._submit(command, lambda: self._carry_out(command))
        return True

    def _is_confirmed(self) -> bool:
        """Whether the store knows nothing newer: a run that was given up meanwhile must not be published."""
        before = self.recorder.seq, self.mine.number
        self._beat()
        return before == (self.recorder.seq, self.mine.number)

    def _record(self, command: commands.Record) -> None:
        try:
            event = self.recorder.attempt(command.event, self.mine.number, command.evicting)
        except StillAlive:
            event = None
        except TakenOver as error:
            log.warning("this engine was taken for gone, and its refreshes are others' now: %s", error)
            renumbered(self.mine, None)
            return
        if event is not None:
            if self._pools is not None and isinstance(event, Failed) and self.mine.flights[event.version].busy:
                self._pools.replace()  # a thread of them does not come back
            recorded(self.mine, event)
        elif command.evicting is not None:
            self.mine.overdue, self.mine.known = (), None  # others were faster, or it is alive; the next beat shows it

    def _carry_out(self, command: commands.Command) -> None:
        answer: commands.Answer | None = None
        match command:
            case commands.Cancel(view=view, version=version):
                guarded(lambda: self._warehouse.cancel(view, version), f"the refresh of {view} could not be stopped")
            case commands.Release(version=version):
                guarded(lambda: self._warehouse.release(version), "what a refresh left could not be removed")
            case commands.MakePlan():
                answer = planned(command, self.capacity.schedule)
            case commands.Evaluate(wanted=wanted, version=version):
                answer = commands.Answered(self._evaluated(wanted), version)
            case commands.Look() | commands.Compute() | commands.Bring() | commands.Publish():
                answer = performed(command, self._warehouse, self._looks, self._store, self._clock)
        if answer is not None:
            self._follow(answer)

    def _evaluated(self, wanted: commands.Wanted) -> commands.Wanted:
        """Those that could not be evaluated. The kernel goes on without them in any case."""
        try:
            return self.recorder.evaluate(wanted)
        except Exception:
            log.exception("computed partition columns stay unknown")
            return wanted

    def _follow(self, answer: commands.Answer) -> None:
        with self.recorder.lock:
            answered(self.mine, answer)
            if not self._closed:
                guarded(self._go_on, "could not schedule the next step of a refresh; the next heartbeat tries again")


class _Pools:
    """Threads: one for each track, since Spark keeps a session for each of them; and others for all else."""

    def __init__(self, tracks: int) -> None:
        self._count = tracks
        self._tracks = ThreadPoolExecutor(tracks, "headwater-refresh")
        self._others = ThreadPoolExecutor(2 * tracks + 4, "headwater-other")

    def submit(self, command: commands.Command, work: Callable[[], None]) -> None:
        pool = self._tracks if isinstance(command, commands.Look | commands.Compute) else self._others
        pool.submit(guarded, work, "a step of a refresh could not be followed")

    def replace(self) -> None:
        """Lets runs to come have threads of their own, whatever holds those that there are."""
        self._tracks.shutdown(wait=False)
        self._tracks = ThreadPoolExecutor(self._count, "headwater-refresh")

    def close(self) -> None:
        for pool in (self._tracks, self._others):
            pool.shutdown(wait=False, cancel_futures=True)
