"""The journal of a store, and the versions that it gives.

Any engine may append to the journal, one entry at a time, and only onto the journal's end as it last
read it: an append onto a journal that has grown raises ``Stale``, and the caller reads on and decides
again. So all engines on a store see one history and no change is recorded twice. Who read an entry that the
journal does not have any more, or has another one in place of, is told so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from uuid import uuid4

import sqlalchemy as sa
from attrs import frozen

from headwater.model.error import JournalError, StillAlive, TakenOver
from headwater.model.event import Event
from headwater.store import codec
from headwater.store.database import ConnectionLost, Database
from headwater.store.journal_end import JournalEnd, end_of, replaced, require_end
from headwater.store.schema import engine, journal, meta

ENDED = ("Published", "Failed", "Skipped")
LOST = "EngineLost"
RUNS = ("Started", "Reworked", LOST, *ENDED)
Build = Callable[[int], "Event | None"]

MOST = 2**63 - 1
"""The greatest number that a database takes for a limit."""

TRIES = 3
"""How often an append is tried whose connection breaks."""


class Stale(Exception):
    """The journal has grown since it was last read."""


class Compacted(Exception):
    """Entries that a reader asked for are removed. A snapshot covers them (see ``store.recovery``)."""


@frozen
class Entry:
    """A journal entry: its place in the total order, what happened, and the token of the append that wrote it."""

    seq: int
    event: Event
    token: str = ""

    @property
    def end(self) -> JournalEnd:
        return JournalEnd(self.seq, self.token)


@frozen
class RemovedEntries:
    """The journal's entries up to ``seq``, the last of which was appended ``at`` that time (ms), are removed."""

    seq: int
    at: int


@frozen
class _Attempt:
    """What one append keeps from try to try, so that each gives the same versions."""

    after: JournalEnd
    by: int | None
    evicting: int | None
    token: str


