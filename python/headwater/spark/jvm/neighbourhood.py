"""The rows near to changed ones in the order of a window, as the shim finds them (``Neighbours.scala``)."""

from __future__ import annotations

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession


class Neighbourhood:
    """The keys of these rows, and of those that they are computed from, in the driver."""

    def __init__(self, found: JavaObject, session: SparkSession) -> None:
        self._found, self._session = found, session

    @property
    def keys(self) -> DataFrame:
        """The values of ``PARTITION BY`` and ``ORDER BY`` of the rows that changes reach, and of the changed rows."""
        return DataFrame(self._found.keys(), self._session)

    def rows(self, query: DataFrame) -> DataFrame:
        """The rows of the query, of which those with these keys are all there."""
        return DataFrame(self._found.rows(query._jdf), self._session)
