"""The events that follow when a look finds a table otherwise than it is on record. All of it is pure.

A look takes time, and no lock is held meanwhile. So each function decides by the state as it is when the event is
recorded, and ``None`` means that there is nothing (any more) to record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from attrs import evolve, frozen

from headwater.model.event import FRESH, Advanced, Changed, Dropped, Observed, Renamed, Unreadable
from headwater.model.partition import Region, Slice, Version
from headwater.model.reason import Code, Reason
from headwater.model.seen import Command, Seen
from headwater.model.state import State, TableRecord
from headwater.model.view import Definition


@frozen
class Standing:
    """A view as it was when a look began. A look says nothing of a view that moved on since."""

    definition: Definition
    highest: Version


@frozen
class Finding:
    """What a look found of a table.

    Attributes:
        command: that wrote there, if one is known to have.
        before: the run that is about to read the table, if one is.
        is_view: whether the table was that of a view as the look began; ``was``: how that stood then.
    """

    seen: Seen
    command: Command = Command()
    before: Version = 0
    is_view: bool = False
    was: Standing | None = None


def standing(state: State, view: str, running: bool = False) -> Standing | None:
    """How a view stands; ``None`` if there is none of this name, or while it runs: unless ``running`` is no matter."""
    if view not in state.views or (view in state.running and not running):
        return None
    return Standing(state.views[view].definition, state.tables[view].highest)


def readability(state: State, seen: Seen, at: int) -> Unreadable | None:
    """Nobody can look at a table any more, or somebody can again."""
    known = state.unreadable.get(seen.table)
    return None if known == seen.unreadable else Unreadable(at, seen.table, seen.unreadable)


def without_lost(state: State, seen: Seen, command: Command) -> Seen:
    """What a look found; it is unreadable if a directory is away whose files are on record. One that never had files is
    empty, as it is for Spark: a table may be declared before its first write, and a partition too. So is one that a
    command wrote without a row: Spark deletes its directory, and the catalog goes on listing it."""
    record = state.tables.get(seen.table)
    if record is None or record.created != seen.incarnation or seen.table in state.views:
        return seen
    emptied = Region(seen.asked if command.may_empty else ())
    for each, location in seen.away.items():
        known = None if emptied.covers(each) else record.partitions.get(each)
        if known is not None and known.fingerprint not in (None, seen.partitions[each]):
            remedy = f"write to it, or drop the partition {each}" if each.bound else "or write to it"
            said = f"{location} is not there; put it back, {remedy}; while a program writes it, wait"
            return Seen(seen.table, unreadable=Reason(Code.SOURCE_FILES_MISSING, said))
    return seen


def is_another(state: State, seen: Seen) -> bool:
    """Whether a table has other columns than on record, is another one, or came or went: its readers may mean something
    else then."""
    record = state.tables.get(seen.table)
    if not seen.exists:
        return record is None or record.created != 0
    return record is not None and (record.schema, record.created) != (seen.schema, seen.incarnation)


def noticed(state: State, found: Finding, at: int) -> Changed | Advanced | None:
    """The event that follows where a table is otherwise than on record."""
    seen, event = found.seen, None
    if not found.is_view:
        event = change(state, seen, found.command, found.before, at)
    elif found.was is None:
        return None
    else:
        event = drift(state, seen, found.was, found.command, at)
    return event or advance(state, seen, at)


def gone(state: State, found: Finding) -> Standing | None:
    """How a view stands whose table a look did not find under its name; ``None`` if it did."""
    seen, now = found.seen, standing(state, found.seen.table, running=True)
    if not found.is_view or now is None:
        return None
    if seen.exists and (seen.unreadable or is_outdated(state, seen) or seen.owner == now.definition.owner):
        return None
    return now


def change(state: State, seen: Seen, command: Command, before: Version, at: int) -> Changed | None:
    """What changed in a table that is no view; ``before``: the run that was about to read it, if one was."""
    table, record = seen.table, state.tables.get(seen.table)
    if table in state.views or is_outdated(state, seen):
        return None
    another = is_another(state, seen)
    if not seen.exists:
        verb = f"is gone ({command.said})"
        return Changed(at, FRESH, table, (), "", 0, verb, code=Code.SOURCE_GONE) if another else None
    changed = _differing(record, seen, command)
    if not changed and not another and record is not None:
        return None
    if changed:
        verb, code = summary(changed, record, command.said), Code.SOURCE_CHANGED
    else:
        verb, code = f"has other columns ({command.said})", Code.SOURCE_COLUMNS_CHANGED
    if seen.lost and record is not None:
        verb, code = f"{verb}. All its partitions count as changed: {seen.lost}", Code.SOURCE_HISTORY_LOST
    return Changed(
        at,
        FRESH,
        table,
        changed,
        seen.schema,
        seen.incarnation,
        verb,
        baseline=record is None,
        before=0 if seen.pinned else before,  # the run reads the snapshot that was on record as it began
        snapshot=seen.snapshot,
        pinned=seen.pinned,
        churn=None if another else seen.churn,
        went=seen.went,
        watermark=seen.watermark,
        code=code,
    )


def advance(state: State, seen: Seen, at: int) -> Advanced | None:
    """A table has another snapshot, or its stream another watermark, and nothing else is new."""
    record = state.tables.get(seen.table)
    if record is None or not seen.exists:
        return None
    snapshot = seen.snapshot if seen.pinned and record.pinned else record.snapshot
    if snapshot == record.snapshot and seen.watermark in (None, record.watermark):
        return None
    if is_outdated(state, seen) or differences(record, seen.partitions, seen.looked):
        return None
    return Advanced(at, seen.table, snapshot, seen.watermark)


def is_outdated(state: State, seen: Seen) -> bool:
    """Whether another snapshot was recorded since a look began. The look says nothing of the changes between, and the
    record would go back to an older snapshot."""
    record = state.tables.get(seen.table)
    return seen.pinned and record is not None and record.snapshot != seen.since


def drift(state: State, seen: Seen, was: Standing, command: Command, at: int) -> Changed | None:
    """Somebody wrote a view's files past Headwater."""
    if standing(state, seen.table) != was or was.highest == 0 or is_outdated(state, seen):
        return None
    record = state.tables[seen.table]
    drifted = differences(record, seen.partitions, seen.looked)
    if not drifted:
        return None
    verb, code = f"was written past Headwater ({command.said or 'by another program'})", Code.VIEW_WRITTEN_OUTSIDE
    if seen.published and was.definition.policy.replica:
        verb, code = "was published by another store", Code.VIEW_PUBLISHED_ELSEWHERE
    return Changed(
        at,
        FRESH,
        seen.table,
        drifted,
        record.schema,
        record.created,
        verb,
        snapshot=seen.snapshot if seen.pinned else record.snapshot,
        pinned=seen.pinned,
        code=code,
    )


