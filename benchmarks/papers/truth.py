"""The backfills that every job of a simulated warehouse truly reflects, apart from the beliefs of any method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import Factory, define

Job = str
Graph = Mapping[Job, tuple[Job, ...]]
"""Each job and the jobs that it reads, in topological order. A job stands for one table-partition."""

Backfill = int
NONE: frozenset[Backfill] = frozenset()


@define
class Truth:
    """Which backfills each job reflects, on every path from where they started. Times are milliseconds.

    Attributes:
        asked: of each job, the backfills that started there; ``of`` is the other way round.
        at, done: when each backfill was asked for, and when a job first reflected it last.
        first: when each job first reflected each backfill.
        above: of each job, itself and all that it reads, directly or not.
    """

    graph: Graph
    asked: dict[Job, frozenset[Backfill]] = Factory(dict)
    reflects: dict[Job, frozenset[Backfill]] = Factory(dict)
    of: dict[Backfill, Job] = Factory(dict)
    at: dict[Backfill, int] = Factory(dict)
    done: dict[Backfill, int] = Factory(dict)
    first: dict[tuple[Job, Backfill], int] = Factory(dict)
    above: dict[Job, frozenset[Job]] = Factory(dict)

    def __attrs_post_init__(self) -> None:
        self.above = ancestors(self.graph)

    def ask(self, job: Job, backfill: Backfill, now: int) -> None:
        self.asked[job] = self.asked.get(job, NONE) | {backfill}
        self.of[backfill], self.at[backfill] = job, now

    def read(self, job: Job) -> frozenset[Backfill]:
        """The backfills that a run which starts now will reflect: only those that every input they reach reflects."""
        inputs = [(self.above[each], self.reflects.get(each, NONE)) for each in self.graph[job]]
        some = frozenset().union(*(reflected for _, reflected in inputs))
        lacking = {
            backfill
            for backfill in some
            if any(self.of[backfill] in above and backfill not in reflected for above, reflected in inputs)
        }
        return self.asked.get(job, NONE) | (some - lacking)

    def publish(self, job: Job, reflects: frozenset[Backfill], now: int) -> None:
        for backfill in reflects - self.reflects.get(job, NONE):
            self.done[backfill] = now
            self.first.setdefault((job, backfill), now)
        self.reflects[job] = reflects

    def converged(self) -> bool:
        """Whether every job reflects all backfills of its own and of what it reads."""
        owed: dict[Job, frozenset[Backfill]] = {}
        for job, inputs in self.graph.items():
            owed[job] = self.asked.get(job, NONE).union(*(owed[each] for each in inputs))
        return all(self.reflects.get(job, NONE) == each for job, each in owed.items())

    def slowest(self) -> int:
        """The longest time from a backfill to the last job that reflects it."""
        return max((self.done.get(each, at) - at for each, at in self.at.items()), default=0)

    def missed(self, bounds: Mapping[Job, int]) -> int:
        """The backfills that some job reflected later than it promises (ms)."""
        return len(
            {
                backfill
                for (job, backfill), first in self.first.items()
                if job in bounds and first > self.at[backfill] + bounds[job]
            }
        )


def ancestors(graph: Graph) -> dict[Job, frozenset[Job]]:
    """For each job, itself and all that it reads, directly or not."""
    found: dict[Job, frozenset[Job]] = {}
    for job, inputs in graph.items():
        found[job] = frozenset((job,)).union(*(found[each] for each in inputs))
    return found


def reached(graph: Graph, jobs: Iterable[Job]) -> set[Job]:
    """These jobs and everything downstream of them."""
    found = set(jobs)
    for job, inputs in graph.items():
        if found.intersection(inputs):
            found.add(job)
    return found


def naive(graph: Graph, jobs: Iterable[Job], cost: Mapping[Job, int] | None = None) -> int:
    """The cost of the runs, or their number, when every publication triggers every reader: one for each path
    from each backfilled job."""
    paths: dict[Job, int] = dict.fromkeys(graph, 0)
    for job in jobs:
        paths[job] += 1
    for job, inputs in graph.items():
        paths[job] += sum(paths[each] for each in inputs)
    return sum(count * (cost[job] if cost else 1) for job, count in paths.items())
