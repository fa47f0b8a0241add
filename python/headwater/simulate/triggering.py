"""The runs of a scenario under immediate triggering (see ``engine.naive``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from attrs import Factory, define, evolve

from headwater.engine.choose import Choice, ready, started
from headwater.engine.naive import triggered
from headwater.engine.transition import transition
from headwater.model.action import Action
from headwater.model.event import Changed, Declared, Event, Made, Published, Requested
from headwater.model.partition import WHOLE, Slice
from headwater.model.state import State, Version
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
    _state: State = Factory(State)

    @property
    def seconds(self) -> dict[str, float]:
        """The time of each view's runs."""
        return {view: self.scenario.time(view).expected(self.runs[view], self.partitions[view]) for view in self.runs}

    def happen(self, event: Event) -> None:
        """Applies the next event, and counts the refreshes that it sets off."""
        match event:
            case Changed(table=table) if table in self._state.views:
                return
            case Changed() | Declared() | Requested():
                event = evolve(event, version=self._version())
        self._apply(event)
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
        while chosen := ready(self._state, LATER):
            for each in chosen:
                [launch] = self._apply(started(self._state, Choice(each), self._version(), LATER))
                made = tuple(Made(part, 1, "") for part in self.scenario.made(launch, now))
                self._apply(Published(now, launch.run.version, launch.run.view, made, (), 0.0))

    def _version(self) -> Version:
        return self._state.highest + 1

    def _apply(self, event: Event) -> list[Action]:
        self._state, actions = transition(self._state, event)
        return actions
