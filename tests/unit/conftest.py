"""Stores of each kind, for tests of everything that a store promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headwater.store.sql_store import SqlStore


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a PostgreSQL database."""
    from tests.postgresql import server  # half a second that most tests need not wait for

    with server() as url:
        yield url


class Stores:
    """Opens a store of one kind any number of times.

    Attributes:
        where: its file or URL.
    """

    def __init__(self, where: Any) -> None:
        self.where = where
        self._open: list[SqlStore] = []

    def __call__(self, of: Callable[..., SqlStore] = SqlStore, **options: Any) -> SqlStore:
        self._open.append(of(self.where, **options))
        return self._open[-1]

    def close(self) -> None:
        for each in self._open:
            each.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def stores(request, tmp_path) -> Iterator[Stores]:
    """A store of each kind, which is empty."""
    where = tmp_path / "store.db"
    if request.param == "postgresql":
        from tests.postgresql import forget  # a second that most tests need not wait for

        where = request.getfixturevalue("postgresql")
        forget(where)
    made = Stores(where)
    yield made
    made.close()
