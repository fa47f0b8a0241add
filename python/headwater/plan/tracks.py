"""The order and what to keep when several tasks run side by side."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from math import floor

from attrs import evolve

from headwater.plan.exact import FEW, improved
from headwater.plan.joint import joint, unproven
from headwater.plan.plan import Plan, best
from headwater.plan.problem import Problem
from headwater.plan.search import Evaluate, searched
from headwater.plan.timeline import timeline

FILLED = 0.01
"""What filling all memory all the time costs, as a share of that time, and what the mean end of tasks counts."""
WORK = 100_000
"""Of a search: a plan of several tracks takes some four times as long to play as one of one."""


def side_by_side(problem: Problem, *, seed: int = 0) -> Plan:
    """The plan that is complete soonest, its last copy included, of those found; as good as the one that starts what
    the longest chain of readers follows first and keeps nothing, or better. A seed gives a plan.

    The search starts from that one and from the best plan for one track, if it fits. To ``FEW`` tasks constraint
    programming looks for a better one. One track is planned for the score (``joint``).
    """
    if problem.tracks == 1:
        return joint(problem, seed=seed)
    known = beside(problem, seed=seed)
    if known.cost > known.bound and len(problem.tasks) <= FEW:
        known = improved(known, seed=seed)
    return known


def beside(problem: Problem, *, seed: int = 0) -> Plan:
    """What ``side_by_side`` finds for several tracks without constraint programming."""
    one_track = unproven(evolve(problem, tracks=1), seed=seed)
    starts = [
        Plan(problem, longest_first(problem), frozenset(), "longest first"),
        Plan(problem, one_track.order, one_track.flagged, "joint"),
    ]
    known = best(*(searched(each, lasting(problem), seed=seed, work=WORK) for each in starts if each.fits))
    return evolve(known, bound=shortest(problem))


def longest_first(problem: Problem) -> tuple[int, ...]:
    """Of what can start, first what takes longest together with the longest chain of its readers."""
    rank = _chains(problem, [task.run for task in problem.tasks])
    missing = [len(inputs) for inputs in problem.inputs]
    ready = [(-rank[n], n) for n, count in enumerate(missing) if not count]
    heapq.heapify(ready)
    order = []
    while ready:
        _, task = heapq.heappop(ready)
        order.append(task)
        for reader in problem.readers[task]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, (-rank[reader], reader))
    return tuple(order)


def shortest(problem: Problem) -> int:
    """µs that no plan undercuts which keeps only what saves time: the longest chain, and all work shared evenly, if
    all that pays were kept."""
    worth = set(problem.worthwhile)
    least = []
    for task, inputs in enumerate(problem.inputs):
        saved = sum(max(0, saved) for source, saved in inputs if source in worth)
        spared = max(0, problem.tasks[task].spared) if task in worth else 0
        least.append(max(1, problem.tasks[task].run - spared - saved))
    return max(max(_chains(problem, least), default=0), floor(sum(least) / min(problem.tracks, problem.abreast)))


def lasting(problem: Problem) -> Evaluate:
    """What a search for the least makespan looks at. It is guided also by when tasks end in the mean, and by how much
    memory is filled for how long: what is done early leaves room for what comes late."""
    for_area = FILLED / max(1, problem.memory)

    def evaluate(order: Sequence[int], kept: Sequence[bool]) -> tuple[int, float] | None:
        played = timeline(problem, order, [task for task, keep in enumerate(kept) if keep])
        if played.peak > problem.memory:
            return None
        held = zip(problem.tasks, played.spans, strict=True)
        area = sum(task.size * (span.released - span.start) for task, span in held if span.released is not None)
        ends = sum(span.end for span in played.spans) / max(1, len(played.spans))
        return played.makespan, played.makespan + for_area * area + FILLED * ends

    return evaluate


def _chains(problem: Problem, lasts: Sequence[int]) -> list[int]:
    """For each task the µs of the longest chain from its start to the end of a last reader."""
    found = [0] * len(problem.tasks)
    for task in reversed(range(len(problem.tasks))):
        found[task] = lasts[task] + max((found[reader] for reader in problem.readers[task]), default=0)
    return found
