"""State from a store: its snapshot, and the journal after that."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from headwater.engine.record.transition import transition
from headwater.model.state import State
from headwater.store.journal import Compacted, Entry
from headwater.store.journal_end import JournalEnd, end_of
from headwater.store.sql_store import SqlStore


def restored(store: SqlStore) -> tuple[State, int]:
    """The state that a store holds, and the number of the last entry of its journal, for who does not go on from it.

    Raises:
        JournalError: an entry is malformed; it says which.
        StoreError: no snapshot can be read, and the journal alone does not give the state.
    """
    state, end = resumed(store)
    return state, end.seq


def resumed(store: SqlStore) -> tuple[State, JournalEnd]:
    """The state that a store holds, and the last entry of its journal.

    Raises:
        JournalError: an entry is malformed; it says which.
        StoreError: no snapshot can be read, and the journal alone does not give the state.
    """
    with uncollected():
        while True:
            end, state = store.snapshot() or (JournalEnd(), State())
            try:
                return _replayed(store, state, end)
            except Compacted:
                continue  # a newer snapshot was kept meanwhile, and what it covers is removed


def recorded_in(store: SqlStore) -> tuple[State, Sequence[Entry]]:
    """All entries that a store still has, and the state before them.

    Raises:
        JournalError: an entry is malformed; it says which.
        StoreError: that state cannot be read.
    """
    while True:
        end, state = store.base()
        try:
            return state, list(store.read(end))
        except Compacted:
            continue


def replay(store: SqlStore, state: State, after: int | JournalEnd = 0) -> tuple[State, int]:
    """Applies the journal's entries above ``after``; the state then, and the last entry's number.

    Raises:
        JournalError: an entry is malformed; it says which.
        Compacted: entries above ``after`` are removed.
    """
    state, end = _replayed(store, state, end_of(after))
    return state, end.seq


def caught_up(store: SqlStore, state: State, after: int | JournalEnd) -> tuple[State, int]:
    """As ``replay`` does, from a snapshot where entries above ``after`` are removed."""
    try:
        return replay(store, state, after)
    except Compacted:  # before the first entry, so the state is as it was
        return restored(store)


def _replayed(store: SqlStore, state: State, end: JournalEnd) -> tuple[State, JournalEnd]:
    with uncollected():
        for entry in store.read(end):
            state, end = transition(state, entry.event), entry.end
    return state, end


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
