"""A history played to the core on a virtual clock, under a policy. Times are milliseconds.

What happened from outside happens again, each at its recorded time; which runs start, and when, the core
decides as it does in production. Runs take time, publish what they were for, and never fail; one that a change
preempts ends at that moment.
"""

from __future__ import annotations

from random import Random

from attrs import Factory, define, evolve, field

from headwater.engine.choose import Choice, ready, skipped, started, unneeded, wake_at
from headwater.engine.transition import transition
from headwater.model.action import Action, Launch
from headwater.model.event import Changed, Declared, Event, Failed, Made, Published, Requested
from headwater.model.partition import Slice
from headwater.model.state import State, Version
from headwater.simulate.accounts import Accounts
from headwater.simulate.clock import Agenda
from headwater.simulate.policies import Policy
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
    policy: Policy
    tracks: int
    seed: int
    state: State = Factory(State)
    accounts: Accounts = field(init=False)
    _agenda: Agenda = Factory(Agenda)
    _to_come: int = 0
    _busy: int = 0
    _preempted: set[Version] = Factory(set)
    _dice: dict[str, Random] = Factory(dict)

    def __attrs_post_init__(self) -> None:
        self.accounts = Accounts(self.history.end)
        self._to_come = len(self.history.events)
        for event in self.history.events:
            self._agenda.at(event.at, lambda event=event: self._happen(event))

    @property
    def now(self) -> int:
        return self._agenda.now

    @property
    def pending(self) -> list[str]:
        """The views that do not reflect everything."""
        return [name for name, view in self.state.views.items() if view.pending or name in self.state.running]

    def step(self) -> bool:
        """Moves to the next time at which something happens; false when nothing more will, and all is done
        that can be."""
        over = not self._to_come and not self._busy and not self.pending
        if over or not self._agenda.next():
            self.accounts.close()
            return False
        self._preempt()
        touched = frozenset(self.state.index.stale)
        if self._busy < self.tracks:  # if not, nothing can start before the end of a run, which is a step too
            self._start()
        self.accounts.measure(self.state, self.now, touched)
        return True

    def _start(self) -> None:
        while found := unneeded(self.state):
            self._apply(skipped(self.state, found[0], self._version(), self.now))
        for chosen in ready(self.state, self.now):
            if self._busy == self.tracks:
                return
            [launch] = self._apply(started(self.state, Choice(chosen), self._version(), self.now))
            self._launch(launch)
        wake = wake_at(self.state, self.now)
        if wake is not None:
            self._agenda.at(wake, lambda: None)

    def _happen(self, event: Event) -> None:
        self._to_come -= 1
        match event:
            case Changed(table=table) if table in self.state.views:
                return  # somebody wrote over what a run made that is none of these
            case Changed() | Declared() | Requested():
                event = evolve(event, version=self._version())
        self._apply(self.policy.applied(event))

    def _launch(self, launch: Launch) -> None:
        made = self.history.made(launch, self.now)
        dice = self._dice.setdefault(launch.run.view, Random(f"{self.seed} {launch.run.view}"))
        takes = self.history.time(launch.run.view).draw(len(made), dice)
        self._busy += 1
        self._agenda.at(self.now + takes, lambda: self._end(launch, made, takes / 1000))

    def _preempt(self) -> None:
        for run in [each for each in self.state.running.values() if each.preempted]:
            self._busy -= 1
            self._preempted.add(run.version)
            seconds = (self.now - run.started_at) / 1000
            self._apply(Failed(self.now, run.version, run.view, "a change came for what it computed", seconds, True))

    def _end(self, launch: Launch, made: tuple[Slice, ...], seconds: float) -> None:
        view, version = launch.run.view, launch.run.version
        if version in self._preempted:
            self._preempted.discard(version)
            return
        self._busy -= 1
        running = self.state.running.get(view)
        if running is None or running.version != version:
            self._apply(Failed(self.now, version, view, "it was dropped, renamed or redefined", seconds, True))
        else:
            parts = tuple(Made(each, 1, str(version)) for each in made)
            self._apply(Published(self.now, version, view, parts, (), seconds))

    def _version(self) -> Version:
        return max(self.state.highest + 1, self.now)

    def _apply(self, event: Event) -> list[Action]:
        self.state, actions = transition(self.state, event)
        self.accounts.count(event, self.state)
        return actions
