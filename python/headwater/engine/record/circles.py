"""Views that would read themselves. Who declares one asks first, but two may be declared at the same time."""

from __future__ import annotations

from attrs import evolve

from headwater.algebra import graph
from headwater.engine.record import reading_order, runs
from headwater.model.error import DefinitionError
from headwater.model.reason import Code, Reason
from headwater.model.state import State, TableRecord, ViewState
from headwater.model.view import Definition


def closed(state: State, definition: Definition) -> DefinitionError | None:
    """Why a view cannot have a definition: it would read itself; ``None`` if it would not."""
    try:
        graph.refuse_cycle(state.sources, definition.view, definition.sources)
    except DefinitionError as error:
        return error
    return None


def cut(state: State, definition: Definition, why: DefinitionError) -> None:
    """Records that a view would read itself. One that was there before keeps its definition."""
    name = definition.view
    if name not in state.views:
        state.views[name] = ViewState(evolve(definition, dependencies=()))
        state.tables[name] = TableRecord()
    runs.break_off(state.views[name], Reason(Code.QUERY_REFUSED, why.fault))
    reading_order.renew(state)
