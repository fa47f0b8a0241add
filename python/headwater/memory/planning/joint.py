"""The order and the outputs to keep: by turns ([Li23] §V-C), or at once where that is better."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from headwater.memory.planning.flag import bound, flags, shortest
from headwater.memory.planning.order import depth_first, frugal, longest_first
from headwater.memory.planning.plan import Plan, best, timeline
from headwater.memory.planning.problem import Problem
from headwater.memory.planning.search import lasting, saving, searched

Flag = Callable[[Problem, tuple[int, ...]], frozenset[int]]
Sort = Callable[[Problem, frozenset[int]], tuple[int, ...]]

WORK = 100_000
"""Of a search: a plan of several tracks takes some four times as long to play as one of one."""


def alternate(problem: Problem) -> Plan:
    """The plan of Algorithm 2 for one track: the knapsack and MA-DFS by turns."""
    return by_turns(problem, flags, depth_first, "alternating")


def by_turns(problem: Problem, flag: Flag, sort: Sort, method: str) -> Plan:
    """Keeps outputs by ``flag`` for an order, orders by ``sort`` for these outputs, until nothing better is found.

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


def joint(problem: Problem, *, seed: int = 0) -> Plan:
    """The best plan found for one track; never worse than the alternating one. A seed gives a plan.

    The search starts from the best of the alternating plan and of two orders that free memory soon. For the order
    that it ends with the outputs to keep are chosen anew.
    """
    least = -bound(problem)
    known = best(alternate(problem), *(_kept(problem, order) for order in (depth_first(problem, ()), frugal(problem))))
    if known.cost > least:
        known = searched(known, saving(problem), seed=seed)
        known = best(known, _kept(problem, known.order))
    return evolve(known, bound=least)


def _kept(problem: Problem, order: tuple[int, ...]) -> Plan:
    return Plan(problem, order, flags(problem, order), "joint")


def side_by_side(problem: Problem, *, seed: int = 0) -> Plan:
    """The plan found for several tracks that is complete soonest, its last copy included. A seed gives a plan.

    The search starts from two plans: ``longest_first`` with nothing kept, and the best one for one track, if it fits.
    So the plan is never worse than the first.
    """
    one_track = joint(evolve(problem, tracks=1), seed=seed)
    starts = [
        Plan(problem, longest_first(problem), frozenset(), "longest first"),
        Plan(problem, one_track.order, one_track.flagged, "joint"),
    ]
    known = best(*(searched(each, lasting(problem), seed=seed, work=WORK) for each in starts if each.fits))
    return evolve(known, bound=shortest(problem))
