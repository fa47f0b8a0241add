"""Limits of every plan: the most that one track can save, and the least time of several tracks."""

from __future__ import annotations

import math

from ortools.sat.python import cp_model

from headwater.memory.planning.flag import weighted
from headwater.memory.planning.order import chains
from headwater.memory.planning.problem import Problem

LIMIT = 0.1
"""Of the search, in the solver's own measure of work, about seconds."""


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
    solver.parameters.max_deterministic_time = LIMIT
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
