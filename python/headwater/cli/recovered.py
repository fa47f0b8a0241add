"""The state of a store whose journal may be damaged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headwater.model.error import JournalError, StoreError
from headwater.model.state import State
from headwater.store.recovery import restored
from headwater.store.sql_store import SqlStore


def state_of(store: SqlStore) -> tuple[State, int]:
    """The state of a store, and the number of its last journal entry.

    Raises:
        StoreError: an entry is malformed.
    """
    with readable(store):
        return restored(store)


@contextmanager
def readable(store: SqlStore) -> Iterator[None]:
    """Names the remedy for a store whose journal cannot be read.

    Raises:
        StoreError: an entry is malformed.
    """
    try:
        yield
    except JournalError as error:
        raise StoreError(
            f"the store {store.name} is damaged ({error}); move it away: the next session makes a new one and "
            "finds the views in the catalog"
        ) from error
