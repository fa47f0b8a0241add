"""State from a store: its snapshot, and the journal after that."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from headwater.engine.record.transition import transition
from headwater.model.state import State
from headwater.store.journal import Compacted, Entry
from headwater.store.sql_store import SqlStore


def restored(store: SqlStore) -> tuple[State, int]:
    """The state that a store holds, and the number of the last entry of its journal.

    Raises:
        JournalError: an entry is malformed; it says which.
        StoreError: no snapshot can be read, and the journal alone does not give the state.
    """
    with uncollected():
        while True:
            seq, state = store.snapshot() or (0, State())
            try:
                return replay(store, state, seq)
            except Compacted:
                continue  # a newer snapshot was kept meanwhile, and what it covers is removed


def recorded_in(store: SqlStore) -> tuple[State, Sequence[Entry]]:
    """All entries that a store still has, and the state before them.

    Raises:
        JournalError: an entry is malformed; it says which.
        StoreError: that state cannot be read.
    """
    while True:
        seq, state = store.base()
        try:
            return state, list(store.read(seq))
        except Compacted:
            continue


def replay(store: SqlStore, state: State, after: int = 0) -> tuple[State, int]:
    """Applies the journal's entries above ``after``; the state then, and the last entry's number.

    Raises:
        JournalError: an entry is malformed; it says which.
        Compacted: entries above ``after`` are removed.
    """
    with uncollected():
        for entry in store.read(after):
            state = transition(state, entry.event)
            after = entry.seq
    return state, after


def caught_up(store: SqlStore, state: State, after: int) -> tuple[State, int]:
    """As ``replay`` does, from a snapshot where entries above ``after`` are removed."""
    try:
        return replay(store, state, after)
    except Compacted:  # before the first entry, so the state is as it was
        return restored(store)


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
