"""All pending refreshes as a problem to plan, by the engine's state: the views, their sizes and times."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import inf

from attrs import asdict, frozen

from headwater.engine.pace import saving
from headwater.engine.runs import expected_sizes
from headwater.model.event import Place
from headwater.model.partition import WHOLE
from headwater.model.state import State, Status, ViewState
from headwater.plan.problem import Problem, Read, Task

SMALLEST = 50_000
"""µs that keeping an output must save to be worth a second copy of it."""


@frozen
class Costs:
    """The cost of a byte in µs of a run's own time, by the speed of this warehouse and of memory ([Li23] §IV).

    Attributes:
        written: saved by writing it to memory and not to the warehouse.
        read: saved by reading it from memory and not from the warehouse.
        copied: taken by its copy.
        moved: taken by its copy from the runs beside it.
    """

    written: float
    read: float
    copied: float
    moved: float = 0.0


@frozen
class Means:
    """The means of an engine for the runs that it plans.

    Attributes:
        costs: of a byte.
        memory: bytes that may be kept.
        tracks: how many runs go on side by side.
        place: where they are kept.
    """

    costs: Costs
    memory: int
    tracks: int
    place: Place = Place.VOLUME

    @property
    def pays(self) -> bool:
        """Whether keeping anything could save time; if not, runs are not planned."""
        return self.memory > 0 and (self.costs.written > self.costs.moved or self.costs.read > 0)


def encode_means(means: Means | None) -> str:
    """The means as text. An engine leaves it in its store, for ``headwater explain``."""
    told = None if means is None else {**asdict(means), "place": means.place.value}
    return json.dumps(told)


def decode_means(text: str) -> Means | None:
    """The means of such a text; ``None`` also for the text of another version of Headwater."""
    try:
        told = json.loads(text)
        return told and Means(Costs(**told["costs"]), told["memory"], told["tracks"], Place(told["place"]))
    except (TypeError, KeyError, ValueError):
        return None


def pending_views(state: State) -> tuple[str, ...]:
    """The views that are to be refreshed, in topological order."""
    waiting = [name for name, view in state.views.items() if view.pending and view.status is Status.ACTIVE]
    return tuple(sorted(waiting, key=state.index.order.__getitem__))


def problem(state: State, names: tuple[str, ...], means: Means) -> Problem:
    """The refresh of these views. One whose size nobody knows, or that is redefined, takes more memory than there is,
    so that it is not kept; one of which nobody knows how long it takes takes no time."""
    sizes = {name: _sizes(state, name) for name in names}
    tasks = tuple(_task(state.views[name], sizes, means) for name in names)
    shares = [state.views[name].share for name in names]
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
        copy=round(size * (view.copying or costs.copied)),
    )


def _run(view: ViewState, costs: Costs) -> float:
    """µs that a view's run takes, as measured; of a first run, at least the time for storage."""
    if view.unaided:
        return view.unaided
    if view.took is not None:
        return 1e6 * view.took.mean
    if view.estimate is not None:
        return view.estimate.read * max(0.0, costs.read) + view.estimate.size * max(0.0, costs.written)
    return 0


def _sizes(state: State, name: str) -> tuple[int, int]:
    """Bytes that a view's run writes, and that they take in blocks; 0 where nobody knows, or what it makes is not
    kept."""
    view = state.views[name]
    redefined = any(state.origins[origin].definition for origins in view.pending.values() for origin in origins)
    if redefined and view.estimate is None:
        return 0, 0
    return expected_sizes(state, name, view.pending or (WHOLE,))
