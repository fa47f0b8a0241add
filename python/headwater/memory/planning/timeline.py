"""The course of a plan: when each task runs, and the bytes in memory at every moment.

Tasks start in the order of the plan, each as soon as a track is free and its inputs are there; one whose
inputs are not there lets later ones go first. When more run than go on at full speed, all get the same share of it, as
Spark's fair scheduler gives to its pools. The output of a flagged task takes its place in memory when the
task starts, is copied to the warehouse in the background, one copy after the other in the order in which they
were made, and leaves when its copy is complete and its last reader is done ([Li23] §III-C).
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence

from attrs import frozen

from headwater.memory.planning.problem import Problem


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
