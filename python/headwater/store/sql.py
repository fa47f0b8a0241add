"""The store: the journal, its summary, the lease and what is to be removed, in a relational database.

Any engine may append to the journal, one entry at a time, and only onto the journal's end as it last
read it: an append onto a journal that has grown raises ``Stale``, and the caller reads on and decides
again. So all engines on a store see one history and no change is recorded twice. Only the holder of
the lease may start and publish runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa
from attrs import frozen

from headwater.engine.status import Summary
from headwater.model.error import JournalError, LeaseLost, StoreError
from headwater.model.event import Event
from headwater.store import codec
from headwater.store.schema import command, garbage, journal, lease, meta, migrate, note, require_newest, summary

ENDED = ("Published", "Failed", "Skipped")
RESTARTED = "Restarted"
Build = Callable[[int], "Event | None"]


class Stale(Exception):
    """The journal has grown since it was last read."""


@frozen
class Entry:
    """A journal entry: its place in the total order, and what happened."""

    seq: int
    event: Event


@frozen
class Order:
    """What the command line asked of the engine that acts."""

    id: int
    kind: str
    subject: str


@frozen
class Kept:
    """What is said of all views as of a journal entry; ``detail`` is JSON text (see ``engine.status.detail``)."""

    summary: Summary
    detail: str | None


class SqlStore:
    """Opens (and creates) the store at ``path``, a SQLite file; with ``reads_only`` one that is there, as it is.

    Raises:
        StoreError: the file cannot be created or opened, or is not a store.
    """

    def __init__(self, path: str | Path, *, reads_only: bool = False) -> None:
        self.path, self.reads_only = Path(path), reads_only
        if not reads_only:
            _create_private(self.path)
        url = _for_reading(self.path) if reads_only else sa.URL.create("sqlite", database=str(self.path))
        self._engine = sa.create_engine(url, connect_args={"timeout": 30})
        sa.event.listen(self._engine, "connect", _configure_reader if reads_only else _configure)
        sa.event.listen(self._engine, "begin", _begin_transaction)
        self._reader = self._engine.execution_options(headwater_begin="DEFERRED")
        with self._read() if reads_only else self._begin() as connection:
            (require_newest if reads_only else migrate)(connection, self.path)

    def close(self) -> None:
        self._engine.dispose()

    # --- journal

    def append(self, build: Callable[[int], Event], now: int, after: int, epoch: int | None = None) -> Entry:
        """Appends the event that ``build`` makes of a fresh version, durably, before it returns.

        The version is ``now`` or, if that was given before, one above the highest given.

        Raises:
            Stale: the journal's last entry is not ``after``.
            LeaseLost: ``epoch`` is given and is not that of the lease now.
        """
        [entry] = self._append([build], now, after, epoch)
        return entry

    def append_all(self, builds: Iterable[Build], now: int, after: int) -> list[Entry]:
        """Appends the events that ``builds`` make, all in one transaction, each of a version of its own; one
        that makes ``None`` is left out.

        Raises:
            Stale: the journal's last entry is not ``after``.
        """
        return self._append(builds, now, after, None)

    def _append(self, builds: Iterable[Build], now: int, after: int, epoch: int | None) -> list[Entry]:
        with self._begin() as connection:
            last = connection.scalar(sa.select(sa.func.max(journal.c.seq))) or 0
            if last != after:
                raise Stale
            if epoch is not None and connection.scalar(sa.select(lease.c.epoch)) != epoch:
                raise LeaseLost("another engine took over this store")
            version = max(now - 1, connection.scalar(sa.select(meta.c.highest)) or 0)
            entries = []
            for build in builds:
                version += 1
                event = build(version)
                if event is not None:
                    entries.append(Entry(last + len(entries) + 1, event))
            if entries:
                connection.execute(sa.update(meta).values(highest=version))
                connection.execute(sa.insert(journal), [_row(entry, now) for entry in entries])
        return entries

    def read(self, after: int = 0) -> Iterator[Entry]:
        """The journal's entries above ``after``, in order.

        Raises:
            JournalError: an entry is malformed, or of a version that this store never gave; it says which.
        """
        with self._read() as connection:
            rows = connection.execute(
                sa.select(journal.c.seq, journal.c.version, journal.c.body)
                .where(journal.c.seq > after)
                .order_by(journal.c.seq)
            ).all()
            highest = connection.scalar(sa.select(meta.c.highest)) if rows else 0
        for seq, version, body in rows:
            if version is not None and version > highest:
                raise JournalError(seq, f"version {version} is from the future: the highest ever given is {highest}")
            yield _entry(seq, body)

    def history(self, view: str | None = None, limit: int | None = None, ended_after: int | None = None) -> list[Entry]:
        """The newest entries about runs, and about what was completed without one, newest first.

        With ``ended_after``, only those of runs that ended after that entry.
        """
        query = sa.select(journal.c.seq, journal.c.body).where(journal.c.kind.in_(("Started", RESTARTED, *ENDED)))
        if ended_after is not None:
            ended = sa.select(journal.c.version).where(journal.c.kind.in_(ENDED), journal.c.seq > ended_after)
            query = query.where(journal.c.version.in_(ended))
        if view is not None:
            query = query.where((journal.c.subject == view) | (journal.c.kind == RESTARTED))
        with self._read() as connection:
            rows = connection.execute(query.order_by(journal.c.seq.desc()).limit(limit)).all()
        return [_entry(seq, body) for seq, body in rows]

    def last(self) -> int:
        """The number of the journal's last entry; 0 when there is none."""
        with self._read() as connection:
            return connection.scalar(sa.select(sa.func.max(journal.c.seq))) or 0

    # --- summary

    def summarise(self, seq: int, summarised: Summary, detail: str | None = None) -> None:
        """Keeps what is said of all views as of a journal entry, instead of what was kept before, unless that is
        newer, or as new with more detail."""
        offered = (seq, detail is not None)
        with self._begin() as connection:
            known = connection.execute(sa.select(summary.c.seq, summary.c.detail.is_not(None).label("full"))).first()
            if known is None or (known.seq, bool(known.full)) < offered:
                connection.execute(sa.delete(summary))
                row = {"seq": seq, "views": codec.encode_summary(summarised), "detail": detail}
                connection.execute(sa.insert(summary).values(row))

    def summary(self, since: int, detailed: bool) -> Kept | None:
        """What is kept, if it is as of the journal entry ``since`` or one after it."""
        detail = summary.c.detail if detailed else sa.null().label("detail")
        with self._read() as connection:
            row = connection.execute(sa.select(summary.c.views, detail).where(summary.c.seq >= since)).first()
        return None if row is None else Kept(codec.decode_summary(row.views), row.detail)

    # --- notes

    def note(self, about: str, text: str) -> None:
        """Keeps what the engine that acts says about something, instead of what was said before."""
        with self._begin() as connection:
            connection.execute(sa.delete(note).where(note.c.about == about))
            connection.execute(sa.insert(note).values(about=about, text=text))

    def noted(self, about: str) -> str | None:
        with self._read() as connection:
            return connection.scalar(sa.select(note.c.text).where(note.c.about == about))

    # --- lease

    def acquire(self, holder: str, now: int, lasting: int) -> int | None:
        """Takes the lease for ``lasting`` ms, or renews it when half of that is over or the clock went back.

        Returns:
            Its epoch, or ``None`` if another holds it.
        """
        with self._read() as connection:
            row = connection.execute(sa.select(lease)).one()
        if row.holder == holder and row.epoch and now + lasting // 2 < row.until <= now + lasting:
            return row.epoch
        with self._begin() as connection:
            row = connection.execute(sa.select(lease)).one()
            if row.holder == holder and row.epoch:
                connection.execute(sa.update(lease).values(until=now + lasting))
                return row.epoch
            if row.until > now:
                return None
            connection.execute(sa.update(lease).values(holder=holder, until=now + lasting, epoch=row.epoch + 1))
            return row.epoch + 1

    def release(self, holder: str) -> None:
        with self._begin() as connection:
            connection.execute(sa.update(lease).where(lease.c.holder == holder).values(until=0, holder=""))

    def holder(self) -> tuple[str, int]:
        """Who holds the lease, and until when."""
        with self._read() as connection:
            row = connection.execute(sa.select(lease)).one()
        return row.holder, row.until

    # --- directories to remove, and orders from the command line

    def discard(self, view: str, paths: Iterable[str], now: int) -> None:
        """Notes that these paths are superseded since ``now``."""
        rows = [{"path": path, "view": view, "since": now} for path in paths]
        if rows:
            with self._begin() as connection:
                connection.execute(sa.insert(garbage).prefix_with("OR IGNORE"), rows)

    def discarded(self, view: str, before: int) -> list[str]:
        """The paths of a view that were superseded before a time."""
        with self._read() as connection:
            query = sa.select(garbage.c.path).where(garbage.c.view == view, garbage.c.since < before)
            return list(connection.scalars(query))

    def removed(self, paths: Iterable[str]) -> None:
        rows = [{"gone": path} for path in paths]
        if rows:
            with self._begin() as connection:
                connection.execute(sa.delete(garbage).where(garbage.c.path == sa.bindparam("gone")), rows)

    def order(self, kind: str, subject: str) -> None:
        """Leaves an order for the engine that acts on this store."""
        with self._begin() as connection:
            connection.execute(sa.insert(command).values(kind=kind, subject=subject))

    def orders(self) -> list[Order]:
        """The orders that are not carried out yet, oldest first."""
        with self._read() as connection:
            rows = connection.execute(sa.select(command).order_by(command.c.id)).all()
        return [Order(row.id, row.kind, row.subject) for row in rows]

    def carried_out(self, order: Order) -> None:
        with self._begin() as connection:
            connection.execute(sa.delete(command).where(command.c.id == order.id))

    def _begin(self) -> AbstractContextManager[sa.Connection]:
        return self._transaction(self._engine)

    def _read(self) -> AbstractContextManager[sa.Connection]:
        """A transaction that only reads: it sees one state of the store and holds nobody up."""
        return self._transaction(self._reader)

    @contextmanager
    def _transaction(self, engine: sa.Engine) -> Iterator[sa.Connection]:
        try:
            with engine.begin() as connection:
                yield connection
        except sa.exc.DatabaseError as error:
            raise StoreError(
                f"the store {self.path} cannot be used ({error.orig}); if it is damaged, move it away: "
                "a new one is made and the views are adopted from the catalog"
            ) from error


def _entry(seq: int, body: str) -> Entry:
    try:
        return Entry(seq, codec.decode(body))
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
    }


def _subject(event: Event) -> str:
    definition = getattr(event, "definition", None)
    return getattr(event, "view", None) or getattr(event, "table", None) or (definition.view if definition else "")


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
    log, it reads a database without one only when told that nobody writes it."""
    alone = not path.with_name(f"{path.name}-wal").exists() and not os.access(path.parent, os.W_OK)
    query = {"mode": "ro", "uri": "true", **({"immutable": "1"} if alone else {})}
    return sa.URL.create("sqlite", database=f"file:{quote(str(path))}", query=query)


def _begin_transaction(connection: sa.Connection) -> None:
    # One that is to write takes its place at the start: it could not be given one after it has read.
    connection.exec_driver_sql(f"BEGIN {connection.get_execution_options().get('headwater_begin', 'IMMEDIATE')}")


def _configure_reader(connection, _record) -> None:
    connection.isolation_level = None
    connection.execute("PRAGMA busy_timeout=30000")


def _configure(connection, _record) -> None:
    connection.isolation_level = None  # SQLAlchemy begins transactions itself, see "begin" above
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=30000"):
        connection.execute(f"PRAGMA {pragma}")
