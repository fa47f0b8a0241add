"""The core on a virtual clock: runs take time and do nothing else. Times are milliseconds.

What a table reflects is kept beside the core, as the set of backfills that reached it, so that
convergence is checked apart from what the core believes.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from attrs import Factory, define

from headwater.engine.choose import ready, started, wake_at
from headwater.engine.transition import transition
from headwater.model.dependency import Dependency
from headwater.model.event import Declared, Event, Made, Published, Requested, Started
from headwater.model.partition import WHOLE
from headwater.model.state import State, Version
from headwater.model.view import Definition

Graph = Mapping[str, tuple[str, ...]]
"""Each job and the jobs that it reads, in topological order. A job stands for one table-partition."""


@define
class World:
    """One simulated warehouse.

    Attributes:
        duration: the run time of a job (ms), drawn anew for each run.
        freshness: the bound that every job promises (ms), if any; ``settle`` is their settling time.
    """

    graph: Graph
    duration: Callable[[str], int]
    freshness: int | None = None
    settle: int | None = None
    state: State = Factory(State)
    now: int = 0
    runs: Counter[str] = Factory(Counter)
    finished: dict[Version, int] = Factory(dict)
    _reflects: dict[str, frozenset[Version]] = Factory(dict)
    _reading: dict[Version, frozenset[Version]] = Factory(dict)
    _asked: dict[str, frozenset[Version]] = Factory(dict)
    _agenda: list = Factory(list)
    _count: int = 0

    def __attrs_post_init__(self) -> None:
        properties = {}
        if self.freshness is not None:
            properties["headwater.freshness"] = f"{self.freshness} milliseconds"
        if self.settle is not None:
            properties["headwater.settle"] = f"{self.settle} milliseconds"
        for job, inputs in self.graph.items():
            definition = Definition(
                view=job,
                query="",
                columns=(),
                properties=properties,
                dependencies=tuple(Dependency(each) for each in inputs),
            )
            self._apply(lambda version, it=definition: Declared(self.now, version, it, "was created", fill=False))
        for job in self.graph:
            self._reflects[job] = self._asked[job] = frozenset()

    def backfill(self, at: int, job: str) -> None:
        """Schedules a dependent backfill that starts at a job."""
        self._schedule(at, lambda: self._backfill(job))

    def run(self) -> None:
        """Until nothing is pending and nothing is to come."""
        while self._agenda:
            self.now = max(self.now, self._agenda[0][0])
            while self._agenda and self._agenda[0][0] <= self.now:
                heapq.heappop(self._agenda)[2]()
            for chosen in ready(self.state, self.now):
                self._apply(lambda version, it=chosen: started(self.state, it, version, self.now))
            wake = wake_at(self.state, self.now)
            if wake is not None:
                self._schedule(wake, lambda: None)

    def converged(self) -> bool:
        """Whether every job reflects all backfills of its own and of what it reads."""
        owed: dict[str, frozenset[Version]] = {}
        for job, inputs in self.graph.items():
            owed[job] = self._asked[job].union(*(owed[each] for each in inputs))
        return self._reflects == owed

    def _backfill(self, job: str) -> None:
        event = self._apply(lambda version: Requested(self.now, version, job, (WHOLE,), "is backfilled"))
        self._asked[job] |= {event.version}

    def _apply(self, build: Callable[[Version], Event]) -> Event:
        event = build(max(self.state.highest + 1, self.now))
        self.state, _ = transition(self.state, event)
        if isinstance(event, Started):
            self._start(event)
        return event

    def _start(self, event: Started) -> None:
        job = event.view
        self.runs[job] += 1
        read = (self._reflects[each] for each in self.graph[job])
        self._reading[event.version] = self._asked[job].union(*read)
        self._schedule(self.now + self.duration(job), lambda: self._publish(event))

    def _publish(self, event: Started) -> None:
        self._reflects[event.view] = self._reading.pop(event.version)
        for origin in self._reflects[event.view]:
            self.finished[origin] = self.now
        made = (Made(WHOLE, 1, str(event.version)),)
        seconds = (self.now - event.at) / 1000
        self._apply(lambda _: Published(self.now, event.version, event.view, made, (), seconds))

    def _schedule(self, at: int, work: Callable[[], object]) -> None:
        self._count += 1
        heapq.heappush(self._agenda, (at, self._count, work))


def reached(graph: Graph, jobs: Iterable[str]) -> set[str]:
    """These jobs and everything downstream of them."""
    found = set(jobs)
    for job, inputs in graph.items():
        if found.intersection(inputs):
            found.add(job)
    return found


def naive(graph: Graph, jobs: Iterable[str]) -> int:
    """The runs when every publication triggers every reader: the paths from each backfilled job."""
    paths: dict[str, int] = dict.fromkeys(graph, 0)
    for job in jobs:
        paths[job] += 1
    for job, inputs in graph.items():
        paths[job] += sum(paths[each] for each in inputs)
    return sum(paths.values())
