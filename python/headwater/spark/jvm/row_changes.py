"""Rows that come to a view and go from it, in the memory of the driver (``RowChanges.scala``)."""

from __future__ import annotations

from attrs import frozen
from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession

MOST = 50_000
BYTES = 16 << 20
"""So many rows are in memory, of so many bytes."""


@frozen
class Instead:
    """Rows that take the place of others.

    Attributes:
        missing: how many copies are to go that are not there.
    """

    rows: DataFrame
    missing: int


class RowChanges:
    """How often each row comes or goes. Equal rows have equal bytes."""

    def __init__(self, changes: JavaObject, session: SparkSession) -> None:
        self._changes, self._session = changes, session

    @property
    def going(self) -> int:
        """How many different rows go."""
        return self._changes.going()

    @property
    def went(self) -> DataFrame:
        """The rows that go, each once."""
        return DataFrame(self._changes.went(), self._session)

    @property
    def came(self) -> DataFrame:
        """The rows that come."""
        return DataFrame(self._changes.came(), self._session)

    def instead(self, there: DataFrame) -> Instead | None:
        """What takes the place of some rows of a view; ``None`` if these are many.

        Args:
            there: the rows, with all copies of those that go.
        """
        found = self._changes.instead(there._jdf, MOST, BYTES)
        return None if found is None else Instead(DataFrame(found.rows(), self._session), found.missing())
