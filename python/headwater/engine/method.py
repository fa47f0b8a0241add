"""The methods of a refresh: what each one writes, what it costs, and whether it can renew what is behind.

Example: 2 of 30 partitions of a view are behind. *By partition* writes these 2, and *in full* writes all 30. Both give
the right rows, so the cheaper one runs. A new method is a class with these four answers and a place in ``METHODS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from attrs import frozen

from headwater.model.event import Mode
from headwater.model.partition import WHOLE, Region, Slice, simplified
from headwater.model.state import State

Slices = Sequence[Slice]


@frozen
class Cost:
    """The cost of one run, as far as past runs tell; ``None`` where nobody knows.

    Attributes:
        partitions: that it writes, at most.
        seconds: that it takes at most. Runs of the past took so long for as many partitions as they wrote.
        read, written: bytes.
    """

    partitions: int
    seconds: float | None = None
    read: int | None = None
    written: int | None = None

    @property
    def said(self) -> str:
        if self.seconds is not None:
            return f"about {self.seconds:.1f} s"
        return "of unknown duration" if self.read is None else f"about {self.read / 1e6:.1f} MB to read"


class Method(Protocol):
    """One way to renew slices of a view."""

    mode: ClassVar[Mode]
    said: ClassVar[str]

    def refuses(self, state: State, view: str, slices: Slices) -> str:
        """Why it cannot renew these slices; empty where it can."""

    def frame(self, slices: Slices) -> tuple[Slice, ...]:
        """The slices that it writes. They cover those that it renews."""

    def cost(self, state: State, view: str, slices: Slices) -> Cost:
        """The cost of renewing these slices."""


@frozen
class ByPartition:
    """The query with a condition on the partition columns."""

    mode: ClassVar = Mode.PARTITION
    said: ClassVar = "by partition"

    def refuses(self, state: State, view: str, slices: Slices) -> str:
        definition = state.views[view].definition
        if WHOLE not in slices or definition.earlier:
            return ""
        return "every partition is behind" if definition.partitioned_by else "the view has one partition"

    def frame(self, slices: Slices) -> tuple[Slice, ...]:
        return simplified(slices)

    def cost(self, state: State, view: str, slices: Slices) -> Cost:
        return _cost(state, view, self.frame(slices), slices)


@frozen
class InFull:
    """The query as it is."""

    mode: ClassVar = Mode.FULL
    said: ClassVar = "in full"

    def refuses(self, state: State, view: str, slices: Slices) -> str:
        earlier = state.views[view].definition.earlier
        return "the view reads earlier partitions of itself, so a run renews one period at a time" if earlier else ""

    def frame(self, slices: Slices) -> tuple[Slice, ...]:
        return (WHOLE,)

    def cost(self, state: State, view: str, slices: Slices) -> Cost:
        return _cost(state, view, self.frame(slices), slices)


METHODS: tuple[Method, ...] = (ByPartition(), InFull())
"""All methods. Of two that cost the same, the earlier one runs."""


@frozen
class Chosen:
    """The method of a run.

    Attributes:
        frame: the slices that it writes.
        rejected: the other methods, each with the reason; the method's name is the subject of it.
    """

    method: Method
    frame: tuple[Slice, ...]
    cost: Cost
    rejected: tuple[tuple[Method, str], ...] = ()


def choose_method(state: State, view: str, slices: Slices) -> Chosen:
    """The cheapest method that can renew these slices of a view. Where a duration is not known, none of this view is,
    so the order of ``METHODS`` decides."""
    refused = {method: why for method in METHODS if (why := method.refuses(state, view, slices))}
    costs = {method: method.cost(state, view, slices) for method in METHODS if method not in refused}
    best = min(costs, key=lambda method: costs[method].seconds or 0.0)
    others = {method: f"is out: {why}" for method, why in refused.items()}
    others |= {method: _dearer(cost) for method, cost in costs.items() if method is not best}
    return Chosen(best, best.frame(slices), costs[best], tuple(others.items()))


def _dearer(cost: Cost) -> str:
    return f"would write {cost.partitions} partitions" if cost.seconds is None else f"would take {cost.said}"


def _cost(state: State, name: str, frame: tuple[Slice, ...], slices: Slices) -> Cost:
    view, count = state.views[name], _count(state, name, frame, slices)
    if view.estimate is not None:
        return Cost(count, None, view.estimate.read, view.estimate.size)
    more = max(1.0, count / view.partitions) if view.partitions else 1.0
    read = sum(each.size * each.share for each in view.readings.values())
    return Cost(
        count,
        seconds=None if view.took is None else more * view.took.mean,
        read=round(more * read) if view.readings else None,
        written=round(view.size * count) if view.size else None,
    )


def _count(state: State, name: str, frame: tuple[Slice, ...], slices: Slices) -> int:
    """The partitions in a frame: those on record, and the new ones among those to renew."""
    columns = frozenset(state.views[name].definition.partitioned_by)
    known = state.tables[name].partitions if name in state.tables else {}
    if WHOLE not in frame and all(each.columns == columns for each in frame):
        return len(frame)
    new = sum(1 for each in slices if each.columns == columns and each not in known)
    asked = Region(frame)
    there = len(known) if WHOLE in frame else sum(1 for each in known if asked.covers(each))
    return max(1, there + new)
