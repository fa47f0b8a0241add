"""Snapshots of the state, so that a start replays only what came after the last one, and compaction.

The oldest snapshot is of the last entry that is removed, so everything that is still in the journal can be
replayed from there. Some between that and the newest stay, so that the journal can be compacted up to one of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import sqlalchemy as sa
from attrs import frozen

from headwater.logger import log
from headwater.model.error import HeadwaterError, StoreError
from headwater.model.state import State, copied
from headwater.store import pieces as codec
from headwater.store.database import Database
from headwater.store.journal_end import JournalEnd, end_of, require_end, token_of
from headwater.store.schema import journal, meta, piece, snapshot

DAY = 86_400_000
HISTORY = 30 * DAY
"""So long (ms) the journal keeps what happened, unless ``spark.headwater.history`` says otherwise."""

ENTRIES = 10_000
"""Entries after which a snapshot is kept; one is also kept after a day."""

SHARE = 20
"""One that takes t is followed by another after ``SHARE`` t at the earliest."""

APART = 4
"""About the number of snapshots that are kept over the whole history."""

BATCH = 5_000
"""Entries that are removed in one transaction."""

ABANDONED = DAY
"""After this time (ms), pieces that belong to no snapshot are removed: whoever wrote them has ended."""


@frozen
class Mark:
    """That there is a snapshot as of the entry ``seq``, kept ``at`` that time (ms)."""

    seq: int
    at: int


class Snapshots(Database):
    """The snapshots of a store."""

    def keep_snapshot(self, as_of: int | JournalEnd, state: State, going: Callable[[], bool] = lambda: True) -> bool:
        """Keeps the state as of a journal entry. No thread may change it meanwhile (see ``model.state.copied``).

        It is written piece by piece, and others write between them. While ``going`` says so, it goes on. Returns
        whether the snapshot is kept. One of an entry that is removed by now is not: a newer one covers it.

        Raises:
            StoreError: the journal has no such entry, or another one of that number.
        """
        end = end_of(as_of)
        token, count = uuid4().hex[:16], 0
        for count, body in enumerate(codec.encode(state), 1):
            if not going():
                return False
            with self._beside() as connection:
                row = {"token": token, "number": count, "at": self._time(connection), "body": body}
                connection.execute(sa.insert(piece).values(row))
        with self._begin() as connection:
            if end.seq < connection.scalars(sa.select(meta.c.compacted)).one():
                return False
            require_end(connection, self.name, end)
            now, entry = self._time(connection), token_of(connection, end.seq)
            row = {"seq": end.seq, "entry": entry, "at": now, "format": codec.FORMAT, "token": token, "pieces": count}
            written = connection.scalar(sa.select(sa.func.count()).where(piece.c.token == token))
            if written == count:
                connection.execute(sa.delete(snapshot).where(snapshot.c.seq == end.seq))
                connection.execute(sa.insert(snapshot).values(row))
            _remove_pieces(connection, now - ABANDONED)
        return written == count

    def snapshot(self) -> tuple[JournalEnd, State] | None:
        """The newest snapshot that can be read, if there is any, and the entry that it is as of.

        Raises:
            StoreError: none can be read, and the journal alone does not give the state.
        """
        return self._snapshot(snapshot.c.seq.desc())

    def base(self) -> tuple[JournalEnd, State]:
        """The state from which the whole journal that is kept can be replayed, and the entry that it is as of.

        Raises:
            StoreError: it cannot be read.
        """
        with self._read() as connection:
            complete = not connection.scalar(sa.select(meta.c.compacted))
        found = None if complete else self._snapshot(snapshot.c.seq)
        return (JournalEnd(), State()) if found is None else found

    def newest(self) -> Mark | None:
        """The newest snapshot there is."""
        found = self._marks()
        return found[-1] if found else None

    def compact(self, before: int, apart: int = 0) -> None:
        """Removes what was appended before a time, as far as a snapshot from before that time covers it.

        Of the snapshots that are left, those go that are less than ``apart`` ms younger than the one before, but
        for the newest.
        """
        marks = self._marks()
        old = [each for each in marks if each.at < before]
        kept = _spread([each for each in marks if not old or each.seq >= old[-1].seq], apart)
        if [each.seq for each in kept] != [each.seq for each in marks]:
            with self._begin() as connection:
                known = sa.select(snapshot.c.token)
                gone = snapshot.c.seq.in_([each.seq for each in marks if each not in kept])
                connection.execute(sa.delete(piece).where(piece.c.token.in_(known.where(gone))))
                connection.execute(sa.delete(snapshot).where(gone))
        while old and self._removed_some(old[-1].seq):
            pass

    # --- inside

    def _marks(self) -> list[Mark]:
        """Of the snapshots that this program can read, oldest first."""
        query = sa.select(snapshot.c.seq, snapshot.c.at).where(snapshot.c.format == codec.FORMAT)
        with self._read() as connection:
            return [Mark(row.seq, row.at) for row in connection.execute(query.order_by(snapshot.c.seq))]

    def _snapshot(self, order: sa.ColumnElement[int]) -> tuple[JournalEnd, State] | None:
        with self._read() as connection:
            complete = not connection.scalar(sa.select(meta.c.compacted))
            for row in connection.execute(sa.select(snapshot).order_by(order)).all():
                query = sa.select(piece.c.body).where(piece.c.token == row.token).order_by(piece.c.number)
                try:
                    if row.format == codec.FORMAT:
                        state = codec.decode(connection.scalars(query).all(), row.pieces)
                        return JournalEnd(row.seq, row.entry), state
                    log.warning("the snapshot at entry %d has format %d, which is unknown here", row.seq, row.format)
                except ValueError as error:
                    log.warning("the snapshot at entry %d cannot be read: %s", row.seq, error)
        if complete:
            return None
        raise StoreError(
            f"the state that the store {self.name} keeps cannot be read by this Headwater; use the one that wrote it, "
            "or move the store away: a new one is made and the views are adopted from the catalog"
        )

    def _removed_some(self, upto: int) -> bool:
        """Removes some of the oldest entries, up to this one. Returns whether there are more."""
        with self._begin() as connection:
            first: int = connection.scalars(sa.select(meta.c.compacted)).one()
            last = min(first + BATCH, upto)
            if last <= first:
                return False
            at, token = connection.execute(sa.select(journal.c.at, journal.c.token).where(journal.c.seq == last)).one()
            connection.execute(sa.delete(journal).where(journal.c.seq <= last))
            connection.execute(sa.update(meta).values(compacted=last, compacted_at=at, compacted_token=token))
        return last < upto


def _spread(marks: Sequence[Mark], apart: int) -> list[Mark]:
    """The oldest, the newest, and some between them that lie so far apart."""
    kept = list(marks[:1])
    for each in marks[1:-1]:
        if each.at - kept[-1].at >= apart:
            kept.append(each)
    return kept + list(marks[1:][-1:])


def _remove_pieces(connection: sa.Connection, before: int) -> None:
    """Removes the pieces of replaced snapshots, and of those that were never completed."""
    known = piece.c.token.in_(sa.select(snapshot.c.token))
    connection.execute(sa.delete(piece).where(~known, piece.c.at < before))


class Keeper:
    """Keeps snapshots of an engine's state, and lets the journal forget what they cover. The lock is held for a
    copy of dictionaries only; a thread of its own does the rest."""

    def __init__(self, store: Snapshots, history: int = HISTORY) -> None:
        self._store, self._history = store, history
        self._thread = ThreadPoolExecutor(1, "headwater-snapshot")
        self._closed = self._busy = False
        self._next = 0.0  # of time.monotonic(), in seconds
        mark = store.newest()
        self._seq = 0 if mark is None else mark.seq
        age = 0 if mark is None else max(0, store.now() - mark.at)
        self._due = time.monotonic() + (DAY - age) / 1000

    def keep(self, state: State, as_of: int | JournalEnd) -> None:
        """Keeps the state as of a journal entry, if it is time for that. Nothing may change it meanwhile."""
        now, end = time.monotonic(), end_of(as_of)
        if self._closed or self._busy or now < self._next or end.seq <= self._seq:
            return
        if end.seq - self._seq >= ENTRIES or now >= self._due:
            self._busy = True
            self._thread.submit(self._keep, copied(state), end)

    def close(self) -> None:
        """Ends what is under way; what it wrote is removed by another engine."""
        self._closed = True
        self._thread.shutdown()

    def _keep(self, state: State, end: JournalEnd) -> None:
        began = time.monotonic()
        try:
            if self._store.keep_snapshot(end, state, lambda: not self._closed):
                self._seq, self._due = end.seq, time.monotonic() + DAY / 1000
                self._store.compact(self._store.now() - self._history, self._history // APART)
        except HeadwaterError as error:
            log.warning("the journal is not compacted now: %s", error)
        except Exception:
            log.exception("the journal is not compacted now")
        finally:
            ended = time.monotonic()
            self._next, self._busy = ended + max(1.0, SHARE * (ended - began)), False
