"""Which of the refreshes that may start comes first: one rule for priorities, bounds, plans and tracks.

Example: ``report`` has priority 10 and waits for 5 s, ``archive`` has priority 1 and waits for 60 s. The refresh of
``report`` takes 2 s and takes 25 off the weighted staleness for each second of work, that of ``archive`` takes 30 s and
takes 2 off. So ``report`` starts first.

In this order:

1. refreshes for which a statement waits;
2. those that waited for ``PATIENCE``, the oldest first;
3. those of which the promised freshness can still be kept, and not for long;
4. the others by their benefit: the weighted staleness that a second of work takes off, with the best of the views
   downstream ([Golab11] §3.1, and ``engine.decide.benefit``). Where there is a plan, the priority decides, and then
   the plan: it keeps rows in memory for their readers.

A refresh of many partitions that takes more than a minute runs in pieces, in the order of time, while others wait. On
the last free track a piece ends before the next promise must start, and a refresh that cannot end by then waits. A
long refresh leaves the last free track to views that matter as much, are much shorter, and will change before it
ends. A backfill that somebody asked for has no promise of its own, and waits for those of others on any track.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from heapq import nlargest
from math import inf

from attrs import evolve, frozen

from headwater.engine.decide.benefit import benefit
from headwater.engine.decide.readiness import Choice, Ready, starts
from headwater.engine.methods.following import lately
from headwater.engine.waits.deadline import Due
from headwater.engine.waits.freshness import slack
from headwater.model.partition import overlapping, sort_key
from headwater.model.state import State, Status

PATIENCE = 3_600_000
"""So long (ms) a refresh that may start waits for more urgent ones, at most, while tracks become free."""
MUCH = 10.0
"""A refresh that takes so many times as long as another one would block it."""
SOON = 2.0
"""A promise is at stake if a refresh must start within so many times the time that it takes."""
UNKNOWN, LEAST = 1.0, 0.001
"""Seconds of a refresh of which nobody knows how long it takes; and of the quickest."""
PIECE = 60.0
"""A refresh of many partitions that takes more seconds is divided while others wait."""
MANY = 100
"""So many refreshes are compared; of more, those whose weighted staleness is greatest."""


class Kind(IntEnum):
    """Why a refresh comes first; the least kind does."""

    ASKED = 0
    PATIENT = 1
    PROMISED = 2
    PLAIN = 3


@frozen
class Claim:
    """A refresh that may start, and what its place depends on.

    Attributes:
        hurried: a statement waits for it.
        asked: it is a backfill that somebody asked for, and nothing else.
        since: when its oldest change came (ms).
        latest: when it must start to keep a promised freshness (ms); ``None``: nothing is promised.
        weight: the greatest priority of its view and those downstream.
        seconds: that it takes.
        worth: finds its benefit, which takes a walk through the views downstream.
    """

    choice: Choice
    hurried: bool
    asked: bool
    since: int
    latest: int | None
    weight: float
    seconds: float
    worth: Callable[[], float]

    @property
    def benefit(self) -> float:
        """What a second of work takes off the weighted staleness."""
        return self.worth()

    def kind(self, now: int) -> Kind:
        if self.hurried:
            return Kind.ASKED
        if now - self.since >= PATIENCE:
            return Kind.PATIENT
        soon = 1000 * SOON * self.seconds
        return Kind.PROMISED if self.latest is not None and now <= self.latest <= now + soon else Kind.PLAIN


def first(
    state: State, choices: Sequence[Choice], now: int, free: int, tracks: int, planned: bool = False
) -> Choice | None:
    """The refresh that starts next on one of the free tracks; ``None``: the last one is better left free, and as others
    are busy, something will end.

    Args:
        choices: what may start, in the order of the schedule.
        planned: whether that is the order of a plan.
    """
    weights = Weights(state)
    ordered = _ordered(state, choices, now, planned, weights)
    promises = _promises(state, now, expected=tracks > 1) if free == 1 and state.index.promising else {}
    for each in ordered:
        if each.kind(now) is not Kind.PLAIN:
            return each.choice
        room = min((at - now for name, at in promises.items() if name != each.choice.ready.view), default=inf) / 1000
        size = room if len(ordered) == 1 else min(room, PIECE)
        choice, seconds = _piece(state, each, size)
        late = seconds > room and (tracks > 1 or each.asked)
        if not late and (free > 1 or tracks == 1 or not _blocks(state, each, now, weights)):
            return choice
    return None


def queue(state: State, choices: Sequence[Choice], now: int, planned: bool = False) -> list[Claim]:
    """What may start, the most urgent first."""
    return _ordered(state, choices, now, planned, Weights(state))


class Weights:
    """The greatest priority of each view and of those downstream: *max* of [Golab11] §3.3."""

    def __init__(self, state: State) -> None:
        self._state, self._known = state, dict[str, float]()

    def __getitem__(self, name: str) -> float:
        if name not in self._known:
            self._find(name)
        return self._known[name]

    def _find(self, name: str) -> None:
        state, below = self._state, {name: None}
        for each in (downwards := [name]):
            new = [one for one in self._readers(each) if one not in below and one not in self._known]
            below |= dict.fromkeys(new)
            downwards += new
        for each in sorted(below, key=state.index.order.__getitem__, reverse=True):
            readers = [self._known[one] for one in self._readers(each) if one != each]
            self._known[each] = max([state.views[each].definition.policy.priority, *readers])

    def _readers(self, name: str) -> list[str]:
        views = self._state.views
        return [each for each in self._state.index.readers.get(name, ()) if views[each].status is Status.ACTIVE]


# --- inside


def _promises(state: State, now: int, expected: bool) -> dict[str, int]:
    """When the views must start that are held for a promise (ms).

    Args:
        expected: also those that will be, by the gaps between the changes of their sources.
    """
    found: dict[str, int] = {}
    for name, view in state.views.items():
        held = slack(state, name) if view.status is Status.ACTIVE else None
        if held is None or view.costs.took is None:
            continue
        start = starts(state, name) if view.pending else None
        at = None if start is None else start.at
        if not view.pending and expected and (change := _next(state, name, now)) < inf:
            at = round(change) + max(0, held.millis)
        if at is not None and at > now:
            found[name] = at
    return found


def _piece(state: State, claimed: Claim, size: float) -> tuple[Choice, float]:
    """As many of the partitions of a refresh as take ``size`` seconds, at least one, the earliest first, and what they
    take. The others stay pending, and others may run before them: [Golab11] §3.4."""
    choice, ready = claimed.choice, claimed.choice.ready
    if claimed.seconds <= size or state.views[ready.view].definition.earlier:
        return choice, claimed.seconds
    groups = sorted(overlapping(ready.slices), key=lambda group: sort_key(group[0]))
    count = max(1, int(len(groups) * size / claimed.seconds))
    taken = {each for group in groups[:count] for each in group}
    needs = tuple(need for need in ready.needs if need[0] in taken)
    if len(needs) == len(ready.needs):
        return choice, claimed.seconds
    return Choice(evolve(ready, needs=needs)), claimed.seconds * count / len(groups)


def _ordered(state: State, choices: Sequence[Choice], now: int, planned: bool, weights: Weights) -> list[Claim]:
    if len(choices) > MANY:
        choices = nlargest(MANY, choices, key=lambda each: weights[each.ready.view] * (now - _since(state, each)))
    claims = [_claim(state, each, now, weights) for each in choices]
    place = {id(each): n for n, each in enumerate(claims)}

    def key(each: Claim) -> tuple[float, ...]:
        kind = each.kind(now)
        if kind in (Kind.ASKED, Kind.PATIENT):
            return kind, -each.weight, place[id(each)] if planned else each.since
        if kind is Kind.PROMISED and each.latest is not None:
            return kind, each.latest
        return (kind, -each.weight, place[id(each)]) if planned else (kind, -each.benefit, each.since)

    return sorted(claims, key=key)


def _claim(state: State, choice: Choice, now: int, weights: Weights) -> Claim:
    ready = choice.ready
    view, since = state.views[ready.view], _since(state, choice)
    due, bound, seconds = Due(state, view), view.definition.policy.freshness, _seconds(state, ready)
    origins = [state.origins[each] for _, some in ready.needs for each in some]
    changed = [each.at for each in origins if not each.asked]
    return Claim(
        choice,
        any(due.hurried(each) for each in ready.origins),
        not changed,
        since,
        None if bound is None or not changed else min(changed) + bound - round(1000 * seconds),
        weights[ready.view],
        seconds,
        lambda: _benefit(state, ready, since, seconds, now),
    )


def _since(state: State, choice: Choice) -> int:
    """When the oldest change of a refresh came: versions grow with time."""
    return state.origins[min(origin for _, origins in choice.ready.needs for origin in origins)].at


def _seconds(state: State, ready: Ready) -> float:
    """What a refresh takes, by those of the past; for more partitions than usual, in proportion."""
    view = state.views[ready.view]
    narrow = lately(view)
    if narrow is not None:
        return max(LEAST, narrow)
    more = max(1.0, len(ready.needs) / view.costs.partitions) if view.costs.partitions else 1.0
    return more * _took(state, ready.view)


def _benefit(state: State, ready: Ready, since: int, seconds: float, now: int) -> float:
    """The benefit of a refresh with the best of the pending views downstream."""
    readers = _pending_readers(state, ready.view)
    priority = {each: state.views[each].definition.policy.priority for each in readers}
    delta = {each: max(0, now - _oldest(state, each)) / 1000 for each in readers if each != ready.view}
    delta[ready.view] = max(0, now - since) / 1000
    takes = {each: _took(state, each) for each in readers} | {ready.view: seconds}
    return benefit(ready.view, readers, {each: priority[each] * delta[each] for each in readers}, takes)


def _pending_readers(state: State, root: str) -> Mapping[str, Sequence[str]]:
    """The pending views downstream of a view, each under the one of its sources that is refreshed last."""
    found, under = [root], dict[str, str]()
    for each in found:
        for reader in state.index.readers.get(each, ()):
            view = state.views[reader]
            if view.pending and view.status is Status.ACTIVE:
                if reader not in under and reader != root:
                    found.append(reader)
                if reader not in under or state.index.order[under[reader]] < state.index.order[each]:
                    under[reader] = each
    tree: dict[str, list[str]] = {each: [] for each in found}
    for reader, source in under.items():
        tree[source].append(reader)
    return tree


def _oldest(state: State, name: str) -> int:
    return min(state.origins[each].at for origins in state.views[name].pending.values() for each in origins)


def _took(state: State, name: str) -> float:
    took = state.views[name].costs.took
    return max(LEAST, took.mean) if took is not None else UNKNOWN


def _blocks(state: State, claimed: Claim, now: int, weights: Weights) -> bool:
    """Whether a refresh would take the last track from a view that matters as much, is much shorter, and will change
    before it ends."""
    name = claimed.choice.ready.view
    for other, view in state.views.items():
        took = view.costs.took
        if other == name or view.status is not Status.ACTIVE or took is None or took.mean * MUCH > claimed.seconds:
            continue
        if weights[other] >= claimed.weight and _next(state, other, now) < now + 1000 * claimed.seconds:
            return True
    return False


def _next(state: State, name: str, now: int) -> float:
    """When the next change of a source of a view may be expected (ms): one gap after the last one."""
    found = inf
    for source in state.views[name].definition.sources:
        record = state.tables.get(source)
        if record is not None and record.gap is not None and record.changed_at is not None:
            expected = record.changed_at + 1000 * record.gap
            # A source that is long overdue has stopped: no track waits for it.
            found = min(found, expected if now <= expected + 1000 * record.gap else inf)
    return found
