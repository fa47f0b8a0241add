"""The least cost of refreshing within every promise, found by trying all schedules; it knows the future.

A schedule says after which of the moments at which something became available to a view the view runs,
which is a partition of the changes that reach it into runs. Every run takes all that is available when it
starts. Only schedules that start a run at such a moment, or when the view's run before ends, are tried;
that loses nothing: of any other schedule, view by view with inputs first, move each run forward to the
last moment of what it takes. It still takes that, publishes no later, and costs the same.

Run times are fixed, views run side by side, each at most once at a time. Times are milliseconds. This is
the slow reference for ``python -m benchmarks.papers holding``: up to about eight views and twelve changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from benchmarks.papers.truth import Backfill, Graph, Job, ancestors

Published = Mapping[Backfill, int]
"""When a view first reflects each change that reaches it."""

Moment = tuple[int, frozenset[Backfill]]
"""When something becomes available to a view, and for a run: when it is published."""


@frozen
class Case:
    """The views and changes to schedule.

    Attributes:
        changes: when (ms) each change comes, and to which job.
        takes: the run time of each job (ms).
        bounds: how long after a change (ms) a job that promises so must reflect it.
        cost: of one run of each job.
    """

    graph: Graph
    changes: tuple[tuple[int, Job], ...]
    takes: Mapping[Job, int]
    bounds: Mapping[Job, int]
    cost: Mapping[Job, int]


def least_cost(case: Case) -> int | None:
    """The cost of the best schedule; ``None`` when none keeps every promise."""
    above = ancestors(case.graph)
    asked = dict(enumerate(case.changes))
    reach = {job: frozenset(c for c, (_, at) in asked.items() if at in above[job]) for job in case.graph}
    due = _due(case, reach)
    jobs = [job for job in case.graph if reach[job]]
    floor = {job: case.cost[job] * _fewest(case, job, reach, due[job]) for job in jobs}
    rest = [sum(floor[job] for job in jobs[position:]) for position in range(len(jobs) + 1)]

    def search(position: int, published: dict[Job, Published], spent: int, best: float) -> float:
        """The least cost below ``best`` with the decisions of the first ``position`` jobs, or ``best``."""
        if position == len(jobs):
            return min(best, spent)
        job = jobs[position]
        moments = _moments(case, job, reach, published)
        for runs in sorted(_partitions(moments, case.takes[job], due[job]), key=len):
            cost = spent + case.cost[job] * len(runs)
            if cost + rest[position + 1] >= best:
                break
            mine = {change: end for end, changes in runs for change in changes}
            best = search(position + 1, {**published, job: mine}, cost, best)
        return best

    found = search(0, {}, 0, float("inf"))
    return None if found == float("inf") else int(found)


def _moments(
    case: Case, job: Job, reach: Mapping[Job, frozenset[Backfill]], published: Mapping[Job, Published]
) -> list[Moment]:
    """When each change becomes available to a job: with all inputs that it reaches, or when it comes."""
    at: dict[int, set[Backfill]] = {}
    for change in reach[job]:
        came, where = case.changes[change]
        inputs = [published[each][change] for each in case.graph[job] if change in reach[each]]
        at.setdefault(came if where == job else max(inputs), set()).add(change)
    return [(moment, frozenset(at[moment])) for moment in sorted(at)]


def _partitions(moments: Sequence[Moment], takes: int, due: Published, free: int = 0) -> Iterator[list[Moment]]:
    """All ways to take the moments, in order, in runs that end in time; ``free``: when the run before ended."""
    if not moments:
        yield []
    taken: frozenset[Backfill] = frozenset()
    for count, (moment, changes) in enumerate(moments, 1):
        taken |= changes
        end = max(moment, free) + takes
        if end > min(due[change] for change in taken):
            return
        for others in _partitions(moments[count:], takes, due, end):
            yield [(end, taken), *others]


# --- limits that leave out schedules which cannot be the best


def _due(case: Case, reach: Mapping[Job, frozenset[Backfill]]) -> dict[Job, dict[Backfill, float]]:
    """When each job must have published each change, for its own promise and those of its readers."""
    due = {
        job: {change: case.changes[change][0] + case.bounds.get(job, float("inf")) for change in reach[job]}
        for job in case.graph
    }
    for job in reversed(list(case.graph)):
        for each in case.graph[job]:
            for change in reach[each]:
                due[each][change] = min(due[each][change], due[job][change] - case.takes[job])
    return due


def _fewest(case: Case, job: Job, reach: Mapping[Job, frozenset[Backfill]], due: Mapping[Backfill, float]) -> int:
    """A job's runs if every change reached it as soon as can be: as few points as stab all intervals in
    which it may start for a change."""
    arrival: dict[Job, dict[Backfill, int]] = {}
    for each in case.graph:
        moments = _moments(case, each, reach, arrival)
        arrival[each] = {c: moment + case.takes[each] for moment, changes in moments for c in changes}
    intervals = sorted((due[change] - case.takes[job], at - case.takes[job]) for change, at in arrival[job].items())
    count, point = 0, float("-inf")
    for latest, earliest in intervals:
        if earliest > point:
            count, point = count + 1, latest
    return count
