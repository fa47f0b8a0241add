"""The order and what to keep at once, where that is better than by turns."""

from __future__ import annotations

from attrs import evolve

from headwater.plan.alternate import alternate
from headwater.plan.bound import bound
from headwater.plan.exact import FEW, improved
from headwater.plan.flag import flags
from headwater.plan.order import depth_first, frugal
from headwater.plan.plan import Plan
from headwater.plan.problem import Problem
from headwater.plan.search import searched


def joint(problem: Problem, *, seed: int = 0) -> Plan:
    """The best plan found for one track; never worse than the alternating one, proven best to ``FEW`` tasks.

    The search starts from the best of the alternating plan and of two orders that free memory soon. The outputs to
    keep are chosen anew, exactly, for the order that it ends with. A seed gives a plan.
    """
    known = best(alternate(problem), *(_kept(problem, order) for order in (depth_first(problem, ()), frugal(problem))))
    known = searched(known, seed=seed)
    known = evolve(best(known, _kept(problem, known.order)), bound=bound(problem))
    if known.score < known.bound and len(problem.tasks) <= FEW:
        known = improved(known, seed=seed)
    return known


def best(*plans: Plan) -> Plan:
    """The plan that saves most; of equal ones the first."""
    return max(plans, key=lambda plan: plan.score)


def _kept(problem: Problem, order: tuple[int, ...]) -> Plan:
    return Plan(problem, order, flags(problem, order), "joint")
