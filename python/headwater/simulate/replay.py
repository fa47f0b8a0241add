"""A history played to the kernel on a virtual clock, under a policy. Times are milliseconds.

What happened from outside happens again, each at its recorded time; which runs start, and when, the kernel decides as
it does in production. Runs take time, publish what they were for, and never fail; one that a change preempts ends at
that moment.
"""

from __future__ import annotations

from functools import partial
from random import Random

from attrs import Factory, define, evolve, field

from headwater.model.command import Launch, Written
from headwater.model.event import Changed, Declared, Event, Made, Requested
from headwater.model.partition import Version
from headwater.model.state import State
from headwater.simulate.accounts import Accounts
from headwater.simulate.interpreter import Interpreter
from headwater.simulate.policies import Override
from headwater.simulate.scenario import Scenario


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
