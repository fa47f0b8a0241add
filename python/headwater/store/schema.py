"""The store's tables, and the steps that bring an older store to this version."""

from __future__ import annotations

import sqlalchemy as sa

from headwater.model.error import StoreError

metadata = sa.MetaData()

meta = sa.Table(
    "meta",
    metadata,
    sa.Column("schema_version", sa.Integer, nullable=False),
    sa.Column("highest", sa.BigInteger, nullable=False, comment="the highest version ever given"),
    sa.Column("last", sa.BigInteger, nullable=False, comment="the number of the journal's last entry"),
    sa.Column("token", sa.String, nullable=False, comment="that of the journal's last entry; empty if there is none"),
    sa.Column("compacted", sa.BigInteger, nullable=False, comment="entries up to this one are removed"),
    sa.Column("compacted_at", sa.BigInteger, nullable=False, comment="when the last of those was appended"),
    sa.Column("compacted_token", sa.String, nullable=False, comment="that of the last of those; empty at first"),
    sa.Column("engines", sa.BigInteger, nullable=False, comment="the highest number ever given to an engine"),
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
    sa.Column("token", sa.String, nullable=False, comment="of its append: tells it from another entry of that number"),
    sa.Index("journal_subject", "subject", "kind", "seq"),
    sa.Index("journal_version", "version"),
)

engine = sa.Table(
    "engine",
    metadata,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("name", sa.String, nullable=False, unique=True),
    sa.Column("until", sa.BigInteger, nullable=False, comment="its time is up then, unless it renews it"),
)

snapshot = sa.Table(
    "snapshot",
    metadata,
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False, comment="the journal entry it is as of"),
    sa.Column("entry", sa.String, nullable=False, comment="the token of that entry"),
    sa.Column("at", sa.BigInteger, nullable=False, comment="when it was kept"),
    sa.Column("format", sa.Integer, nullable=False),
    sa.Column("token", sa.String, nullable=False, comment="names its pieces"),
    sa.Column("pieces", sa.Integer, nullable=False, comment="how many there are"),
)

piece = sa.Table(
    "piece",
    metadata,
    sa.Column("token", sa.String, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
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
    sa.Column("taken_by", sa.BigInteger, comment="the number of the engine that carries it out"),
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
    sa.Column("text", sa.Text, nullable=False, comment="what the engine that leads last said about it"),
)


NEWEST = 10
"""The version of the schema, and of the shape of events and states. Before a first release, none becomes another."""


def make(connection: sa.Connection, name: str, version: int) -> None:
    """Makes the tables of a store, in the caller's transaction, if there are none yet (``version`` 0).

    Raises:
        StoreError: another Headwater wrote the store.
    """
    if version == 0:
        metadata.create_all(connection)
        row = {"highest": 0, "last": 0, "compacted": 0, "compacted_at": 0, "engines": 0}
        connection.execute(sa.insert(meta).values(schema_version=NEWEST, token="", compacted_token="", **row))
    else:
        require_newest(name, version)


def require_newest(name: str, version: int) -> None:
    """Raises:
    StoreError: another Headwater wrote the store.
    """
    if version > NEWEST:
        raise StoreError(
            f"the store {name} has schema {version}, newer than this Headwater's {NEWEST}; upgrade Headwater"
        )
    if version < NEWEST:
        raise StoreError(
            f"the store {name} has schema {version}, older than this Headwater's {NEWEST}, which cannot read it; "
            "name another store, or remove this one: the catalog has the views, and the next session finds them there"
        )


def version_of(connection: sa.Connection) -> int:
    """The schema version of the store; 0 when there is none."""
    known = sa.inspect(connection).has_table("meta")
    return int(connection.scalars(sa.select(meta.c.schema_version)).one()) if known else 0
