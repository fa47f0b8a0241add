"""The states of a pinned table that can still be read, and how much came and went between them."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from headwater.model.partition import Version
from headwater.model.state import Past, TableRecord

MOST = 100
"""So many states are kept of a table. A partition that reflects an older one is computed as a whole."""


def went_on(record: TableRecord, churn: int | None, went: int) -> None:
    """A table has a new state on record. ``churn``: bytes of files that came and went since the state before it;
    ``None`` where nobody knows, or where that state can be read no more. ``went``: bytes of those that went."""
    if churn is None or not record.pinned:
        record.past.clear()
    if not record.pinned:
        return
    before = next(reversed(record.past.values())) if record.past else Past("", 0)
    record.past.pop(record.highest, None)
    record.past[record.highest] = Past(record.snapshot, before.churn + (churn or 0), before.went + went)
    if len(record.past) > MOST:
        del record.past[next(iter(record.past))]


def hold(record: TableRecord, holds: Mapping[str, Version], first: Mapping[str, Version]) -> None:
    """Notes which changes the newest state of a view reflects, and the oldest of each table that came with it."""
    known = record.past.get(record.highest)
    if known is not None:
        record.past[record.highest] = evolve(known, holds=tuple(holds.items()), first=tuple(first.items()))


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
