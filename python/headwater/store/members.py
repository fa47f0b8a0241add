"""The engines on a store: who is alive, by the store's time, and who leads.

Each engine that acts has a number, which fences it: once another engine evicted it (see ``Journal.append``),
nothing is appended by that number any more. The one of the lowest number among those alive leads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from attrs import frozen

from headwater.store.database import Database
from headwater.store.journal_end import JournalEnd
from headwater.store.schema import engine, meta


@frozen
class Beat:
    """An engine's place among the engines on a store, at one moment.

    Attributes:
        number: its own; another one than before if it was evicted meanwhile.
        at: the store's time (ms).
        last: the number of the journal's last entry; ``token``: of the append that wrote it.
        overdue: the numbers of other engines whose time is up; they are to be evicted.
        leads: whether it has the lowest number of those alive.
        known: the numbers of all engines that were not evicted.
    """

    number: int
    at: int
    last: int
    overdue: tuple[int, ...]
    leads: bool
    known: frozenset[int]
    token: str = ""

    @property
    def end(self) -> JournalEnd:
        return JournalEnd(self.last, self.token)


@frozen
class Member:
    """An engine that was not evicted; its time is up at ``until`` (ms), unless it renews it. ``alive``: it is not."""

    name: str
    number: int
    until: int
    alive: bool


class Members(Database):
    """The engines on this store."""

    def beat(self, name: str, lasting: int) -> Beat:
        """Joins the engine of this name, or renews its time, for ``lasting`` ms from now.

        It writes when half of that is over, or the clock went back, and else only reads.
        """
        with self._read() as connection:
            now, rows = self._time(connection), _rows(connection)
            mine = next((row for row in rows if row.name == name), None)
            if mine is not None and now + lasting // 2 < mine.until <= now + lasting:
                return self._seen(connection, mine.number, now, rows)
        with self._begin() as connection:
            now = self._time(connection)
            number = connection.scalar(sa.select(engine.c.number).where(engine.c.name == name))
            if number is None:
                number = connection.scalars(sa.select(meta.c.engines)).one() + 1
                connection.execute(sa.update(meta).values(engines=number))
                connection.execute(sa.insert(engine).values(number=number, name=name, until=now + lasting))
            else:
                connection.execute(sa.update(engine).where(engine.c.number == number).values(until=now + lasting))
            return self._seen(connection, number, now, _rows(connection))

    def leave(self, name: str) -> None:
        """Ends the time of the engine of this name at once."""
        with self._begin() as connection:
            connection.execute(sa.update(engine).where(engine.c.name == name).values(until=0))

    def expire(self, number: int) -> None:
        """Ends the time of an engine that is known to be gone."""
        with self._begin() as connection:
            connection.execute(sa.update(engine).where(engine.c.number == number).values(until=0))

    def engines(self) -> list[Member]:
        """The engines that were not evicted, by their numbers."""
        with self._read() as connection:
            now, rows = self._time(connection), _rows(connection)
        return [Member(row.name, row.number, row.until, row.until > now) for row in rows]

    def _seen(self, connection: sa.Connection, number: int, now: int, rows: Sequence[sa.Row[Any]]) -> Beat:
        others = [row for row in rows if row.number != number]
        overdue = tuple(row.number for row in others if row.until <= now)
        leads = all(row.number > number for row in others if row.until > now)
        known = frozenset(row.number for row in rows)
        journal = connection.execute(sa.select(meta.c.last, meta.c.token)).one()
        return Beat(number, now, journal.last, overdue, leads, known, journal.token)


def _rows(connection: sa.Connection) -> Sequence[sa.Row[Any]]:
    return connection.execute(sa.select(engine).order_by(engine.c.number)).all()