class Journal(Database):
    """The entries, in one total order."""

    def append(
        self, build: Callable[[int], Event], after: int | JournalEnd, by: int | None = None, evicting: int | None = None
    ) -> Entry:
        """Appends the event that ``build`` makes of a fresh version, durably, before it returns.

        The version is the store's time or, if that was given before, one above the highest given. Where the
        connection breaks, the event is applied once all the same; ``build`` may be called again then.

        Args:
            build: makes the event.
            after: the journal's last entry, as the caller knows it.
            by: the number of the engine that acts.
            evicting: the number of an engine whose time is up; it is removed together with the append.

        Raises:
            Stale: the journal's last entry is not ``after``.
            TakenOver: the engine ``by`` was evicted.
            StillAlive: the engine ``evicting`` has renewed its time.
            StoreError: it has another entry of that number.
        """
        [entry] = self._append([build], _Attempt(end_of(after), by, evicting, _token()))
        return entry

    def append_all(self, builds: Iterable[Build], after: int | JournalEnd, by: int | None = None) -> list[Entry]:
        """Appends the events that ``builds`` make, all in one transaction, each of a version of its own; one
        that makes ``None`` is left out.

        Raises:
            Stale: the journal's last entry is not ``after``.
            TakenOver: the engine ``by`` was evicted.
            StoreError: it has another entry of that number.
        """
        return self._append(list(builds), _Attempt(end_of(after), by, None, _token()))

    def raise_version(self, at_least: int) -> None:
        """Gives only versions above this one from now on: a reader saw it, although this store does not know it."""
        with self._begin() as connection:
            connection.execute(sa.update(meta).where(meta.c.highest < at_least).values(highest=at_least))

    def read(self, after: int | JournalEnd = 0) -> Iterator[Entry]:
        """The journal's entries above ``after``, in order.

        Raises:
            Compacted: entries above ``after`` are removed.
            StoreError: there is no entry ``after``, or it is another one.
            JournalError: an entry is malformed, or of a version that this store never gave; it says which.
        """
        end = end_of(after)
        with self._read() as connection:
            known = connection.execute(sa.select(meta.c.highest, meta.c.last, meta.c.compacted)).one()
            if end.seq < known.compacted:
                raise Compacted
            require_end(connection, self.name, end)
            if end.seq == known.last:
                return
            rows = connection.execute(
                sa.select(journal.c.seq, journal.c.version, journal.c.body, journal.c.token)
                .where(journal.c.seq > end.seq)
                .order_by(journal.c.seq)
            ).all()
        for seq, version, body, token in rows:
            if version is not None and version > known.highest:
                raise JournalError(
                    seq, f"version {version} is from the future: the highest ever given is {known.highest}"
                )
            yield _entry(seq, body, token)

    def history(self, view: str | None = None, limit: int | None = None, ended_after: int | None = None) -> list[Entry]:
        """The newest entries about runs, and about what was completed without one, newest first.

        With ``ended_after``, only those of runs that ended after that entry. Entries that are removed are left
        out; ``gone`` describes them.
        """
        query = sa.select(journal.c.seq, journal.c.body, journal.c.token).where(journal.c.kind.in_(RUNS))
        if ended_after is not None:
            ended = sa.select(journal.c.version).where(journal.c.kind.in_(ENDED), journal.c.seq > ended_after)
            query = query.where(journal.c.version.in_(ended))
        if view is not None:
            query = query.where((journal.c.subject == view) | (journal.c.kind == LOST))
        with self._read() as connection:
            most = None if limit is None else min(limit, MOST)
            rows = connection.execute(query.order_by(journal.c.seq.desc()).limit(most)).all()
        return [_entry(seq, body, token) for seq, body, token in rows]

    def last(self) -> int:
        """The number of the journal's last entry; 0 when there is none."""
        with self._read() as connection:
            last: int = connection.scalars(sa.select(meta.c.last)).one()
            return last

    def gone(self) -> RemovedEntries | None:
        """The entries that are removed, if any are."""
        with self._read() as connection:
            known = connection.execute(sa.select(meta.c.compacted, meta.c.compacted_at)).one()
        return RemovedEntries(known.compacted, known.compacted_at) if known.compacted else None

    # --- inside

    def _append(self, builds: Sequence[Build], attempt: _Attempt) -> list[Entry]:
        made: list[Entry] = []
        given = 0  # the version before the first one of the first try
        for left in reversed(range(TRIES)):
            try:
                with self._begin() as connection:
                    if made and self._is_applied(connection, attempt):
                        return made
                    given, now = self._may_append(connection, attempt, given)
                    made = _built(builds, attempt, given)
                    if made:
                        self._insert(connection, made, now, given + len(builds))
                return made
            except ConnectionLost:
                if not left:
                    raise
        raise AssertionError("the last try returns or raises")

    def _may_append(self, connection: sa.Connection, attempt: _Attempt, given: int) -> tuple[int, int]:
        """The version before the first one, and the time."""
        known = connection.execute(sa.select(meta.c.last, meta.c.highest, meta.c.token)).one()
        if known.last != attempt.after.seq:
            raise Stale
        if attempt.after.token not in (None, known.token):
            raise replaced(self.name, known.last, known.last)
        now = self._time(connection)
        if attempt.by is not None and _until(connection, attempt.by) is None:
            raise TakenOver("another engine took over the refreshes of this one, as it did not answer for a while")
        if attempt.evicting is not None:
            until = _until(connection, attempt.evicting)
            if until is not None and until > now:
                raise StillAlive("the engine answers again, so its refreshes are its own")
            connection.execute(sa.delete(engine).where(engine.c.number == attempt.evicting))
        return max(given or now - 1, known.highest), now

    def _insert(self, connection: sa.Connection, entries: list[Entry], now: int, highest: int) -> None:
        connection.execute(sa.update(meta).values(highest=highest, last=entries[-1].seq, token=entries[-1].token))
        connection.execute(sa.insert(journal), [_row(entry, now) for entry in entries])

    def _is_applied(self, connection: sa.Connection, attempt: _Attempt) -> bool:
        """Whether a try whose connection broke was committed before."""
        token = sa.select(journal.c.token).where(journal.c.seq == attempt.after.seq + 1)
        return connection.scalar(token) == attempt.token


def _token() -> str:
    return uuid4().hex[:16]


def _built(builds: Sequence[Build], attempt: _Attempt, given: int) -> list[Entry]:
    events = [build(given + n) for n, build in enumerate(builds, 1)]
    some, after = (each for each in events if each is not None), attempt.after.seq
    return [Entry(after + n, event, attempt.token) for n, event in enumerate(some, 1)]


def _until(connection: sa.Connection, number: int) -> int | None:
    return connection.scalar(sa.select(engine.c.until).where(engine.c.number == number))


def _entry(seq: int, body: str, token: str = "") -> Entry:
    try:
        return Entry(seq, codec.decode(body), token)
    except ValueError as error:
        raise JournalError(seq, str(error)) from error


def _row(entry: Entry, now: int) -> dict[str, object]:
    event = entry.event
    return {
        "seq": entry.seq,
        "at": now,
        "kind": codec.kind(event),
        "version": getattr(event, "version", None),
        "subject": _subject(event),
        "body": codec.encode(event),
        "token": entry.token,
    }


def _subject(event: Event) -> str:
    definition = getattr(event, "definition", None)
    named = (getattr(event, each, None) for each in ("view", "table", "group"))
    return next(filter(None, named), None) or (definition.view if definition else "")
