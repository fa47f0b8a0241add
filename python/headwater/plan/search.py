"""Local search over order and flags together: one task is moved in the order, or one output kept or not."""

from __future__ import annotations

import heapq
import math
import random
from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import accumulate

from headwater.plan.plan import Plan
from headwater.plan.problem import Problem

WORK = 400_000
"""Steps of tasks that are played through in one search, so that large problems take about as long as small ones."""
ENOUGH = 500
"""Steps of the search for each task, of small problems."""
MOVING = 0.7
"""The share of steps that move a task; the others keep an output, or keep it no longer."""
AREA = 0.15
"""What filling all memory all the time costs, as a share of all scores. Memory that is filled for less time leaves
room to keep more ([Li23] §V-B), which the score alone does not show."""
WARM, COLD = 0.004, 0.0004
"""The first and the last temperature, as shares of all scores."""

Play = Callable[[Sequence[int], Sequence[bool]], tuple[int, float]]


def searched(known: Plan, *, seed: int) -> Plan:
    """The best plan met by simulated annealing from one that fits; never a worse one.

    A task may move anywhere between what it reads and what reads it. An output that does not fit takes the place of
    another one. Plans that need more memory than there is are never accepted.
    """
    problem = known.problem
    if not problem.worthwhile or len(known.flagged) == len(problem.worthwhile):
        return known
    walk = _Walk(known, random.Random(seed))
    steps = min(WORK // len(problem.tasks), ENOUGH * len(problem.tasks))
    for step in range(steps):
        walk.temperature = walk.total * WARM * (COLD / WARM) ** (step / steps)
        walk.step()
    return walk.best


def player(problem: Problem) -> Play:
    """A function that plays an order with outputs kept, on one track, as ``timeline`` does, and tells the most memory
    that is filled at any moment, and the sum of bytes times µs."""
    tasks, inputs = problem.tasks, problem.inputs
    run, size = [task.run for task in tasks], [task.size for task in tasks]
    spared, copy = [task.spared for task in tasks], [task.copy for task in tasks]
    readers = [len(each) for each in problem.readers]
    push, pop = heapq.heappush, heapq.heappop

    def play(order: Sequence[int], kept: Sequence[bool]) -> tuple[int, float]:
        now = copied = used = peak = 0
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
                if used > peak:
                    peak = used
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
        return peak, area

    return play


class _Walk:
    """Where the search is: an order, what is kept, and what that costs."""

    def __init__(self, known: Plan, draw: random.Random) -> None:
        problem = known.problem
        self._problem, self._draw, self._play = problem, draw, player(problem)
        self._order = list(known.order)
        self._place = _places(self._order)
        self._kept = [task in known.flagged for task in range(len(problem.tasks))]
        self._weights = list(accumulate(problem.scores[task] for task in problem.worthwhile))
        self.total, self.temperature = self._weights[-1], 0.0
        self._for_area = AREA * self.total / (problem.memory * max(1, sum(task.run for task in problem.tasks)))
        self._score, self.best = known.score, known
        self._cost = self._costs(known.score, self._play(self._order, self._kept)[1])

    def step(self) -> None:
        if self._draw.random() < MOVING:
            self._move(self._draw.randrange(len(self._order)))
        else:
            self._flag(self._problem.worthwhile[bisect(self._weights, self._draw.random() * self.total)])

    def _move(self, task: int) -> None:
        inputs, readers = self._problem.inputs[task], self._problem.readers[task]
        first = max((self._place[source] + 1 for source, _ in inputs), default=0)
        last = min((self._place[reader] - 1 for reader in readers), default=len(self._order) - 1)
        if first == last or (to := self._draw.randint(first, last)) == self._place[task]:
            return
        order = self._order.copy()
        order.insert(to, order.pop(self._place[task]))
        if self._accepts(order, self._score):
            self._order, self._place = order, _places(order)

    def _flag(self, task: int) -> None:
        changed = [task]
        score = self._score + self._toggle(task)
        if self._kept[task] and self._play(self._order, self._kept)[0] > self._problem.memory:
            others = [each for each in self._problem.worthwhile if self._kept[each] and each != task]
            if others:
                changed.append(self._draw.choice(others))
                score += self._toggle(changed[1])
        if not self._accepts(self._order, score):
            for each in changed:
                self._toggle(each)
            return
        self._score = score
        if score > self.best.score:
            kept = frozenset(each for each in self._problem.worthwhile if self._kept[each])
            self.best = Plan(self._problem, tuple(self._order), kept, "joint")

    def _toggle(self, task: int) -> int:
        """Keeps an output, or no longer; what that saves."""
        self._kept[task] = not self._kept[task]
        return self._problem.scores[task] * (1 if self._kept[task] else -1)

    def _accepts(self, order: Sequence[int], score: int) -> bool:
        peak, area = self._play(order, self._kept)
        if peak > self._problem.memory:
            return False
        worse = self._costs(score, area) - self._cost
        if worse > 0 and self._draw.random() >= math.exp(-worse / self.temperature):
            return False
        self._cost += worse
        return True

    def _costs(self, score: int, area: float) -> float:
        return self._for_area * area - score


def _places(order: Sequence[int]) -> list[int]:
    places = [0] * len(order)
    for place, task in enumerate(order):
        places[task] = place
    return places
