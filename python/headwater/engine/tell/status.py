"""The status of each view: its state, the partitions behind, and the reason why it waits.

Between two journal entries only time passes. So the reasons of a view are a series of phases, each with
its end. They are found once for an entry, and hold until the next one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum
from typing import Any

from attrs import frozen

from headwater.engine.decide.readiness import ready_at
from headwater.engine.requests.blockers import blockers
from headwater.engine.requests.coverage import unresolved
from headwater.engine.requests.limits import HALTED, STUCK, TRACKS, awaits
from headwater.engine.requests.reasons import counted_rows, of_origin
from headwater.engine.tell.columns import Columns, ColumnType
from headwater.engine.tell.consistency import lacking
from headwater.engine.tell.load import Load, load
from headwater.engine.waits.deadline import Due
from headwater.engine.waits.ration import renew
from headwater.model.index import Expectation, Hold, Ration
from headwater.model.name import spelled, split
from headwater.model.partition import Slice, simplified
from headwater.model.reason import Code, Reason, codes
from headwater.model.state import State, Status, ViewState

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
class Phase:
    """Why a view does not run, until a time (ms); without one, until something happens.

    Attributes:
        reason: the sentence, or its beginning if it tells the seconds that are left.
        due: the end of the wait (ms), if that is known. The seconds left stand before ``after``, with this many
            ``digits``.
    """

    until: int | None
    reason: Reason
    due: int | None = None
    after: str = ""
    digits: int = 1

    def at(self, now: int) -> Reason:
        if self.due is None:
            return self.reason
        left = f"{(self.due - now) / 1000:.{self.digits}f} s"
        return Reason(self.reason.code, f"{self.reason.text} {left}{self.after}")


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
        waits = ENGINE_GONE if gone else _current(self.reason, now)
        reasons = [each for each in (old, *self._missed(stale), waits) if each is not None]
        reason = "; ".join(each.text for each in reasons)
        return [*told, self.attainable, self.fresh_to, self.refreshed_at, reason, codes(reasons)]

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


def detail(state: State) -> dict[str, Any]:
    """For each view its partitions, and the tables upstream of which it lacks changes.

    Each such table comes with the time since then (ms), the changes, and the requests that will bring them.
    """
    return {
        "partitions": {name: _partitions(state, name) for name in sorted(state.views)},
        "consistency": {
            name: [
                {
                    "with": each.other,
                    "since": each.since,
                    "lacks": [of_origin(origin) for origin in each.lacks],
                    "requests": [f"{table}[{part}]" for table, part in each.requests],
                }
                for each in verdicts
            ]
            for name, verdicts in lacking(state).items()
        },
    }


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


def waits(state: State, name: str, now: int) -> str:
    """Why a pending view does not run at this moment, in words."""
    return str(why_it_waits(state, name, now) or "")


def why_it_waits(state: State, name: str, now: int) -> Reason | None:
    """Why a pending view does not run at this moment; ``None`` if nothing keeps it."""
    renew(state, now)
    return _current(tuple(_phases(state, name)), now)


def held_by(state: State, name: str) -> list[str]:
    """The stuck views that a pending view waits for, itself or through others."""
    view, found = state.views[name], []
    for source in view.definition.sources if view.pending else ():
        known = state.views.get(source)
        if known is not None and awaits(view.definition, known.status):
            found += [source] if known.status in STUCK else held_by(state, source)
    return list(dict.fromkeys(found))


def _partitions(state: State, name: str) -> list[dict[str, Any]]:
    return [
        {"partition": str(each), "version": known.version, "rows": known.rows, "inputs": dict(known.inputs)}
        for each, known in state.tables[name].partitions.items()
        if known.fingerprint is not None
    ]


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
        tuple(_reason(state, name)),
        state.running[name].engine if name in state.running else None,
    )


def _current(phases: tuple[Phase, ...], now: int) -> Reason | None:
    return next((each.at(now) for each in phases if each.until is None or each.until > now), None)


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


def _reason(state: State, name: str) -> Iterator[Phase]:
    view = state.views[name]
    if view.status is not Status.ACTIVE or view.failures:
        if view.status not in HALTED:
            yield from _stopped(view)
        if view.reason is not None:
            yield Phase(None, view.reason)
    elif view.pending:
        yield from _phases(state, name)


def _phases(state: State, name: str) -> Iterator[Phase]:
    """Why a pending view does not run, in the order of time."""
    view = state.views[name]
    match view:
        case ViewState(status=Status.SUSPENDED):
            said = "suspended; ALTER MATERIALIZED VIEW … RESUME starts it again"
            yield Phase(None, Reason(Code.VIEW_SUSPENDED, said))
            return
        case ViewState(status=Status.BROKEN, reason=Reason(code, text)):
            yield Phase(None, Reason(code, f"broken: {text}"))
            return
        case ViewState(status=Status.UNREADABLE, reason=Reason() as reason):
            yield Phase(None, reason)
            return
    yield from _stopped(view)
    failed = Reason(Code.WAIT_RETRY, "the last refresh failed; the next one starts in")
    yield Phase(view.retry_at, failed, view.retry_at, f": {view.reason}", digits=0)
    starts = ready_at(state, name)
    yield from _before(state, view, starts)
    if starts is not None:
        yield Phase(None, Reason(Code.WAIT_TRACK, "ready, waits for a free track"))


def _stopped(view: ViewState) -> Iterator[Phase]:
    """Until a view is tried again whose last run was cancelled."""
    if view.stopped is not None:
        again = Reason(view.stopped.code, f"{view.stopped}; it is tried again in")
        yield Phase(view.retry_at, again, view.retry_at, digits=0)


def _before(state: State, view: ViewState, starts: int | None) -> Iterator[Phase]:
    """Until the view is ready."""
    holding = [
        each
        for each in view.definition.sources
        if each in state.views and _waiting(state, each) and awaits(view.definition, state.views[each].status)
    ]
    if holding and blockers(state, view):
        stuck = [state.views[each] for each in holding if state.views[each].status in STUCK]
        if stuck:
            said = f"waits, as headwater.upstream = hold: {'; '.join(map(_stuck, stuck))}"
            yield Phase(starts, Reason(Code.WAIT_UPSTREAM_STUCK, said))
            return
        said = f"waits for {', '.join(holding)}, so that one refresh takes all changes"
        yield Phase(starts, Reason(Code.WAIT_UPSTREAM, said))
        return
    oldest = min((min(origins) for origins in view.pending.values() if origins), default=None)
    if oldest is not None:
        due = Due(state, view)
        at, held = due.at(oldest), due.held(oldest)
        until = at if starts is None else min(at, starts)
        if due.skipped(oldest) and not due.hurried(oldest):
            skips = Reason(Code.WAIT_NEXT_CHANGE, "waits for the next change, or starts in")
            yield Phase(until, skips, at, " (headwater.overrun = skip)")
        elif held is None:
            joins = Reason(Code.WAIT_MORE_CHANGES, "starts in")
            yield Phase(until, joins, at, "; further changes may join until then")
        else:
            why = _decision(state.origins[oldest].table, held)
            yield Phase(until, Reason(_HELD[type(held)], "waits"), at, f" more for further changes: {why}")
    yield Phase(starts, Reason(Code.WAIT_READY, "ready"))


def _stuck(view: ViewState) -> str:
    return f"{view.definition.view} {_ILL[view.status]}: {view.reason}"


_ILL = {Status.FAILED: "failed", Status.BROKEN: "is broken", Status.UNREADABLE: "cannot run"}


_HELD = {Expectation: Code.WAIT_CADENCE, Hold: Code.WAIT_READERS, Ration: Code.WAIT_BUDGET}


def _decision(table: str, held: Hold | Ration | Expectation) -> str:
    match held:
        case Expectation(missing=missing):
            return f"headwater.cadence expects {', '.join(missing)}" if missing else "all expected sources changed"
        case Hold(bound=bound, needed=needed, path=path):
            refreshes = f"the refresh{'es' if len(path) > 1 else ''} of {', '.join(path)}"
            takes = f"may take {needed / 1000:.1f} s"
            return f"{path[-1]} may be {bound / 1000:g} s behind, and {refreshes} {takes}"
        case Ration(gap=gap, cost=cost, budget=budget, over=over):
            waves = f"{table} changes every {gap:.0f} s, and each time costs {cost:.1f} core-seconds"
            more = "; the promised freshness costs more" if over else ""
            return f"{waves}; the budget is {budget:g} a day{more}"
