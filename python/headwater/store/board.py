"""What engines and commands leave on a store for one another: summaries, notes, orders, and paths to remove."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa
from attrs import frozen

from headwater.engine.tell.status import Summary
from headwater.store import codec
from headwater.store.database import Database
from headwater.store.schema import command, engine, garbage, note, summary


@frozen
class Order:
    """What the command line asked of the engine that leads."""

    id: int
    kind: str
    subject: str


@frozen
class Kept:
    """The summary of all views as of a journal entry; ``detail`` is JSON text (see ``engine.tell.detail``)."""

    summary: Summary
    detail: str | None


class Board(Database):
    """Everything of a store but the journal, its snapshots, and the engines."""

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
        """Keeps what the engine that leads says about something, instead of what was said before."""
        with self._begin() as connection:
            connection.execute(sa.delete(note).where(note.c.about == about))
            connection.execute(sa.insert(note).values(about=about, text=text))

    def noted(self, about: str) -> str | None:
        with self._read() as connection:
            return connection.scalar(sa.select(note.c.text).where(note.c.about == about))

    def note_first(self, about: str, text: str) -> str:
        """Keeps this text unless there is one already. Returns the one that is kept."""
        with self._begin() as connection:
            connection.execute(self._dialect.insert(note).values(about=about, text=text).on_conflict_do_nothing())
            kept: str = connection.scalars(sa.select(note.c.text).where(note.c.about == about)).one()
            return kept

    # --- directories to remove

    def discard(self, view: str, paths: Iterable[str], now: int) -> None:
        """Notes that these paths are superseded since ``now``."""
        rows = [{"path": path, "view": view, "since": now} for path in paths]
        if rows:
            with self._begin() as connection:
                connection.execute(self._dialect.insert(garbage).on_conflict_do_nothing(), rows)

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

    # --- orders from the command line

    def order(self, kind: str, subject: str) -> None:
        """Leaves an order for the engine that leads."""
        with self._begin() as connection:
            connection.execute(sa.insert(command).values(kind=kind, subject=subject))

    def orders(self) -> list[Order]:
        """The orders that are not carried out yet, oldest first."""
        with self._read() as connection:
            return _orders(connection, sa.true())

    def take_orders(self, by: int) -> list[Order]:
        """The orders that the engine of this number is to carry out, oldest first: no other engine gets them while
        it is one of the engines."""
        gone = command.c.taken_by.not_in(sa.select(engine.c.number))
        mine = command.c.taken_by.is_(None) | (command.c.taken_by == by) | gone
        with self._read() as connection:
            if not _orders(connection, mine):
                return []
        with self._begin() as connection:
            connection.execute(sa.update(command).where(mine).values(taken_by=by))
            return _orders(connection, command.c.taken_by == by)

    def carried_out(self, order: Order) -> None:
        with self._begin() as connection:
            connection.execute(sa.delete(command).where(command.c.id == order.id))


def _orders(connection: sa.Connection, which: sa.ColumnElement[bool]) -> list[Order]:
    rows = connection.execute(sa.select(command).where(which).order_by(command.c.id)).all()
    return [Order(row.id, row.kind, row.subject) for row in rows]
