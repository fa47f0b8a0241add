"""The kernel on a virtual clock: runs take time and do nothing else. Times are milliseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from attrs import Factory, define, field

from benchmarks.papers.truth import Graph, Job, Truth
from headwater.model.command import Launch, Written
from headwater.model.costs import Took
from headwater.model.dependency import Dependency
from headwater.model.event import Declared, Made, Requested
from headwater.model.partition import WHOLE, Version
from headwater.model.state import State
from headwater.model.view import Definition
from headwater.simulate.interpreter import Interpreter


@define
class World:
    """One simulated warehouse, with as many tracks as there are jobs.

    Attributes:
        duration: the run time of a job (ms), drawn anew for each run.
        took: what earlier runs of each job took; without it, nothing is held.
        properties: the ``headwater.*`` properties of each job.
        duplicates: merged requests by kind ([Xu23] Table 8), and by the relation of their origins (Table 9).
    """

    graph: Graph
    duration: Callable[[Job], int]
    took: Mapping[Job, Took] = Factory(dict)
    properties: Mapping[Job, Mapping[str, str]] = Factory(dict)
    runs: Counter[Job] = Factory(Counter)
    duplicates: Counter[str] = Factory(Counter)
    truth: Truth = field(init=False)
    _engine: Interpreter = field(init=False)
    _reflects: dict[Version, frozenset[int]] = Factory(dict)

    def __attrs_post_init__(self) -> None:
        self.truth = Truth(self.graph)
        self._engine = Interpreter(len(self.graph), self._compute, self._publish)
        for job, inputs in self.graph.items():
            properties = {f"headwater.{key}": value for key, value in self.properties.get(job, {}).items()}
            definition = Definition(job, "", (), properties=properties, dependencies=tuple(map(Dependency, inputs)))
            self._engine.record(lambda version, it=definition: Declared(0, version, it, "was created", fill=False))
            self.state.views[job].costs.took = self.took.get(job)

    @property
    def state(self) -> State:
        return self._engine.state

    def backfill(self, at: int, job: Job) -> None:
        """Schedules a dependent backfill that starts at a job."""
        self._engine.agenda.at(at, lambda: self._backfill(job))

    def run(self) -> None:
        """Until nothing is pending and nothing is to come."""
        while self._engine.agenda.next():
            self._engine.go_on()

    def _backfill(self, job: Job) -> None:
        now, pending = self._engine.agenda.now, {name: dict(view.pending) for name, view in self.state.views.items()}
        event = self._engine.record(lambda version: Requested(now, version, job, (WHOLE,), "is backfilled"))
        self.truth.ask(job, event.version, now)
        for name, before in pending.items():
            after = self.state.views[name].pending
            for known in (origins for each, origins in before.items() if after[each] != origins):
                self.duplicates.update(("both pending", self._relation(min(known), event.version)))

    def _relation(self, one: Version, other: Version) -> str:
        """How the origins of two merged requests lie to one another ([Xu23] Table 9)."""
        left, right = (self.state.origins[each].table for each in (one, other))
        if left == right:
            return "same origin"
        return "same ancestor" if self.truth.above[left] & self.truth.above[right] else "independent origins"

    def _compute(self, launch: Launch) -> tuple[Written, int]:
        job, version = launch.run.view, launch.run.version
        self.runs[job] += 1
        self._reflects[version] = self.truth.read(job)
        return Written((Made(WHOLE, 1, str(version)),), ()), self.duration(job)

    def _publish(self, launch: Launch) -> None:
        self.truth.publish(launch.run.view, self._reflects.pop(launch.run.version), self._engine.agenda.now)
