"""What plans are compared with: the other methods of [Li23] §VI-A and §VI-F. Nothing of the product needs them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence

from attrs import evolve

from headwater.memory.planning.order import depth_first
from headwater.memory.planning.problem import Problem
from headwater.memory.planning.search import player

Order = tuple[int, ...]

ANNEALING = 10_000
"""Iterations of simulated annealing, as in the paper."""


def without_copies(problem: Problem) -> Problem:
    """The same problem as published, with copies that take no time: an output leaves memory with its last reader."""
    return evolve(problem, tasks=tuple(evolve(task, copy=0) for task in problem.tasks))


def greedy(problem: Problem, order: Order) -> frozenset[int]:
    """In the order in which they run, each that fits beside those before."""
    return _fitting(problem, order, order)


def at_random(problem: Problem, order: Order) -> frozenset[int]:
    """In an order that is drawn anew, each that fits."""
    return _fitting(problem, order, _draw(problem, order).sample(order, len(order)))


def by_ratio(problem: Problem, order: Order) -> frozenset[int]:
    """Those first that save most for their size, each that fits."""
    ratio = {task: problem.scores[task] / max(1, problem.tasks[task].size) for task in order}
    return _fitting(problem, order, sorted(order, key=ratio.__getitem__, reverse=True))


def lru(problem: Problem) -> int:
    """µs saved by a cache of all results that drops what was used longest ago: what is read from it, and nothing of
    writing, since a cache does not delay that. It may serve some readers of an output and not others."""
    cached: dict[int, None] = {}
    saved = 0

    def use(task: int) -> None:
        cached.pop(task, None)
        if problem.tasks[task].size <= problem.memory:
            cached[task] = None
        while sum(problem.tasks[each].size for each in cached) > problem.memory:
            del cached[next(iter(cached))]

    for task, inputs in enumerate(problem.inputs):
        for source, saves in inputs:
            saved += saves if source in cached else 0
            use(source)
        use(task)
    return saved


def annealed(problem: Problem, kept: frozenset[int]) -> Order:
    """Two tasks that may change places do, if less memory is filled in the mean, or by chance. The paper gives the
    iterations; the rest is ours: neighbours in the order, and a chance of exp(-worse / temperature), the latter
    falling from a hundredth of the first average to a ten-thousandth."""
    draw = _draw(problem, tuple(kept))
    order = list(range(len(problem.tasks)))
    reads = [{source for source, _ in inputs} for inputs in problem.inputs]
    filled = _average(problem, order, kept)
    best, least, first = list(order), filled, max(filled, 1.0)
    for step in range(ANNEALING):
        place = draw.randrange(len(order) - 1) if len(order) > 1 else 0
        if len(order) < 2 or order[place] in reads[order[place + 1]]:
            continue
        order[place], order[place + 1] = order[place + 1], order[place]
        new = _average(problem, order, kept)
        temperature = first * 0.01 ** (1 + step / ANNEALING)
        if new <= filled or draw.random() < math.exp((filled - new) / temperature):
            filled = new
            if filled < least:
                best, least = list(order), filled
        else:
            order[place], order[place + 1] = order[place + 1], order[place]
    return tuple(best)


def separated(problem: Problem, kept: frozenset[int]) -> Order:
    """A set of tasks is cut in two that can run one after the other, and each again. Of the cuts along the depth-first
    order that leave at least a third on each side, the one that least memory crosses is taken (ours; the paper
    names the method only)."""
    place = {task: n for n, task in enumerate(depth_first(problem, ()))}

    def crossing(tasks: Sequence[int], cut: int) -> int:
        after = set(tasks[cut:])
        return sum(
            problem.tasks[each].size for each in kept.intersection(tasks[:cut]) if after & set(problem.readers[each])
        )

    def ordered(tasks: list[int]) -> list[int]:
        if len(tasks) < 2:
            return tasks
        third = max(1, len(tasks) // 3)
        cut = min(range(third, len(tasks) - third + 1), key=lambda each: crossing(tasks, each))
        return ordered(_anew(problem, tasks[:cut], kept)) + ordered(_anew(problem, tasks[cut:], kept))

    return tuple(ordered(sorted(place, key=place.__getitem__)))


def _anew(problem: Problem, tasks: list[int], kept: frozenset[int]) -> list[int]:
    """Some tasks in a depth-first order of their own, the smallest kept output first."""
    inside, done, found = set(tasks), set(), []

    def visit(task: int) -> None:
        if task in done:
            return
        done.add(task)
        sources = {source for source, _ in problem.inputs[task]} & inside
        for source in sorted(sources, key=lambda each: (problem.tasks[each].size if each in kept else 0, each)):
            visit(source)
        found.append(task)

    for task in tasks:
        visit(task)
    return found


def _fitting(problem: Problem, order: Order, candidates: Iterable[int]) -> frozenset[int]:
    play = player(problem)
    kept = [False] * len(order)
    worth = set(problem.worthwhile)
    for task in candidates:
        if task in worth:
            kept[task] = True
            if play(order, kept) is None:
                kept[task] = False
    return frozenset(task for task, keep in enumerate(kept) if keep)


def _average(problem: Problem, order: Sequence[int], kept: frozenset[int]) -> float:
    """Bytes that are kept in the mean, if every task takes the same time (§V, Problem 3)."""
    place = {task: n for n, task in enumerate(order)}
    steps = (max((place[each] for each in problem.readers[task]), default=place[task]) - place[task] for task in kept)
    sizes = (problem.tasks[task].size for task in kept)
    return sum(step * size for step, size in zip(steps, sizes, strict=True)) / max(1, len(order))


def _draw(problem: Problem, turn: Order) -> random.Random:
    """Chance of its own for each problem and turn."""
    return random.Random(f"{[task.size for task in problem.tasks]} {turn}")
