"""A PostgreSQL server for tests, from a wheel that needs no installation."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pgserver
import psycopg

FAST = ("fsync = off", "synchronous_commit = off", "full_page_writes = off")
"""Settings for a server whose data nobody needs after a crash of the machine."""

GUARDED = ("guarded", "correct horse")
"""A user who needs a password, and the password."""


@contextmanager
def server() -> Iterator[str]:
    """A running server; the URL of its database ``postgres``, which anybody on this machine may use."""
    with tempfile.TemporaryDirectory(prefix="headwater-postgresql-", ignore_cleanup_errors=True) as place:
        running = pgserver.get_server(Path(place) / "data", cleanup_mode="stop")
        try:
            uri = running.get_uri()
            with psycopg.connect(uri, autocommit=True) as connection:
                for each in FAST:
                    name, _, value = each.partition(" = ")
                    connection.execute(f"ALTER SYSTEM SET {name} = {value}")
                _guard(connection, Path(place) / "data" / "pg_hba.conf")
            yield uri.replace("postgresql://", "postgresql+psycopg://", 1).replace(":@", "@")
        finally:
            running.cleanup()


def _guard(connection: psycopg.Connection, rules: Path) -> None:
    user, password = GUARDED
    connection.execute(f"CREATE USER {user} PASSWORD '{password}'")
    rules.write_text(f"local all {user} scram-sha-256\n{rules.read_text()}")
    connection.execute("SELECT pg_reload_conf()")


def forget(url: str) -> None:
    """Removes the store in a PostgreSQL database."""
    with psycopg.connect(libpq(url), autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS headwater CASCADE")


def libpq(url: str) -> str:
    """A URL as libpq spells it."""
    return url.replace("postgresql+psycopg://", "postgresql://", 1)
