"""A store in a SQLite file: private to its user, with a write-ahead log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from headwater.model.error import StoreError

PATIENCE = 30
"""Seconds in which a transaction waits for the one that writes."""


class Sqlite:
    """See ``headwater.store.dialect.Dialect``.

    Raises:
        StoreError: the file cannot be created or opened.
    """

    now = sa.literal_column("CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)", sa.BigInteger)
    insert = staticmethod(insert)

    def __init__(self, path: Path, *, reads_only: bool) -> None:
        self.path, self.name, self.reads_only = path, str(path), reads_only
        if not reads_only:
            _create_private(path)

    def writer(self) -> sa.Engine:
        url = _for_reading(self.path) if self.reads_only else sa.URL.create("sqlite", database=str(self.path))
        made = sa.create_engine(url, connect_args={"timeout": PATIENCE})
        sa.event.listen(made, "connect", _configure_reader if self.reads_only else _configure)
        sa.event.listen(made, "begin", _begin_transaction)
        return made

    def reader(self, writer: sa.Engine) -> sa.Engine:
        return writer.execution_options(headwater_begin="DEFERRED")

    def serialise(self, connection: sa.Connection) -> None:
        """BEGIN IMMEDIATE did."""

    def prepare(self, connection: sa.Connection) -> None:
        """The file is the place."""

    def explained(self, error: sa.exc.DBAPIError) -> StoreError:
        return StoreError(
            f"the store {self.name} cannot be used ({error.orig}); if it is damaged, move it away: "
            "a new one is made and the views are adopted from the catalog"
        )


def _create_private(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(
            f"the store {path} cannot be opened ({error.strerror}); set spark.headwater.store to a file you can write"
        ) from error


def _for_reading(path: Path) -> sa.URL:
    """The URL of a file that this program cannot write. Where SQLite cannot make the files of its write-ahead
    log, it reads a database without one only when asked to take it for unchanging."""
    alone = not path.with_name(f"{path.name}-wal").exists() and not os.access(path.parent, os.W_OK)
    query = {"mode": "ro", "uri": "true", **({"immutable": "1"} if alone else {})}
    return sa.URL.create("sqlite", database=f"file:{quote(str(path))}", query=query)


def _begin_transaction(connection: sa.Connection) -> None:
    # One that is to write takes its place at the start: it could not be given one after it has read.
    connection.exec_driver_sql(f"BEGIN {connection.get_execution_options().get('headwater_begin', 'IMMEDIATE')}")


def _configure_reader(connection: Any, _record: Any) -> None:
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout={1000 * PATIENCE}")


def _configure(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # SQLAlchemy begins transactions itself, see "begin" above
    for pragma in ("journal_mode=WAL", "synchronous=FULL", f"busy_timeout={1000 * PATIENCE}"):
        connection.execute(f"PRAGMA {pragma}")
