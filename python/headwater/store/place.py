"""Where the store lies when no setting says so."""

from __future__ import annotations

from pathlib import Path


def default_store(warehouse: Path) -> Path:
    """The store of a warehouse on a local disk."""
    return warehouse / ".headwater" / "store.db"
