"""The status of each view: its state, the partitions behind, and the reason why it waits."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum
from typing import Any

from attrs import frozen

from headwater.engine.requests.coverage import unresolved
from headwater.engine.requests.limits import TRACKS
from headwater.engine.requests.reasons import counted_rows
from headwater.engine.tell.columns import Columns, ColumnType
from headwater.engine.tell.load import Load, load
from headwater.engine.tell.why_it_waits import Phase, current, reasons
from headwater.engine.waits.ration import renew
from headwater.model.name import spelled, split
from headwater.model.partition import Slice, simplified
from headwater.model.reason import Code, Reason, codes
from headwater.model.state import State, Status

Row = list[Any]

ENGINE_GONE = Reason(
    Code.WAIT_ENGINE, "the engine that refreshed it has ended; the next engine that starts refreshes it again"
)

VIEWS: Columns = {
    "database": ColumnType.STRING,
    "view": ColumnType.STRING,
    "state": ColumnType.STRING,
    "partitions": ColumnType.BIGINT,
    "behind": ColumnType.BIGINT,
    "staleness": ColumnType.DOUBLE,
    "bound": ColumnType.DOUBLE,
    "attainable": ColumnType.DOUBLE,
    "fresh_to": ColumnType.TIMESTAMP,
    "refreshed_at": ColumnType.TIMESTAMP,
    "reason": ColumnType.STRING,
    "codes": ColumnType.STRING,
}
"""The columns of ``SHOW MATERIALIZED VIEWS``."""


class Condition(Enum):
    """The state of a view in a word."""

    FRESH = "fresh"
    BEHIND = "behind"
    RUNNING = "running"
    FAILING = "failing"
    FAILED = "failed"
    BROKEN = "broken"
    UNREADABLE = "unreadable"
    SUSPENDED = "suspended"


@frozen
class ViewStatus:
    """One view as of a journal entry. ``partitions`` and ``behind`` are counts; ``reason`` may be empty.

    Attributes:
        lacks_since: when the oldest change came that the view does not reflect (ms); ``None`` if it reflects all. Of a
            view with ``headwater.event_time``, the time of the events that it has.
        bound: the promised freshness (s); ``None`` where nothing is promised.
        attainable: the freshness that the load allows (s), at least the promised one; ``None`` where nobody knows.
        fresh_to: the time of the events that all its sources had reached (ms); ``None`` where nobody asked.
        late_rows: rows that came later than its property or a watermark allows, and that the last refresh added.
        engine: the number of the engine that refreshes it; ``None`` if none does.
    """

    name: str
    state: Condition
    partitions: int
    behind: int
    lacks_since: int | None
    bound: float | None
    attainable: float | None
    fresh_to: int | None
    late_rows: int
    refreshed_at: int | None
    reason: tuple[Phase, ...]
    engine: int | None = None

    @property
    def database(self) -> str:
        return spelled(split(self.name)[:-1])

    @property
    def short(self) -> str:
        """The name within its database."""
        return split(self.name)[-1]

    def row(self, now: int, alive: Collection[int] | None = None, old: Reason | None = None) -> Row:
        """The columns of ``VIEWS`` at a time.

        Args:
            alive: the numbers of the engines that are, if that is known.
            old: why this may not be the state of the sources.
        """
        stale = 0.0 if self.lacks_since is None else max(0.0, round((now - self.lacks_since) / 1000, 1))
        gone = alive is not None and self.engine is not None and self.engine not in alive
        state = Condition.BEHIND if gone and self.state is Condition.RUNNING else self.state
        told = [self.database, self.short, state.value, self.partitions, self.behind, stale, self.bound]
        waits = ENGINE_GONE if gone else current(self.reason, now)
        known = [each for each in (old, *self._missed(stale), waits) if each is not None]
        reason = "; ".join(each.text for each in known)
        return [*told, self.attainable, self.fresh_to, self.refreshed_at, reason, codes(known)]

    def _missed(self, stale: float) -> Iterator[Reason]:
        """What the view misses although it is refreshed; ``stale``: how long it lacks changes (s)."""
        if self.bound is not None and stale > self.bound:
            yield Reason(Code.FRESHNESS_LATE, f"late by {stale - self.bound:.1f} s")
        if self.bound is not None and self.attainable is not None and self.attainable > self.bound:
            kept = f"at this load {self.attainable:.0f} s can be kept, not {self.bound:g} s"
            yield Reason(Code.FRESHNESS_UNATTAINABLE, kept)
        if self.late_rows:
            late = "came later than headwater.lateness or a watermark allows; the last refresh added them"
            yield Reason(Code.ROWS_LATE, f"{counted_rows(self.late_rows)} {late}")


@frozen
class Summary:
    """All views in the order of their names, as of a journal entry.

    Attributes:
        tracks: refreshes that run side by side; ``needed``: as many as would be busy if all changes were followed in
            time.
    """

    views: tuple[ViewStatus, ...]
    tracks: int
    needed: float

    def rows(self, now: int, alive: Collection[int] | None = None) -> list[Row]:
        """One row a view."""
        return [view.row(now, alive) for view in self.views]


def summary(state: State, tracks: int = TRACKS) -> Summary:
    """The status of all views, with so many refreshes side by side."""
    known = load(state, tracks)
    views = tuple(_status(state, name, known) for name in sorted(state.views))
    return Summary(views, tracks, known.needed)


def statuses(state: State, now: int, tracks: int = TRACKS) -> tuple[ViewStatus, ...]:
    """Every view as it is at a time, in name order."""
    renew(state, now)
    return summary(state, tracks).views


def views(state: State, now: int) -> list[Row]:
    """One row a view, in name order."""
    return [each.row(now) for each in statuses(state, now)]


def condition(state: State, name: str) -> Condition:
    view = state.views[name]
    if view.status is not Status.ACTIVE:
        return Condition(view.status.value)
    if name in state.running:
        return Condition.RUNNING
    if view.failures:
        return Condition.FAILING
    return Condition.BEHIND if view.pending else Condition.FRESH


def existing(state: State, name: str) -> list[Slice]:
    """The view's partitions as last published."""
    record = state.tables.get(name)
    return [each for each, known in record.partitions.items() if known.fingerprint is not None] if record else []


