"""By changes, with an aggregate: whether a run leaves the totals of it, and from which states of its sources a run goes
on that adds to them.

Example: the totals of a view reflect version 5 of ``sales``, and ``sales`` has version 9 now. The totals of the rows
between them are added. The view itself is not read, so whatever happened to it does not matter.
"""

from __future__ import annotations

from headwater.engine.methods.bags import has_rows
from headwater.engine.methods.basis import (
    ALL_ROWS,
    REDEFINED,
    after_failure,
    inputs,
    never,
    states_between,
    unpinned,
)
from headwater.engine.methods.by_changes import SAID, barred, fixed, learn
from headwater.engine.methods.following import SMALL, follow, is_cheaper, read_in_full, usual
from headwater.engine.methods.method import Method, Offer, Slices
from headwater.model.reason import Code, Reason
from headwater.model.state import State, ViewState
from headwater.model.work import ByTotals, Mode

PAYS = 1.2
"""A refresh of whole partitions leaves totals if it takes so many times the fixed part of one by changes. With 2.0,
views without totals lost half of all core-seconds that choices lost in 200 pairs (``benchmarks choices``)."""
FEW = 0.01
"""It leaves none if by changes would be dearer after a change of this part of the sources. The last change may have
been larger. Those of a view without totals add up, so no smaller one ever comes."""


def leaves_totals(state: State, name: str) -> bool:
    """Whether a run of a view that starts now leaves totals for later runs."""
    view = state.views[name]
    asked = view.definition.policy.method
    wanted = _pays(view, fixed(state, view)) if asked is None else Mode.CHANGES in asked
    return wanted and not has_rows(view.definition) and not _without(state, view)


def added(state: State, name: str, slices: Slices) -> ByTotals | Reason:
    """What a run by changes would go on from which renews these slices of a view; or why there can be none."""
    view = state.views[name]
    why = _without(state, view) or _asked_for(state, view, slices)
    if why:
        return why
    if view.totals is None:
        return _too_large(view) or Reason(Code.METHOD_NO_TOTALS, "it has no totals yet")
    before, now = dict(view.totals.inputs), dict(inputs(state, view.definition))
    since, churn = {}, 0
    for dependency in view.definition.dependencies:
        source = dependency.source
        if before.get(source) == now[source] or (dependency.adding.possible and not dependency.adding.below):
            continue
        if dependency.adding.reason is not None:
            return dependency.adding.reason
        found = states_between(state, source, {before.get(source)}, now[source])
        if isinstance(found, Reason):
            return found
        [old], new = found
        since[source] = old.snapshot
        churn += new.churn - old.churn
    return ByTotals(view.totals, tuple(since.items()), churn)


def offer(state: State, name: str, slices: Slices) -> Offer | Reason:
    return follow(state, name, slices, added(state, name, slices), fixed(state, state.views[name]))


def give_up(view: ViewState) -> None:
    """Drops totals that are too large, so that no run goes on from them and the next check removes their files."""
    if view.totals is not None:
        view.costs.totals = view.totals.left.size
        view.totals = None if _too_large(view) else view.totals


BY_TOTALS = Method(ByTotals, SAID, offer, learn, suits=lambda each: not has_rows(each), barred=barred)


# --- inside


def _without(state: State, view: ViewState) -> Reason | None:
    """Why a view with an aggregate has no totals; ``None`` if it may have some."""
    return never(view.definition) or unpinned(state, view) or barred(view.definition)


def _too_large(view: ViewState) -> Reason | None:
    """Why a view has given its totals up; ``None`` if it has not. They may be as large as all that a full refresh reads
    and writes. A view whose property asks for refreshes by changes keeps any."""
    known, bound = view.costs, read_in_full(view) + view.costs.size * max(1, view.costs.partitions)
    if view.definition.policy.method is not None or not read_in_full(view) or known.totals <= bound:
        return None
    said = f"its totals took {known.totals / 1e6:.0f} MB, and a full refresh reads and writes {bound / 1e6:.0f} MB"
    return Reason(Code.METHOD_TOTALS_LARGE, said)


def _pays(view: ViewState, least: float) -> bool:
    """Whether a run by changes, of so many seconds at least, may be cheaper than others by enough that its totals are
    worth their time."""
    read, known = read_in_full(view), view.costs.narrow.get(Mode.CHANGES)
    whole = usual(view).seconds
    if whole is None or read < SMALL or _too_large(view):
        return False
    if known is not None:
        return is_cheaper(view, known, least, round(FEW * read), read)
    return whole >= PAYS * least


def _asked_for(state: State, view: ViewState, slices: Slices) -> Reason | None:
    if failed := after_failure(view):
        return failed
    origins = [state.origins.get(each) for slice in slices for each in view.pending.get(slice, ())]
    if any(each is None or each.definition for each in origins):
        return REDEFINED
    return ALL_ROWS if any(each.asked for each in origins if each is not None) else None
