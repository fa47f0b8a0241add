"""Groups on record: which views are members, and their epochs."""

from __future__ import annotations

from itertools import pairwise

from attrs import evolve

from headwater.model.epoch import Epoch, TableState
from headwater.model.event import EpochMade
from headwater.model.state import State

MOST = 300
"""So many replaced epochs of a group are kept, if ``headwater.retain`` does not end earlier."""


def made(state: State, event: EpochMade) -> None:
    """A group has another epoch. Those that were replaced more than ``headwater.retain`` ago go: the longest one of
    the members counts."""
    known = (*state.groups.get(event.group, ()), event.epoch)
    names = state.index.grouped.get(event.group, set())
    retain = max((state.views[each].definition.policy.retain for each in names), default=0)
    replaced = [each for each, after in pairwise(known) if after.at > event.epoch.at - retain]
    state.groups[event.group] = (*replaced[-MOST:], event.epoch)
    state.numbered = event.epoch.number
    state.convened.discard(event.group)
    state.index.stale |= names


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
        state.groups[each] = tuple(_without(known, name) for known in state.groups.get(each, ()))
        if not grouped[each]:
            del grouped[each]
            state.groups.pop(each, None)
            state.convened.discard(each)
            state.index.apart.discard(each)
    if group is not None:
        grouped.setdefault(group, set()).add(name)
        state.index.regrouped.add(group)


def _without(epoch: Epoch, name: str) -> Epoch:
    return evolve(epoch, members=tuple(each for each in epoch.members if each.table != name))


def rename(state: State, old: str, new: str) -> None:
    """A view has another name, and epochs name it by that."""
    for group, known in state.groups.items():
        state.groups[group] = tuple(_renamed(each, old, new) for each in known)


def _renamed(epoch: Epoch, old: str, new: str) -> Epoch:
    def named(each: TableState) -> TableState:
        return evolve(each, table=new) if each.table == old else each

    return evolve(epoch, members=tuple(map(named, epoch.members)))
