"""The methods of a refresh: what each one writes, what it costs, and whether it can renew what is behind.

Example: 2 of 30 partitions of a view are behind. *By partition* writes these 2, and *in full* writes all 30. Both give
the right rows, so the cheaper one runs. A new method is a class with an offer and a place in ``METHODS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from attrs import evolve, frozen

from headwater.engine.methods.appending import appended, has_rows
from headwater.engine.methods.basis import keyed, only_changed
from headwater.engine.methods.costs import SMALL, fixed, foreseen, read_in_full
from headwater.engine.methods.totals import added, leaves_totals
from headwater.model import work
from headwater.model.costs import Narrow
from headwater.model.partition import WHOLE, Region, Slice, simplified
from headwater.model.policy import Following
from headwater.model.state import State, ViewState
from headwater.model.work import FollowsChanges, Mode, NoMethod, Work

Slices = Sequence[Slice]


@frozen
class Cost:
    """The cost of one run, as far as past runs tell; ``None`` where nobody knows.

    Attributes:
        partitions: that it writes, at most.
        seconds: that it takes at most. Runs of the past took so long for as many partitions as they wrote.
        read, written: bytes.
        cores: core-seconds that it takes at most.
    """

    partitions: int
    seconds: float | None = None
    read: int | None = None
    written: int | None = None
    cores: float | None = None

    @property
    def told(self) -> str:
        """The duration with the cost by which methods are compared, as far as both are known."""
        known = self.seconds is not None and self.cores is not None
        return f"{self.said} ({self.cores:.1f} core-seconds)" if known else self.said

    @property
    def said(self) -> str:
        if self.seconds is not None:
            return f"about {self.seconds:.1f} s"
        return "of unknown duration" if self.read is None else f"about {self.read / 1e6:.1f} MB to read"


@frozen
class Offer:
    """How a method would renew slices of a view.

    Attributes:
        frame: the slices that it writes. They cover those that it renews.
        work: that of the run.
    """

    frame: tuple[Slice, ...]
    cost: Cost
    work: Work


class Method(Protocol):
    """One way to renew slices of a view."""

    mode: ClassVar[Mode]
    said: ClassVar[str]

    def offer(self, state: State, view: str, slices: Slices) -> Offer | str:
        """How it renews these slices; or why it cannot."""


@frozen
class ByPartition:
    """The query with a condition on the partition columns."""

    mode: ClassVar = Mode.PARTITION
    said: ClassVar = "by partition"

    def offer(self, state: State, view: str, slices: Slices) -> Offer | str:
        definition = state.views[view].definition
        if WHOLE in slices and not definition.earlier:
            return "every partition is behind" if definition.partitioned_by else "the view has one partition"
        frame = simplified(slices)
        return Offer(frame, _cost(state, view, frame, slices), work.WholePartitions(leaves_totals(state, view)))


@frozen
class InFull:
    """The query as it is."""

    mode: ClassVar = Mode.FULL
    said: ClassVar = "in full"

    def offer(self, state: State, view: str, slices: Slices) -> Offer | str:
        if state.views[view].definition.earlier:
            return "the view reads earlier partitions of itself, so a run renews one period at a time"
        return Offer((WHOLE,), _cost(state, view, (WHOLE,), slices), work.WholeView(leaves_totals(state, view)))


@frozen
class ByKeys:
    """The query of the rows that changes reach, found by the rows of the sources that came and went. All other rows of
    the partitions stay as they are.

    [Adler20] §5.2 recomputes groups by their keys. Here each column of the view that a changed row determines is a key
    (``algebra.derive.keys``).
    """

    mode: ClassVar = Mode.KEYS
    said: ClassVar = "by keys"

    def offer(self, state: State, view: str, slices: Slices) -> Offer | str:
        found = keyed(state, view, slices)
        return found if isinstance(found, str) else _following(state, view, slices, found)


@frozen
class ByChanges:
    """The totals of the view's aggregate, with those of the rows that came and went. The view's rows are computed from
    them. A view without an aggregate gets the rows that came.

    [Adler20] §4.4 merges changes into aggregates. The state to merge into lies beside the view, so the view needs no
    column for it.
    """

    mode: ClassVar = Mode.CHANGES
    said: ClassVar = "by changes"

    def offer(self, state: State, view: str, slices: Slices) -> Offer | str:
        appends = has_rows(state.views[view].definition)
        found = appended(state, view, slices) if appends else added(state, view, slices)
        return found if isinstance(found, str) else _following(state, view, slices, found)


METHODS: tuple[Method, ...] = (ByPartition(), InFull(), ByKeys(), ByChanges())
"""All methods. Of two that cost the same, the earlier one runs."""

_WORDS = {Following.CHANGES: (Mode.CHANGES,), Following.KEYS: (Mode.KEYS,), Following.FULL: (Mode.PARTITION, Mode.FULL)}
"""The methods that each word of a view's property allows."""


@frozen
class Chosen:
    """The method of a run.

    Attributes:
        rejected: the other methods, each with the reason; the method's name is the subject of it.
    """

    method: Method
    offer: Offer
    rejected: tuple[tuple[Method, str], ...] = ()

    @property
    def refused(self) -> str:
        """Why the run must fail: the view's property allows no method that can renew the slices."""
        return self.offer.work.why if isinstance(self.offer.work, NoMethod) else ""

    @property
    def frame(self) -> tuple[Slice, ...]:
        return self.offer.frame

    @property
    def cost(self) -> Cost:
        return self.offer.cost


