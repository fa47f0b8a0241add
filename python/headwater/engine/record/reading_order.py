"""Which views read which, and in which order they are refreshed: an index of the definitions."""

from __future__ import annotations

from headwater.algebra import graph
from headwater.model.state import State


def renew(state: State) -> None:
    """Finds the order of views and their readers anew."""
    sources = {name: view.definition.sources for name, view in state.views.items()}
    state.index.order, state.index.readers = graph.order(sources), graph.readers(sources)
    state.index.stale |= state.views.keys() | state.index.ripe.keys() | state.index.idle.keys()
    state.index.routes.clear()
    state.index.slack.clear()
    state.index.above.clear()
    state.index.shared.clear()
    state.index.older.clear()
    state.index.learned = True


def append(state: State, name: str) -> None:
    """Puts a new view that nothing reads behind all others; the graph is large and mostly the same."""
    state.index.order[name] = len(state.index.order)
    for source in dict.fromkeys(state.views[name].definition.sources):
        state.index.readers[source] = tuple(sorted((*state.index.readers.get(source, ()), name)))
    state.index.stale.add(name)
    state.index.routes.clear()
