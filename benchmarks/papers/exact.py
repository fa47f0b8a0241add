"""The best plan of a few tasks by constraint programming: order and flags at once, with a bound.

A refresh does without it, since it may take longer than it saves. It tells how far the product's plans are from the
best.
"""

from __future__ import annotations

from itertools import combinations

from attrs import evolve
from ortools.sat.python import cp_model

from headwater.memory.planning.joint import joint, side_by_side
from headwater.memory.planning.plan import Plan, timeline
from headwater.memory.planning.problem import Problem

LIMIT = 60.0
"""Of the search, in the solver's own measure of work, about seconds."""
FEW = 12
"""Up to this many tasks plans are improved so; of more, nothing better was found in the time there is."""


def proven(problem: Problem, *, seed: int = 0) -> Plan:
    """The product's plan; to ``FEW`` tasks a better one if there is any, and mostly the proof that there is none."""
    known = (joint if problem.tracks == 1 else side_by_side)(problem, seed=seed)
    if known.cost > known.bound and len(problem.tasks) <= FEW:
        return improved(known, seed=seed)
    return known


def improved(known: Plan, *, seed: int, limit: float = LIMIT) -> Plan:
    """The best plan found, at least as good as ``known``, and a bound of all plans.

    The model allows more than a run does: sizes are rounded down; on several tracks copies take any order, a task may
    wait, and none slows another. So the bound holds, and a plan that does not fit as played is left.

    Args:
        known: a plan that fits; the search starts from it.
        limit: of the search, in the solver's own measure of work, about seconds; so a seed gives a plan.
    """
    problem = known.problem
    model = _Model(problem)
    model.start_from(known)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.max_deterministic_time = limit
    status = solver.solve(model.model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return known
    bound = round(solver.best_objective_bound)
    if bound > known.cost:
        return known  # the known plan disproves it
    bound = bound if known.bound is None else max(bound, known.bound)
    order = tuple(sorted(range(len(problem.tasks)), key=lambda task: solver.value(model.starts[task])))
    kept = frozenset(task for task, keep in model.keeps.items() if solver.value(keep))
    found = Plan(problem, order, kept, "joint", bound)
    return found if found.fits and found.cost < known.cost else evolve(known, bound=bound)


class _Model:
    """Tasks one after the other without a pause, or side by side; outputs kept from their task's start until read and
    copied. On one track as much is to be saved as can be, on several all is to be complete as soon as can be."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.model = problem, cp_model.CpModel()
        self.keeps = {task: self.model.new_bool_var(f"keep {task}") for task in problem.worthwhile}
        most = sum(
            1 + task.run + abs(task.spared) + sum(abs(read.saved) for read in task.reads) for task in problem.tasks
        )
        self._end_of_all = most + sum(task.copy for task in problem.tasks)
        self._tasks(most)
        self._copies = {task: self._copy(task) for task in self.keeps}
        self._released = {task: self._memory(task) for task in self.keeps}
        held = [interval for _, interval in self._released.values()]
        self.model.add_cumulative(held, [problem.units_down(task) for task in self.keeps], problem.capacity)
        self.model.add_no_overlap([interval for _, interval in self._copies.values()])
        if problem.tracks == 1:
            self._first_made_first_copied()
            self.model.minimize(-sum(problem.scores[task] * keep for task, keep in self.keeps.items()))
        else:
            self._complete_soon()

    def start_from(self, plan: Plan) -> None:
        played = timeline(self.problem, plan.order, plan.flagged)
        for task, span in enumerate(played.spans):
            self.model.add_hint(self.starts[task], span.start)
            self.model.add_hint(self._lasts[task], span.end - span.start)
            if task not in self.keeps:
                continue
            kept = span.released is not None
            self.model.add_hint(self.keeps[task], kept)
            if kept:
                self.model.add_hint(self._copies[task][0], span.published - self.problem.tasks[task].copy)
                self.model.add_hint(self._released[task][0], span.released)

    def _tasks(self, most: int) -> None:
        self.starts, self._lasts, self.ends = [], [], []
        intervals = []
        for n, task in enumerate(self.problem.tasks):
            saved = [(self.keeps[source], saved) for source, saved in self.problem.inputs[n] if source in self.keeps]
            if n in self.keeps:
                saved.append((self.keeps[n], task.spared))
            start, lasts = self.model.new_int_var(0, most, ""), self.model.new_int_var(1, most, "")
            needed = task.run - sum(some * keep for keep, some in saved)
            if task.run - sum(some for _, some in saved if some > 0) >= 1:
                self.model.add(lasts == needed)
            else:
                self.model.add_max_equality(lasts, [needed, 1])
            end = self.model.new_int_var(1, most, "")
            intervals.append(self.model.new_interval_var(start, lasts, end, ""))
            self.starts.append(start)
            self._lasts.append(lasts)
            self.ends.append(end)
            for source, _ in self.problem.inputs[n]:
                self.model.add(start >= self.ends[source])
        if self.problem.tracks == 1:
            self.model.add_no_overlap(intervals)
            for end in self.ends:
                self.model.add(end <= sum(self._lasts))
        else:
            self.model.add_cumulative(intervals, [1] * len(intervals), self.problem.tracks)

    def _copy(self, task: int) -> tuple[cp_model.IntVar, cp_model.IntervalVar]:
        begins, lasts = self.model.new_int_var(0, self._end_of_all, ""), self.problem.tasks[task].copy
        self.model.add(begins >= self.ends[task])
        return begins, self.model.new_optional_fixed_size_interval_var(begins, lasts, self.keeps[task], "")

    def _memory(self, task: int) -> tuple[cp_model.IntVar, cp_model.IntervalVar]:
        released = self.model.new_int_var(0, self._end_of_all, "")
        self.model.add(released >= self._copies[task][0] + self.problem.tasks[task].copy)
        for reader in self.problem.readers[task]:
            self.model.add(released >= self.ends[reader])
        held = self.model.new_int_var(0, self._end_of_all, "")
        return released, self.model.new_optional_interval_var(
            self.starts[task], held, released, self.keeps[task], f"memory {task}"
        )

    def _complete_soon(self) -> None:
        complete = self.model.new_int_var(0, self._end_of_all, "complete")
        for end in self.ends:
            self.model.add(complete >= end)
        for task, keep in self.keeps.items():
            copied = self._copies[task][0] + self.problem.tasks[task].copy
            self.model.add(complete >= copied).only_enforce_if(keep)
        self.model.minimize(complete)

    def _first_made_first_copied(self) -> None:
        for one, other in combinations(self.keeps, 2):
            earlier = self.model.new_bool_var("")
            both = [self.keeps[one], self.keeps[other]]
            for first, second, so in ((one, other, earlier), (other, one, ~earlier)):
                self.model.add(self.ends[first] <= self.starts[second]).only_enforce_if(so)
                copied = self._copies[first][0] + self.problem.tasks[first].copy
                self.model.add(copied <= self._copies[second][0]).only_enforce_if(so, *both)
