"""What immediate triggering would have run over a history (see ``simulate.naive``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from attrs import Factory, define, evolve, field

from headwater.model.command import Launch, Written
from headwater.model.event import Changed, Declared, Event, Made, Requested
from headwater.model.partition import WHOLE, Slice
from headwater.model.state import State
from headwater.simulate.clock import Agenda
from headwater.simulate.interpreter import Interpreter
from headwater.simulate.naive import triggered
from headwater.simulate.scenario import Scenario

LATER = 10**15
"""A time (ms) at which nothing waits any more."""


@define
class Triggering:
    """A warehouse in which all that follows an event is done before the next one, in no time, so that the
    partitions that a change reaches are there when they are counted."""

    scenario: Scenario
    runs: Counter[str] = Factory(Counter)
    partitions: Counter[str] = Factory(Counter)
    _engine: Interpreter = field(init=False)
    _now: int = 0

    def __attrs_post_init__(self) -> None:
        self._engine = Interpreter(1_000, self._compute, agenda=Agenda(LATER))

    @property
    def _state(self) -> State:
        return self._engine.state

    @property
    def seconds(self) -> dict[str, float]:
        """What each view's runs would have taken."""
        return {view: self.scenario.time(view).expected(self.runs[view], self.partitions[view]) for view in self.runs}

    def happen(self, event: Event) -> None:
        """Applies the next event, and counts what it sets off."""
        match event:
            case Changed(table=table) if table in self._state.views:
                return
            case Changed() | Declared() | Requested():
                self._engine.record(lambda version: evolve(event, version=version))
            case _:
                self._engine.record(lambda _: event)
        self._settle(event.at)
        match event:
            case Changed(table=table, baseline=False, partitions=seen):
                self._count(table, [each.slice for each in seen], itself=False)
            case Declared(definition=definition, fill=True):
                self._count(definition.view, [WHOLE], itself=True)
            case Requested(view=table, slices=slices):
                self._count(table, slices, itself=table in self._state.views)

    def _count(self, table: str, slices: Iterable[Slice], itself: bool) -> None:
        for view, each in triggered(self._state, table, slices, itself).items():
            self.runs[view] += each.runs
            self.partitions[view] += each.partitions

    def _settle(self, now: int) -> None:
        self._now = now
        self._engine.go_on()
        while self._engine.agenda.next():
            self._engine.go_on()

    def _compute(self, launch: Launch) -> tuple[Written, int]:
        return Written(tuple(Made(part, 1, "") for part in self.scenario.made(launch, self._now)), ()), 0
