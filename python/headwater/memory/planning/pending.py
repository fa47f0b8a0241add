"""The problem of a plan, from the engine's state: the bytes and the time of each refresh that is pending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from headwater.engine.methods.costs import saving
from headwater.engine.record.runs import expected_sizes
from headwater.memory.planning.means import Costs, Means
from headwater.memory.planning.problem import Problem, Read, Task
from headwater.model.measure import Place
from headwater.model.partition import WHOLE
from headwater.model.state import State, ViewState

SMALLEST = 50_000
"""µs that keeping an output must save to be worth a second copy of it."""


def problem(state: State, names: tuple[str, ...], means: Means) -> Problem:
    """The refresh of these views. One whose size nobody knows, or that is redefined, takes more memory than there is,
    so that it is not kept; one of which nobody knows how long it takes takes no time."""
    sizes = {name: _sizes(state, name) for name in names}
    tasks = tuple(_task(state.views[name], sizes, means) for name in names)
    shares = [state.views[name].costs.share for name in names]
    return Problem(tasks, means.memory, means.tracks, _abreast(tasks, shares))


def _abreast(tasks: Sequence[Task], shares: Sequence[float]) -> float:
    """How many tasks fill all slots in the mean, by the share of them that each fills; without limit where nobody
    knows."""
    known = [(task.run, share) for task, share in zip(tasks, shares, strict=True) if share]
    filled = sum(run * share for run, share in known)
    return max(1.0, sum(run for run, _ in known) / filled) if filled else inf


def _task(view: ViewState, sizes: Mapping[str, tuple[int, int]], means: Means) -> Task:
    """The refresh of a view. Its savings are those that its own runs measured, as far as they did."""
    name, costs = view.definition.view, means.costs
    size, held = sizes[name]

    def saved(table: str, foreseen: float) -> float:
        return saving(view, table, means.place, foreseen)

    near = [each for each in view.definition.sources if each in sizes]
    kept = held if means.place is Place.BLOCKS else size
    return Task(
        name,
        kept or means.memory + 1,
        run=round(_run(view, costs)),
        reads=tuple(Read(each, round(sizes[each][0] * max(0.0, saved(each, costs.read)))) for each in near),
        spared=round(size * (saved(name, costs.written) - costs.moved)) - SMALLEST,
        copy=round(size * (view.costs.copying or costs.copied)),
    )


def _run(view: ViewState, costs: Costs) -> float:
    """µs that a view's run takes, as measured; of a first run, at least the time for storage."""
    if view.costs.unaided:
        return view.costs.unaided
    if view.costs.took is not None:
        return 1e6 * view.costs.took.mean
    if view.costs.estimate is not None:
        return view.costs.estimate.read * max(0.0, costs.read) + view.costs.estimate.size * max(0.0, costs.written)
    return 0


def _sizes(state: State, name: str) -> tuple[int, int]:
    """Bytes that a view's run writes, and that they take in blocks; 0 where nobody knows, or what it makes is not
    kept."""
    view = state.views[name]
    redefined = any(state.origins[origin].definition for origins in view.pending.values() for origin in origins)
    if view.definition.storage.commits or (redefined and view.costs.estimate is None):
        return 0, 0
    return expected_sizes(state, name, view.pending or (WHOLE,))
