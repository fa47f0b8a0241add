"""Accounts of refreshes, view by view: runs, partitions, cost and staleness."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from attrs import Factory, define

from headwater.engine.record.transition import transition
from headwater.model.event import Event, Failed, Published, Renamed
from headwater.model.partition import Version
from headwater.model.state import State
from headwater.simulate.staleness import Meter, missing_since


@define
class Account:
    """One view's. Failed runs count as runs and cost time; ``seconds`` is the sum of run times."""

    meter: Meter
    runs: int = 0
    partitions: int = 0
    seconds: float = 0.0


@define
class Accounts:
    """All views' of one scenario; staleness counts until ``end`` (ms)."""

    end: int
    views: dict[str, Account] = Factory(dict)
    _released: set[str] = Factory(set)
    _older: dict[Version, int] = Factory(dict)

    def count(self, event: Event, state: State) -> None:
        """Notes an event, and that the state has just gone through it."""
        match event:
            case Published(view=view, version=version, made=made, removed=removed, seconds=seconds):
                self._count(view, len(made) + len(removed), seconds)
                if version in state.origins:  # a released view catches up by a change of its own
                    since = self._of(view).meter.since
                    self._older[version] = event.at if since is None else since
            case Failed(view=view, seconds=seconds):
                self._count(view, 0, seconds)
            case Renamed(view=old, to=new) if old in self.views:
                self.views[new] = self.views.pop(old)

    def measure(self, state: State, now: int, touched: Collection[str]) -> None:
        """Notes the staleness of views that may have come to lack other changes than before."""
        known = {name for name in touched if name in state.views}
        before = bool(self._released)
        self._released -= set(touched)
        self._released |= {name for name in known if state.views[name].released}
        for name in set(touched) - known:
            if name in self.views:
                self.views[name].meter.stop(now)
        # A change that a released view lacks is not requested of its readers, so nothing touches them.
        for name in state.views if before or self._released else known:
            bound = state.views[name].definition.policy.freshness
            since = missing_since(state, name, self._released - {name}, self._older)
            self._of(name).meter.tell(now, since, bound)

    def close(self) -> None:
        for account in self.views.values():
            account.meter.stop(self.end)

    def _count(self, view: str, partitions: int, seconds: float) -> None:
        account = self._of(view)
        account.runs += 1
        account.partitions += partitions
        account.seconds += seconds

    def _of(self, name: str) -> Account:
        return self.views.setdefault(name, Account(Meter(self.end)))


def as_it_ran(journal: Iterable[Event], end: int, state: State | None = None) -> Accounts:
    """The accounts of the recorded refreshes after a state, which is consumed."""
    state, accounts, now = state or State(), Accounts(end), 0
    for event in journal:
        state = transition(state, event)
        now = max(now, event.at)
        accounts.count(event, state)
        accounts.measure(state, now, frozenset(state.index.stale))
        state.index.stale.clear()  # in a running engine, the search for what is ready clears it
    accounts.close()
    return accounts
