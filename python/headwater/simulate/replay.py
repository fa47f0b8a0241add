"""A history played to the kernel on a virtual clock, under a policy: properties of views instead of the recorded ones.

What happened from outside happens again, each at its recorded time; which runs start, and when, the kernel decides as
it does in production. Runs take time, publish what they were for, and never fail; one that a change preempts ends at
that moment. Times are milliseconds.
"""

from __future__ import annotations

from functools import partial
from random import Random

from attrs import Factory, define, evolve, field, frozen

from headwater.model.command import Launch, Written
from headwater.model.event import Altered, Changed, Declared, Event, Made, Renamed, Requested
from headwater.model.partition import Version
from headwater.model.state import State
from headwater.model.view import Pairs, pairs
from headwater.simulate.accounts import Accounts
from headwater.simulate.interpreter import Interpreter
from headwater.simulate.scenario import Scenario


@frozen
class Override:
    """Properties that every view has instead of its own; an empty value takes a property away."""

    name: str
    properties: Pairs = field(default=(), converter=pairs)

    def applied(self, event: Event) -> Event:
        """The event as it would have been."""
        match event:
            case Declared(definition=definition) | Renamed(definition=definition):
                properties = self._replaced(definition.properties)
                return evolve(event, definition=evolve(definition, properties=properties))
            case Altered(properties=properties):
                return evolve(event, properties=self._replaced(properties))
            case _:
                return event

    def _replaced(self, properties: Pairs) -> Pairs:
        return pairs({key: value for key, value in {**dict(properties), **dict(self.properties)}.items() if value})


USUAL = (
    Override("10 minutes", {"headwater.freshness": "10 minutes"}),
    Override("1 hour", {"headwater.freshness": "1 hour"}),
)
"""The policies to compare with when the user names none."""


@define
class Replay:
    """One simulated warehouse.

    Attributes:
        tracks: how many runs go side by side.
        seed: of the run times. Each view has its own numbers, so that policies differ by what they
            decide and not by their luck.
    """

    history: Scenario
    policy: Override
    tracks: int
    seed: int
    accounts: Accounts = field(init=False)
    _engine: Interpreter = field(init=False)
    _to_come: int = 0
    _dice: dict[str, Random] = Factory(dict)
    _touched: set[str] = Factory(set)

    def __attrs_post_init__(self) -> None:
        self.accounts = Accounts(self.history.end)
        self._engine = Interpreter(self.tracks, self._compute, heard=self._heard)
        self._to_come = len(self.history.events)
        for event in self.history.events:
            self._engine.agenda.at(event.at, partial(self._happen, event))

    @property
    def state(self) -> State:
        return self._engine.state

    @property
    def now(self) -> int:
        return self._engine.agenda.now

    @property
    def pending(self) -> list[str]:
        """The views that do not reflect everything."""
        return [name for name, view in self.state.views.items() if view.pending or name in self.state.running]

    def step(self) -> bool:
        """Moves to the next time at which something happens; false when nothing more will, and all is done
        that can be."""
        over = not self._to_come and not self._engine.mine.flights and not self.pending
        if over or not self._engine.agenda.next():
            self.accounts.close()
            return False
        self._engine.go_on()
        self.accounts.measure(self.state, self.now, self._touched)
        self._touched.clear()
        return True

    def _heard(self, event: Event) -> None:
        self.accounts.count(event, self.state)
        self._touched |= self.state.index.stale

    def _happen(self, event: Event) -> None:
        self._to_come -= 1
        if isinstance(event, Changed) and event.table in self.state.views:
            return  # somebody wrote over what a run made that is none of these

        def anew(version: Version) -> Event:
            made = event
            if isinstance(event, Changed | Declared | Requested):
                made = evolve(event, version=version)
            return self.policy.applied(made)

        self._engine.record(anew)

    def _compute(self, launch: Launch) -> tuple[Written, int]:
        view, version = launch.run.view, launch.run.version
        made = self.history.made(launch, self.now)
        dice = self._dice.setdefault(view, Random(f"{self.seed} {view}"))
        parts = tuple(Made(each, 1, str(version)) for each in made)
        return Written(parts, ()), self.history.time(view).draw(len(made), dice)
