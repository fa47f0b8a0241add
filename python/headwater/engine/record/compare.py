"""What changed in a table: its state as found against the state last recorded."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from headwater.model.event import Observed
from headwater.model.partition import Region, Slice
from headwater.model.state import TableRecord


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
