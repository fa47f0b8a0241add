"""Views that cannot run for now, as a table that they need cannot be looked at."""

from __future__ import annotations

from headwater.engine.record import membership, queue, readers, runs
from headwater.engine.requests.common_cut import is_lenient
from headwater.model.reason import Reason
from headwater.model.state import State, Status


def unreadable(state: State, table: str, reason: Reason | None) -> None:
    """Lets the views that need a table wait while nobody can look at it, and go on afterwards."""
    if reason is not None:
        state.unreadable[table] = reason
    else:
        state.unreadable.pop(table, None)
    for name in (table, *state.index.readers.get(table, ())):
        if name not in state.views:
            continue
        if state.views[name].status is Status.UNREADABLE:
            resume(state, name)
        halt(state, name)
        reconsider(state, name)
        readers.went_on(state, name)


def resume(state: State, name: str) -> None:
    """A view may run again, unless its query is broken."""
    view = state.views[name]
    view.status, view.reason, view.failures, view.retry_at = Status.ACTIVE, None, 0, 0
    if view.broken is not None:
        runs.break_off(view, view.broken)
    runs.caught_up(state, view)


def halt(state: State, name: str) -> None:
    """A view waits while one of the tables that it needs cannot be looked at; its readers go on past it."""
    view = state.views[name]
    needed = [each for each in (name, *view.definition.sources) if each in state.unreadable]
    if needed and view.status in (Status.ACTIVE, Status.FAILED):
        said = "; ".join(f"{each} cannot be read: {state.unreadable[each]}" for each in needed)
        why = Reason(state.unreadable[needed[0]].code, f"{said}. The view follows when it can be read again")
        runs.release(view, Status.UNREADABLE, why)


def reconsider(state: State, name: str) -> None:
    """What a view promises, or when it can run, may be otherwise than it was."""
    if state.views[name].definition.policy.freshness is None:
        state.index.promising.discard(name)
    else:
        state.index.promising.add(name)
    (state.index.lenient.add if is_lenient(state.views[name]) else state.index.lenient.discard)(name)
    state.index.learned = True
    membership.regroup(state, name)
    queue.reconsider(state, name)
