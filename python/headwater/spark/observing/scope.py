"""Which tables, paths and functions matter to views."""

from __future__ import annotations

from headwater.engine.requests.coverage import upstream
from headwater.model.state import State
from headwater.model.view import Definition


def watched(state: State, view: str | None = None) -> list[str]:
    """What matters to any view; or to one, and to those that it is made from."""
    tables = {*state.index.readers, *state.views} if view is None else upstream(state, view)
    through = {each for name in tables & state.views.keys() for each in state.views[name].definition.through}
    return sorted(tables | through)


def needed(definition: Definition) -> tuple[str, ...]:
    """All that the rows of a view come from: its sources, and the ordinary views and functions between."""
    return tuple(dict.fromkeys((*definition.sources, *definition.through)))


def unsure(state: State, definition: Definition) -> list[str]:
    """What a view needs that nobody follows, or could look at."""
    followed = set(watched(state)) & state.tables.keys() - state.unreadable.keys()
    return [each for each in needed(definition) if each not in followed]
