"""When a change that is pending for a view need not wait for others any more.

A change settles first, so that the writes of about the same time join it. After that it waits for a promised freshness
(``engine.waits.freshness``), for the budget (``engine.waits.ration``), or for changes that come with it
(``engine.waits.cadence``). In any case it waits until its view may start (``engine.waits.starting_times``).
A statement that waits, and a new definition, are served at once.
"""

from __future__ import annotations

from headwater.engine.requests.limits import SKIPPED
from headwater.engine.waits.cadence import expectation
from headwater.engine.waits.freshness import hold
from headwater.engine.waits.ration import ration
from headwater.engine.waits.starting_times import opening
from headwater.model.index import Expectation, Hold, Ration, Scheduled, Spaced
from headwater.model.partition import Version
from headwater.model.policy import Overrun
from headwater.model.state import Origin, State, ViewState


class Due:
    """When the changes that are pending for a view need not wait for others any more."""

    def __init__(self, state: State, view: ViewState) -> None:
        self._state, self._view, self._definition = state, view, view.definition
        policy = view.definition.policy
        self._hurried = max(state.hurried, view.hurried)
        self._roots = {view.definition.view, *view.definition.sources}
        self._settle, self._hold = policy.settle, hold(state, view.definition.view)
        skips = policy.overrun is Overrun.SKIP and policy.freshness is None
        self._overran = view.overran if skips else None
        self._next = _first_after(view, self._overran[1]) if self._overran is not None else None

    def at(self, origin: Version) -> int:
        """When this change need not wait; at once when somebody waits for it."""
        change = self._state.origins[origin]
        if self.hurried(origin):
            return change.at
        held = self.held(origin)
        at = change.at + self._settle if held is None else _until(change, held)
        if isinstance(held, Expectation) and not held.missing:
            at += self._settle
        opens = self.opens(origin)
        at = at if opens is None else max(at, opens.at)
        if not self.skipped(origin):
            return at
        latest = change.at + SKIPPED * self._settle
        return max(at, latest if self._next is None else min(latest, self.at(self._next)))

    def opens(self, origin: Version) -> Scheduled | Spaced | None:
        """When the view may start for this change, if it has times of its own."""
        return opening(self._view, self._state.origins[origin])

    def hurried(self, origin: Version) -> bool:
        """Whether somebody waits for this change."""
        return origin <= self._hurried or self._state.origins[origin].definition

    def skipped(self, origin: Version) -> bool:
        """Whether this change came while the view ran, and is left to the next one."""
        return self._overran is not None and self._overran[0] < origin <= self._overran[1]

    def held(self, origin: Version) -> Hold | Ration | Expectation | None:
        """How long this change is held, if it is: what reads the changed table is, as long as the freshness
        downstream allows, or the budget asks for if that is less, or until those came that come with it; what
        reads only views has settled when they are resolved."""
        change = self._state.origins[origin]
        if change.table not in self._roots:
            return None
        expected, held = expectation(self._state, self._definition, change), self._held(change)
        if expected is None or held is None or not expected.missing:
            return expected or held
        return expected if _until(change, expected) <= _until(change, held) else held

    def _held(self, change: Origin) -> Hold | Ration | None:
        rationed = ration(self._state, change.table)
        if rationed is None:
            return self._hold
        if rationed.millis <= self._settle or (self._hold is None and self._definition.policy.freshness is not None):
            return None
        if self._hold is None or _until(change, rationed) < _until(change, self._hold):
            return rationed
        return self._hold


def _first_after(view: ViewState, version: Version) -> Version | None:
    return min((each for origins in view.pending.values() for each in origins if each > version), default=None)


def _until(change: Origin, held: Hold | Ration | Expectation) -> int:
    match held:
        case Hold(millis=millis):
            return (change.at if change.wave is None else change.wave) + millis
        case Ration(millis=millis) | Expectation(millis=millis):
            return change.at + millis
