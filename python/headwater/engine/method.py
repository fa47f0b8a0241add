"""The methods of a refresh: what each one writes, what it costs, and whether it can renew what is behind.

Example: 2 of 30 partitions of a view are behind. *By partition* writes these 2, and *in full* writes all 30. Both give
the right rows, so the cheaper one runs. A new method is a class with these four answers and a place in ``METHODS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from attrs import frozen

from headwater.engine.basis import Basis, basis
from headwater.engine.totals import added
from headwater.model.event import Mode
from headwater.model.partition import WHOLE, Region, Slice, simplified
from headwater.model.policy import Refreshing
from headwater.model.state import State

Slices = Sequence[Slice]

MOST_CHURN = 0.2
"""The first run by keys of a view is made if no more than this part of its sources' bytes came and went."""


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


@frozen
class ByKeys:
    """The query of the rows that changes reach, found by the rows of the sources that came and went. All other rows of
    the partitions stay as they are.

    [Adler20] §5.2 recomputes groups by their keys. Here each column of the view that a changed row determines is a key
    (``algebra.derive.keys``).
    """

    mode: ClassVar = Mode.KEYS
    said: ClassVar = "by keys"

    def refuses(self, state: State, view: str, slices: Slices) -> str:
        asked = state.views[view].definition.policy.method
        found, known = basis(state, view, slices), state.views[view].keyed
        if isinstance(found, str):
            return found
        if asked is Refreshing.KEYS:
            return ""
        if known is None:
            read = _read(state, view, slices, found)
            if not read:
                return "nobody knows yet how much a refresh reads"
            return "too much changed" if found.churn > MOST_CHURN * read else ""
        failed = known.seconds is None and found.churn >= known.churn
        return "the last one had to compute whole partitions" if failed else ""

    def frame(self, slices: Slices) -> tuple[Slice, ...]:
        return simplified(slices)

    def cost(self, state: State, view: str, slices: Slices) -> Cost:
        """The last run by keys took so long. More changes cost in proportion; fewer never look cheaper."""
        found, known = basis(state, view, slices), state.views[view].keyed
        count = _count(state, view, self.frame(slices), slices)
        if known is None or known.seconds is None or isinstance(found, str):
            return Cost(count)
        return Cost(count, known.seconds * max(1.0, found.churn / max(1, known.churn)))


@frozen
class ByChanges:
    """The totals of the view's aggregate, with those of the rows that came and went. The view's rows are computed from
    them.

    [Adler20] §4.4 merges changes into aggregates. The state to merge into lies beside the view, so the view needs no
    column for it.
    """

    mode: ClassVar = Mode.CHANGES
    said: ClassVar = "by changes"

    def refuses(self, state: State, view: str, slices: Slices) -> str:
        found = added(state, view, slices)
        return found if isinstance(found, str) else ""

    def frame(self, slices: Slices) -> tuple[Slice, ...]:
        return simplified(slices)

    def cost(self, state: State, view: str, slices: Slices) -> Cost:
        known = state.views[view].added
        return Cost(_count(state, view, self.frame(slices), slices), None if known is None else known.seconds)


METHODS: tuple[Method, ...] = (ByPartition(), InFull(), ByKeys(), ByChanges())
"""All methods. Of two that cost the same, the earlier one runs."""


_ASKED = {Refreshing.KEYS: Mode.KEYS, Refreshing.CHANGES: Mode.CHANGES}
_LEFT_OUT = {
    Refreshing.WHOLE: {Mode.KEYS, Mode.CHANGES},
    Refreshing.AUTO: {Mode.CHANGES},
    Refreshing.KEYS: {Mode.CHANGES},
    Refreshing.CHANGES: {Mode.KEYS},
}
"""The methods that a view's property leaves out."""


@frozen
class Chosen:
    """The method of a run.

    Attributes:
        frame: the slices that it writes.
        basis: of a run by keys, what it goes on from.
        rejected: the other methods, each with the reason; the method's name is the subject of it.
    """

    method: Method
    frame: tuple[Slice, ...]
    cost: Cost
    rejected: tuple[tuple[Method, str], ...] = ()
    basis: Basis | None = None


def allowed(state: State, view: str) -> tuple[Method, ...]:
    """The methods that a view's property ``headwater.method`` allows."""
    asked = state.views[view].definition.policy.method
    return tuple(each for each in METHODS if each.mode not in _LEFT_OUT[asked])


def choose_method(state: State, view: str, slices: Slices) -> Chosen:
    """The cheapest method that can renew these slices of a view. Where a duration is not known, none of this view is,
    so the order of ``METHODS`` decides."""
    methods = allowed(state, view)
    refused = {method: why for method in methods if (why := method.refuses(state, view, slices))}
    costs = {method: method.cost(state, view, slices) for method in methods if method not in refused}
    best = min(costs, key=lambda method: _rank(state, view, method, costs[method]))
    others = {method: f"is out: {why}" for method, why in refused.items()}
    others |= {method: _dearer(cost) for method, cost in costs.items() if method is not best}
    return Chosen(best, best.frame(slices), costs[best], tuple(others.items()), _basis(state, view, slices, best))


def _basis(state: State, view: str, slices: Slices, method: Method) -> Basis | None:
    found = {Mode.KEYS: basis, Mode.CHANGES: added}.get(method.mode, lambda *_: "")(state, view, slices)
    return found if isinstance(found, Basis) else None


def _rank(state: State, view: str, method: Method, cost: Cost) -> float:
    if method.mode is _ASKED.get(state.views[view].definition.policy.method):
        return -1.0
    return cost.seconds or 0.0


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


def _read(state: State, view: str, slices: Slices, found: Basis) -> float:
    """Bytes that a refresh of whole partitions reads of the sources that changed; 0 where nobody knows."""
    reads = state.views[view].reads
    sources = {source for source, _ in found.since}
    return len(slices) * sum(reads[each] for each in sources) if sources <= reads.keys() else 0


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
