"""By changes, without an aggregate: from which states of its sources a run goes on that adds rows to a view, or takes
rows from it.

Example: ``SELECT * FROM sales WHERE price > 0`` reflects version 5 of ``sales``, and since then rows only came. Those
of them that have a price are added to the view, and no row of it is read. If rows of ``sales`` went, as many copies of
what the query makes of them go from the view.
"""

from __future__ import annotations

from headwater.engine.methods.basis import NO_CHANGE, inputs, reflected, states_between
from headwater.engine.methods.by_changes import SAID, barred, fixed, learn
from headwater.engine.methods.following import follow
from headwater.engine.methods.method import Method, Offer, Slices
from headwater.model.partition import Region
from headwater.model.reason import Code, Reason
from headwater.model.state import State, ViewState
from headwater.model.view import Definition
from headwater.model.work import ByRows


def has_rows(definition: Definition) -> bool:
    """Whether a view has no aggregate, so that rows of sources make rows of it."""
    return any(each.adding.rows for each in definition.dependencies)


def by_rows(state: State, name: str, slices: Slices) -> ByRows | Reason:
    """What a run would go on from that renews these slices of a view by rows that come and go; or why there can be
    none."""
    view = state.views[name]
    states = reflected(state, view, slices, most=1)
    if isinstance(states, Reason):
        return states
    if _uncounted(state, view, slices):
        return Reason(Code.METHOD_STATE_UNKNOWN, "the number of its rows is not on record")
    [reflects] = states
    before, now = dict(reflects), dict(inputs(state, view.definition))
    since, churn, takes = {}, 0, False
    for dependency in view.definition.dependencies:
        source = dependency.source
        if before.get(source) == now[source]:
            continue
        if dependency.adding.reason is not None:
            return dependency.adding.reason
        found = states_between(state, source, {before.get(source)}, now[source])
        if isinstance(found, Reason):
            return found
        [old], new = found
        takes = takes or dependency.adding.takes or new.went > old.went
        since[source] = old.snapshot
        churn += new.churn - old.churn
    return ByRows(tuple(since.items()), churn, takes) if since else NO_CHANGE


def offer(state: State, name: str, slices: Slices) -> Offer | Reason:
    return follow(state, name, slices, by_rows(state, name, slices), fixed(state, state.views[name]))


BY_ROWS = Method(ByRows, SAID, offer, learn, suits=has_rows, barred=barred)


# --- inside


def _uncounted(state: State, view: ViewState, slices: Slices) -> bool:
    """Whether the record of some partition does not say how many rows it has."""
    known, region = state.tables[view.definition.view].partitions, Region(slices)
    return any(
        record.rows is None and record.fingerprint is not None for each, record in known.items() if region.covers(each)
    )
