"""What a request waits for: inputs of its view that are still to be renewed."""

from __future__ import annotations

from headwater.engine.requests.ahead import prepared_by
from headwater.engine.requests.coverage import unresolved
from headwater.engine.requests.limits import awaits
from headwater.engine.requests.reach import Reached
from headwater.model.state import State, ViewState


def blockers(state: State, view: ViewState) -> Reached:
    """Where inputs that are views still to be renewed reach this one. What is prepared of them it need not wait for,
    unless it cannot read ahead."""
    awaited = Reached()
    for dependency in view.definition.dependencies:
        source = state.views.get(dependency.source)
        if source is None or not awaits(view.definition, source.status):
            continue
        prepared = view.definition.reads_ahead and prepared_by(state, dependency.source) is not None
        needs = source.pending if prepared else unresolved(state, dependency.source)
        awaited.reach(view.definition, dependency, needs.items(), state.images)
    return awaited
