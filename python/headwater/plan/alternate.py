"""The order and what to keep, by turns ([Li23] §V-C, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable

from headwater.plan.flag import flags
from headwater.plan.order import depth_first
from headwater.plan.plan import Plan
from headwater.plan.problem import Problem
from headwater.plan.timeline import timeline

Flag = Callable[[Problem, tuple[int, ...]], frozenset[int]]
Sort = Callable[[Problem, frozenset[int]], tuple[int, ...]]


def alternate(problem: Problem) -> Plan:
    """The plan of Algorithm 2 for one track: the knapsack and MA-DFS by turns.

    To plan as published, where an output leaves with its last reader, plan ``without_copies``.
    """
    return by_turns(problem, flags, depth_first, "alternating")


def by_turns(problem: Problem, flag: Flag, sort: Sort, method: str) -> Plan:
    """Keeps what ``flag`` chooses for an order, orders by ``sort`` what is kept, until nothing better is found.

    It ends when the outputs kept save no more than before (Algorithm 2 compares their sizes; the text, and the
    proof that it ends, mean what they save), or when the new order would need more memory than there is.
    """
    order, kept, saved = tuple(range(len(problem.tasks))), frozenset[int](), 0
    while True:
        chosen = flag(problem, order)
        saves = sum(problem.scores[task] for task in chosen)
        if saves <= saved:
            return Plan(problem, order, kept, method)
        kept, saved = chosen, saves
        new = sort(problem, kept)
        if timeline(problem, new, kept).peak > problem.memory:
            return Plan(problem, order, kept, method)
        order = new
