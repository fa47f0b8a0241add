"""Local search over order and flags together: one task is moved in the order, or one output kept or not."""

from __future__ import annotations

import heapq
import math
import random
from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import accumulate, compress

from headwater.memory.planning.plan import Plan, timeline
from headwater.memory.planning.problem import Problem

WORK = 400_000
"""Steps of a search times tasks, so that large problems take about as long as small ones."""
ENOUGH = 500
"""Steps of the search for each task, of small problems."""
MOVING = 0.7
"""The share of steps that move a task; the others keep an output, or keep it no longer."""
WARM, COLD = 0.004, 0.0004
"""The first and the last temperature, as shares of all scores, or of a tenth of all run times if that is more."""

AREA = 0.15
"""The cost of filling all memory all the time, as a share of all scores. Memory that is filled for less time leaves
room to keep more ([Li23] §V-B), which the score alone does not show."""
FILLED = 0.01
"""The cost of filling all memory all the time, as a share of that time, and the weight of the mean end of tasks."""

Evaluate = Callable[[Sequence[int], Sequence[bool]], "tuple[int, float] | None"]
"""Of an order and its kept outputs: the figure to make least, and the one that guides the search, both in µs. ``None``
if they do not fit."""
Play = Callable[[Sequence[int], Sequence[bool]], "float | None"]


def searched(known: Plan, evaluate: Evaluate, *, seed: int, work: int = WORK) -> Plan:
    """The best plan met by simulated annealing from one that fits; never a worse one.

    A task may move anywhere between its sources and its readers. An output that is not accepted beside the others
    may take the place of one of them. Plans that need more memory than there is are never accepted.
    """
    problem = known.problem
    if not problem.tasks:
        return known
    walk = _Walk(known, evaluate, random.Random(seed))
    steps = min(work // len(problem.tasks), ENOUGH * len(problem.tasks))
    for step in range(steps):
        walk.temperature = walk.warmest * (COLD / WARM) ** (step / steps)
        walk.step()
    return walk.best


class _Walk:
    """The position of the search: an order, the kept outputs, and their cost."""

    def __init__(self, known: Plan, evaluate: Evaluate, draw: random.Random) -> None:
        self._problem, self._evaluate, self._draw = known.problem, evaluate, draw
        self._order = list(known.order)
        self._position = _positions(self._order)
        self._kept = [task in known.flagged for task in range(len(self._order))]
        self._weights = list(accumulate(known.problem.scores[task] for task in known.problem.worthwhile))
        self.warmest = WARM * max(1, *self._weights, sum(task.run for task in known.problem.tasks) // 10)
        self.temperature, self.best = self.warmest, known
        cost = evaluate(self._order, self._kept)
        assert cost is not None, "the search starts from a plan that can be carried out"
        self._least, self._cost = cost

    def step(self) -> None:
        if not self._weights or self._draw.random() < MOVING:
            self._move(self._draw.randrange(len(self._order)))
        else:
            self._flag(self._problem.worthwhile[bisect(self._weights, self._draw.random() * self._weights[-1])])

    def _move(self, task: int) -> None:
        inputs, readers = self._problem.inputs[task], self._problem.readers[task]
        first = max((self._position[source] + 1 for source, _ in inputs), default=0)
        last = min((self._position[reader] - 1 for reader in readers), default=len(self._order) - 1)
        if first == last or (to := self._draw.randint(first, last)) == self._position[task]:
            return
        order = self._order.copy()
        order.insert(to, order.pop(self._position[task]))
        if self._accepts(order):
            self._order, self._position = order, _positions(order)

    def _flag(self, task: int) -> None:
        self._toggle(task)
        if self._accepts(self._order):
            return
        others = [each for each in self._problem.worthwhile if self._kept[each] and each != task]
        if self._kept[task] and others:
            other = self._draw.choice(others)
            self._toggle(other)
            if self._accepts(self._order):
                return
            self._toggle(other)
        self._toggle(task)

    def _toggle(self, task: int) -> None:
        self._kept[task] = not self._kept[task]

    def _accepts(self, order: Sequence[int]) -> bool:
        found = self._evaluate(order, self._kept)
        if found is None:
            return False
        objective, cost = found
        if objective < self._least:  # also of a plan that the search does not go on from
            self._least = objective
            kept = frozenset(each for each in self._problem.worthwhile if self._kept[each])
            self.best = Plan(self._problem, tuple(order), kept, "joint")
        if cost > self._cost and self._draw.random() >= math.exp((self._cost - cost) / self.temperature):
            return False
        self._cost = cost
        return True


def _positions(order: Sequence[int]) -> list[int]:
    positions = [0] * len(order)
    for position, task in enumerate(order):
        positions[task] = position
    return positions


# --- the figures that a search looks at


def saving(problem: Problem) -> Evaluate:
    """For the highest score: the score, negated, guided also by the memory that is filled, times how long."""
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


def lasting(problem: Problem) -> Evaluate:
    """For the least makespan. It is guided also by the mean end of tasks, and by the memory that is filled, times how
    long: early work leaves room for late work."""
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
