"""Which of the runs that could start does start, and whether what it makes is kept, by a plan of all that is pending.

A plan is made when a change is pending somewhere that the last one does not know of. What it says of order is advice: a
run that is ready does not wait for one that is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.engine.choose import Ready
from headwater.model.state import State, Version
from headwater.plan.joint import unproven
from headwater.plan.plan import Plan, best
from headwater.plan.problem import Problem
from headwater.plan.tracks import beside, longest_first
from headwater.plan.wave import Means, problem, wave

WORTH = 10_000_000
"""µs that are not saved yet, of all that keeping could save, for which a search pays: it takes a second or two itself,
and a better plan than the plain one saves a tenth or two more."""


class Arranger:
    """Plans refreshes of one engine.

    Attributes:
        plan: the last plan; ``None`` before the first.
    """

    def __init__(self, means: Means) -> None:
        self._means = means
        self._planned: dict[str, frozenset[Version]] = {}
        self._place: dict[str, int] = {}
        self.plan: Plan | None = None

    def __call__(self, state: State, ready: Sequence[Ready]) -> list[tuple[Ready, bool]]:
        """What could start, in the order in which it should, each with whether its output is to be kept."""
        names = wave(state)
        wanted = {name: frozenset().union(*state.views[name].pending.values()) for name in names}
        if any(not origins <= self._planned.get(name, frozenset()) for name, origins in wanted.items()):
            self.plan, self._planned = planned(problem(state, names, self._means)), wanted
            tasks = self.plan.problem.tasks
            self._place = {tasks[task].name: place for place, task in enumerate(self.plan.order)}
        flagged = self._flagged()
        ordered = sorted(ready, key=lambda each: self._place.get(each.view, len(self._place)))
        return [(each, each.view in flagged) for each in ordered]

    def _flagged(self) -> set[str]:
        return {self.plan.problem.tasks[task].name for task in self.plan.flagged} if self.plan is not None else set()


def planned(run: Problem) -> Plan:
    """A plan that is found in little time beside what it can save."""
    plain = Plan(run, longest_first(run), frozenset(), _plainly(run))
    if not run.worthwhile:
        return plain
    found = best(plain, quick(run))
    if sum(run.scores[task] for task in set(run.worthwhile) - found.flagged) < WORTH:
        return found
    return unproven(run) if run.tracks == 1 else beside(run)


def _plainly(run: Problem) -> str:
    """How tasks are ordered that keep nothing. Without times every one takes none, and they stay as they come."""
    if any(task.run for task in run.tasks):
        return "longest first"
    return "topological order, for no refresh was measured yet"


def quick(run: Problem) -> Plan:
    """Keeps, in a plain order, what saves most for its size, as long as it fits."""
    order, kept = longest_first(run), frozenset[int]()
    found = Plan(run, order, kept, "greedy")
    for task in sorted(run.worthwhile, key=lambda n: (-run.scores[n] / max(1, run.tasks[n].size), n)):
        more = Plan(run, order, found.flagged | {task}, "greedy")
        if more.fits and more.cost <= found.cost:
            found = more
    return found
