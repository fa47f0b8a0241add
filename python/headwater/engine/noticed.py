"""The events that follow when a look finds a table otherwise than it is on record. All of it is pure.

A look takes time, and no lock is held meanwhile. So each function decides by the state as it is when the event is
recorded, and ``None`` means that there is nothing (any more) to record.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve, frozen

from headwater.ledger.compare import differences, revisited, summary
from headwater.model.event import Changed, Dropped, Observed, Renamed, Unreadable
from headwater.model.partition import Slice
from headwater.model.seen import Command, Seen
from headwater.model.state import State, TableRecord, Version
from headwater.model.view import Definition


@frozen
class Standing:
    """A view as it was when a look began. A look says nothing of a view that moved on since."""

    definition: Definition
    highest: Version


def standing(state: State, view: str) -> Standing | None:
    """How a view stands; ``None`` while it runs, or if there is none of this name."""
    if view not in state.views or view in state.running:
        return None
    return Standing(state.views[view].definition, state.tables[view].highest)


def readability(state: State, seen: Seen, at: int) -> Unreadable | None:
    """Nobody can look at a table any more, or somebody can again."""
    known = state.unreadable.get(seen.table, "")
    return None if known == seen.unreadable else Unreadable(at, seen.table, seen.unreadable)


def is_another(state: State, seen: Seen) -> bool:
    """Whether a table has other columns than on record, is another one, or came or went: its readers may mean something
    else then."""
    record = state.tables.get(seen.table)
    if not seen.exists:
        return record is None or record.created != 0
    return record is not None and (record.schema, record.created) != (seen.schema, seen.incarnation)


def change(state: State, seen: Seen, command: Command, before: Version, at: int, version: Version) -> Changed | None:
    """What changed in a table that is no view; ``before``: the run that was about to read it, if one was."""
    table, record = seen.table, state.tables.get(seen.table)
    if table in state.views:
        return None
    another = is_another(state, seen)
    if not seen.exists:
        return Changed(at, version, table, (), "", 0, f"is gone ({command.said})") if another else None
    changed = _differing(record, seen, command)
    if not changed and not another and record is not None:
        return None
    verb = summary(changed, record, command.said) if changed else f"has other columns ({command.said})"
    return Changed(
        at, version, table, changed, seen.schema, seen.incarnation, verb, record is None, before, seen.snapshot
    )


def drift(state: State, seen: Seen, was: Standing, command: Command, at: int, version: Version) -> Changed | None:
    """Somebody wrote a view's files past Headwater."""
    if standing(state, seen.table) != was or was.highest == 0:
        return None
    record = state.tables[seen.table]
    drifted = differences(record, seen.partitions)
    if not drifted:
        return None
    verb = f"was written past Headwater ({command.said or 'by another program'})"
    return Changed(at, version, seen.table, drifted, record.schema, record.created, verb)


def lost(state: State, view: str, was: Standing, to: str | None, at: int) -> Dropped | Renamed | None:
    """The table of a view is gone, or another table has its name. If its own table has another name now, ``to``, the
    view keeps its files under that name."""
    if standing(state, view) != was or to in state.views:
        return None
    return Dropped(at, view) if to is None else Renamed(at, view, to, evolve(was.definition, view=to))


def _differing(record: TableRecord | None, seen: Seen, command: Command) -> tuple[Observed, ...]:
    """The partitions that differ from the record, but for those that hold the same rows in other files. The record
    keeps the snapshot that it is of, so the next look compares with the same one."""
    named = [each for each in _written(seen, command) if each.columns == seen.columns]
    found = (*differences(record, seen.partitions, seen.looked), *revisited(record, seen.partitions, seen.empty, named))
    return tuple(each for each in found if each.slice not in seen.rearranged)


def _written(seen: Seen, command: Command) -> Iterable[Slice]:
    """The partitions, or families of them, that a command wrote, as far as that is known."""
    if seen.asked:
        return seen.asked if command.said else ()
    return seen.empty if command.may_empty else ()
