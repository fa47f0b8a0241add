"""Changes of one table reach a view in their order, in all of its partitions.

Example: ``s`` changed at 4 in ``a=1`` and at 9 in ``a=2``. A view that showed 9 in ``a=2``, and not yet 4 in ``a=1``,
would show a state that ``s`` never had. So 9 waits until 4 can go, too, and who starts for 9 takes 4 along.

That is for tables whose states can be told apart. What was asked for changed nothing, and goes in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headwater.engine.requests.common_cut import Common, has_states, is_strict, lets_go
from headwater.engine.requests.coverage import upstream
from headwater.model.partition import Needs, Slice, Version
from headwater.model.state import State, ViewState

Versions = frozenset[Version]
NONE: Versions = frozenset()


def lacked(state: State, view: ViewState, agreed: Common) -> Versions:
    """Of what is pending for a view, the changes that versions of its sources lack."""
    if not agreed.until:
        return frozenset()
    pending = frozenset().union(*view.pending.values())
    origins = (state.origins[each] for each in pending)
    return frozenset(each.version for each in origins if not each.asked and agreed.lacks(each.table, each.version))


def goes_in_order(view: ViewState) -> bool:
    """Whether a view shows the changes of a table in their order. One that reads earlier partitions of itself computes
    one after the other, whatever changed."""
    return is_strict(view) and not view.definition.earlier


def in_order(
    state: State, view: ViewState, groups: Sequence[Sequence[Slice]], free: Sequence[Versions]
) -> list[Versions]:
    """The changes for which groups of slices may run. A group with a change that is newer than one for which another
    group may not run yet does not run at all: the versions that it reads may show that change already. Nothing is held
    up where a view upstream cannot be waited for.
    """
    if any(lets_go(state, state.views[each]) for each in upstream(state, view.definition.view) & state.views.keys()):
        return list(free)
    pending = [frozenset().union(*(view.pending[each] for each in group)) for group in groups]
    found = list(free)
    while True:
        stops = _first(state, (mine - some for mine, some in zip(pending, found, strict=True)))
        kept = [NONE if _is_beyond(state, some, stops) else some for some in found]
        if kept == found:
            return found
        found = kept


def with_older(state: State, groups: Sequence[Needs], chosen: Sequence[Needs]) -> list[Needs]:
    """Groups that run together: those chosen, and those with a change older than one of the same table there."""
    found, others = list(chosen), [each for each in groups if each not in chosen]
    newest: dict[str, Version] = {}
    _raise(state, newest, found)
    while more := [each for each in others if any(_is_older(state, newest, origin) for origin in _origins(each))]:
        found += more
        others = [each for each in others if each not in more]
        _raise(state, newest, more)
    return found


# --- inside


def _raise(state: State, newest: dict[str, Version], groups: Iterable[Needs]) -> None:
    for origin in (each for needs in groups for each in _origins(needs) if _counts(state, each)):
        table = state.origins[origin].table
        newest[table] = max(origin, newest.get(table, 0))


def _is_older(state: State, newest: dict[str, Version], origin: Version) -> bool:
    return _counts(state, origin) and origin <= newest.get(state.origins[origin].table, 0)


def _origins(needs: Needs) -> set[Version]:
    return {origin for _, origins in needs for origin in origins}


def _first(state: State, waiting: Iterable[Versions]) -> dict[str, Version]:
    """The first change of each table among those that wait."""
    found: dict[str, Version] = {}
    for each in NONE.union(*waiting):
        table = state.origins[each].table
        if _counts(state, each):
            found[table] = min(each, found.get(table, each))
    return found


def _is_beyond(state: State, origins: Versions, stops: Mapping[str, Version]) -> bool:
    return bool(stops) and any(
        each >= stops.get(state.origins[each].table, each + 1) for each in origins if _counts(state, each)
    )


def _counts(state: State, change: Version) -> bool:
    """Whether a change makes another state of its table."""
    origin = state.origins[change]
    return not origin.asked and has_states(state, origin.table)
