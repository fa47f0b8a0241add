"""The problem of a run: its tasks, the memory, and the time that keeping outputs saves ([Li23] §IV)."""

from __future__ import annotations

from functools import cached_property
from math import inf

from attrs import field, frozen

from headwater.model.error import PlanError

UNITS = 1 << 20
"""Into so many units, at most, memory is divided for the solver, which has called plans optimal that were not, by a
tenth, where figures were those of bytes in the billions (CP-SAT 9.15)."""


@frozen
class Read:
    """One input of a task that is an output of the same run.

    Attributes:
        name: the task that makes it.
        saved: µs of the reader's own time that are saved when the input lies in memory.
    """

    name: str
    saved: int = 0


@frozen
class Task:
    """The refresh of one view in a run.

    Attributes:
        name: the view.
        size: bytes of its output as kept in memory.
        run: µs that it takes at full speed, with all inputs read from storage and its output written there.
        reads: its inputs among the outputs of the run.
        spared: µs of its own time that are saved by leaving its output in memory, less what copying it in the
            background costs those that run beside; negative when that is more.
        copy: µs that the background copy of its output takes.
        optional: it is done only if its output is kept; if it is, it takes what it spares less than nothing.
    """

    name: str
    size: int
    run: int = 0
    reads: tuple[Read, ...] = ()
    spared: int = 0
    copy: int = 0
    optional: bool = False


def _in_order(_problem: Problem, _attribute: object, tasks: tuple[Task, ...]) -> None:
    known: set[str] = set()
    for task in tasks:
        if task.name in known:
            raise PlanError(f"{task.name} is twice in one run; let it be there once")
        for figure in ("size", "run", "copy"):
            if getattr(task, figure) < 0:
                raise PlanError(f"the {figure} of {task.name} is {getattr(task, figure)}; it cannot be negative")
        reads = [read.name for read in task.reads]
        for name in reads:
            if name not in known:
                raise PlanError(f"{task.name} reads {name}, which does not come before it; list tasks in order")
            if reads.count(name) > 1:
                raise PlanError(f"{task.name} reads {name} twice; add up the savings")
        known.add(task.name)


@frozen
class Problem:
    """A run to be planned. Tasks are known by their position in ``tasks``.

    Attributes:
        tasks: each after those it reads.
        memory: bytes that may be kept at any moment.
        tracks: how many tasks may run side by side.
        abreast: how many of them do so at full speed; more share that speed evenly.

    Raises:
        PlanError: a task is twice in it, or before one that it reads, or reads one twice; a figure is negative, or
            not one task would go at full speed.
    """

    tasks: tuple[Task, ...] = field(validator=_in_order)
    memory: int
    tracks: int = 1
    abreast: float = inf

    def __attrs_post_init__(self) -> None:
        if self.memory < 0:
            raise PlanError(f"a run cannot have {self.memory} bytes of memory; give none, or some")
        if self.tracks < 1:
            raise PlanError(f"a run cannot have {self.tracks} tracks; give one, or more")
        if not self.abreast >= 1:
            raise PlanError(f"a plan needs at least one run at full speed, not {self.abreast}")

    @cached_property
    def inputs(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For each task its sources, with the µs that it saves when the source lies in memory."""
        at = {task.name: n for n, task in enumerate(self.tasks)}
        return tuple(tuple((at[read.name], read.saved) for read in task.reads) for task in self.tasks)

    @cached_property
    def readers(self) -> tuple[tuple[int, ...], ...]:
        """For each task those that read it, in ascending order."""
        found: list[list[int]] = [[] for _ in self.tasks]
        for reader, inputs in enumerate(self.inputs):
            for source, _ in inputs:
                found[source].append(reader)
        return tuple(map(tuple, found))

    @cached_property
    def scores(self) -> tuple[int, ...]:
        """For each task the µs that keeping its output saves: its own, and its readers' ([Li23] §IV)."""
        scores = [task.spared for task in self.tasks]
        for inputs in self.inputs:
            for source, saved in inputs:
                scores[source] += saved
        return tuple(scores)

    @property
    def capacity(self) -> int:
        """The memory in units of the solver."""
        return min(self.memory, UNITS)

    def units_up(self, task: int) -> int:
        """Units that a task's output takes, rounded up: outputs that fit in units fit."""
        return -(-self.tasks[task].size * self.capacity // self.memory)

    def units_down(self, task: int) -> int:
        """Units that a task's output takes, rounded down: outputs that fit, fit in units."""
        return self.tasks[task].size * self.capacity // self.memory

    @cached_property
    def worthwhile(self) -> tuple[int, ...]:
        """The tasks whose output may be kept: those that fit and save time; none without memory."""
        if not self.memory:
            return ()
        return tuple(n for n, task in enumerate(self.tasks) if self.scores[n] > 0 and task.size <= self.memory)
