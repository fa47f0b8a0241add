"""Local search over order and flags together: one task is moved in the order, or one output kept or not."""

from __future__ import annotations

import math
import random
from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import accumulate

from headwater.plan.plan import Plan

WORK = 400_000
"""Steps of a search times tasks, so that large problems take about as long as small ones."""
ENOUGH = 500
"""Steps of the search for each task, of small problems."""
MOVING = 0.7
"""The share of steps that move a task; the others keep an output, or keep it no longer."""
WARM, COLD = 0.004, 0.0004
"""The first and the last temperature, as shares of all scores, or of a tenth of all run times if that is more."""

Evaluate = Callable[[Sequence[int], Sequence[bool]], "tuple[int, float] | None"]
"""Of an order and what is kept: what is to be least, and what guides the search, both in µs; ``None`` if it does not
fit."""


def searched(known: Plan, evaluate: Evaluate, *, seed: int, work: int = WORK) -> Plan:
    """The best plan met by simulated annealing from one that fits; never a worse one.

    A task may move anywhere between what it reads and what reads it. An output that is not accepted beside the others
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
    """Where the search is: an order, what is kept, and what that costs."""

    def __init__(self, known: Plan, evaluate: Evaluate, draw: random.Random) -> None:
        self._problem, self._evaluate, self._draw = known.problem, evaluate, draw
        self._order = list(known.order)
        self._place = _places(self._order)
        self._kept = [task in known.flagged for task in range(len(self._order))]
        self._weights = list(accumulate(known.problem.scores[task] for task in known.problem.worthwhile))
        self.warmest = WARM * max(1, *self._weights, sum(task.run for task in known.problem.tasks) // 10)
        self.temperature, self.best = self.warmest, known
        self._least, self._cost = evaluate(self._order, self._kept)

    def step(self) -> None:
        if not self._weights or self._draw.random() < MOVING:
            self._move(self._draw.randrange(len(self._order)))
        else:
            self._flag(self._problem.worthwhile[bisect(self._weights, self._draw.random() * self._weights[-1])])

    def _move(self, task: int) -> None:
        inputs, readers = self._problem.inputs[task], self._problem.readers[task]
        first = max((self._place[source] + 1 for source, _ in inputs), default=0)
        last = min((self._place[reader] - 1 for reader in readers), default=len(self._order) - 1)
        if first == last or (to := self._draw.randint(first, last)) == self._place[task]:
            return
        order = self._order.copy()
        order.insert(to, order.pop(self._place[task]))
        if self._accepts(order):
            self._order, self._place = order, _places(order)

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
        if objective < self._least:  # also of what is not gone on from
            self._least = objective
            kept = frozenset(each for each in self._problem.worthwhile if self._kept[each])
            self.best = Plan(self._problem, tuple(order), kept, "joint")
        if cost > self._cost and self._draw.random() >= math.exp((self._cost - cost) / self.temperature):
            return False
        self._cost = cost
        return True


def _places(order: Sequence[int]) -> list[int]:
    places = [0] * len(order)
    for place, task in enumerate(order):
        places[task] = place
    return places
