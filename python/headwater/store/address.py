"""Where a store is: a file, or a database."""

from __future__ import annotations

from pathlib import Path

Where = str | Path
"""The file of a store, or the URL of its database."""

DRIVER = "postgresql+psycopg"
EXAMPLE = f"{DRIVER}://user@host/database"


def is_url(where: Where) -> bool:
    return isinstance(where, str) and "://" in where and not where.startswith("file:")


def default_store(warehouse: Path) -> Path:
    """The store of a warehouse on a local disk."""
    return warehouse / ".headwater" / "store.db"
