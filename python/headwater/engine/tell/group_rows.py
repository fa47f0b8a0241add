"""Groups and their epochs, as rows for statements and the command line. Pure."""

from __future__ import annotations

from attrs import astuple, frozen

from headwater.engine.groups.epochs import lacks_since, members, next_epoch, shows_all
from headwater.engine.groups.kept import kept, next_publication, shown
from headwater.engine.groups.reading import epoch_at
from headwater.engine.tell.columns import Time, columns_of
from headwater.engine.tell.status import Row
from headwater.model.epoch import Epoch, TableState
from headwater.model.reason import Reason
from headwater.model.state import State


@frozen
class GroupRow:
    """A group, as ``SHOW MATERIALIZED VIEW GROUPS`` has it.

    Attributes:
        members: how many views it has.
        epoch: the number of the newest epoch; ``None`` if there is none.
        published: of the one that readers see who name none.
        oldest: the oldest epoch at which all members can be read.
        made_at: when the newest epoch was made.
        next_publication: when readers see the newest one; ``None``: at once.
        lag: seconds since the oldest recorded change that is not in it.
        reason, code: why no newer epoch could be made now.
    """

    group: str
    members: int
    epoch: int | None
    published: int | None
    oldest: int | None
    made_at: Time | None
    next_publication: Time | None
    lag: float | None
    reason: str | None
    code: str | None

    @property
    def row(self) -> Row:
        return list(astuple(self))


@frozen
class StateRow:
    """A table in an epoch of a group, as ``DESCRIBE MATERIALIZED VIEW GROUP`` has it.

    Attributes:
        role: ``member`` or ``source``.
        epoch: the number of the epoch.
        as_of: the number after ``VERSION AS OF``, by which any engine reads this state.
        version: the newest change that it shows.
        newest: the newest version on record.
    """

    table: str
    role: str
    epoch: int | None
    as_of: int | None
    version: int | None
    newest: int | None

    @property
    def row(self) -> Row:
        return list(astuple(self))


GROUPS = columns_of(GroupRow)
STATES = columns_of(StateRow)


def group_rows(state: State, now: int) -> list[GroupRow]:
    """All groups at a time (ms), by name."""
    return [_group(state, each, now) for each in sorted(state.index.grouped)]


def state_rows(state: State, group: str, now: int, at: int | None = None) -> list[StateRow]:
    """The members of a group and their sources, as the epoch has them that readers see, or the newest up to a number.

    Raises:
        StatementError: that epoch is not there.
    """
    read = epoch_at(state, group, at, now) if at or state.groups.get(group) else Epoch(0, 0, (), ())
    named = {each.table for each in read.members}
    found = [_row(state, read, each, "member") for each in read.members]
    missing = [each for each in members(state, group) if each not in named]
    found += [StateRow(each, "member", None, None, None, _highest(state, each)) for each in missing]
    return found + [_row(state, read, each, "source") for each in read.sources]


# --- inside


def _row(state: State, epoch: Epoch, each: TableState, role: str) -> StateRow:
    return StateRow(each.table, role, epoch.number, each.as_of, each.version, _highest(state, each.table))


def _group(state: State, group: str, now: int) -> GroupRow:
    names, known = members(state, group), state.groups.get(group, ())
    oldest = next((each.number for each in kept(state, group, now) if shows_all(state, each, names)), None)
    newest, read = known[-1] if known else None, shown(state, group, state.numbered, now)
    next_at = next_publication(state, group)
    why = next_epoch(state, group, now)
    reason = why if isinstance(why, Reason) else None
    return GroupRow(
        group,
        len(names),
        None if newest is None else newest.number,
        None if read is None else read.number,
        oldest,
        None if newest is None else Time(newest.at),
        None if next_at is None else Time(next_at),
        None if newest is None else _lag(state, group, now),
        None if reason is None else reason.text,
        None if reason is None else reason.code.value,
    )


def _lag(state: State, group: str, now: int) -> float:
    """Seconds since the oldest recorded change that the newest epoch lacks."""
    since = lacks_since(state, group)
    return 0 if since is None else max(0, now - since) / 1000


def _highest(state: State, table: str) -> int | None:
    record = state.tables.get(table)
    return None if record is None or not record.highest else record.highest
