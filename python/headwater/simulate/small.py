"""Small models of other ways to propagate, to compare the core with. One request at most is pending for a job.

``Literal`` follows the paper's words: a scalar version for each request, at-least constraints on inputs,
and the uppermost common descendant as the origin of a merged request ([Xu23] §3.2 - §3.9). It loses
changes and gets stuck; see docs/decisions/0003-origin-sets.md.

``Lazy`` makes a request only when an input was published ([Xu23] §3.3), with sets of origins, and looks
backwards for requests that will renew an input (§4.3.2). ``expects`` names backfills that are known to
come, such as those of a cadence group (§4.3.1).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable

from attrs import Factory, define, evolve, field, frozen

from headwater.simulate.world import Graph

Job = str


def ancestors(graph: Graph) -> dict[Job, frozenset[Job]]:
    """For each job, itself and all that it reads, directly or not."""
    found: dict[Job, frozenset[Job]] = {}
    for job, inputs in graph.items():
        found[job] = frozenset((job,)).union(*(found[each] for each in inputs))
    return found


@frozen
class Request:
    """``at_least``: versions of inputs ([Xu23] §3.2); ``carries``: the backfills it is for, by its origin sets."""

    job: Job
    version: int
    origin: Job
    at_least: tuple[tuple[Job, int], ...] = ()
    carries: frozenset[int] = frozenset()


@define
class Small:
    """What both have in common: the clock, the runs, and what each job truly reflects."""

    graph: Graph
    duration: Callable[[Job], int]
    hold: int = 0
    expects: Counter[Job] = Factory(Counter)
    now: int = 0
    runs: Counter[Job] = Factory(Counter)
    pending: dict[Job, Request] = Factory(dict)
    since: dict[Job, int] = Factory(dict)
    running: dict[Job, Request] = Factory(dict)
    made: dict[Job, int] = Factory(dict)
    duplicates: Counter[str] = Factory(Counter)
    above: dict[Job, frozenset[Job]] = field(init=False)
    _reflects: dict[Job, frozenset[int]] = Factory(dict)
    _asked: dict[Job, frozenset[int]] = Factory(dict)
    _agenda: list = Factory(list)
    _count: int = 0

    def __attrs_post_init__(self) -> None:
        self.above = ancestors(self.graph)

    def backfill(self, at: int, job: Job, label: int | None = None) -> None:
        self._schedule(at, lambda: self._backfill(job, label))

    def run(self) -> None:
        while self._agenda:
            self.now = max(self.now, self._agenda[0][0])
            while self._agenda and self._agenda[0][0] <= self.now:
                heapq.heappop(self._agenda)[2]()
            for request in [each for each in self.pending.values() if self._may_start(each)]:
                self._start(request)

    def converged(self) -> bool:
        owed: dict[Job, frozenset[int]] = {}
        for job, inputs in self.graph.items():
            owed[job] = self._asked.get(job, frozenset()).union(*(owed[each] for each in inputs))
        return not self.pending and all(self._reflects.get(job, frozenset()) == each for job, each in owed.items())

    # --- the rules

    def ready(self, request: Request) -> bool:
        raise NotImplementedError

    def triggered(self, reader: Job, by: Request) -> Request | None:
        """The request of a reader for what a run published."""
        raise NotImplementedError

    def merged(self, pending: Request, other: Request) -> Request:
        raise NotImplementedError

    def rejects(self, request: Request) -> bool:
        """Whether what has run or runs satisfies a request."""
        return False

    # --- inside

    def _backfill(self, job: Job, label: int | None) -> None:
        self._count += 1
        backfill = self._count
        self._asked[job] = self._asked.get(job, frozenset()) | {backfill}
        self.expects[job] -= 1
        self._request(Request(job, backfill if label is None else label, job, carries=frozenset((backfill,))))

    def _request(self, request: Request) -> None:
        pending = self.pending.get(request.job)
        if self.rejects(request):
            self.duplicates["satisfied by existing"] += 1
        elif pending is None:
            self.pending[request.job] = request
            self.since[request.job] = self.now
            if self.hold and request.job == request.origin:
                self._schedule(self.now + self.hold, lambda: None)
        else:
            merged = self.merged(pending, request)
            self.duplicates["exact duplicate" if merged == pending else "both pending"] += 1
            self.pending[request.job] = merged

    def _may_start(self, request: Request) -> bool:
        held = request.job == request.origin and self.now < self.since[request.job] + self.hold
        return request.job not in self.running and not held and self.ready(request)

    def _start(self, request: Request) -> None:
        job = request.job
        del self.pending[job]
        self.running[job] = request
        self.runs[job] += 1
        read = (self._reflects.get(each, frozenset()) for each in self.graph[job])
        reflects = self._asked.get(job, frozenset()).union(*read)
        self._schedule(self.now + self.duration(job), lambda: self._publish(request, reflects))

    def _publish(self, request: Request, reflects: frozenset[int]) -> None:
        del self.running[request.job]
        self.made[request.job] = max(request.version, self.made.get(request.job, 0))
        self._reflects[request.job] = reflects
        for reader, inputs in self.graph.items():
            if request.job in inputs and (asked := self.triggered(reader, request)) is not None:
                self._request(asked)

    def _schedule(self, at: int, work: Callable[[], object]) -> None:
        self._count += 1
        heapq.heappush(self._agenda, (at, self._count, work))


class Literal(Small):
    def ready(self, request: Request) -> bool:
        return all(self.made.get(job, 0) >= version for job, version in request.at_least)

    def triggered(self, reader: Job, by: Request) -> Request:
        covered = [each for each in self.graph[reader] if by.origin in self.above[each]]
        return Request(reader, by.version, by.origin, tuple((each, by.version) for each in covered))

    def merged(self, pending: Request, other: Request) -> Request:
        at_least = dict(pending.at_least)
        for job, version in other.at_least:
            at_least[job] = max(version, at_least.get(job, 0))
        origin = self._lower(pending.job, pending.origin, other.origin)
        version = max(pending.version, other.version)
        return evolve(pending, version=version, origin=origin, at_least=tuple(sorted(at_least.items())))

    def rejects(self, request: Request) -> bool:
        running = self.running.get(request.job)
        newest = max(self.made.get(request.job, 0), running.version if running else 0)
        return newest >= request.version and request.job == request.origin or newest > request.version

    def _lower(self, job: Job, one: Job, other: Job) -> Job:
        if one in self.above[other]:
            return other
        return one if other in self.above[one] else job


class Lazy(Small):
    def ready(self, request: Request) -> bool:
        above = self.above[request.job] - {request.job}
        return (
            not any(job in self.pending or job in self.running or self.expects[job] > 0 for job in above)
            and not self.expects[request.job] > 0
        )

    def triggered(self, reader: Job, by: Request) -> Request:
        return Request(reader, by.version, by.origin, carries=by.carries)

    def merged(self, pending: Request, other: Request) -> Request:
        return evolve(pending, carries=pending.carries | other.carries)


def expected(jobs: Iterable[Job]) -> Counter[Job]:
    """The backfills of a cadence group, all known when the first one comes."""
    return Counter(jobs)
