"""State from the journal."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from headwater.engine.transition import transition
from headwater.model.state import State
from headwater.ports import Store


def replay(store: Store, state: State, after: int = 0) -> tuple[State, int]:
    """Applies the journal's entries above ``after``; the state then, and the last entry's number.

    Raises:
        JournalError: an entry is malformed; it says which.
    """
    with uncollected():
        for entry in store.read(after):
            state, _ = transition(state, entry.event)
            after = entry.seq
    return state, after


@contextmanager
def uncollected() -> Iterator[None]:
    """All that a replay makes stays, often millions of values; the collector would walk them again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
