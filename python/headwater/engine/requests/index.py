"""The index of a state, made anew from the state alone. ``transition`` keeps it up to date event by event instead."""

from __future__ import annotations

from collections import Counter

from headwater.algebra import graph
from headwater.engine.requests.common_cut import is_lenient
from headwater.model.index import Index
from headwater.model.state import State


def rebuilt(state: State) -> Index:
    """An index that owes nothing to the past: what is searched for on demand is still to be searched for."""
    sources = {name: view.definition.sources for name, view in state.views.items()}
    return Index(
        order=graph.order(sources),
        readers=graph.readers(sources),
        carried=_carried(state),
        promising={name for name, view in state.views.items() if view.definition.policy.freshness is not None},
        lenient={name for name, view in state.views.items() if is_lenient(view)},
        learned=True,
        stale=set(state.views),
        grouped=_grouped(state),
    )


def _grouped(state: State) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, view in state.views.items():
        if (group := view.definition.policy.group) is not None:
            found.setdefault(group, set()).add(name)
    return found


def _carried(state: State) -> Counter[int]:
    pending = (origins for view in state.views.values() for origins in view.pending.values())
    running = (origins for run in state.running.values() for _, origins in run.needs)
    return Counter(origin for some in (pending, running) for origins in some for origin in origins)