def lost(state: State, view: str, was: Standing, to: str | None, at: int) -> Dropped | Renamed | None:
    """The table of a view is gone, or another table has its name. If its own table has another name now, ``to``, the
    view keeps its files under that name. A run of it ends."""
    if standing(state, view, running=True) != was or to in state.views:
        return None
    return Dropped(at, view) if to is None else Renamed(at, FRESH, view, to, evolve(was.definition, view=to))


def _differing(record: TableRecord | None, seen: Seen, command: Command) -> tuple[Observed, ...]:
    """The partitions that differ from the record, and those that a command named and that may have come and gone."""
    named = [each for each in _written(seen, command) if each.columns == seen.columns]
    differing = differences(record, seen.partitions, seen.looked)
    return (*differing, *revisited(record, seen.partitions, seen.empty, named))


def _written(seen: Seen, command: Command) -> Iterable[Slice]:
    """The partitions, or families of them, that a command wrote, as far as that is known."""
    named = seen.asked if command.said else ()
    if seen.asked and not seen.unnamed:
        return named
    return dict.fromkeys((*named, *seen.empty)) if command.may_empty else named


def differences(
    record: TableRecord | None, found: Mapping[Slice, str], asked: Iterable[Slice] | None = None
) -> tuple[Observed, ...]:
    """The partitions whose files differ from those recorded, that are new, or that are gone.

    Args:
        record: what was last seen, or ``None`` when the table was never looked at.
        found: the fingerprint of each partition that exists now.
        asked: the slices that were looked at; ``None``: the whole table.
    """
    known = record.partitions if record else {}
    looked = None if asked is None else Region(asked)
    changed = [
        Observed(each, fingerprint)
        for each, fingerprint in found.items()
        if each not in known or known[each].fingerprint != fingerprint
    ]
    gone = [
        Observed(each, None)
        for each, last in known.items()
        if last.fingerprint is not None and each not in found and (looked is None or looked.covers(each))
    ]
    return tuple(changed + gone)


def revisited(
    record: TableRecord | None, found: Mapping[Slice, str], empty: Collection[Slice], named: Iterable[Slice]
) -> tuple[Observed, ...]:
    """Partitions that a statement named and that are absent or empty now, as they are on record already.

    A partition that came and went between two looks leaves no trace, because "absent" and "empty" look
    alike every time; yet a refresh may have read it meanwhile, even one that was never on record. So such a
    statement counts as a change.
    """
    known = record.partitions if record else {}
    return tuple(
        Observed(each, found.get(each))
        for each in named
        if (each not in found or each in empty)
        and (known[each].fingerprint if each in known else None) == found.get(each)
    )


def summary(changed: Iterable[Observed], record: TableRecord | None, command: str) -> str:
    """What happened, as the verb of a sentence whose subject is the table and its partitions."""
    known = record.partitions if record else {}
    kinds = set()
    for each in changed:
        last = known.get(each.slice)
        if each.fingerprint is None:
            kinds.add("disappeared")
        elif last is None or last.fingerprint is None:
            kinds.add("appeared")
        else:
            kinds.add("changed")
    verb = kinds.pop() if len(kinds) == 1 else "changed"
    return f"{verb} ({command})" if command else verb
