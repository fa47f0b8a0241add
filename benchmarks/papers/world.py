"""The core on a virtual clock: runs take time and do nothing else. Times are milliseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from attrs import Factory, define, field

from benchmarks.papers.truth import Graph, Job, Truth
from headwater.engine.choose import Choice, ready, skipped, started, unneeded, wake_at
from headwater.engine.transition import transition
from headwater.model.dependency import Dependency
from headwater.model.event import Declared, Event, Made, Published, Requested, Started
from headwater.model.partition import WHOLE
from headwater.model.state import State, Took, Version
from headwater.model.view import Definition
from headwater.simulate.clock import Agenda


@define
class World:
    """One simulated warehouse, with as many tracks as there are jobs.

    Attributes:
        duration: the run time of a job (ms), drawn anew for each run.
        took: what earlier runs of each job took; without it, nothing is held.
        properties: the ``headwater.*`` properties of each job.
    """

    graph: Graph
    duration: Callable[[Job], int]
    took: Mapping[Job, Took] = Factory(dict)
    properties: Mapping[Job, Mapping[str, str]] = Factory(dict)
    state: State = Factory(State)
    runs: Counter[Job] = Factory(Counter)
    truth: Truth = field(init=False)
    _agenda: Agenda = Factory(Agenda)

    def __attrs_post_init__(self) -> None:
        self.truth = Truth(self.graph)
        for job, inputs in self.graph.items():
            properties = {f"headwater.{key}": value for key, value in self.properties.get(job, {}).items()}
            definition = Definition(job, "", (), properties=properties, dependencies=tuple(map(Dependency, inputs)))
            self._apply(lambda version, it=definition: Declared(0, version, it, "was created", fill=False))
            self.state.views[job].took = self.took.get(job)

    def backfill(self, at: int, job: Job) -> None:
        """Schedules a dependent backfill that starts at a job."""
        self._agenda.at(at, lambda: self._backfill(job))

    def run(self) -> None:
        """Until nothing is pending and nothing is to come."""
        while self._agenda.next():
            now = self._agenda.now
            while found := unneeded(self.state):
                self._apply(lambda version, it=found[0], at=now: skipped(self.state, it, version, at))
            for chosen in ready(self.state, now):
                self._start(
                    self._apply(lambda version, it=chosen, at=now: started(self.state, Choice(it), version, at))
                )
            wake = wake_at(self.state, now)
            if wake is not None:
                self._agenda.at(wake, lambda: None)

    @property
    def duplicates(self) -> Counter[str]:
        return self.state.merged

    def _backfill(self, job: Job) -> None:
        now = self._agenda.now
        event = self._apply(lambda version: Requested(now, version, job, (WHOLE,), "is backfilled"))
        self.truth.ask(job, event.version, now)

    def _apply(self, build: Callable[[Version], Event]) -> Event:
        event = build(max(self.state.highest + 1, self._agenda.now))
        self.state, _ = transition(self.state, event)
        return event

    def _start(self, event: Started) -> None:
        self.runs[event.view] += 1
        reflects = self.truth.read(event.view)
        self._agenda.at(self._agenda.now + self.duration(event.view), lambda: self._publish(event, reflects))

    def _publish(self, event: Started, reflects: frozenset[int]) -> None:
        now = self._agenda.now
        self.truth.publish(event.view, reflects, now)
        made = (Made(WHOLE, 1, str(event.version)),)
        self._apply(lambda _: Published(now, event.version, event.view, made, (), (now - event.at) / 1000))
