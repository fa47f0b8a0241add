"""The order and what to keep at once, where that is better than by turns."""

from __future__ import annotations

from attrs import evolve

from headwater.plan.alternate import alternate
from headwater.plan.bound import bound
from headwater.plan.exact import FEW, improved
from headwater.plan.flag import flags
from headwater.plan.order import depth_first, frugal
from headwater.plan.plan import Plan, best
from headwater.plan.play import saving
from headwater.plan.problem import Problem
from headwater.plan.search import searched


def joint(problem: Problem, *, seed: int = 0) -> Plan:
    """The best plan found for one track; never worse than the alternating one. A seed gives a plan.

    The search starts from the best of the alternating plan and of two orders that free memory soon. For the order
    that it ends with the outputs to keep are chosen anew. To ``FEW`` tasks constraint programming looks for a better
    one, or proves that there is none.
    """
    known = unproven(problem, seed=seed)
    if known.cost > known.bound and len(problem.tasks) <= FEW:
        known = improved(known, seed=seed)
    return known


def unproven(problem: Problem, *, seed: int = 0) -> Plan:
    """What ``joint`` finds without constraint programming."""
    least = -bound(problem)
    known = best(alternate(problem), *(_kept(problem, order) for order in (depth_first(problem, ()), frugal(problem))))
    if known.cost > least:
        known = searched(known, saving(problem), seed=seed)
        known = best(known, _kept(problem, known.order))
    return evolve(known, bound=least)


def _kept(problem: Problem, order: tuple[int, ...]) -> Plan:
    return Plan(problem, order, flags(problem, order), "joint")
