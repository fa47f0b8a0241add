"""The order and what to keep, by turns ([Li23] §V-C, Algorithm 2)."""

from __future__ import annotations

from headwater.plan.flag import flags
from headwater.plan.order import depth_first
from headwater.plan.plan import Plan
from headwater.plan.problem import Problem
from headwater.plan.timeline import timeline


def alternate(problem: Problem) -> Plan:
    """Keeps what is best for an order, orders for what is kept, and so on until nothing better is found.

    It ends when the outputs kept save no more than before (Algorithm 2 compares their sizes; the text, and the
    proof that it ends, mean what they save), or when the new order would need more memory than there is. To plan as
    published, where an output leaves with its last reader, plan ``without_copies``.
    """
    order, kept, saved = tuple(range(len(problem.tasks))), frozenset[int](), 0
    while True:
        chosen = flags(problem, order)
        saves = sum(problem.scores[task] for task in chosen)
        if saves <= saved:
            return Plan(problem, order, kept, "alternating")
        kept, saved = chosen, saves
        new = depth_first(problem, kept)
        if timeline(problem, new, kept).peak > problem.memory:
            return Plan(problem, order, kept, "alternating")
        order = new
