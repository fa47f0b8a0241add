"""Where a store is, a file or a database, and what differs from one kind of database to another."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa

from headwater.model.error import StoreError

Where = str | Path
"""The file of a store, or the URL of its database."""

DRIVER = "postgresql+psycopg"
EXAMPLE = f"{DRIVER}://user@host/database"


def is_url(where: Where) -> bool:
    return isinstance(where, str) and "://" in where and not where.startswith("file:")


def repeatable(named: str) -> str:
    """The text that names a store, as messages may repeat it: one with ``@`` may have a password in it."""
    return "a text with @, which is not shown" if "@" in named else named


def default_store(warehouse: Path) -> Path:
    """The store of a warehouse on a local disk."""
    return warehouse / ".headwater" / "store.db"


class Dialect(Protocol):
    """One kind of database.

    Attributes:
        name: the store as messages name it, without a password.
        reads_only: whether this program may only read the store.
        now: the database's time (ms since the epoch), in SQL.
        insert: makes an INSERT that knows ON CONFLICT.
    """

    name: str
    reads_only: bool
    insert: Any

    @property
    def now(self) -> sa.ColumnElement[int]: ...

    def writer(self) -> sa.Engine: ...

    def reader(self, writer: sa.Engine) -> sa.Engine:
        """The same connections, for transactions that only read: each sees one state and blocks no other."""

    def serialise(self, connection: sa.Connection) -> None:
        """Lets this transaction write when the one before it has ended."""

    def prepare(self, connection: sa.Connection) -> None:
        """Makes a place for the store's tables. One program at a time gets past this."""

    def explained(self, error: sa.exc.DBAPIError) -> StoreError:
        """An error for the user, with the remedy."""


def dialect(where: Where, *, reads_only: bool = False) -> Dialect:
    """The dialect of a store's database.

    Raises:
        StoreError: the URL is not of a database that can hold a store, or the file cannot be made.
    """
    if is_url(where):
        from headwater.store.postgresql import Postgresql  # its driver is an extra

        return Postgresql(str(where))
    from headwater.store.sqlite import Sqlite

    return Sqlite(Path(where), reads_only=reads_only)
