"""What readers without Headwater are to see of members that are committed together.

Example: ``by_shop`` and ``by_day`` are such members, and readers see their group at epoch 40. So one commit of their
catalog is to show the versions of both that epoch 40 names.
"""

from __future__ import annotations

from headwater.engine.groups.epochs import is_readable
from headwater.engine.groups.kept import shown
from headwater.model.epoch import Epoch
from headwater.model.policy import GroupCommit
from headwater.model.state import State
from headwater.model.view import Definition


def to_show(state: State, now: int) -> dict[str, Epoch]:
    """For each group with members that are committed together the epoch that readers see at a time (ms), of these
    members alone. One of which the epoch cannot be read any more is shown as it is until the next one."""
    found = {}
    for group in sorted(state.groups):
        epoch = shown(state, group, state.numbered, now)
        if epoch is None:
            continue
        names = together(state, group)
        members = tuple(each for each in epoch.members if each.table in names and is_readable(state, each))
        if members:
            found[group] = Epoch(epoch.number, epoch.at, members, ())
    return found


def together(state: State, group: str) -> dict[str, Definition]:
    """The members of a group that ask to be committed together."""
    found = {each: state.views[each].definition for each in sorted(state.index.grouped.get(group, ()))}
    return {name: each for name, each in found.items() if each.policy.commit is GroupCommit.TOGETHER}
