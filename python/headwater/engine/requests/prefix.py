"""Changes of one table reach a view in their order, in all of its partitions.

Example: ``s`` changed at 4 in ``a=1`` and at 9 in ``a=2``. A view that showed 9 in ``a=2``, and not yet 4 in ``a=1``,
would show a state that ``s`` never had. So 9 waits until 4 can go, too, and who starts for 9 takes 4 along.

That is for tables whose states can be told apart. What was asked for changed nothing, and goes in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from headwater.engine.requests.common_cut import Common, above, is_strict, lets_go
from headwater.engine.requests.coverage import unresolved
from headwater.engine.requests.spans import has_states
from headwater.model.index import Apart
from headwater.model.partition import Needs, Version
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


def goes_in_order(state: State, view: ViewState) -> bool:
    """Whether a view shows the changes of a table in their order. One that reads earlier partitions of itself computes
    one after the other, whatever changed. Nothing is held up where a view upstream cannot be waited for."""
    if not is_strict(view) or view.definition.earlier:
        return False
    lenient = above(state, view.definition.view) & state.index.lenient
    return not any(lets_go(state, state.views[each]) for each in lenient)


def in_order(state: State, pending: Sequence[Versions], free: Sequence[Versions]) -> list[Versions]:
    """The changes for which groups of slices may run; ``free``: if they went in any order. A group with a change that
    is newer than one for which another group may not run yet does not run at all: the versions that it reads may show
    that change already."""
    found = list(free)
    waiting = [each for mine, some in zip(pending, free, strict=True) for each in mine - some]
    if not waiting:
        return found
    newest = [_of_tables(state, some, max) for some in found]
    order: dict[str, list[int]] = {}
    for number, tables in enumerate(newest):
        for table in tables:
            order.setdefault(table, []).append(number)
    for table, numbers in order.items():
        numbers.sort(key=lambda each: newest[each][table])  # the newest is the last, and stops first
    stops = list(_of_tables(state, waiting, min).items())
    for table, stop in stops:
        numbers = order.get(table, [])
        while numbers and newest[numbers[-1]][table] >= stop:
            stopped = numbers.pop()
            if found[stopped]:
                stops += _of_tables(state, found[stopped], min).items()
                found[stopped] = NONE
    return found


def out_of_order(state: State, view: ViewState, awaited: Iterable[Versions]) -> Apart:
    """Why nothing of a view may run, though some of it could in another order: its oldest change that waits."""
    name = view.definition.view
    change = min(NONE.union(*awaited), default=0)
    table = state.origins[change].table if change in state.origins else name
    sources = [each for each in view.definition.sources if each in state.views]
    late = (each for each in sources if any(change in some for some in unresolved(state, each).values()))
    return Apart(name, next(late, name), table, change)


def with_older(state: State, groups: Sequence[Needs], chosen: Sequence[int]) -> list[int]:
    """The numbers of groups that run together: those chosen, and those with a change older than one of the same table
    there."""
    first = [_of_tables(state, _origins(each), min) for each in groups]
    order: dict[str, list[int]] = {}
    for number, tables in enumerate(first):
        for table in tables:
            order.setdefault(table, []).append(number)
    for table, numbers in order.items():
        numbers.sort(key=lambda each: first[each][table], reverse=True)  # the oldest is the last, and goes first
    found, taken = [*chosen], set(chosen)
    for number in found:
        for table, newest in _of_tables(state, _origins(groups[number]), max).items():
            numbers = order[table]
            while numbers and first[numbers[-1]][table] <= newest:
                older = numbers.pop()
                if older not in taken:
                    taken.add(older)
                    found.append(older)
    return found


# --- inside


def _origins(needs: Needs) -> set[Version]:
    return {origin for _, origins in needs for origin in origins}


def _of_tables(
    state: State, changes: Iterable[Version], of: Callable[[Version, Version], Version]
) -> Mapping[str, Version]:
    """The newest of some changes of each table, or the oldest: of those that make another state of their table. With a
    view that its readers went past come changes of what it is made from."""
    found: dict[str, Version] = {}
    for change in changes:
        origin = state.origins[change]
        own = () if origin.asked else ((origin.table, change),)
        brought = [(each.table, of(each.first, each.last)) for each in origin.brings]
        for table, version in (*own, *brought):
            if has_states(state, table):
                found[table] = of(version, found.get(table, version))
    return found