def choose_method(state: State, view: str, slices: Slices) -> Chosen:
    """The method that renews these slices of a view: of those that its property names, the first that can. Among equals
    the one of the least core-seconds, or of the least seconds where those of one are not known. Where a duration is not
    known, none of this view is, so the order of ``METHODS`` decides."""
    asked = state.views[view].definition.policy.method
    ranks = allowed(state, view, slices)
    offers = {method: method.offer(state, view, slices) for method in METHODS if method.mode in ranks}
    if asked is None:
        own = state.views[view]
        offers |= {method: why for method, found in offers.items() if (why := _untried(state, own, method, found))}
    possible = {method: found for method, found in offers.items() if isinstance(found, Offer)}
    if not possible:
        return _refused(state, view, slices, offers)
    prices = _prices({method: found.cost for method, found in possible.items()})
    best = min(possible, key=lambda method: (ranks[method.mode], prices[method]))
    others = [(method, _against(found)) for method, found in offers.items() if method is not best]
    return Chosen(best, possible[best], tuple(others))


def _prices(costs: dict[Method, Cost]) -> dict[Method, float]:
    """What methods cost, all in the same unit."""
    if all(each.cores is not None for each in costs.values()):
        return {method: each.cores or 0.0 for method, each in costs.items()}
    return {method: each.seconds or 0.0 for method, each in costs.items()}


def allowed(state: State, view: str, slices: Slices) -> dict[Mode, int]:
    """The modes that the property of a view allows, with the order in which it names them. All rows are computed as
    whole partitions for other reasons than a changed source, whatever it allows."""
    asked = state.views[view].definition.policy.method
    if asked is None:
        return {method.mode: 0 for method in METHODS}
    if Following.FULL not in asked and not only_changed(state, view, slices):
        asked = (*asked, Following.FULL)
    return {mode: rank for rank, word in enumerate(asked) for mode in _WORDS[word]}


def _refused(state: State, view: str, slices: Slices, offers: dict[Method, Offer | str]) -> Chosen:
    told = [(method, str(why)) for method, why in offers.items()]
    method, why = next(iter(told))
    frame = simplified(slices)
    others = tuple((other, _against(reason)) for other, reason in told[1:])
    cost = Cost(_count(state, view, frame, slices))
    return Chosen(method, Offer(frame, cost, NoMethod(method.mode, why)), others)


def _against(found: Offer | str) -> str:
    """Why a method is not the one."""
    if isinstance(found, str):
        return f"is out: {found}"
    cost = found.cost
    return f"would write {cost.partitions} partitions" if cost.seconds is None else f"would take {cost.told}"


def _following(state: State, view: str, slices: Slices, found: FollowsChanges) -> Offer:
    """The offer of a method that follows changes. The last such run tells what it takes; without one, those of other
    views do."""
    frame, own = simplified(slices), state.views[view]
    known, least = _known(own, found.mode), fixed(state, own, found.mode)
    by_cores = None if known is None else evolve(known, seconds=known.cores)
    whole, read = own.costs.took.mean if own.costs.took is not None else None, read_in_full(own, dict(found.since))
    cost = Cost(
        _count(state, view, frame, slices),
        seconds=foreseen(known, least, found.churn, whole, read),
        cores=foreseen(by_cores, least, found.churn, own.costs.cores, read),
    )
    return Offer(frame, cost, found)


def _untried(state: State, view: ViewState, method: Method, found: Offer | str) -> str:
    """Why a method that follows changes is not tried, as long as no run of the view tells its cost; empty if it is, or
    is known."""
    if isinstance(found, str) or not isinstance(found.work, FollowsChanges):
        return ""
    mode, churn = method.mode, found.work.churn
    known = _known(view, mode)
    if known is not None:
        return "the last one had to compute whole partitions" if known.seconds is None and churn >= known.churn else ""
    least, read, told = fixed(state, view, mode), read_in_full(view, dict(found.work.since)), found.cost.seconds
    if view.costs.took is None or view.costs.took.mean < least:
        return f"a refresh takes less than {least:.1f} s"
    if told is None or not read:
        return "how much a refresh reads is not known yet"
    if read < SMALL:
        return f"a refresh reads less than {SMALL / 1e6:.0f} MB"
    return "too much changed" if told > view.costs.took.mean else ""


def _known(view: ViewState, mode: Mode) -> Narrow | None:
    """The last run of a view by a method that follows changes."""
    return view.costs.keyed if mode is Mode.KEYS else view.costs.added


def _cost(state: State, name: str, frame: tuple[Slice, ...], slices: Slices) -> Cost:
    view, count = state.views[name], _count(state, name, frame, slices)
    if view.costs.estimate is not None:
        return Cost(count, None, view.costs.estimate.read, view.costs.estimate.size)
    more = max(1.0, count / view.costs.partitions) if view.costs.partitions else 1.0
    read = sum(each.size * each.share for each in view.costs.readings.values())
    return Cost(
        count,
        seconds=None if view.costs.took is None else more * view.costs.took.mean,
        read=round(more * read) if view.costs.readings else None,
        written=round(view.costs.size * count) if view.costs.size else None,
        cores=None if view.costs.cores is None else more * view.costs.cores,
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
