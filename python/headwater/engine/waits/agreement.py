"""How long a view waits for a common cut of its sources, if they have none (``engine.requests.common_cut``).

Example: a change of ``s`` reached ``v1``, and not yet ``v2``, which takes 60 s. ``report`` reads both, in files. It
waits three minutes at most. Where ``s`` changes every 10 s, ``v1`` is ahead again before ``v2`` ends. They never agree,
so a wait is in vain, and ``report`` waits a minute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import evolve

from headwater.engine.requests.common_cut import above, newest_of, shared, walk
from headwater.engine.requests.coverage import unresolved
from headwater.engine.requests.cut import carried, newest, oldest
from headwater.engine.requests.limits import AGREES_WITHIN, PATIENCE
from headwater.engine.requests.spans import Walk, older, uneven
from headwater.engine.waits.deadline import Due
from headwater.engine.waits.freshness import needed
from headwater.model.index import Apart, Older, Ripe, StateSpan
from headwater.model.partition import Version
from headwater.model.state import Run, State, ViewState

LEAST = 120_000
"""It waits at least so long (ms) where that helps. A refresh may take longer for once, or wait for a free track."""
TIMES = 3
"""A view upstream may run when a change comes, runs for it then, and may wait for others once more."""


def ends(state: State, name: str, ripe: Ripe) -> Callable[[Version], int]:
    """When a change need not wait any more (ms): for others that come with it, nor for a common cut of the sources.
    Where nothing can bring such a cut, nobody who asked for a refresh waits for one."""
    view = state.views[name]
    due, split = Due(state, view), ripe.apart
    if split is None:
        return due.at
    within = patience(view) if ripe.in_vain else agrees_within(state, split)
    return lambda origin: max(
        due.at(origin), state.origins[origin].at + (0 if ripe.in_vain and due.hurried(origin) else within)
    )


def patience(view: ViewState) -> int:
    """Milliseconds from a change until a view reads the newest versions all the same, where waiting does not help."""
    bound = view.definition.policy.freshness
    return PATIENCE if bound is None else min(PATIENCE, bound)


def agrees_within(state: State, split: Apart) -> int:
    """Milliseconds from a change until a view that is pending for it reads the newest versions all the same: three
    times what the refreshes take that lead to the source which lags behind, and the freshness that these promise. It is
    ten minutes at most, and where nobody knows how long they take or the budget makes them wait."""
    views = [state.views[each] for each in above(state, split.behind) & state.views.keys()]
    if state.budget is not None or not views:
        return AGREES_WITHIN
    promised = max(each.definition.policy.freshness or each.definition.policy.settle for each in views)
    takes = TIMES * sum(needed(each.costs.took) for each in views) + promised
    return round(min(AGREES_WITHIN, max(LEAST, takes)))


def is_in_vain(state: State, name: str, split: Apart) -> bool:
    """Whether no wait of a view for its sources is likely to help.

    It helps if the refreshes that are under way, or come next, give these a common cut. It helps as well if one source
    lags behind, and all others that show the table have nothing to do: that one will come to where they are. It does
    not help if a refresh on the way to that source may start only after the wait.
    """
    view, tables = state.views[name], shared(state, name)
    if _starts_too_late(state, split):
        return True
    showing = [each for each in view.definition.sources if split.table in above(state, each) and each in state.views]
    if any(each == split.behind for each in showing) and not any(
        unresolved(state, each) for each in showing if each != split.behind
    ):
        return False
    walks = {each: _foreseen(state, view, each, tables) for each in view.definition.sources}
    return isinstance(newest_of(state, view, tables, walks), Apart)


# --- inside


def _starts_too_late(state: State, split: Apart) -> bool:
    """Whether times of their own (``engine.waits.starting_times``) keep the refreshes that lead to a source from
    starting for the change which it lacks, for longer than its readers wait."""
    change = state.origins.get(split.change)
    if change is None:
        return False
    latest = change.at + agrees_within(state, split)
    views = [state.views[each] for each in above(state, split.behind) & state.views.keys()]
    pending = [each for each in views if any(split.change in origins for origins in each.pending.values())]
    opens = [at for each in pending if (at := Due(state, each).opens(split.change)) is not None]
    return any(each.at > latest for each in opens)


def _foreseen(state: State, reader: ViewState, source: str, tables: Sequence[str]) -> Walk:
    """The versions of a source that there are after its refresh which is under way, or comes next."""
    now, view, run = (
        walk(state, source, tables, reader.definition.reads_ahead),
        state.views.get(source),
        state.running.get(source),
    )
    if view is None or not now.tables or (run is None and not view.pending):
        return now
    before = _before(state, source, run) if state.tables[source].pinned else Older()
    return Walk(source, _next(state, view, run), before, now.tables)


def _next(state: State, view: ViewState, run: Run | None) -> StateSpan:
    """What a source shows after its next refresh. One that did not begin will be for all that is pending."""
    if run is None:
        return StateSpan(0, newest(view.holds, carried(state, view.pending.values(), max)))
    made = newest(view.holds, dict(run.holds), carried(state, (some for _, some in run.needs), max))
    return StateSpan(run.version, made, carried(state, view.pending.values(), min))


def _before(state: State, source: str, run: Run | None) -> Older:
    """The versions before the one that comes next: the newest one that there is, too."""
    view, known = state.views[source], older(state, source)
    needs = view.pending.values() if run is None else (some for _, some in run.needs)
    came = carried(state, needs, min)
    current = StateSpan(state.tables[source].highest, view.holds, came)
    spans = (current, *(evolve(each, until=oldest(each.until, came)) for each in known.spans))
    return evolve(known, spans=spans, uneven=known.uneven | uneven(spans[:2]))
