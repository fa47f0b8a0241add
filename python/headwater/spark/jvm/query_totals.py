"""The totals of a query, as the shim makes them of its plan (``Totals.scala``)."""

from __future__ import annotations

from collections.abc import Sequence

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession

from headwater.spark.jvm import wire


class ChangedGroups:
    """The totals of changed rows, in the driver."""

    def __init__(self, groups: JavaObject, session: SparkSession) -> None:
        self._groups, self._session = groups, session

    @property
    def totals(self) -> DataFrame:
        """The totals, with their weights."""
        return DataFrame(self._groups.totals(), self._session)

    @property
    def keys(self) -> DataFrame:
        """The keys of the groups, each group once."""
        return DataFrame(self._groups.groups(), self._session)

    @property
    def count(self) -> int:
        return self._groups.count()

    @property
    def may_lose(self) -> bool:
        """Whether one of them may have lost its least or greatest value."""
        return self._groups.mayLose()

    def buckets(self, count: int) -> list[int]:
        """The buckets of these groups, of so many."""
        return [*self._groups.buckets(count)]


class NearTotals:
    """Totals of some buckets, in the driver."""

    def __init__(self, near: JavaObject, session: SparkSession) -> None:
        self._near, self._session = near, session

    @property
    def frame(self) -> DataFrame:
        """The totals; no job reads them."""
        return DataFrame(self._near.frame(), self._session)

    def write(self, root: str) -> dict[str, dict[str, int]]:
        """Writes them without a job, in a directory ``bucket=N`` for each bucket.

        Returns:
            Of each directory by its name, the bytes of each file by its name.
        """
        return wire.decode(self._near.write(root), dict[str, dict[str, int]])


class QueryTotals:
    """Makes frames of a query's totals, and of its rows by totals."""

    def __init__(self, totals: JavaObject, session: SparkSession) -> None:
        self._totals, self._session = totals, session

    def rows(self) -> DataFrame:
        """The totals of the rows that the query reads."""
        return self._frame(self._totals.rows())

    def within(self, keys: JavaObject) -> DataFrame:
        """The totals of the groups with some keys (``KeyValues.scala``)."""
        return self._frame(self._totals.within(keys))

    def terms(self, few: bool = False) -> list[DataFrame]:
        """The totals of changed rows by their weights, for each place where the query reads a table that changed;
        ``few``: one task reads these."""
        return [self._frame(each) for each in self._totals.terms(few)]

    def changed(self, before: DataFrame, changed: Sequence[DataFrame], few: bool) -> DataFrame:
        """Totals with those of rows that stood in for tables; ``few``: one task adds them."""
        return self._frame(self._totals.changed(before._jdf, [each._jdf for each in changed], few))

    def losing(self, before: DataFrame, changed: Sequence[DataFrame], few: bool) -> DataFrame:
        """The keys of the groups that lose their least or greatest value by changes, so that totals do not tell it; the
        arguments are as for ``changed``."""
        return self._frame(self._totals.losing(before._jdf, [each._jdf for each in changed], few))

    def collected(self, changed: Sequence[DataFrame], most: int) -> ChangedGroups | None:
        """The totals of rows that stood in for tables, brought to the driver; ``None`` if there are more than that."""
        found = self._totals.collected([each._jdf for each in changed], most)
        return None if found is None else ChangedGroups(found, self._session)

    def bucketed(self, totals: DataFrame, count: int) -> DataFrame:
        """Totals with the column ``bucket``, the bucket of each row, of so many."""
        return self._frame(self._totals.bucketed(totals._jdf, count))

    def near(self, totals: DataFrame, count: int) -> NearTotals | None:
        """Totals brought to the driver, which writes them in so many buckets; ``None`` if they are not few."""
        found = self._totals.near(totals._jdf, count)
        return None if found is None else NearTotals(found, self._session)

    @property
    def has_extremes(self) -> bool:
        """Whether some totals are least or greatest values, which rows that go may take away."""
        return self._totals.hasExtremes()

    @property
    def shown(self) -> list[int] | None:
        """The places of the groups' keys among the columns of the query; ``None`` unless each row shows all keys of its
        group, and no other group matters to it."""
        found = self._totals.shown()
        return None if found is None else [*found]

    @property
    def is_by_value(self) -> bool:
        """Whether a group has totals for each value that a ``DISTINCT`` function takes."""
        return self._totals.isByValue()

    @property
    def is_arranged(self) -> bool:
        """Whether the query says itself in which order or files its rows come."""
        return self._totals.isArranged()

    def finished(self, totals: DataFrame, disordered: bool = False) -> DataFrame:
        """The rows of the query by its totals; ``disordered``: their order does not matter."""
        return self._frame(self._totals.finished(totals._jdf, disordered))

    def _frame(self, rows: JavaObject) -> DataFrame:
        return DataFrame(rows, self._session)
