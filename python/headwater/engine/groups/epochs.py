"""The newest epoch that a group can have: versions of its members that show one state of every base table.

Example: ``by_shop`` and ``by_day`` read ``s``, and are members of ``revenue``. ``s`` changed at 4 and at 9. ``by_shop``
has a version for each change, and ``by_day`` lacks 9. The newest epoch has ``by_shop`` as it was at 4, and ``by_day``.

The search is that for a strict view over all members (``engine.requests.common_cut``), but for every table that they
are made from: also of a table that one member alone shows, its version is to show one state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import inf

from headwater.engine.requests.common_cut import above, disagreement, lets_go, loose, walk, went_back
from headwater.engine.requests.coverage import unresolved
from headwater.engine.requests.cut import newest, oldest
from headwater.engine.requests.spans import Walk, has_states
from headwater.model.epoch import Epoch, TableState
from headwater.model.index import Apart, StateSpan
from headwater.model.partition import Version
from headwater.model.reason import Code, Reason
from headwater.model.state import State, Status

UNPROMISED = 60_000
"""The freshness (ms) that counts for a group in which no member promises one."""

KEEPS = "keeps its versions from now on, as a member of a group"
"""Why a view in files is refreshed that joined a group."""


def members(state: State, group: str) -> tuple[str, ...]:
    """The views of a group, in the order of their names."""
    return tuple(sorted(state.index.grouped.get(group, ())))


def next_epoch(state: State, group: str, now: int) -> Epoch | Reason | None:
    """The epoch that follows the last one at a time (ms), or why there is none; ``None`` if no member has a newer
    version than in the last one."""
    names, tables = members(state, group), _tables(state, group)
    if not names:
        return None
    stated = [each for each in tables if has_states(state, each)]
    if why := next(filter(None, (_unfit(state, each, stated) for each in names)), None):
        return why
    walks = {each: walk(state, each, stated) for each in names}
    first = disagreement(walks)
    if apart := went_back(walks):
        return Reason(Code.GROUP_APART, _said(state, apart))
    if why := _undated(state, walks, [each for each in tables if not has_states(state, each)]):
        return why
    span, bases = _together(walks), [each for each in tables if each not in state.views and each in state.tables]
    found, shown = _states(state, walks), tuple(_newest(state, each, span) for each in bases)
    before = {each.table: each for each in _last(state, group)}
    if late := next((each.table for each in (*found, *shown) if _is_older(each, before.get(each.table))), None):
        return Reason(Code.GROUP_APART, f"the members agree only on states of {late} from before the last epoch")
    if all(before.get(each.table) == each for each in found) and not any(
        _is_lost(state, each, before) for each in shown
    ):
        return None if first is None else Reason(Code.GROUP_APART, _said(state, first))
    return Epoch(state.numbered + 1, now, found, shown)


def unkept(state: State, group: str) -> str | None:
    """A member in files that has rows, and no version that is kept of them; ``None`` if there is none, or each such
    member is to be refreshed anyway."""
    for name in members(state, group):
        view, record = state.views[name], state.tables[name]
        files = view.definition.keeps_versions and not view.definition.storage.commits and not view.keeps_none
        runs = name in state.running or view.pending or view.status is not Status.ACTIVE
        if files and record.highest and not record.pinned and not runs:
            return name
    return None


def differing(state: State, group: str, epoch: Epoch) -> Epoch:
    """An epoch with what differs from the one before, as an event has it."""
    before = set(_last(state, group))
    members_, sources = ([each for each in some if each not in before] for some in (epoch.members, epoch.sources))
    return Epoch(epoch.number, epoch.at, tuple(members_), tuple(sources))


def lacks_since(state: State, group: str) -> int | None:
    """When the oldest recorded change came that the newest epoch of a group lacks (ms); ``None`` if it lacks none."""
    epochs = state.groups.get(group, ())
    return min(_lacks(state, group, epochs[-1] if epochs else None), default=None)


def convenes_at(state: State, group: str) -> int:
    """When the members of a group that show no common state are to meet (ms): half of the promised freshness after the
    oldest change that its epoch lacks."""
    promised = (state.views[each].definition.policy.freshness for each in members(state, group))
    half = min((each for each in promised if each is not None), default=UNPROMISED) // 2
    return (lacks_since(state, group) or 0) + half


def is_readable(state: State, known: TableState) -> bool:
    """Whether the snapshot of a table is still one of this table: it was not replaced by another one since."""
    record = state.tables.get(known.table)
    return record is not None and record.pinned and bool(known.snapshot) and known.version >= record.began


def shows_all(state: State, epoch: Epoch, names: Iterable[str]) -> bool:
    """Whether some tables can be read at an epoch."""
    return all((known := epoch.of(each)) is not None and is_readable(state, known) for each in names)


def shows(state: State, group: str, version: Version) -> bool:
    """Whether the newest epoch of a group has all changes up to a version that reach its members."""
    stated = [each for each in _tables(state, group) if has_states(state, each)]
    walks = {each: walk(state, each, stated) for each in members(state, group)}
    last = {each.table: each for each in _last(state, group)}
    if went_back(walks) is not None or any(last.get(each.table) != each for each in _states(state, walks)):
        return False
    others = (origin for name in walks for some in unresolved(state, name).values() for origin in some)
    owed = (each for each in others if not has_states(state, state.origins[each].table))
    return min((*_together(walks).until.values(), *owed), default=inf) > version


# --- inside


def _lacks(state: State, group: str, epoch: Epoch | None) -> Iterator[int]:
    """When changes came that an epoch lacks (ms). Versions are times (see decision 19)."""
    for name in members(state, group):
        known = None if epoch is None else epoch.of(name)
        for version, past in reversed(state.tables[name].past.items()):
            if known is not None and version <= known.version:
                break
            yield from (change for _, change in past.first)
        for origins in unresolved(state, name).values():
            yield from (state.origins[each].at for each in origins)


def _said(state: State, apart: Apart) -> str:
    if apart.table in state.views:
        return f"{apart.behind} is to be refreshed as {apart.table} was redefined, or changed by more than its sources"
    if apart.ahead == apart.behind:
        return f"some rows of {apart.ahead} show a change of {apart.table}, and others not yet"
    return f"{apart.behind} lacks a change of {apart.table} that every version of {apart.ahead} shows"


def _unfit(state: State, name: str, tables: Iterable[str]) -> Reason | None:
    """Why a member has no version for an epoch; ``None`` if it may have one."""
    view, record = state.views[name], state.tables[name]
    if why := lets_go(state, view):
        return why
    if not record.highest:
        return Reason(Code.GROUP_UNFILLED, f"{name} was not filled yet")
    if view.unsure:
        return Reason(Code.GROUP_UNFILLED, f"{name} may show a refresh that is on no record, until its next one")
    if not record.pinned:
        return Reason(Code.GROUP_UNFILLED, f"{name} keeps versions only from its next refresh on")
    return next(iter(loose(state, name, list(tables)).values()), None)


def _undated(state: State, walks: Mapping[str, Walk], tables: Iterable[str]) -> Reason | None:
    """A table without states that the members show differently, or may do so. They agree on it once each of them shows
    all of its changes."""
    for table in tables:
        for name, known in walks.items():
            owed = {origin for some in unresolved(state, name).values() for origin in some}
            late = known.at or any(state.origins[each].table == table for each in owed)
            if table in above(state, name) and late:
                said = f"{table} has no snapshots, and {name} does not show all of its changes yet"
                return Reason(Code.SOURCE_NO_SNAPSHOTS, said)
    return None


def _tables(state: State, group: str) -> list[str]:
    """All that the members of a group are made from, and they themselves."""
    return sorted({table for name in members(state, group) for table in above(state, name)})


def _states(state: State, walks: Mapping[str, Walk]) -> tuple[TableState, ...]:
    """The versions of members at which walks ended."""
    chosen = {name: known.chosen.version or state.tables[name].highest for name, known in walks.items()}
    return tuple(_state(state, name, version) for name, version in chosen.items())


def _last(state: State, group: str) -> tuple[TableState, ...]:
    """All that the last epoch of a group names."""
    known = state.groups.get(group, ())
    return (*known[-1].members, *known[-1].sources) if known else ()


def _is_older(found: TableState, before: TableState | None) -> bool:
    """Whether an epoch would go back. A state that is on record no more has only the change of which it is known."""
    kept = bool(found.snapshot) or (before is not None and not before.snapshot)
    return before is not None and kept and found.version < before.version


def _is_lost(state: State, found: TableState, before: Mapping[str, TableState]) -> bool:
    """Whether a base table can be read at a state now, and not at the one of the last epoch."""
    known = before.get(found.table)
    return is_readable(state, found) and (known is None or not is_readable(state, known))


def _together(walks: Mapping[str, Walk]) -> StateSpan:
    chosen = [each.chosen for each in walks.values()]
    return StateSpan(0, newest(*(each.holds for each in chosen)), oldest(*(each.until for each in chosen)))


def _newest(state: State, table: str, span: StateSpan) -> TableState:
    """The newest recorded state of a base table in a span. If none is on record any more, the change is named that the
    span begins with."""
    record, until = state.tables[table], span.until.get(table, inf)
    known = [each for each in (*record.past, record.highest) if each < until]
    return _state(state, table, max(known, default=span.holds.get(table, 0)))


def _state(state: State, table: str, version: Version) -> TableState:
    record = state.tables[table]
    past = record.past.get(version)
    snapshot = record.snapshot if version == record.highest else past.snapshot if past is not None else ""
    return TableState(table, version, snapshot if record.pinned else "")
