"""The store's tables, and the steps that bring an older store to this version."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from headwater.model.error import StoreError

metadata = sa.MetaData()

meta = sa.Table(
    "meta",
    metadata,
    sa.Column("schema_version", sa.Integer, nullable=False),
    sa.Column("highest", sa.BigInteger, nullable=False, comment="the highest version ever given"),
)

journal = sa.Table(
    "journal",
    metadata,
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("subject", sa.String, nullable=False, comment="the table or view it is about"),
    sa.Column("version", sa.BigInteger, comment="the version that the event gives or ends"),
    sa.Column("body", sa.Text, nullable=False),
    sa.Index("journal_subject", "subject", "kind", "seq"),
    sa.Index("journal_version", "version"),
)

lease = sa.Table(
    "lease",
    metadata,
    sa.Column("holder", sa.String, nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
    sa.Column("epoch", sa.BigInteger, nullable=False),
)

garbage = sa.Table(
    "garbage",
    metadata,
    sa.Column("path", sa.String, primary_key=True),
    sa.Column("view", sa.String, nullable=False),
    sa.Column("since", sa.BigInteger, nullable=False),
)

command = sa.Table(
    "command",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("subject", sa.String, nullable=False),
)

summary = sa.Table(
    "summary",
    metadata,
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False, comment="the journal entry it is as of"),
    sa.Column("views", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, comment="null when it is too large to be kept"),
)

note = sa.Table(
    "note",
    metadata,
    sa.Column("about", sa.String, primary_key=True),
    sa.Column("text", sa.Text, nullable=False, comment="what the engine that acts last said about it"),
)


def _create(connection: sa.Connection) -> None:
    metadata.create_all(connection)
    connection.execute(sa.insert(meta).values(schema_version=0, highest=0))
    connection.execute(sa.insert(lease).values(holder="", until=0, epoch=0))


def _add_summary(connection: sa.Connection) -> None:
    summary.create(connection, checkfirst=True)  # a new store has all tables from its first step


def _add_note(connection: sa.Connection) -> None:
    note.create(connection, checkfirst=True)


MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (_create, _add_summary, _add_note)
"""Step n brings a store of schema version n to n + 1."""


def migrate(connection: sa.Connection, path: Path) -> None:
    """Brings the store to the newest schema, in the caller's transaction.

    Raises:
        StoreError: the store was written by a newer Headwater.
    """
    version = _version(connection, path)
    for step in MIGRATIONS[version:]:
        step(connection)
    if version < len(MIGRATIONS):
        connection.execute(sa.update(meta).values(schema_version=len(MIGRATIONS)))


def require_newest(connection: sa.Connection, path: Path) -> None:
    """Raises:
    StoreError: the store has another schema than the newest.
    """
    version = _version(connection, path)
    if version < len(MIGRATIONS):
        raise StoreError(
            f"the store {path} has schema {version} and cannot be brought to this Headwater's {len(MIGRATIONS)}, as it "
            "cannot be written here; run the same command once where it can"
        )


def _version(connection: sa.Connection, path: Path) -> int:
    known = sa.inspect(connection).has_table("meta")
    version = connection.scalar(sa.select(meta.c.schema_version)) if known else 0
    if version > len(MIGRATIONS):
        raise StoreError(
            f"the store {path} has schema {version}, newer than this Headwater's {len(MIGRATIONS)}; upgrade Headwater"
        )
    return version
