"""The database of a store: its transactions, its time, and its errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import sqlalchemy as sa

from headwater.model.error import StoreError
from headwater.store.dialect import Where, dialect
from headwater.store.schema import NEWEST, make, require_newest, version_of


class Database:
    """Opens, and creates or brings to the newest schema, the database of a store.

    Attributes:
        name: the store as messages name it.
        reads_only: it is read as it is; nothing is created.
    """

    def __init__(
        self, where: Where, *, reads_only: bool = False, creates: bool = True, clock: Callable[[], int] | None = None
    ) -> None:
        """
        Args:
            where: a file, or the URL of a database.
            reads_only: this program cannot write it.
            creates: makes the store where there is none.
            clock: takes the place of the database's time, in tests.

        Raises:
            StoreError: the store cannot be created or opened, or is not one.
        """
        self._dialect = dialect(where, reads_only=reads_only)
        self.name, self.reads_only, self._clock = self._dialect.name, self._dialect.reads_only, clock
        self._engine = self._dialect.writer()
        self._reader = self._dialect.reader(self._engine)
        with self._read() as connection:
            version = version_of(connection)
        if version == 0 and not creates:
            raise StoreError(f"there is no store in {self.name}; name another database with --store")
        if self.reads_only:
            require_newest(self.name, version)
        elif version != NEWEST:
            with self._beside() as connection:
                self._dialect.prepare(connection)
                make(connection, self.name, version_of(connection))

    def close(self) -> None:
        self._engine.dispose()

    def now(self) -> int:
        """The time (ms since the epoch) of the store, which is the same for all engines."""
        with self._read() as connection:
            return self._time(connection)

    # --- for the parts of the store

    def _time(self, connection: sa.Connection) -> int:
        return connection.scalars(sa.select(self._dialect.now)).one() if self._clock is None else self._clock()

    def _begin(self) -> AbstractContextManager[sa.Connection]:
        """A transaction that may write. One runs at a time."""
        return self._transaction(self._engine, self._dialect.serialise)

    def _beside(self) -> AbstractContextManager[sa.Connection]:
        """A transaction that writes what no other one touches, beside them."""
        return self._transaction(self._engine)

    def _read(self) -> AbstractContextManager[sa.Connection]:
        """A transaction that only reads: it sees one state of the store and blocks no other."""
        return self._transaction(self._reader)

    @contextmanager
    def _transaction(
        self, engine: sa.Engine, first: Callable[[sa.Connection], None] = lambda _: None
    ) -> Iterator[sa.Connection]:
        try:
            with engine.begin() as connection:
                first(connection)
                yield connection
        except sa.exc.DBAPIError as error:
            if error.connection_invalidated:
                raise ConnectionLost(str(self._dialect.explained(error))) from error
            raise self._dialect.explained(error) from error


class ConnectionLost(StoreError):
    """The connection broke, so it is unknown whether the transaction was committed."""
