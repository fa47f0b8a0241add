"""The rows of a table that have the keys that changes reach."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from attrs import frozen
from py4j.java_gateway import JavaObject
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.spark.jvm import sql
from headwater.spark.jvm.shim import Shim

WEIGHT = "headwater weight"
"""The column that tells of a row whether it comes (1), stays (0) or goes (-1)."""


@frozen
class Reach:
    """The keys that changes reach. They lie in the memory of the driver, and no value of them passes through Python.

    Attributes:
        values: the keys, in the driver (``KeyValues.scala``).
        rows: the keys; the names of their columns are none of a view's.
        columns: of the view, in the order of those of the keys.
        count: of the keys.
    """

    values: JavaObject
    rows: DataFrame
    columns: tuple[str, ...]
    count: int

    @classmethod
    def of(cls, shim: Shim, keys: Sequence[DataFrame], columns: tuple[str, ...], most: int) -> Reach | None:
        """The keys that some queries make; ``None`` if there are more than ``most``."""
        values = shim.key_values(keys, most)
        if values is None:
            return None
        return cls(values, DataFrame(values.frame(), keys[0].sparkSession), columns, values.count())

    def near(self, frame: DataFrame) -> DataFrame:
        """Rows within the bounds of the keys."""
        return frame.where(Column(self.values.near(frame._jdf, list(self.columns))))

    def among(self, frame: DataFrame) -> DataFrame:
        """The rows with these keys."""
        has_key = self._has_key(frame)
        if has_key is not None:
            return frame.where(has_key)
        return frame.join(F.broadcast(self.rows), self._agreeing(frame), "left_semi")

    def outside(self, frame: DataFrame) -> DataFrame:
        """The rows without these keys."""
        has_key = self._has_key(frame)
        if has_key is not None:
            return frame.where(~has_key)
        return frame.join(F.broadcast(self.rows), self._agreeing(frame), "left_anti")

    def over(self, old: DataFrame, new: DataFrame) -> DataFrame:
        """The old rows, with those of the keys replaced by the new rows of the keys."""
        return self.outside(old).unionByName(self.among(self.near(new)))

    def weighed(self, old: DataFrame, new: DataFrame, mine: Column) -> DataFrame:
        """The same, and the old rows of the keys, each with its weight.

        Args:
            mine: whether a row is the run's to replace; a file may have rows of other partitions.
        """
        return self.weighing(old, mine).unionByName(self.among(self.near(new)).withColumn(WEIGHT, F.lit(1)))

    def weighing(self, old: DataFrame, mine: Column) -> DataFrame:
        """The old rows, each with its weight: those of the keys go. ``mine`` is as above."""
        columns = [old[sql.identifier(each)] for each in old.columns]
        has_key = self._has_key(old)
        if has_key is None:
            reached = self.rows.withColumn(WEIGHT, F.lit(-1))
            old = old.join(F.broadcast(reached), self._agreeing(old, reached), "left_outer")
            has_key = reached[WEIGHT].isNotNull()
        return old.select(*columns, F.when(mine & has_key, -1).otherwise(0).alias(WEIGHT))

    def _has_key(self, frame: DataFrame) -> Column | None:
        """Whether a row has one of the keys, as a condition without a join; ``None`` if they are too many for it."""
        found = self.values.among(frame._jdf, list(self.columns))
        return None if found is None else Column(found)

    def _agreeing(self, frame: DataFrame, keys: DataFrame | None = None) -> Column:
        """Equal keys; two that are NULL are equal."""
        keys, pairs = keys or self.rows, zip(self.columns, self.rows.columns, strict=True)
        return reduce(Column.__and__, [frame[sql.identifier(c)].eqNullSafe(keys[k]) for c, k in pairs])
