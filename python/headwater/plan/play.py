"""One track played through fast, for the many plans that a search looks at."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from itertools import compress

from headwater.plan.problem import Problem
from headwater.plan.search import Evaluate

AREA = 0.15
"""What filling all memory all the time costs, as a share of all scores. Memory that is filled for less time leaves
room to keep more ([Li23] §V-B), which the score alone does not show."""

Play = Callable[[Sequence[int], Sequence[bool]], "float | None"]


def saving(problem: Problem) -> Evaluate:
    """What a search for the highest score looks at: the score, negated, and beside it how much memory is filled for
    how long."""
    play, total = player(problem), sum(problem.scores[task] for task in problem.worthwhile)
    longest = sum(max(1, task.run) + task.copy for task in problem.tasks)
    for_area = AREA * total / max(1, problem.memory * longest)

    def evaluate(order: Sequence[int], kept: Sequence[bool]) -> tuple[int, float] | None:
        area = play(order, kept)
        if area is None:
            return None
        score = sum(compress(problem.scores, kept))
        return -score, for_area * area - score

    return evaluate


def player(problem: Problem) -> Play:
    """A function that plays an order with outputs kept, as ``timeline`` does on one track, and tells the sum of bytes
    in memory times µs; ``None`` as soon as more memory would be filled than there is."""
    tasks, inputs, memory = problem.tasks, problem.inputs, problem.memory
    run, size = [task.run for task in tasks], [task.size for task in tasks]
    spared, copy = [task.spared for task in tasks], [task.copy for task in tasks]
    readers = [len(each) for each in problem.readers]
    push, pop = heapq.heappush, heapq.heappop

    def play(order: Sequence[int], kept: Sequence[bool]) -> float | None:
        now = copied = used = 0
        area = 0.0
        unread, published, began = readers[:], [0] * len(run), [0] * len(run)
        leaving: list[tuple[int, int]] = []
        for task in order:
            lasts = run[task]
            for source, saved in inputs[task]:
                if kept[source]:
                    lasts -= saved
            while leaving and leaving[0][0] <= now:
                used -= pop(leaving)[1]
            if kept[task]:
                lasts -= spared[task]
                began[task] = now
                used += size[task]
                if used > memory:
                    return None
            now += lasts if lasts > 1 else 1
            if kept[task]:
                copied = published[task] = max(copied, now) + copy[task]
                if not unread[task]:
                    push(leaving, (copied, size[task]))
                    area += size[task] * (copied - began[task])
            for source, _ in inputs[task]:
                unread[source] -= 1
                if not unread[source] and kept[source]:
                    released = max(published[source], now)
                    push(leaving, (released, size[source]))
                    area += size[source] * (released - began[source])
        return area

    return play
