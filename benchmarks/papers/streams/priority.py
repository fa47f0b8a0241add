"""Priorities that tables give those that they read: [Golab11] §3.3.

Example: a report of priority 100 reads a view of priority 1. While the view waits, the report cannot be fresh. So the
view counts as much as the report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchmarks.papers.streams.task import Task, downstream

Inherit = Callable[[Sequence[Task]], Mapping[str, float]]
"""Gives each table the priority with which it counts."""

STEP = 2.0
"""K of max-plus: how much more a table counts than those that read it. The paper names no value."""


def own(tasks: Sequence[Task]) -> dict[str, float]:
    """Each table counts for itself alone."""
    return {each.name: each.priority for each in tasks}


def summed(tasks: Sequence[Task]) -> dict[str, float]:
    """A table counts as much as all tables downstream together, and itself."""
    priority = own(tasks)
    return {name: sum(priority[each] for each in below) for name, below in downstream(tasks).items()}


def greatest(tasks: Sequence[Task]) -> dict[str, float]:
    """A table counts as much as the one downstream that counts most."""
    priority = own(tasks)
    return {name: max(priority[each] for each in below) for name, below in downstream(tasks).items()}


def greatest_plus(tasks: Sequence[Task]) -> dict[str, float]:
    """The same, times ``STEP`` for each level that a table lies below those that nobody reads."""
    priority, below = own(tasks), downstream(tasks)
    found: dict[str, float] = {}
    for each in sorted(tasks, key=lambda task: len(below[task.name])):
        above = [found[name] for name in below[each.name] if name in found]
        found[each.name] = max(priority[each.name], STEP * max(above, default=0.0))
    return found
