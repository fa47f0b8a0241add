"""The run to be planned, as the engine's state has it: every view that is to be refreshed, and what that takes."""

from __future__ import annotations

from attrs import frozen

from headwater.engine.runs import expected_size
from headwater.model.state import State, Status
from headwater.plan.problem import Problem, Read, Task

SMALLEST = 50_000
"""µs that keeping an output must save to be worth a second copy of it."""


@frozen
class Costs:
    """What a byte costs, in µs of a run's own time, measured in this warehouse ([Li23] §IV).

    Attributes:
        written: that writing it to memory takes less than to the warehouse, less what its copy takes from what runs
            beside.
        read: that reading it from memory takes less than from the warehouse.
        copied: that its copy takes.
    """

    written: float
    read: float
    copied: float


def wave(state: State) -> tuple[str, ...]:
    """The views that are to be refreshed, in topological order."""
    waiting = [name for name, view in state.views.items() if view.pending and view.status is Status.ACTIVE]
    return tuple(sorted(waiting, key=state.order.__getitem__))


def problem(state: State, names: tuple[str, ...], costs: Costs, memory: int, tracks: int) -> Problem:
    """The refresh of these views. One whose size nobody knows, or that is redefined, takes more memory than there is,
    so that it is not kept; one of which nobody knows how long it takes takes no time."""
    sizes = {name: _size(state, name) for name in names}
    tasks = []
    for name in names:
        view = state.views[name]
        reads = [each for each in view.definition.sources if each in sizes]
        size = sizes[name]
        tasks.append(
            Task(
                name,
                memory + 1 if size is None else size,
                run=round(1e6 * view.took.mean) if view.took is not None else 0,
                reads=tuple(Read(each, round((sizes[each] or 0) * costs.read)) for each in reads),
                spared=round((size or 0) * costs.written) - SMALLEST,
                copy=round((size or 0) * costs.copied),
            )
        )
    return Problem(tuple(tasks), memory, tracks)


def _size(state: State, name: str) -> int | None:
    pending = state.views[name].pending
    redefined = any(state.origins[origin].definition for origins in pending.values() for origin in origins)
    return None if redefined else expected_size(state, name, pending) or None
