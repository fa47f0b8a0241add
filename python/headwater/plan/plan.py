"""A plan: an inert value that one reader carries out and another explains."""

from __future__ import annotations

from functools import cached_property

from attrs import field, frozen

from headwater.plan.problem import Problem
from headwater.plan.timeline import Timeline, timeline


@frozen
class Plan:
    """In which order the tasks of a run start, and which outputs are kept in memory.

    Attributes:
        problem: what was planned.
        order: the tasks, by their position in the problem.
        flagged: the tasks whose outputs are kept.
        method: how it was found, for a person.
        bound: what no plan exceeds in µs saved (one track) or undercuts in µs (several); ``None`` if unknown.
    """

    problem: Problem
    order: tuple[int, ...]
    flagged: frozenset[int]
    method: str
    bound: int | None = field(default=None, eq=False)

    @cached_property
    def timeline(self) -> Timeline:
        """What is expected to happen."""
        return timeline(self.problem, self.order, self.flagged)

    @property
    def score(self) -> int:
        """µs of foreground work that it saves."""
        return sum(self.problem.scores[task] for task in self.flagged)

    @property
    def fits(self) -> bool:
        """Whether at no moment more lies in memory than may."""
        return self.timeline.peak <= self.problem.memory
