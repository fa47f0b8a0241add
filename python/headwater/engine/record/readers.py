"""What is made from a table is told that it is not what it was: it can be waited for again, or means something else."""

from __future__ import annotations

from headwater.engine.record import queue
from headwater.engine.requests.coverage import cover_each, downstream
from headwater.model.partition import Version
from headwater.model.state import State


def went_on(state: State, name: str) -> None:
    """Whether a table or view can be waited for, and has states, concerns all that is made from it."""
    state.index.stale |= downstream(state, name) & state.views.keys()


def unsettle(state: State, table: str, version: Version) -> None:
    """A table has other columns, or is another one: what uses it is to be analysed again. This is on record, as the
    engine that found it may end before it did so."""
    for view in state.views.values():
        if table in view.definition.sources or table in view.definition.through:
            view.unanalysed = version


def pass_on(state: State, name: str) -> None:
    """Requests the views downstream for the changes that a view is pending for, as its new definition reaches them.

    The old definition told which partitions of theirs a change covers when it was recorded.
    """
    view = state.views[name]
    if view.released:
        return
    for each, origins in [*view.pending.items()]:
        for some, _, beyond in cover_each(state, name, (each,), origins):
            for reader, covered in beyond.items():
                queue.request(state, reader, covered, some)
