"""Which state of a table a statement reads that asks for an epoch.

Epochs of all groups are numbered together. So a number is a moment: each group is read at its newest epoch up to it.
Where readers name no number, a group that publishes at times is read at the epoch that was published up to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attrs import frozen

from headwater.engine.groups.epochs import is_readable, next_epoch, shows_all
from headwater.engine.groups.epochs import members as members_of
from headwater.engine.groups.kept import kept, made_at, ranges, shown
from headwater.engine.requests.common_cut import above
from headwater.model.epoch import Epoch, TableState
from headwater.model.error import StatementError
from headwater.model.name import loosely, spelled
from headwater.model.properties import nearest
from headwater.model.reason import Reason
from headwater.model.state import State

LATEST = "SET spark.headwater.read = latest reads each view as it is"


@frozen
class ReadStates:
    """The states of some tables at a moment, which is a number. The others are read as they are."""

    moment: int
    states: Mapping[str, TableState]


@frozen
class _At:
    """How groups are read.

    Attributes:
        moment: its number.
        fixed: a session names it, and so reads epochs that are not published, too.
        now: the time (ms): what was replaced long ago is gone.
    """

    moment: int
    fixed: bool
    now: int

    def of(self, state: State, group: str) -> Epoch | None:
        return (made_at if self.fixed else shown)(state, group, self.moment, self.now)


def read_states(
    state: State, tables: Collection[str], epoch: int | None, sources: bool, now: int, moment: int | None = None
) -> ReadStates:
    """The states of those of some tables that are members of groups and, with ``sources``, of their base tables.

    Args:
        epoch: the number that the session names; ``None``: it names none.
        now: the time (ms): replaced epochs end with it.
        moment: that of the first tables of the same statement; ``None``: these are the first.

    Raises:
        StatementError: one of them cannot be read at that moment.
    """
    _require(state, epoch)
    at = _At((state.numbered if moment is None else moment) if epoch is None else epoch, epoch is not None, now)
    found = {}
    for table in tables:
        view = state.views.get(table)
        if view is not None and (group := view.definition.policy.group) is not None:
            found[table] = _member(state, group, table, at)
    if sources:
        groups = {state.views[each].definition.policy.group for each in found}
        bases = [each for each in tables if each not in state.views and each in state.tables]
        found |= {each: known for each in bases if (known := _source(state, each, at, groups)) is not None}
    return ReadStates(at.moment, found)


def group_of(state: State, name: str) -> str:
    """The group of this name.

    Raises:
        StatementError: there is none; the message has the nearest one.
    """
    groups, found = sorted(state.index.grouped), loosely(name)
    if found in groups:
        return found
    other = nearest(found, groups, "") if groups else "; no view has the property 'headwater.group'"
    raise StatementError(f"there is no group {name}{other}")


def epoch_at(state: State, group: str, number: int | None, now: int) -> Epoch:
    """The newest epoch of a group up to a number; ``None``: the one that readers see.

    Raises:
        StatementError: it is not there.
    """
    _require(state, number)
    return _epoch(state, group, _At(state.numbered if number is None else number, number is not None, now))


# --- inside


def _require(state: State, epoch: int | None) -> None:
    if epoch is not None and epoch > state.numbered:
        newest = f"the newest is {state.numbered}" if state.numbered else "there is none yet"
        raise StatementError(f"there is no epoch {epoch}; {newest}. Where a store was lost, numbers begin anew")


def _member(state: State, group: str, name: str, at: _At) -> TableState:
    epoch = _epoch(state, group, at)
    known = epoch.of(name)
    if known is None:
        if epoch.number < state.numbered and (newest := state.groups[group][-1]).of(name) is not None:
            how = f"SET spark.headwater.read.epoch = {newest.number} reads the newest one, which has it"
        else:
            how = f"REFRESH MATERIALIZED VIEW GROUP {spelled((group,))} waits for an epoch that has it"
        told = f"{name} is no member of {group} in its epoch {epoch.number}, as it joined the group, or was made, later"
        raise StatementError(f"{told}; {how}")
    if not is_readable(state, known):
        raise StatementError(
            f"epoch {epoch.number} of {group} is gone for {name}, which {_since(state, group, name, at.now)}"
        )
    return known


def _since(state: State, group: str, name: str, now: int) -> str:
    """What readers can do about an epoch in which a member cannot be read."""
    left = [each for each in kept(state, group, now) if shows_all(state, each, [name])]
    if left:
        return f"can be read at the epochs {ranges(left)}"
    told = f"REFRESH MATERIALIZED VIEW GROUP {spelled((group,))} waits for its next epoch"
    return f"was redefined, replaced or cleaned up since; {told}"


def _epoch(state: State, group: str, at: _At) -> Epoch:
    """The epoch at which a group is read."""
    found, known = at.of(state, group), kept(state, group, at.now)
    if found is not None:
        return found
    if known:
        if not at.fixed:
            raise StatementError(
                f"what readers of {group} saw at the moment {at.moment} is gone; run the statement again"
            )
        raise StatementError(f"epoch {at.moment} of {group} is gone; {ranges(known)} can be read")
    why = next_epoch(state, group, 0)
    said = f"{why}. {LATEST}" if isinstance(why, Reason) else LATEST
    raise StatementError(f"the group {group} has no epoch yet: {said}")


def _source(state: State, table: str, at: _At, groups: Collection[str | None]) -> TableState | None:
    """The state of a base table in the epochs that show it: in those of the groups that the statement reads, if there
    are any; ``None`` if no group does."""
    showing = {
        group: known
        for group in sorted(state.groups)
        if any(table in above(state, each) for each in members_of(state, group))
        and (known := _shown(state, group, at, table)) is not None
    }
    mine = {group: known for group, known in showing.items() if group in groups} or showing
    if not mine:
        return None
    known, *others = mine.values()
    if any(each.version != known.version for each in others):
        raise StatementError(
            f"{table} is a source of {' and '.join(mine)}, whose epochs show different states of it; read the groups "
            "in statements of their own"
        )
    if not is_readable(state, known):
        raise StatementError(
            f"the state of {table} that {' and '.join(mine)} show cannot be read: it has no snapshots, they are gone, "
            "or its columns changed since; SET spark.headwater.read = consistent reads the members of groups alone"
        )
    return known


def _shown(state: State, group: str, at: _At, table: str) -> TableState | None:
    epoch = at.of(state, group)
    return None if epoch is None else next((each for each in epoch.sources if each.table == table), None)
