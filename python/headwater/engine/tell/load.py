"""Whether promised freshness can be kept at the present load, and which freshness could be kept instead.

Example: ``report`` promises 60 s. A refresh of it takes 40 s, and its source changes every 5 s. The change that comes
just after a refresh began waits 40 s for its end, and 40 s more for the next one. So 80 s can be kept, not 60.

Two things limit a promise of a view:

- *its own way*: a refresh of each view upstream, one after the other, and before it the longest of them that may just
  have begun. Where a view reads one state of every table, and its sources keep no older versions, one of them may
  be ahead of the others. So it waits for one more refresh of these, too;
- *the tracks*: a held view runs once in the time that its promise leaves, or at each change if changes are fewer. If
  the views with promises need more tracks than there are, each promise would have to be longer by the same factor.

Views without a promise are left out of that: promises come before them (``engine.decide.urgency``). Run times are
means. So this says what can be kept on the whole, not for each change.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from headwater.engine.methods.following import lately
from headwater.engine.requests.common_cut import compared
from headwater.engine.waits.freshness import slack
from headwater.engine.waits.starting_times import longest
from headwater.model.index import Hold
from headwater.model.state import State, Status, ViewState

STEPS = 40
"""So often the interval of the common factor is halved."""
MOST = 2.0**16
"""The greatest common factor."""


@frozen
class Load:
    """What refreshes need, and what they allow to promise.

    Attributes:
        tracks: that there are.
        needed: tracks that refreshes would be busy on if each change was followed as promised, or at once.
        promised: the same, of views with a promise and those upstream of them.
        attainable: for each view with a promise, the least freshness (s) of at least the promised one that can be kept.
            A view is missing as long as nobody knows what the refreshes on its way take.
    """

    tracks: int
    needed: float
    promised: float
    attainable: Mapping[str, float]


def load(state: State, tracks: int) -> Load:
    """The load as of the last change or refresh on record."""
    rates = RefreshRates(state)
    promised = rates.tracks(1.0, promised=True)
    common = 1.0 if promised <= tracks else _common(rates, tracks)
    found: dict[str, float] = {}
    for name in state.index.promising:
        bound, own = state.views[name].definition.policy.freshness, rates.own(name)
        if bound is not None and own is not None and state.views[name].status is Status.ACTIVE:
            found[name] = max(bound / 1000 * common, own)
    return Load(tracks, rates.tracks(1.0), promised, found)


class RefreshRates:
    """How often each view is refreshed, once its changes come as they did lately."""

    def __init__(self, state: State) -> None:
        self._state, self._order = state, sorted(state.views, key=state.index.order.__getitem__)
        self._takes = {name: _takes(state.views[name]) for name in self._order}
        self._held = {name: slack(state, name) for name in self._order}
        self._now = max((each.changed_at or 0 for each in state.tables.values()), default=0)

    def tracks(self, factor: float, promised: bool = False) -> float:
        """Tracks that refreshes are busy on, with promises that are longer by a factor.

        Args:
            promised: only those of views with a promise and those upstream of them.
        """
        runs = self._runs(factor)
        return sum(runs[each] * self._takes[each] for each in runs if self._held[each] is not None or not promised)

    def own(self, name: str) -> float | None:
        """The freshness (s) that the refreshes on the way to a view allow if no others run; ``None``: not known."""
        above = self._above(name)
        if any(self._state.views[each].costs.took is None for each in above):
            return None
        busy = {each: self._takes[each] for each in above if self._arrivals(each) * self._takes[each] > 1}
        ahead = max((busy.get(source, 0.0) for each in above for source in self._apart(each)), default=0.0)
        return self._way(name) + max(busy.values(), default=0.0) + ahead

    def _runs(self, factor: float) -> dict[str, float]:
        """Refreshes of each view in a second."""
        runs: dict[str, float] = {}
        for name in self._order:
            view, takes = self._state.views[name], self._takes[name]
            rate = self._own_changes(view)
            rate = min(rate, 1 / max(_left(self._held[name], factor), 1e-3)) if rate else 0.0
            rate = max([rate, *(runs[each] for each in view.definition.sources if each in runs)])
            if pause := longest(view.definition, self._now):
                rate = min(rate, 1000 / pause)
            active = view.status is Status.ACTIVE and takes
            runs[name] = min(rate, 1 / takes) if active else 0.0
        return runs

    def _own_changes(self, view: ViewState) -> float:
        """Changes of the base tables that a view reads itself, in a second."""
        found = 0.0
        for source in view.definition.sources:
            record = self._state.tables.get(source)
            if source in self._state.views or record is None or record.gap is None or record.changed_at is None:
                continue
            found += 1 / max(record.gap, (self._now - record.changed_at) / 1000, 1e-3)
        return found

    def _arrivals(self, name: str) -> float:
        """Changes in a second that reach a view, if each was followed at once."""
        return sum(self._own_changes(self._state.views[each]) for each in self._above(name))

    def _above(self, name: str) -> dict[str, None]:
        """A view and those upstream of it."""
        found = {name: None}
        for each in (upwards := [name]):
            new = [one for one in self._state.views[each].definition.sources if one in self._state.views]
            upwards += [one for one in new if one not in found]
            found |= dict.fromkeys(new)
        return found

    def _apart(self, name: str) -> tuple[str, ...]:
        """The sources of a view that may show different states of a table, and have no older versions that agree."""
        if not compared(self._state, name):
            return ()
        sources = self._state.views[name].definition.sources
        views = tuple(each for each in sources if each in self._state.views)
        return () if all(self._state.tables[each].pinned for each in views) else views

    def _way(self, name: str) -> float:
        """The longest series of refreshes that ends with a view (s), with the times for which these wait."""
        above = self._above(name)
        ends: dict[str, float] = {}
        for each in sorted(above, key=self._state.index.order.__getitem__):
            definition = self._state.views[each].definition
            takes = self._takes[each] + longest(definition, self._now) / 1000
            ends[each] = takes + max((ends[one] for one in definition.sources if one in ends), default=0.0)
        return ends[name]


# --- inside


def _takes(view: ViewState) -> float:
    """Seconds of a refresh, by those of the past; 0 before the first."""
    whole = 0.0 if view.costs.took is None else view.costs.took.mean
    narrow = lately(view)
    return whole if narrow is None else narrow


def _left(held: Hold | None, factor: float) -> float:
    """Seconds that a change may wait."""
    return 0.0 if held is None else max(0.0, held.bound * factor - held.needed) / 1000


def _common(rates: RefreshRates, tracks: int) -> float:
    """The least factor with which the promises need no more tracks than there are."""
    low, high = 1.0, MOST
    for _ in range(STEPS):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if rates.tracks(middle, promised=True) <= tracks else (middle, high)
    return high
