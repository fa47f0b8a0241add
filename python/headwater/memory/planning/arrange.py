"""The schedule that plans all pending refreshes: their order, the rows that stay in memory, and shared scans.

A new plan is needed when a change is pending that the last one does not know of. Its order is advice: a run that is
ready does not wait for one that is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import field, frozen

from headwater.engine.decide import schedule
from headwater.engine.decide.readiness import Choice, Ready
from headwater.engine.decide.schedule import Planned, pending_of
from headwater.memory.planning.joint import joint, side_by_side
from headwater.memory.planning.means import Means
from headwater.memory.planning.order import longest_first
from headwater.memory.planning.pending import label, problem, shared_scans, unmade_left_out, with_scans
from headwater.memory.planning.plan import Plan, best
from headwater.memory.planning.problem import Problem
from headwater.memory.planning.search import lasting, searched
from headwater.model.extract import Shared
from headwater.model.state import State, copied_record, copied_view

WORTH = 10_000_000
"""µs that are not saved yet, of all that keeping could save, for which a search pays: it takes a second or two itself,
and a better plan than the plain one saves a tenth or two more."""
PLAIN = 200_000
"""The work of the plain choice, in trials times tasks: about a second."""
BRIEF, BRIEFLY = 10_000, 1_000_000
"""The work of a brief search, which takes about a tenth of a second, and the µs for which that pays."""

NOTHING = Planned({})
"""The plan before the first."""


@frozen
class Question(schedule.Question):
    """The pending refreshes, with a copy of everything that a plan of them depends on.

    Attributes:
        state: a part of the state; nobody changes it.
    """

    state: State


@frozen
class Arranged(Planned):
    """A plan of memory.

    Attributes:
        plan: with the times of its runs, and the sizes of what they keep.
        estimated: the views whose sizes are Spark's, as they were never refreshed.
    """

    plan: Plan = field(kw_only=True)
    estimated: frozenset[str] = frozenset()

    def explained(self, view: str) -> list[str]:
        """When a pending view's refresh starts, and which rows stay in memory for it."""
        plan, tasks = self.plan, self.plan.problem.tasks
        task = next((n for n, each in enumerate(tasks) if each.name == view), None)
        if task is None:
            return []
        span, views = plan.timeline.spans[task], [each for each in plan.by_start if not tasks[each].optional]
        position = f"{views.index(task) + 1} of {len(views)} refreshes"
        lines = [f"  planned as {position}, {_seconds(span.start)} after the first starts"]
        near = [tasks[source].name for source, _ in plan.problem.inputs[task] if source in plan.flagged]
        if near:
            lines.append(f"  reads from memory: {', '.join(near)}")
        if span.released is not None:
            size, readers = f"{tasks[task].size / 1e6:.1f} MB", len(plan.problem.readers[task])
            by = " by Spark's statistics" if view in self.estimated else ""
            lines.append(
                f"  its output, about {size}{by}, is kept in memory for {readers} reader{'s' if readers != 1 else ''} "
                f"for some {_seconds(span.released - span.start)}"
            )
        return lines


class ByPlan:
    """The schedule of an engine with these means."""

    def __init__(self, means: Means) -> None:
        self._means = means

    def question(self, state: State, last: Planned | None) -> Question | None:
        if (last or NOTHING).covers(state):
            return None
        pending = pending_of(state)
        return Question(pending, _copied(state, pending))

    def solve(self, question: Question) -> Arranged:
        plan, scans = pending_plan(question.state, tuple(question.pending), self._means)
        order = tuple(plan.problem.tasks[task].name for task in plan.order)
        kept = frozenset(plan.problem.tasks[task].name for task in plan.flagged)
        shared = tuple(each for each in scans if label(each) in kept)
        views = question.state.views
        estimated = frozenset(each for each in question.pending if views[each].costs.estimate is not None)
        return Arranged(question.pending, order, kept, shared, plan=plan, estimated=estimated)

    def choose(self, state: State, ready: Sequence[Ready], planned: Planned | None) -> list[Choice]:
        return (planned or NOTHING).choices(ready)


def _copied(state: State, names: Iterable[str]) -> State:
    """These views and all that they read, so far as events change it in place. What is indexed of a state, such as the
    order of all views, is not in it."""
    near = {*names, *(source for name in names for source in state.views[name].definition.sources)}
    views, tables = state.views.keys() & near, state.tables.keys() & near
    return State(
        views={name: copied_view(state.views[name]) for name in views},
        tables={name: copied_record(state.tables[name]) for name in tables},
        origins=dict(state.origins),
    )


def pending_plan(state: State, names: tuple[str, ...], means: Means) -> tuple[Plan, tuple[Shared, ...]]:
    """A plan for the refresh of these views, and the scans that it could have made.

    Raises:
        PlanError: the figures of the views make no run.
    """
    run = problem(state, names, means)
    scans = shared_scans(state, run, means)
    return unmade_left_out(planned(with_scans(state, run, scans, means))), scans


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
    """Keeps, in a plain order, the outputs that save most for their size, as long as they fit. They are
    tried together first, and by halves where that does not go: of many tasks each trial takes some milliseconds."""
    order = longest_first(run)
    found = Plan(run, order, frozenset(), "greedy")
    left = [sorted(run.worthwhile, key=lambda n: (-run.scores[n] / max(1, run.tasks[n].size), n))]
    for _ in range(PLAIN // max(1, len(run.tasks))):
        if not left:
            break
        tried = left.pop()
        more = Plan(run, order, found.flagged.union(tried), "greedy")
        if more.fits and more.cost <= found.cost:
            found = more
        elif len(tried) > 1:
            half = (len(tried) + 1) // 2
            left += [tried[half:], tried[:half]]
    return found
