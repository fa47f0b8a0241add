"""Virtual time, and the interpreter of the kernel on it: computing takes time, and everything else takes none."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial

from attrs import Factory, define

from headwater.engine.decide.flight import Flights, answered, claim, issued, recorded
from headwater.engine.decide.kernel import decide
from headwater.engine.decide.readiness import wake_at
from headwater.engine.decide.schedule import InOrder
from headwater.engine.decide.starting import Capacity
from headwater.engine.record.transition import transition
from headwater.model import command as commands
from headwater.model.error import ChangesUnknown
from headwater.model.event import Event, numbered
from headwater.model.partition import Version
from headwater.model.reason import Code, Reason
from headwater.model.state import State


@define
class Agenda:
    """Things to do at given times (ms); those of one time in the order in which they were noted."""

    now: int = 0
    _heap: list[tuple[int, int, Callable[[], object]]] = Factory(list)
    _count: int = 0

    def at(self, time: int, work: Callable[[], object]) -> None:
        self._count += 1
        heapq.heappush(self._heap, (time, self._count, work))

    def next(self) -> bool:
        """Moves to the next time that has anything and does all of it; false when there is none."""
        if not self._heap:
            return False
        self.now = max(self.now, self._heap[0][0])
        while self._heap and self._heap[0][0] <= self.now:
            heapq.heappop(self._heap)[2]()
        return True


ME = 1


@define
class Interpreter:
    """One simulated engine.

    Attributes:
        tracks: how many runs go side by side.
        compute: what a run makes, and how long (ms) that takes. It raises ``ChangesUnknown`` if a run cannot follow
            changes.
        publish: called when readers see a run's output.
        heard: called with each event that was recorded.
    """

    tracks: int
    compute: Callable[[commands.Launch], tuple[commands.Written, int]]
    publish: Callable[[commands.Launch], object] = lambda launch: None
    heard: Callable[[Event], object] = lambda event: None
    state: State = Factory(State)
    agenda: Agenda = Factory(Agenda)
    mine: Flights = Factory(lambda: Flights(number=ME))
    _began: dict[Version, int] = Factory(dict)

    def record(self, build: Callable[[Version], Event]) -> Event:
        """Applies the event that ``build`` makes of a fresh version."""
        event = build(max(self.state.highest + 1, self.agenda.now))
        self.state = transition(self.state, event)
        self.heard(event)
        return event

    def go_on(self) -> None:
        """Does what follows now, and notes when to go on."""
        self.mine.stopped.clear()
        capacity = Capacity(self.tracks, InOrder())
        while commands := decide(self.state, self.mine, capacity, self.agenda.now):
            for command in commands:
                self._issue(command)
            claim(self.mine, self.state)
        wake = wake_at(self.state, self.agenda.now)
        if wake is not None:
            self.agenda.at(wake, lambda: None)

    def _issue(self, command: commands.Command) -> None:
        match command:
            case commands.Record(event=event):
                recorded(self.mine, self.record(partial(numbered, event)))
            case commands.Cancel(version=version):
                self.mine.stopped.add(version)
                if version in self._began:
                    took = (self.agenda.now - self._began.pop(version)) / 1000
                    why = Reason(Code.RUN_UNWANTED, "it is not wanted any more")
                    answered(self.mine, commands.Stopped(version, why, True, took))
            case commands.Compute(launch=launch):
                issued(self.mine, command)
                self._compute(launch)
            case _:
                issued(self.mine, command)
                if (answer := self._at_once(command)) is not None:
                    answered(self.mine, answer)

    def _compute(self, launch: commands.Launch) -> None:
        version = launch.run.version
        try:
            written, takes = self.compute(launch)
        except ChangesUnknown as error:
            answered(self.mine, commands.Unfollowable(version, error.reason))
            return
        self._began[version] = self.agenda.now
        self.agenda.at(self.agenda.now + takes, lambda: self._computed(version, written, takes))

    def _at_once(self, command: commands.Command) -> commands.Answer | None:
        match command:
            case commands.MakePlan():
                return commands.PlanMade(None)
            case commands.Evaluate(wanted=wanted, version=version):
                return commands.Answered(wanted, version)  # a simulation knows the values on record, and no others
            case commands.Look(launch=launch):
                return commands.Looked(launch.run.version)
            case commands.Bring(launch=launch, written=written):
                return commands.Brought(launch.run.version, written)
            case commands.Publish(launch=launch):
                self.publish(launch)
                kept = f"{launch.run.version}@@simulated" if launch.definition.keeps_versions else ""
                return commands.Shown(launch.run.version, commands.Replaced(snapshot=kept), self.agenda.now)
        return None

    def _computed(self, version: Version, written: commands.Written, takes: int) -> None:
        if self._began.pop(version, None) is not None:
            answered(self.mine, commands.RunComputed(version, written, takes / 1000))
