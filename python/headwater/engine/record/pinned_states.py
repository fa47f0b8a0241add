"""The states of a pinned table that can still be read, and how much came and went between them."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from headwater.model.partition import Version
from headwater.model.state import Past, TableRecord

MANY, MOST, LASTING = 100, 300, 3_600_000
"""So many states are kept of a table, and of one that changes often up to ``MOST`` of the last hour (ms). A partition
that reflects an older one is computed as a whole, and views upstream that take longer have no common cut with it."""


def went_on(record: TableRecord, churn: int | None, went: int) -> None:
    """A table has a new state on record. ``churn``: bytes of files that came and went since the state before it;
    ``None`` where nobody knows, or where that state can be read no more. ``went``: bytes of those that went."""
    if churn is None or not record.pinned:
        record.past.clear()
        record.began = record.highest
    if not record.pinned:
        return
    before = next(reversed(record.past.values())) if record.past else Past("", 0)
    record.past.pop(record.highest, None)
    record.past[record.highest] = Past(record.snapshot, before.churn + (churn or 0), before.went + went)
    while len(record.past) > MOST or (len(record.past) > MANY and _is_old(record)):
        del record.past[next(iter(record.past))]


def hold(record: TableRecord, holds: Mapping[str, Version], first: Mapping[str, Version] | None = None) -> None:
    """Notes which changes the newest state of a view reflects, and the oldest of each table that came with it, if that
    is not ``None``: it stays as noted."""
    known = record.past.get(record.highest)
    if known is not None:
        came = known.first if first is None else tuple(first.items())
        record.past[record.highest] = evolve(known, holds=tuple(holds.items()), first=came)


def doubt(record: TableRecord) -> None:
    """The newest state of a view may have rows of a refresh that is on no record. So nothing is told of it, nor of what
    came and went on the way to it."""
    record.past.clear()


def rename(record: TableRecord, old: str, new: str) -> None:
    """A view has another name; the changes of its own that its states reflect are those of that name."""
    for version, past in record.past.items():
        holds, first = renamed(dict(past.holds), old, new), renamed(dict(past.first), old, new)
        record.past[version] = evolve(past, holds=tuple(holds.items()), first=tuple(first.items()))


def renamed(held: Mapping[str, Version], old: str, new: str) -> dict[str, Version]:
    return {new if table == old else table: version for table, version in held.items()}


def strike(record: TableRecord, version: Version, started: Version, gone: bool) -> None:
    """A run failed that read a state which was not the newest when the run started. This state may be gone, and so may
    those before it. ``gone``: it is."""
    if any(version < each < started for each in record.past):
        for each in [each for each in record.past if each <= version]:
            del record.past[each]
        if gone:
            record.began = max(record.began, version + 1)


def reached(record: TableRecord, watermark: int | None) -> None:
    """The stream that writes a table told its watermark with the newest state. One that was started anew may be back at
    an earlier time."""
    if watermark is not None:
        record.watermark = watermark


def advance(record: TableRecord, snapshot: str) -> None:
    """The newest state has another snapshot, with the same rows."""
    record.snapshot = snapshot
    known = record.past.get(record.highest)
    if known is not None:
        record.past[record.highest] = evolve(known, snapshot=snapshot)


def _is_old(record: TableRecord) -> bool:
    """Whether the oldest state is; versions are times (see decision 19)."""
    return next(iter(record.past)) < record.highest - LASTING
