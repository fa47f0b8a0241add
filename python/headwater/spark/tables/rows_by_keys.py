"""The rows of a table that have the keys that changes reach."""

from __future__ import annotations

from functools import reduce

from attrs import frozen
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.spark.jvm import sql

WEIGHT = "headwater weight"
"""The column that tells of a row whether it comes (1), stays (0) or goes (-1)."""


@frozen
class Reach:
    """The keys that changes reach.

    Attributes:
        rows: the keys; each has ``names`` for its columns, which are none of the view's.
        columns: of the view, in the order of ``names``.
        bounds: a condition that rows with these keys fulfil, to skip files by.
        count: of the keys.
        exact: whether no other row fulfils the condition. Then no row is compared with the keys.
    """

    rows: DataFrame
    columns: tuple[str, ...]
    names: tuple[str, ...]
    bounds: str
    count: int
    exact: bool = False

    def near(self, frame: DataFrame) -> DataFrame:
        """Rows within the bounds of the keys."""
        return frame.where(self.bounds)

    def among(self, frame: DataFrame) -> DataFrame:
        """The rows with these keys."""
        if self.exact:
            return self.near(frame)
        return frame.join(F.broadcast(self.rows), self._agreeing(frame), "left_semi")

    def over(self, old: DataFrame, new: DataFrame) -> DataFrame:
        """The old rows, with those of the keys replaced by the new rows of the keys."""
        kept = old.join(F.broadcast(self.rows), self._agreeing(old), "left_anti")
        return kept.unionByName(self.among(self.near(new)))

    def weighed(self, old: DataFrame, new: DataFrame, mine: Column) -> DataFrame:
        """The same, and the old rows of the keys, each with its weight.

        Args:
            mine: whether a row is the run's to replace; a file may have rows of other partitions.
        """
        came = self.among(self.near(new)).withColumn(WEIGHT, F.lit(1))
        if self.exact:
            return old.withColumn(WEIGHT, F.when(mine & F.expr(self.bounds), -1).otherwise(0)).unionByName(came)
        reached = self.rows.withColumn(WEIGHT, F.lit(-1))
        weight = F.when(mine & reached[WEIGHT].isNotNull(), -1).otherwise(0).alias(WEIGHT)
        columns = [old[sql.identifier(each)] for each in old.columns]
        was = old.join(F.broadcast(reached), self._agreeing(old, reached), "left_outer").select(*columns, weight)
        return was.unionByName(came)

    def _agreeing(self, frame: DataFrame, keys: DataFrame | None = None) -> Column:
        """Equal keys; two that are NULL are equal."""
        keys, pairs = keys or self.rows, zip(self.columns, self.names, strict=True)
        return reduce(Column.__and__, [frame[sql.identifier(c)].eqNullSafe(keys[k]) for c, k in pairs])
