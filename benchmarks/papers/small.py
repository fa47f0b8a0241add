"""Small models of other ways to propagate, to compare the core with. One request at most is pending for a job.

``Literal`` follows the paper's words: a scalar version for each request, at-least constraints on inputs,
and the uppermost common descendant as the origin of a merged request ([Xu23] §3.2 - §3.9). It loses
changes and gets stuck; see docs/decisions/0003-origin-sets.md.

``Lazy`` makes a request only when an input was published ([Xu23] §3.3) and looks backwards for requests
that will renew an input (§4.3.2), whatever backfill they are for: so it need not carry which. ``expects``
counts backfills that are known to come, such as those of a cadence group (§4.3.1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable

from attrs import Factory, define, evolve, field, frozen

from benchmarks.papers.truth import Graph, Job, Truth, ancestors
from headwater.simulate.interpreter import Agenda


@frozen
class Request:
    """``at_least``: versions that inputs must have, at the least ([Xu23] §3.2)."""

    job: Job
    version: int
    origin: Job
    at_least: tuple[tuple[Job, int], ...] = ()


@define
class Small(ABC):
    """The common part of both: the clock, the runs, and the backfills that each job truly reflects."""

    graph: Graph
    duration: Callable[[Job], int]
    hold: int = 0
    expects: Counter[Job] = Factory(Counter)
    runs: Counter[Job] = Factory(Counter)
    pending: dict[Job, Request] = Factory(dict)
    since: dict[Job, int] = Factory(dict)
    running: dict[Job, Request] = Factory(dict)
    ends: dict[Job, int] = Factory(dict)
    made: dict[Job, int] = Factory(dict)
    duplicates: Counter[str] = Factory(Counter)
    readers: dict[Job, list[Job]] = Factory(dict)
    above: dict[Job, frozenset[Job]] = field(init=False)
    truth: Truth = field(init=False)
    _agenda: Agenda = Factory(Agenda)

    def __attrs_post_init__(self) -> None:
        self.above, self.truth = ancestors(self.graph), Truth(self.graph)
        for job, inputs in self.graph.items():
            for each in inputs:
                self.readers.setdefault(each, []).append(job)

    def backfill(self, at: int, job: Job, label: int | None = None) -> None:
        """Schedules a dependent backfill that starts at a job; ``label`` is the version a user gives it."""
        self._agenda.at(at, lambda: self._backfill(job, label))

    def run(self) -> None:
        """Until nothing more happens, which may leave requests that will never be ready."""
        while self._agenda.next():
            self.begin()
            for request in [each for each in self.pending.values() if self._may_start(each)]:
                self._start(request)

    # --- the rules

    @abstractmethod
    def ready(self, request: Request) -> bool:
        """Whether a pending request may run, as far as inputs are concerned."""

    @abstractmethod
    def triggered(self, reader: Job, by: Request) -> Request:
        """The request of a reader after a run published."""

    @abstractmethod
    def merged(self, pending: Request, other: Request) -> Request:
        """One request for two of the same job."""

    def begin(self) -> None:  # noqa: B027 - a hook that only some rules need
        """Called before requests are asked whether they are ready."""

    def rejects(self, request: Request) -> bool:
        """Whether a run that has ended or goes on satisfies a request."""
        return False

    # --- inside

    def _backfill(self, job: Job, label: int | None) -> None:
        backfill = len(self.truth.at) + 1
        self.truth.ask(job, backfill, self._agenda.now)
        self.expects[job] -= 1
        self._request(Request(job, backfill if label is None else label, job))

    def _request(self, request: Request) -> None:
        pending = self.pending.get(request.job)
        if self.rejects(request):
            self.duplicates["satisfied by existing"] += 1
        elif pending is None:
            self.pending[request.job] = request
            self.since[request.job] = self._agenda.now
            if self.hold and request.job == request.origin:
                self._agenda.at(self._agenda.now + self.hold, lambda: None)
        else:
            merged = self.merged(pending, request)
            self.duplicates["exact duplicate" if merged == pending else "both pending"] += 1
            self.pending[request.job] = merged

    def _may_start(self, request: Request) -> bool:
        return request.job not in self.running and not self._is_held(request) and self.ready(request)

    def _is_held(self, request: Request) -> bool:
        """The roots of a wave, those that some job reads together, start when the oldest of them must."""
        if not self.hold or request.job != request.origin:
            return False
        roots = [job for job, each in self.pending.items() if job == each.origin]
        wave = {job for job in roots for above in self.above.values() if job in above and request.job in above}
        return self._agenda.now < min(self.since[job] for job in wave) + self.hold

    def _start(self, request: Request) -> None:
        job = request.job
        del self.pending[job]
        self.running[job] = request
        self.runs[job] += 1
        reflects = self.truth.read(job)
        self.ends[job] = self._agenda.now + self.duration(job)
        self._agenda.at(self.ends[job], lambda: self._publish(request, reflects))

    def _publish(self, request: Request, reflects: frozenset[int]) -> None:
        job = request.job
        del self.running[job]
        self.made[job] = max(request.version, self.made.get(job, 0))
        self.truth.publish(job, reflects, self._agenda.now)
        for reader in self.readers.get(job, ()):
            self._request(self.triggered(reader, request))


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


@define
class Lazy(Small):
    """Sets of jobs are bit masks here: the walk is one intersection."""

    _busy: int = 0
    _awaited: int = 0
    _bit: dict[Job, int] = Factory(dict)
    _upstream: dict[Job, int] = Factory(dict)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._bit = {job: 1 << position for position, job in enumerate(self.graph)}
        for job, inputs in self.graph.items():
            self._upstream[job] = 0
            for each in inputs:
                self._upstream[job] |= self._upstream[each] | self._bit[each]

    def begin(self) -> None:
        self._busy = self._mask(self.pending) | self._mask(self.running)
        self._awaited = self._mask(job for job, count in self.expects.items() if count > 0)

    def ready(self, request: Request) -> bool:
        """The backward walk: no request upstream, pending or running or expected, will renew an input."""
        upstream = self._upstream[request.job]
        return not upstream & self._busy and not (upstream | self._bit[request.job]) & self._awaited

    def triggered(self, reader: Job, by: Request) -> Request:
        return Request(reader, by.version, by.origin)

    def merged(self, pending: Request, other: Request) -> Request:
        return pending

    def _mask(self, jobs: Iterable[Job]) -> int:
        mask = 0
        for job in jobs:
            mask |= self._bit[job]
        return mask
