"""Why a view waits, as a series of phases.

Between two journal entries only time passes. So each phase has its end. They are found once for an entry, and hold
until the next one.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from headwater.engine.decide.readiness import Start, starts
from headwater.engine.requests.ahead import blockers
from headwater.engine.requests.common_cut import Common, common_cut
from headwater.engine.requests.limits import HALTED, STUCK, awaits
from headwater.engine.requests.prefix import lacked
from headwater.engine.waits.deadline import Due
from headwater.engine.waits.ration import renew
from headwater.model.index import Expectation, Hold, Ration, Scheduled, Spaced
from headwater.model.reason import Code, Reason
from headwater.model.state import State, Status, ViewState


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


def waits(state: State, name: str, now: int) -> str:
    """Why a pending view does not run at this moment, in words."""
    return str(why_it_waits(state, name, now) or "")


def why_it_waits(state: State, name: str, now: int) -> Reason | None:
    """Why a pending view does not run at this moment; ``None`` if nothing keeps it."""
    renew(state, now)
    return current(tuple(_phases(state, name)), now)


def held_by(state: State, name: str) -> list[str]:
    """The stuck views that a pending view waits for, itself or through others."""
    view, found = state.views[name], []
    for source in view.definition.sources if view.pending else ():
        known = state.views.get(source)
        if known is not None and awaits(view.definition, known.status):
            found += [source] if known.status in STUCK else held_by(state, source)
    return list(dict.fromkeys(found))


def reasons(state: State, name: str) -> Iterator[Phase]:
    """Why a view is not kept, or does not run at this moment, in the order of time."""
    view = state.views[name]
    if view.status is not Status.ACTIVE or view.failures:
        if view.status not in HALTED:
            yield from _stopped(view)
        if view.reason is not None:
            yield Phase(None, view.reason)
    elif view.pending:
        yield from _phases(state, name)


def current(phases: tuple[Phase, ...], now: int) -> Reason | None:
    """The reason of the phase at a time; ``None`` if nothing keeps the view."""
    return next((each.at(now) for each in phases if each.until is None or each.until > now), None)


# --- inside


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
    start = starts(state, name)
    if start is not None and (split := start.apart) is not None:
        both = "" if split.ahead == name else f" that {split.ahead} shows"
        lacks = f"waits for {split.behind}, whose newest version lacks a change of {split.table}{both}"
        yield Phase(start.at, Reason(Code.WAIT_COMMON_CUT, f"{lacks}; starts at the latest in"), start.at, digits=0)
    else:
        yield from _blocked(state, view) if start is None else _held(state, view, start)
    if start is not None:
        yield Phase(None, Reason(Code.WAIT_TRACK, "ready, waits for a free track"))


def _stopped(view: ViewState) -> Iterator[Phase]:
    """Until a view is tried again whose last run was cancelled."""
    if view.stopped is not None:
        again = Reason(view.stopped.code, f"{view.stopped}; it is tried again in")
        yield Phase(view.retry_at, again, view.retry_at, digits=0)


def _blocked(state: State, view: ViewState) -> Iterator[Phase]:
    """While a view waits for more than time."""
    known = {each: state.views[each] for each in view.definition.sources if each in state.views}
    late = {name: each for name, each in known.items() if each.pending or name in state.running}
    holding = {name: each for name, each in late.items() if awaits(view.definition, each.status)}
    stuck = [each for each in holding.values() if each.status in STUCK]
    if (lacks := _lacking(state, view)) and not blockers(state, view):
        why = Reason(Code.WAIT_COMMON_CUT, lacks)
    elif not holding or not blockers(state, view):
        runs = view.definition.view in state.running
        why = Reason(Code.WAIT_RUN, "waits for the refresh that runs") if runs else Reason(Code.WAIT_READY, "ready")
    elif stuck:
        said = f"waits, as headwater.upstream = hold: {'; '.join(map(_stuck, stuck))}"
        why = Reason(Code.WAIT_UPSTREAM_STUCK, said)
    else:
        said = f"waits for {', '.join(holding)}, so that one refresh takes all changes"
        why = Reason(Code.WAIT_UPSTREAM, said)
    yield Phase(None, why)


def _lacking(state: State, view: ViewState) -> str:
    """The source that lacks what a view waits for, in words; empty if none does."""
    agreed = common_cut(state, view.definition.view)
    if not isinstance(agreed, Common) or agreed.meets or not (lacking := lacked(state, view, agreed)):
        return ""
    table = state.origins[min(lacking)].table
    return f"waits for {agreed.behind[table]}, whose newest version lacks a change of {table}"


def _held(state: State, view: ViewState, start: Start) -> Iterator[Phase]:
    """Until a view starts that waits for time alone."""
    due, change = Due(state, view), start.change
    held, opens = due.held(change), None if due.hurried(change) else due.opens(change)
    if opens is not None and opens.at >= start.at:
        yield Phase(start.at, _opens(opens), start.at)
    elif due.skipped(change) and not due.hurried(change):
        skips = Reason(Code.WAIT_NEXT_CHANGE, "waits for the next change, or starts in")
        yield Phase(start.at, skips, start.at, " (headwater.overrun = skip)")
    elif held is None:
        joins = Reason(Code.WAIT_MORE_CHANGES, "starts in")
        yield Phase(start.at, joins, start.at, "; further changes may join until then")
    else:
        why = _decision(state.origins[change].table, held)
        yield Phase(start.at, Reason(_HELD[type(held)], "waits"), start.at, f" more for further changes: {why}")


def _opens(opens: Scheduled | Spaced) -> Reason:
    match opens:
        case Scheduled(cron=cron, zone=zone):
            return Reason(Code.WAIT_SCHEDULE, f"headwater.schedule is '{cron}' in {zone}; starts in")
        case Spaced(gap=gap):
            return Reason(Code.WAIT_GAP, f"headwater.gap is {gap / 1000:g} s from start to start; starts in")


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
