"""Which ready refresh starts next, and whether its output is kept, by a plan of all pending refreshes.

A change that the last plan does not know makes a new plan. Its order is advice: a refresh that is ready does not wait
for one that is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.engine.choose import Choice, Ready
from headwater.model.extract import Shared
from headwater.model.state import State, Version
from headwater.plan.joint import joint, side_by_side
from headwater.plan.order import longest_first
from headwater.plan.pending import Means, pending_views, problem
from headwater.plan.plan import Plan, best
from headwater.plan.problem import Problem
from headwater.plan.scans import label, shared_scans, unmade_left_out, with_scans
from headwater.plan.search import lasting, searched

WORTH = 10_000_000
"""µs that are not saved yet, of all that keeping could save, for which a search pays: it takes a second or two itself,
and a better plan than the plain one saves a tenth or two more."""
BRIEF, BRIEFLY = 10_000, 1_000_000
"""The work of a brief search, which takes about a tenth of a second, and the µs for which that pays."""


class Arranger:
    """Plans refreshes of one engine.

    Attributes:
        plan: the last plan; ``None`` before the first.
    """

    def __init__(self, means: Means) -> None:
        self._means = means
        self._planned: dict[str, frozenset[Version]] = {}
        self._position: dict[str, int] = {}
        self._shared: tuple[Shared, ...] = ()
        self.plan: Plan | None = None

    def __call__(self, state: State, ready: Sequence[Ready]) -> list[Choice]:
        """The ready refreshes, in the order in which they should start."""
        names = pending_views(state)
        wanted = {name: frozenset().union(*state.views[name].pending.values()) for name in names}
        if any(not origins <= self._planned.get(name, frozenset()) for name, origins in wanted.items()):
            (self.plan, scans), self._planned = pending_plan(state, names, self._means), wanted
            tasks = self.plan.problem.tasks
            self._position = {tasks[task].name: position for position, task in enumerate(self.plan.order)}
            flagged = self._flagged()
            self._shared = tuple(each for each in scans if label(each) in flagged)
        flagged = self._flagged()
        ordered = sorted(ready, key=lambda each: self._position.get(each.view, len(self._position)))
        return [Choice(each, each.view in flagged, self._shared_by(each.view)) for each in ordered]

    def _flagged(self) -> set[str]:
        return {self.plan.problem.tasks[task].name for task in self.plan.flagged} if self.plan is not None else set()

    def _shared_by(self, view: str) -> tuple[Shared, ...]:
        return tuple(each for each in self._shared if view in each.readers)


def pending_plan(state: State, names: tuple[str, ...], means: Means) -> tuple[Plan, tuple[Shared, ...]]:
    """A plan for the refresh of these views, and the scans that it could have made."""
    run = problem(state, names, means)
    scans = shared_scans(state, run, means)
    return unmade_left_out(planned(with_scans(state, run, scans, means))), scans


def explained(state: State, name: str, means: Means) -> list[str]:
    """When a pending view's refresh starts, and which rows stay in memory for it, as lines for a person."""
    names = pending_views(state)
    if name not in names:
        return []
    plan, _ = pending_plan(state, names, means)
    tasks, spans = plan.problem.tasks, plan.timeline.spans
    [task] = [n for n, each in enumerate(tasks) if each.name == name]
    span = spans[task]
    views = [each for each in plan.by_start if not tasks[each].optional]
    position = f"{views.index(task) + 1} of {len(views)} refreshes"
    lines = [f"  planned as {position}, {_seconds(span.start)} after the first starts"]
    near = [tasks[source].name for source, _ in plan.problem.inputs[task] if source in plan.flagged]
    if near:
        lines.append(f"  reads from memory: {', '.join(near)}")
    if span.released is not None:
        size, readers = f"{tasks[task].size / 1e6:.1f} MB", len(plan.problem.readers[task])
        if state.views[name].estimate is not None:
            size += " by Spark's statistics"
        lines.append(
            f"  its output, about {size}, is kept in memory for {readers} reader{'s' if readers != 1 else ''} "
            f"for some {_seconds(span.released - span.start)}"
        )
    return lines


def _seconds(micros: int) -> str:
    return f"{micros / 1e6:.1f} s"


def planned(run: Problem) -> Plan:
    """A plan that is found in little time, beside the time that it can save."""
    plain = Plan(run, longest_first(run), frozenset(), _plainly(run))
    if not run.worthwhile:
        return plain
    found = best(plain, quick(run))
    left = sum(run.scores[task] for task in set(run.worthwhile) - found.flagged)
    if left >= WORTH:
        return joint(run) if run.tracks == 1 else side_by_side(run)
    if left >= BRIEFLY and run.tracks > 1:
        return searched(found, lasting(run), seed=0, work=BRIEF)
    return found


def _plainly(run: Problem) -> str:
    """How tasks are ordered that keep nothing. Without times every one takes none, and they stay as they come."""
    if any(task.run for task in run.tasks):
        return "longest first"
    return "topological order, for no refresh was measured yet"


def quick(run: Problem) -> Plan:
    """Keeps outputs in a plain order: those first that save most for their size, each that fits."""
    order, kept = longest_first(run), frozenset[int]()
    found = Plan(run, order, kept, "greedy")
    for task in sorted(run.worthwhile, key=lambda n: (-run.scores[n] / max(1, run.tasks[n].size), n)):
        more = Plan(run, order, found.flagged | {task}, "greedy")
        if more.fits and more.cost <= found.cost:
            found = more
    return found