def behind(state: State, name: str) -> list[Slice]:
    """The slices that do not reflect every recorded change yet."""
    return list(simplified(_waiting(state, name)))


def _lacks_since(state: State, name: str) -> int | None:
    """Versions rise with time, so the least one came first."""
    oldest = min((min(origins) for origins in unresolved(state, name).values() if origins), default=None)
    return None if oldest is None else state.origins[oldest].at


def _status(state: State, name: str, known: Load) -> ViewStatus:
    bound, edge = state.views[name].definition.policy.freshness, state.views[name].edge
    reached = None if edge is None or edge.at is None else edge.at // 1000
    return ViewStatus(
        name,
        condition(state, name),
        len(existing(state, name)),
        _count_behind(state, name),
        _lacks_since(state, name) if reached is None else reached,
        None if bound is None else bound / 1000,
        known.attainable.get(name),
        reached,
        0 if edge is None else edge.late,
        state.views[name].refreshed_at,
        tuple(reasons(state, name)),
        state.running[name].engine if name in state.running else None,
    )


def _waiting(state: State, name: str) -> dict[Slice, None]:
    run = state.running.get(name)
    waiting = dict.fromkeys(state.views[name].pending)
    if run is not None:
        waiting |= dict.fromkeys(run.slices)
    return waiting


def _count_behind(state: State, name: str) -> int:
    """The length of ``behind``; mostly all slices bind the same columns, and then none covers another."""
    waiting = _waiting(state, name)
    return len(waiting) if len({each.names for each in waiting}) <= 1 else len(simplified(waiting))
