"""Members of a group that convenes run up to a state that another member shows, before they go on.

Example: ``v1`` ran for the changes 4, and 9 with 12, and ``v2`` ran for 4 with 9. They have no version in common. If
the group convenes, the next run of ``v2`` leaves the changes after 12 for a later one, as ``v1`` has a version with 12.
Then there is an epoch. ``v1`` goes on meanwhile, as its older versions can be read.

That does for views what the merge process of [Garcia98] §4.3 does by transactions, and holds no view up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from attrs import evolve

from headwater.engine.requests.cut import carried, newest, oldest
from headwater.engine.requests.spans import has_states, older
from headwater.model.index import StateSpan
from headwater.model.partition import Version
from headwater.model.state import State, Status

MOST = 20
"""So many versions of a member may match a place, the newest ones."""

NEWEST = 3
"""So many versions of a member may be the place: one that a run makes, the newest, and the one before."""


def left_for_later(state: State, name: str) -> Mapping[str, Version]:
    """For each table, the first change that a run of a member leaves for a later run; empty if it may take all. It
    takes all that somebody waits for."""
    view = state.views.get(name)
    group = None if view is None else view.definition.policy.group
    if view is None or group is None or group not in state.convened:
        return {}
    if group not in state.index.places:
        state.index.places[group] = _place(state, sorted(state.index.grouped.get(group, ())))
    place = state.index.places[group]
    if place is None or _has(_versions(state, name), place):
        return {}
    waited_for = any(change <= max(state.hurried, view.hurried) for change in place.until.values())
    pending = frozenset[Version]().union(*view.pending.values())
    return {} if waited_for or any(state.origins[each].asked for each in pending) else place.until


# --- inside


def _place(state: State, names: Sequence[str]) -> StateSpan | None:
    """A version that some members have a match for, and all others can run up to: of these the one that most members
    match, and then the newest. What all members match is an epoch already."""
    if any(state.views[each].definition.policy.is_timed for each in names):
        return None  # one that waits for its time holds up no other
    if any(state.views[each].status is not Status.ACTIVE or state.views[each].released for each in names):
        return None  # there is no epoch before it goes on
    versions = [_versions(state, each) for each in names]
    alike = {_key(each): each for some in versions for each in some[:NEWEST]}
    best: tuple[tuple[int, Version], StateSpan] | None = None
    for place in alike.values():
        matched = [_has(some, place) for some in versions]
        if all(matched) or not all(met or _can(some, place) for met, some in zip(matched, versions, strict=True)):
            continue
        rank = sum(matched), max(place.holds.values(), default=0)
        best = (rank, place) if best is None or rank > best[0] else best
    return None if best is None else best[1]


def _key(span: StateSpan) -> tuple[object, ...]:
    return tuple(sorted(span.holds.items())), tuple(sorted(span.until.items()))


def _has(versions: Sequence[StateSpan], place: StateSpan) -> bool:
    return any(_meet(each, place) for each in versions)


def _versions(state: State, name: str) -> list[StateSpan]:
    """What the versions of a member show, the newest first. One that a run makes now is the newest."""
    view, record, run = state.views[name], state.tables[name], state.running.get(name)
    if not record.highest or not record.pinned:
        return []
    found = [StateSpan(record.highest, view.holds), *older(state, name).spans[:MOST]]
    until = carried(state, view.pending.values(), min)
    if run is not None:
        needs = [origins for _, origins in run.needs]
        made = newest(view.holds, dict(run.holds), carried(state, needs, max))
        came = oldest(carried(state, needs, min), until)
        found = [StateSpan(run.version, made), *(evolve(each, until=oldest(each.until, came)) for each in found)]
    return [_stated(state, evolve(each, until=oldest(each.until, until))) for each in found]


def _stated(state: State, span: StateSpan) -> StateSpan:
    """A span without the tables whose states cannot be told apart: no run can stop at one of these."""
    holds, until = (
        {each: at for each, at in some.items() if has_states(state, each)} for some in (span.holds, span.until)
    )
    return StateSpan(span.version, holds, until)


def _meet(one: StateSpan, other: StateSpan) -> bool:
    """Whether two versions, and each by itself, are of one state of every table."""
    return all(
        change < min(one.until.get(table, inf), other.until.get(table, inf))
        for each in (one, other)
        for table, change in each.holds.items()
    )


def _can(versions: Sequence[StateSpan], place: StateSpan) -> bool:
    """Whether the newest version of a member shows nothing beyond a place, so that a run can end there."""
    within = all(change < place.until.get(table, inf) for each in versions[:1] for table, change in each.holds.items())
    return bool(versions) and within and _meet(place, place)
