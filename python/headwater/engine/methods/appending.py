"""By changes, without an aggregate: from which states of its sources a run goes on that adds rows to a view.

Example: ``SELECT * FROM sales WHERE price > 0`` reflects version 5 of ``sales``, and since then rows only came. Those
of them that have a price are added to the view, and no row of it is read.
"""

from __future__ import annotations

from headwater.engine.methods.basis import NO_CHANGE, inputs, not_kept, reflected
from headwater.engine.methods.by_changes import SAID, barred, fixed, learn
from headwater.engine.methods.following import follow
from headwater.engine.methods.method import Method, Offer, Slices
from headwater.model.partition import Region
from headwater.model.reason import Code, Reason
from headwater.model.state import State, ViewState
from headwater.model.view import Definition
from headwater.model.work import ByAppending


def has_rows(definition: Definition) -> bool:
    """Whether a view has no aggregate, so that rows of sources make rows of it."""
    return any(each.adding.rows for each in definition.dependencies)


def appended(state: State, name: str, slices: Slices) -> ByAppending | Reason:
    """What a run would go on from that renews these slices of a view by new rows; or why there can be none."""
    view = state.views[name]
    states = reflected(state, view, slices, most=1)
    if isinstance(states, Reason):
        return states
    if _uncounted(state, view, slices):
        return Reason(Code.METHOD_STATE_UNKNOWN, "the number of its rows is not on record")
    [reflects] = states
    before, now = dict(reflects), dict(inputs(state, view.definition))
    since, churn = {}, 0
    for dependency in view.definition.dependencies:
        source = dependency.source
        if before.get(source) == now[source]:
            continue
        if dependency.adding.reason is not None:
            return dependency.adding.reason
        past = state.tables[source].past if source in state.tables else {}
        if before.get(source) not in past or now[source] not in past:
            return not_kept(source)
        old, new = past[before[source]], past[now[source]]
        if new.went > old.went:
            return Reason(Code.SOURCE_ROWS_REMOVED, f"rows of {source} went or changed")
        since[source] = old.snapshot
        churn += new.churn - old.churn
    return ByAppending(tuple(since.items()), churn) if since else NO_CHANGE


def offer(state: State, name: str, slices: Slices) -> Offer | Reason:
    return follow(state, name, slices, appended(state, name, slices), fixed(state, state.views[name]))


BY_APPENDING = Method(ByAppending, SAID, offer, learn, suits=has_rows, barred=barred)


# --- inside


def _uncounted(state: State, view: ViewState, slices: Slices) -> bool:
    """Whether the record of some partition does not say how many rows it has."""
    known, region = state.tables[view.definition.view].partitions, Region(slices)
    return any(
        record.rows is None and record.fingerprint is not None for each, record in known.items() if region.covers(each)
    )
