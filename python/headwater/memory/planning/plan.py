"""A plan: an inert value that one reader carries out and another explains."""

from __future__ import annotations

from functools import cached_property

from attrs import field, frozen

from headwater.memory.planning.problem import Problem
from headwater.memory.planning.timeline import Timeline, timeline
from headwater.model.error import PlanError


def _sound(plan: Plan, _attribute: object, order: tuple[int, ...]) -> None:
    tasks = plan.problem.tasks
    if sorted(order) != list(range(len(tasks))):
        raise PlanError(f"an order of {len(tasks)} tasks has each of them once, not {list(order)}")
    done: set[int] = set()
    for task in order:
        early = [tasks[source].name for source, _ in plan.problem.inputs[task] if source not in done]
        if early:
            raise PlanError(f"{tasks[task].name} cannot start before {early[0]}, which it reads")
        done.add(task)


@frozen
class Plan:
    """In which order the tasks of a run start, and which outputs are kept in memory.

    Attributes:
        problem: the planned run.
        order: the tasks, by their position in the problem, each after those it reads.
        flagged: the tasks whose outputs are kept.
        method: how it was found, for a person.
        bound: the least ``cost`` of any plan that keeps only outputs that save time; ``None`` if unknown.

    Raises:
        PlanError: the order lacks a task or starts one before what it reads.
    """

    problem: Problem
    order: tuple[int, ...] = field(validator=_sound)
    flagged: frozenset[int]
    method: str
    bound: int | None = field(default=None, eq=False)

    @cached_property
    def timeline(self) -> Timeline:
        """The expected course of the run."""
        return timeline(self.problem, self.order, self.flagged)

    @property
    def by_start(self) -> list[int]:
        """The tasks, in the order in which they start."""
        return sorted(self.order, key=lambda task: self.timeline.spans[task].start)

    @property
    def score(self) -> int:
        """µs of foreground work that it saves, as scores count them ([Li23] §IV)."""
        return sum(self.problem.scores[task] for task in self.flagged)

    @property
    def cost(self) -> int:
        """The lower, the better: on one track the negated score, on several the µs until all is complete."""
        return -self.score if self.problem.tracks == 1 else self.timeline.makespan

    @property
    def fits(self) -> bool:
        """Whether at no moment more lies in memory than may."""
        return self.timeline.peak <= self.problem.memory


def best(*plans: Plan) -> Plan:
    """The plan of least cost; of equal ones the first."""
    return min(plans, key=lambda plan: plan.cost)
