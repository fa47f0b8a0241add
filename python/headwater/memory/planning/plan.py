"""A plan: an inert value that one reader carries out and another explains; and its course.

Tasks start in the order of the plan, each as soon as a track is free and its inputs are there; one whose
inputs are not there lets later ones go first. When more run than go on at full speed, all get the same share of it, as
Spark's fair scheduler gives to its pools. The output of a flagged task takes its place in memory when the
task starts, is copied to the warehouse in the background, one copy after the other in the order in which they
were made, and leaves when its copy is complete and its last reader is done ([Li23] §III-C).
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from functools import cached_property

from attrs import field, frozen

from headwater.memory.planning.problem import Problem
from headwater.model.error import PlanError


@frozen
class Span:
    """One task's part of a timeline, in µs from the run's start.

    Attributes:
        start, end: when it runs.
        published: when its output is in the warehouse.
        released: when its output has left memory; ``None`` when it is not kept.
        track: the track it runs on.
    """

    start: int
    end: int
    published: int
    released: int | None
    track: int


@frozen
class Timeline:
    """When everything of a run happens.

    Attributes:
        spans: by task.
        used: (µs, bytes) at every moment at which the bytes in memory change, in ascending order.
    """

    spans: tuple[Span, ...]
    used: tuple[tuple[int, int], ...]

    @property
    def peak(self) -> int:
        """The most bytes that lie in memory at any moment."""
        return max((used for _, used in self.used), default=0)

    @property
    def makespan(self) -> int:
        """µs until every task has run and the last copy is complete."""
        return max((span.published for span in self.spans), default=0)


def timeline(problem: Problem, order: Sequence[int], flagged: Collection[int]) -> Timeline:
    """The course of tasks that start in ``order``, with the outputs of those ``flagged`` kept."""
    kept = frozenset(flagged)
    begun = _started(problem, order, kept)
    copied = 0
    published: dict[int, int] = {}
    for task, (_, end, _) in begun.items():
        published[task] = end
        if task in kept:
            copied = published[task] = max(copied, end) + problem.tasks[task].copy
    spans = []
    for task, (start, end, track) in sorted(begun.items()):
        read = max((begun[reader][1] for reader in problem.readers[task]), default=end)
        released = max(published[task], read) if task in kept else None
        spans.append(Span(start, end, published[task], released, track))
    return Timeline(tuple(spans), _used(problem, spans))


def durations(problem: Problem, flagged: Collection[int]) -> list[int]:
    """µs that each task runs, at least one, when the outputs of those ``flagged`` are kept."""
    return [
        max(
            1,
            task.run
            - (task.spared if n in flagged else 0)
            - sum(saved for source, saved in problem.inputs[n] if source in flagged),
        )
        for n, task in enumerate(problem.tasks)
    ]


def _started(problem: Problem, order: Sequence[int], kept: frozenset[int]) -> dict[int, tuple[int, int, int]]:
    """Start, end and track of each task, in the order in which they end, and of those that end together start.

    All that run come forward equally, so that one figure, ``done``, says how far each has come since the first began.
    """
    lasts = durations(problem, kept)
    missing = [len(inputs) for inputs in problem.inputs]
    position = {task: n for n, task in enumerate(order)}
    ready = [position[task] for task in order if not missing[task]]
    heapq.heapify(ready)
    idle, now, done = list(range(problem.tracks)), 0.0, 0.0
    running: list[tuple[float, int, int, int]] = []
    starts: dict[int, int] = {}
    found: dict[int, tuple[int, int, int]] = {}
    while ready or running:
        while ready and idle:
            task, track = order[heapq.heappop(ready)], heapq.heappop(idle)
            heapq.heappush(running, (done + lasts[task], len(starts), task, track))
            starts[task] = round(now)
        slowed = max(1.0, len(running) / problem.abreast)
        ends, _, task, track = heapq.heappop(running)
        now, done = now + (ends - done) * slowed, ends
        heapq.heappush(idle, track)
        found[task] = starts[task], round(now), track
        for reader in problem.readers[task]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, position[reader])
    return found


def _used(problem: Problem, spans: Sequence[Span]) -> tuple[tuple[int, int], ...]:
    changes: dict[int, int] = {}
    for task, span in zip(problem.tasks, spans, strict=True):
        if span.released is not None:
            changes[span.start] = changes.get(span.start, 0) + task.size
            changes[span.released] = changes.get(span.released, 0) - task.size
    used, found = 0, []
    for moment in sorted(changes):
        used += changes[moment]
        found.append((moment, used))
    return tuple(found)


def _sound(plan: Plan, _attribute: object, order: tuple[int, ...]) -> None:
    tasks = plan.problem.tasks
    if sorted(order) != list(range(len(tasks))):
        raise PlanError(f"an order of {len(tasks)} tasks has each of them once, not {list(order)}")
    done: set[int] = set()
    for task in order:
        early = [tasks[source].name for source, _ in plan.problem.inputs[task] if source not in done]
        if early:
            raise PlanError(f"{tasks[task].name} cannot start before {early[0]}, which it reads")
        done.add(task)


@frozen
class Plan:
    """In which order the tasks of a run start, and which outputs are kept in memory.

    Attributes:
        problem: the planned run.
        order: the tasks, by their position in the problem, each after those it reads.
        flagged: the tasks whose outputs are kept.
        method: how it was found, for a person.
        bound: the least ``cost`` of any plan that keeps only outputs that save time; ``None`` if unknown.

    Raises:
        PlanError: the order lacks a task or starts one before what it reads.
    """

    problem: Problem
    order: tuple[int, ...] = field(validator=_sound)
    flagged: frozenset[int]
    method: str
    bound: int | None = field(default=None, eq=False)

    @cached_property
    def timeline(self) -> Timeline:
        """The expected course of the run."""
        return timeline(self.problem, self.order, self.flagged)

    @property
    def by_start(self) -> list[int]:
        """The tasks, in the order in which they start."""
        return sorted(self.order, key=lambda task: self.timeline.spans[task].start)

    @property
    def score(self) -> int:
        """µs of foreground work that it saves, as scores count them ([Li23] §IV)."""
        return sum(self.problem.scores[task] for task in self.flagged)

    @property
    def cost(self) -> int:
        """The lower, the better: on one track the negated score, on several the µs until all is complete."""
        return -self.score if self.problem.tracks == 1 else self.timeline.makespan

    @property
    def fits(self) -> bool:
        """Whether at no moment more lies in memory than may."""
        return self.timeline.peak <= self.problem.memory


def best(*plans: Plan) -> Plan:
    """The plan of least cost; of equal ones the first."""
    return min(plans, key=lambda plan: plan.cost)
