"""What a plan does, told microsecond by microsecond; and the best plan, by trying all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations
from math import ceil

from headwater.memory.planning.order import depth_first
from headwater.memory.planning.problem import Problem


def played(problem: Problem, order: Sequence[int], kept: Collection[int]) -> tuple[list[tuple], list[int]]:
    """Start, end, publication and release of each task, and the bytes in memory during each microsecond. One task goes
    at full speed, or all do."""
    tasks = range(len(problem.tasks))
    names = [task.name for task in problem.tasks]
    reads = [{names.index(read.name) for read in task.reads} for task in problem.tasks]
    left: dict[int, Fraction] = {}
    start, end, published, released = {}, {}, {}, {}
    copying: list[int] = []
    copy_left: dict[int, int] = {}
    used, now = [], 0
    while len(published) < len(names) or len(released) < len(kept):
        for task in sorted(left):
            if left[task] == 0:
                end[task] = now
                del left[task]
        # Copies of what ended at the same moment begin in the order in which it started.
        for task in sorted((each for each in tasks if each in end and each not in copy_left), key=list(start).index):
            copy_left[task] = problem.tasks[task].copy if task in kept else 0
            if task in kept:
                copying.append(task)
            else:
                published[task] = now
        while copying and copy_left[copying[0]] == 0:
            published[copying.pop(0)] = now
        for task in kept:
            if task in published and task not in released and all(n in end for n in tasks if task in reads[n]):
                released[task] = now
        for task in order:
            if task not in start and len(left) < problem.tracks and reads[task] <= end.keys():
                start[task], left[task] = now, _lasts(problem, task, reads[task], kept)
        used.append(sum(problem.tasks[n].size for n in kept if n in start and n not in released))
        for task in left:
            left[task] -= Fraction(1, max(1, ceil(len(left) / problem.abreast)))
        if copying:
            copy_left[copying[0]] -= 1
        now += 1
    return [(start[n], end[n], published[n], released.get(n)) for n in tasks], used


def _lasts(problem: Problem, task: int, reads: set[int], kept: Collection[int]) -> int:
    told = problem.tasks[task]
    kept_names = {problem.tasks[n].name for n in kept}
    saved = sum(read.saved for read in told.reads if read.name in kept_names)
    return max(1, told.run - saved - (told.spared if task in kept else 0))


def orders(problem: Problem) -> Iterator[tuple[int, ...]]:
    """All orders in which each task comes after those it reads."""
    names = [task.name for task in problem.tasks]
    reads = [{names.index(read.name) for read in task.reads} for task in problem.tasks]

    def grown(order: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(order) == len(reads):
            yield order
        for n in range(len(reads)):
            if n not in order and reads[n] <= set(order):
                yield from grown((*order, n))

    return grown(())


def score(problem: Problem, kept: Collection[int]) -> int:
    """What keeping these outputs saves."""
    kept_names = {problem.tasks[n].name for n in kept}
    own = sum(problem.tasks[n].spared for n in kept)
    return own + sum(read.saved for task in problem.tasks for read in task.reads if read.name in kept_names)


def paying(problem: Problem) -> list[int]:
    """The outputs that save something by themselves."""
    return [n for n in range(len(problem.tasks)) if score(problem, [n]) > 0]


def subsets(some: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(some, count) for count in range(len(some) + 1))


def by_readers(problem: Problem, order: Sequence[int], kept: Collection[int]) -> int:
    """The most bytes in memory if an output leaves with its last reader: [Li23] §V-A, by definition."""
    place = {task: n for n, task in enumerate(order)}
    last = {n: max((place[reader] for reader in problem.readers[n]), default=place[n]) for n in kept}
    used = (sum(problem.tasks[n].size for n in kept if place[n] <= step <= last[n]) for step in range(len(order)))
    return max(used, default=0)


def algorithm_2(problem: Problem) -> tuple[int, tuple[int, ...]]:
    """The score and order of [Li23]'s Algorithm 2 with scores compared, the knapsack by trying all; there must be one
    best choice at each turn, or another one is as right."""
    order, kept, saved = tuple(range(len(problem.tasks))), (), 0
    while True:
        fitting = [each for each in subsets(paying(problem)) if by_readers(problem, order, each) <= problem.memory]
        chosen = max(fitting, key=lambda each: score(problem, each))
        if sum(score(problem, each) == score(problem, chosen) for each in fitting) > 1:
            raise Ambiguous
        if score(problem, chosen) <= saved:
            return saved, order
        kept, saved = chosen, score(problem, chosen)
        new = depth_first(problem, kept)
        if by_readers(problem, new, kept) > problem.memory:
            return saved, order
        order = new


class Ambiguous(Exception):
    """Two choices are as good."""
