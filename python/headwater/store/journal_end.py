"""Where the journal of a store ended as somebody read it.

A number alone does not tell. A standby or a backup that takes the place of a store lacks the last entries, and gives
their numbers to others. So each append has a token, and who goes on from an entry compares that, too.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from attrs import frozen

from headwater.model.error import StoreError
from headwater.store.schema import journal, meta


@frozen
class JournalEnd:
    """The last entry of the journal as somebody read it.

    Attributes:
        seq: its number; 0: there was none.
        token: of the append that wrote it; ``None``: who asks knows the number alone, and does not go on from before.
    """

    seq: int = 0
    token: str | None = ""


def end_of(after: int | JournalEnd) -> JournalEnd:
    """The same, where only the number is known."""
    return after if isinstance(after, JournalEnd) else JournalEnd(after, None)


def require_end(connection: sa.Connection, name: str, end: JournalEnd) -> None:
    """Of an entry that is not removed, or the last of those.

    Raises:
        StoreError: the journal has no such entry, or another one of that number.
    """
    known = connection.execute(sa.select(meta)).one()
    if end.seq > known.last or (end.token is not None and _token(connection, known, end.seq) != end.token):
        raise replaced(name, end.seq, known.last)


def token_of(connection: sa.Connection, seq: int) -> str | None:
    """The token of an entry that is not removed, or the last of those; ``None`` where there is none."""
    return _token(connection, connection.execute(sa.select(meta)).one(), seq)


def replaced(name: str, seq: int, last: int) -> StoreError:
    """The error of who read an entry that the journal of this store does not have."""
    has = f"has another entry {seq} than before"
    if seq > last:
        has = f"ends at entry {last}, but entry {seq} was read before"
    return StoreError(
        f"the journal of the store {name} {has}: an older copy took its place; start the application again"
    )


def _token(connection: sa.Connection, known: sa.Row[Any], seq: int) -> str | None:
    if seq == known.last:
        return str(known.token)
    if seq == known.compacted:
        return str(known.compacted_token)
    return connection.scalar(sa.select(journal.c.token).where(journal.c.seq == seq))
