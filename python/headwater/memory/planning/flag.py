"""Which outputs to keep in memory for a given order ([Li23] §V-A): a multidimensional knapsack.

Each step at which too much could lie in memory is a constraint: of the outputs that would be there, those kept
must fit. [Li23] has an output leave with its last reader. A copy that is not complete by then keeps it longer
(§III-C); how long depends on the other copies, hence on the answer. So the knapsack is solved, its answer
played through, and if it does not fit each output is taken to stay as long as it just did.

Limits of every plan follow from like sums: the most that one track can save, and the least time of several tracks.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from ortools.sat.python import cp_model

from headwater.memory.planning.order import chains
from headwater.memory.planning.plan import timeline
from headwater.memory.planning.problem import Problem
from headwater.model.error import PlanError

LIMIT = 0.01
"""Of one search, in the solver's own measure of work, about seconds. The best answer by then is taken."""

BOUND_LIMIT = 0.1
"""Of the search for a bound, in the same measure."""

weighted = cp_model.LinearExpr.weighted_sum


def flags(problem: Problem, order: Sequence[int]) -> frozenset[int]:
    """The outputs to keep that save most, of those that fit when one track runs tasks in ``order``.

    Of copies that take no time this is Algorithm 1 of [Li23], to one part in a million of memory, and as far as the
    solver comes within its limit. Otherwise an output that stayed long once, behind the copies of others, is taken to
    do so even when those are not kept.

    Raises:
        PlanError: the problem is of several tracks, where a step is no moment.
    """
    if problem.tracks != 1:
        raise PlanError(f"outputs are chosen for one track, and this run has {problem.tracks}; plan it side by side")
    last = dict(stays(problem, order))
    while True:
        chosen = _chosen(problem, last, constraints(problem, order, last))
        played = timeline(problem, order, chosen)
        if played.peak <= problem.memory:
            return chosen
        starts = [played.spans[task].start for task in order]
        for task in chosen:
            released = played.spans[task].released
            assert released is not None, "what is chosen is kept, so it leaves memory"
            last[task] = max(last[task], bisect_left(starts, released) - 1)


def stays(problem: Problem, order: Sequence[int]) -> Mapping[int, int]:
    """For each output worth keeping the last step of the order at which somebody reads it."""
    step = {task: n for n, task in enumerate(order)}
    return {
        task: max((step[reader] for reader in problem.readers[task]), default=step[task]) for task in problem.worthwhile
    }


def constraints(problem: Problem, order: Sequence[int], last: Mapping[int, int]) -> list[frozenset[int]]:
    """The sets of outputs that could be in memory together and do not fit together, only maximal ones.

    One pass: a set is maximal if one of it leaves before the next step, and one has come since that was so last.

    Args:
        last: for each output that may be kept, the last step at which it is there.
    """
    found: list[frozenset[int]] = []
    present: set[int] = set()
    grown = False
    for step, task in enumerate(order):
        if task in last:
            present.add(task)
            grown = True
        leaving = {each for each in present if last[each] <= step}
        if leaving and grown:
            if sum(problem.tasks[each].size for each in present) > problem.memory:
                found.append(frozenset(present))
            grown = False
        present -= leaving
    return found


def _chosen(problem: Problem, eligible: Mapping[int, int], sets: Sequence[frozenset[int]]) -> frozenset[int]:
    """Those in no constraint, and the best of the others."""
    limited = sorted(frozenset().union(*sets))
    free = frozenset(eligible).difference(limited)
    if not limited:
        return free
    model = cp_model.CpModel()
    keeps = {task: model.new_bool_var("") for task in limited}
    for each in map(sorted, sets):
        model.add(
            weighted([keeps[task] for task in each], [problem.units_up(task) for task in each]) <= problem.capacity
        )
    model.maximize(weighted(list(keeps.values()), [problem.scores[task] for task in limited]))
    for keep in keeps.values():
        model.add_hint(keep, False)  # so that there is an answer from the first moment on
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = LIMIT
    # Each of these takes longer than the search that it shortens.
    solver.parameters.cp_model_presolve = False
    solver.parameters.cp_model_probing_level = 0
    solver.parameters.symmetry_level = 0
    solver.parameters.linearization_level = 0
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return free
    return free.union(task for task, keep in keeps.items() if solver.value(keep))


def bound(problem: Problem) -> int:
    """µs that no plan for one track exceeds.

    Whatever the order, while a task runs all that it reads is there, and its own output: of these, those kept must
    fit. The best choice within these sets alone is the bound.
    """
    worth = set(problem.worthwhile)
    model = cp_model.CpModel()
    keeps = {task: model.new_bool_var("") for task in problem.worthwhile}
    for task, inputs in enumerate(problem.inputs):
        together = sorted(worth.intersection({task, *(source for source, _ in inputs)}))
        if sum(problem.tasks[each].size for each in together) > problem.memory:
            sizes = [problem.units_down(each) for each in together]
            model.add(weighted([keeps[each] for each in together], sizes) <= problem.capacity)
    model.maximize(weighted(list(keeps.values()), [problem.scores[task] for task in keeps]))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = BOUND_LIMIT
    solver.parameters.cp_model_presolve = False
    solver.solve(model)
    return math.floor(solver.best_objective_bound + 0.5)


def shortest(problem: Problem) -> int:
    """µs that no plan undercuts which keeps only what saves time: the longest chain, and all work shared evenly, if
    all that pays were kept."""
    worth = set(problem.worthwhile)
    least = []
    for task, inputs in enumerate(problem.inputs):
        saved = sum(max(0, saved) for source, saved in inputs if source in worth)
        spared = max(0, problem.tasks[task].spared) if task in worth else 0
        least.append(max(1, problem.tasks[task].run - spared - saved))
    return max(max(chains(problem, least), default=0), math.floor(sum(least) / min(problem.tracks, problem.abreast)))
