"""The refreshes of a warehouse that refreshes on every change, counted from the demo's own store."""

from __future__ import annotations

from pathlib import Path

from headwater.demo.figures import Naive
from headwater.engine.naive import immediate
from headwater.model.partition import Slice
from headwater.model.state import State
from headwater.store.place import default_store
from headwater.store.replay import restored
from headwater.store.sql import SqlStore


def from_store(warehouse: Path) -> Naive:
    """Counts with the views, maps and partitions that the warehouse's store knows at that moment."""

    def naive(table: str, changed: Slice) -> int:
        return immediate(_state(warehouse), f"default.{table}", [changed])

    return naive


def _state(warehouse: Path) -> State:
    store = SqlStore(default_store(warehouse))
    state, _ = restored(store)
    store.close()
    return state
