"""The rows of a view: as its query makes them, and as its table has them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.model.partition import WHOLE, Slice
from headwater.model.view import Definition, Query
from headwater.spark.jvm import sql


def condition(definition: Definition, slices: Sequence[Slice]) -> str:
    """A condition that rows of a view in some slices fulfil."""
    return sql.predicate(slices, {column.name: column.type for column in definition.columns})


def within(frame: DataFrame, definition: Definition, slices: Sequence[Slice]) -> DataFrame:
    """Those of a frame with a view's columns that are in some slices."""
    return frame if WHOLE in slices else frame.where(condition(definition, slices))


def shaped(frame: DataFrame, definition: Definition) -> DataFrame:
    """Rows of a query with the view's columns. They are mostly those of the query, and each step of Spark's is
    analysed."""
    wanted = [(column.name, column.type.lower()) for column in definition.columns]
    if [(field.name, field.dataType.simpleString().lower()) for field in frame.schema.fields] == wanted:
        return frame
    if isinstance(definition.made_by, Query):
        frame = frame.toDF(*(name for name, _ in wanted))
    return cast(frame, definition)


def held(session: SparkSession, definition: Definition) -> DataFrame:
    """The rows in a view's table."""
    return cast(session.table(sql.with_catalog(definition.view)), definition)


def cast(frame: DataFrame, definition: Definition) -> DataFrame:
    """Rows of a view's columns, in the order and of the types that it declares."""
    return frame.select(*(F.col(sql.identifier(c.name)).cast(c.type).alias(c.name) for c in definition.columns))
