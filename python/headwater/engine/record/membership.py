"""Groups on record: which views are members, and their epochs."""

from __future__ import annotations

from collections.abc import Iterable, Set

from attrs import evolve

from headwater.engine.groups.kept import counting, kept, timetables
from headwater.engine.requests.coverage import upstream
from headwater.model.epoch import Epoch, GroupPublication, TableState
from headwater.model.event import EpochMade, EpochPublished
from headwater.model.state import State


def made(state: State, event: EpochMade) -> None:
    """A group has another epoch; the event has what differs from the one before. Those whose time is over go."""
    group, names = event.group, state.index.grouped.get(event.group, set())
    read = {table for name in names for table in upstream(state, name)}
    known = state.groups.get(group, ())
    last = known[-1] if known else None
    epoch = evolve(
        event.epoch,
        members=_merged(() if last is None else last.members, event.epoch.members, names),
        sources=_merged(() if last is None else last.sources, event.epoch.sources, read),
    )
    before = () if last is None else (*known[:-1], evolve(last, until=epoch.number))
    state.groups[group] = (*before, epoch)
    state.numbered = epoch.number
    if timetables(state, group) and _is_shown(state, group, epoch):
        _publish(state, group, GroupPublication(epoch.number, event.at, epoch.number))
    _tidy(state, group, epoch.at)
    state.convened.discard(group)
    state.index.stale |= names


def publish(state: State, event: EpochPublished) -> None:
    """From now on, readers of a group see its newest epoch."""
    if epochs := state.groups.get(event.group):
        _publish(state, event.group, GroupPublication(event.number, event.at, epochs[-1].number, timed=True))
        _tidy(state, event.group, event.at)


def retime(state: State, at: int) -> None:
    """Members may ask for other times now, which count from now on. Readers go on to see what they see. Where no member
    asks for any, they see each epoch at once."""
    for group in sorted(state.index.grouped):
        epochs, asked = state.groups.get(group, ()), timetables(state, group)
        if epochs and asked and _shows_all(state, group):
            _publish(state, group, GroupPublication(state.numbered + 1, at, epochs[-1].number))
        elif not _shows_all(state, group):
            *others, last = state.published[group]
            if not asked:
                _publish(state, group, GroupPublication(state.numbered + 1, at, None))
            elif {*asked} != {*last.asked}:
                state.published[group] = (*others, evolve(last, asked=asked, since=at))


def advance(state: State, table: str, snapshot: str) -> None:
    """The newest version of a table has another snapshot, with the same rows. The one before may be cleaned up."""
    newest = TableState(table, state.tables[table].highest, snapshot)
    for group, known in state.groups.items():
        if any(_names(each, newest) for each in known):
            state.groups[group] = tuple(_advanced(each, newest) if _names(each, newest) else each for each in known)


def convene(state: State, group: str) -> None:
    """The members of a group run for states that others show, until its next epoch."""
    if names := state.index.grouped.get(group):
        state.convened.add(group)
        state.index.stale |= names


def regroup(state: State, name: str) -> None:
    """A view may have become a member of another group, or of none. Epochs of a group name its members alone."""
    view, grouped = state.views.get(name), state.index.grouped
    group = view.definition.policy.group if view is not None else None
    for each in [each for each, names in grouped.items() if name in names and each != group]:
        grouped[each].discard(name)
        state.index.regrouped.add(each)
        state.index.stale |= grouped[each]
        state.groups[each] = tuple(_without(known, name) for known in state.groups.get(each, ()))
        if not grouped[each]:
            del grouped[each]
            state.groups.pop(each, None)
            state.published.pop(each, None)
            state.convened.discard(each)
            state.index.apart.discard(each)
    if group is not None:
        grouped.setdefault(group, set()).add(name)
        state.index.regrouped.add(group)


def rename(state: State, old: str, new: str) -> None:
    """A view has another name, and groups and epochs name it by that."""
    for names in state.index.grouped.values():
        if old in names:
            names.remove(old)
            names.add(new)
    for group, known in state.groups.items():
        state.groups[group] = tuple(_renamed(each, old, new) for each in known)


# --- inside


def _shows_all(state: State, group: str) -> bool:
    """Whether readers of a group see each epoch as soon as it is made."""
    known = state.published.get(group)
    return not known or known[-1].epoch is None


def _is_shown(state: State, group: str, epoch: Epoch) -> bool:
    """Whether readers see a new epoch before the next publication: it is the first one, or the first one that has some
    member, of a group that the clock did not publish yet."""
    if _shows_all(state, group):
        return True
    last = state.published[group][-1]
    seen = next(each for each in state.groups[group] if each.number == last.epoch)
    return not last.timed and not {each.table for each in epoch.members} <= {each.table for each in seen.members}


def _publish(state: State, group: str, publication: GroupPublication) -> None:
    """Before the first publication, readers saw each epoch as soon as it was made."""
    known = state.published.get(group) or (GroupPublication(0, publication.at, None),)
    asked = timetables(state, group)
    state.published[group] = (*known, evolve(publication, asked=asked, since=publication.at))
    state.numbered = max(state.numbered, publication.number)


def _tidy(state: State, group: str, at: int) -> None:
    """What counts no more goes."""
    epochs, publications = tuple(kept(state, group, at)), tuple(counting(state, group, at))
    state.groups[group] = epochs
    if publications:
        state.published[group] = publications


def _merged(before: Iterable[TableState], newer: Iterable[TableState], of: Set[str]) -> tuple[TableState, ...]:
    """The states of some tables, by their names, where these are newer than before."""
    found = {each.table: each for each in (*before, *newer) if each.table in of}
    return tuple(found[name] for name in sorted(found))


def _without(epoch: Epoch, name: str) -> Epoch:
    return evolve(epoch, members=tuple(each for each in epoch.members if each.table != name))


def _names(epoch: Epoch, state: TableState) -> bool:
    known = epoch.of(state.table)
    return known is not None and known.version == state.version


def _advanced(epoch: Epoch, newest: TableState) -> Epoch:
    def now(each: TableState) -> TableState:
        return newest if each.table == newest.table and each.version == newest.version else each

    return evolve(epoch, members=tuple(map(now, epoch.members)), sources=tuple(map(now, epoch.sources)))


def _renamed(epoch: Epoch, old: str, new: str) -> Epoch:
    def named(each: TableState) -> TableState:
        return evolve(each, table=new) if each.table == old else each

    return evolve(epoch, members=tuple(map(named, epoch.members)))
