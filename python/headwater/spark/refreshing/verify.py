"""Compares a view with its query.

Example: a function of the query says that it is deterministic and is not. No change of a source tells that its rows are
other ones by now, so only a comparison does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce

from attrs import frozen
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    DoubleType,
    FloatType,
    GeographyType,
    GeometryType,
    MapType,
    StringType,
    StructType,
    VariantType,
)

from headwater.model.dependency import common
from headwater.model.error import StatementError
from headwater.model.measure import Edge
from headwater.model.name import anywhere
from headwater.model.partition import NAMELESS, Slice
from headwater.model.view import Column as Declared
from headwater.model.view import Definition, Pairs, Query
from headwater.spark.jvm import sql, wire
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.refreshing.changed_rows import PINS
from headwater.spark.refreshing.trailing_edge import up_to
from headwater.spark.tables.registry import Formats
from headwater.spark.tables.rows_by_keys import Reach
from headwater.spark.tables.view_rows import held, shaped, within

DIGITS = 9
"""Numbers in floating point are equal if so many digits are. Their sum depends on the order of the rows."""

SAMPLED = 500
"""The number of keys in a sample."""

Part = Callable[[DataFrame], DataFrame]
"""Those rows of a view, and of its query, that are compared."""


@frozen
class Sample:
    """Some keys of a view by chance, or one of its partitions where no key is known; all rows where there is none."""


@frozen
class Difference:
    """The rows in which a view and its query differ.

    Attributes:
        missing: rows of the query that the view lacks.
        surplus: rows of the view that the query does not make.
        example: one of them, as JSON; empty if there is none.
    """

    missing: int = 0
    surplus: int = 0
    example: str = ""


class Comparison:
    """Compares views with their queries, as Spark computes them now."""

    def __init__(self, shim: Shim, sessions: Sessions, formats: Formats) -> None:
        self._shim, self._sessions, self._formats = shim, sessions, formats

    def difference(
        self, definition: Definition, rows: Sequence[Slice] | Sample, snapshots: Pairs, edge: Edge | None = None
    ) -> Difference:
        """The difference of a view from its query.

        Args:
            rows: those that are compared.
            snapshots: of the tables that are read at one.
            edge: of the last refresh of the view.

        Raises:
            StatementError: the view cannot be compared.
        """
        if not isinstance(definition.made_by, Query):
            raise StatementError(f"{definition.view} cannot be verified: a function makes its rows")
        if definition.earlier:
            raise StatementError(f"{definition.view} cannot be verified: its query reads its own earlier partitions")
        if definition.policy.trailing_edge and edge is None:
            raise StatementError(
                f"{definition.view} cannot be verified: the time up to which it was refreshed is not on record; first "
                f"REFRESH MATERIALIZED VIEW {anywhere(definition.view)} FULL"
            )
        session = self._sessions.fresh(definition)
        pins = self._formats.pins(dict(snapshots))
        if lost := dict(snapshots).keys() - pins.keys() - {definition.view}:
            raise StatementError(f"{', '.join(sorted(lost))} cannot be read as it was; verify {definition.view} again")
        if pins:
            session.conf.set(PINS, wire.encode(pins))
        self._shim.renew(session, (*definition.sources, *definition.through, definition.view))
        with up_to(session, pins, definition, edge):
            query = shaped(session.sql(definition.made_by.text), definition)
        view = held(session, definition)
        part = self._part(view, definition, rows)
        return _difference(part(_stored(query, definition)), part(view), definition.columns, _nameless(definition))

    def _part(self, view: DataFrame, definition: Definition, rows: Sequence[Slice] | Sample) -> Part:
        if not isinstance(rows, Sample):
            return lambda frame: within(frame, definition, rows)
        keys = common(each.keys for each in definition.dependencies)
        columns, most = (keys, SAMPLED) if keys else (definition.partitioned_by, 1)
        if not columns:
            return lambda frame: frame
        # A view may have NULL where its query has the empty string: such a key is not found again.
        named = [F.col(sql.identifier(each)).isNotNull() for each in _nameless(definition) if each in columns]
        reach = sampled(self._shim, reduce(DataFrame.where, named, view), columns, most)
        return (lambda frame: reach.among(reach.near(frame))) if reach.count else (lambda frame: frame)


def sampled(shim: Shim, rows: DataFrame, columns: Sequence[str], most: int) -> Reach:
    """Some keys by chance of rows that have them: of a view's rows, which may be neither all nor right."""
    keys = rows.select(*map(sql.identifier, columns)).distinct().orderBy(F.rand()).limit(most)
    reach = Reach.of(shim, [keys], tuple(columns), most)
    assert reach is not None  # there are no more than the limit
    return reach


def _stored(query: DataFrame, definition: Definition) -> DataFrame:
    """The rows of a query with strings as the names of partitions have them."""
    texts = {column.name for column in definition.columns if sql.is_text(column.type)} & {*definition.partitioned_by}
    return query.withColumns({each: F.make_valid_utf8(F.col(sql.identifier(each))) for each in sorted(texts)})


def _nameless(definition: Definition) -> tuple[str, ...]:
    """The columns of which some strings are stored as NULL: for the empty string, most formats have NULL."""
    return () if definition.storage.tells_empty_text else definition.partitioned_by


def _difference(query: DataFrame, view: DataFrame, columns: Sequence[Declared], nameless: Sequence[str]) -> Difference:
    """Equal rows cancel out; those that are left differ.

    Args:
        nameless: columns of which some strings are stored as NULL.
    """
    known = [
        _comparable(column, query.schema[n].dataType, column.name in nameless).alias(f"c{n}")
        for n, column in enumerate(columns)
    ]
    weighted = query.select(*known, F.lit(1).alias("weight")).unionAll(view.select(*known, F.lit(-1).alias("weight")))
    names = [f"c{n}" for n in range(len(columns))]
    left = weighted.groupBy(*names).agg(F.sum("weight").alias("weight")).where("weight <> 0")
    shown = F.to_json(F.struct(*(F.col(f"c{n}").alias(column.name) for n, column in enumerate(columns))))
    found = left.agg(
        F.coalesce(F.sum(F.greatest("weight", F.lit(0))), F.lit(0)),
        F.coalesce(F.sum(F.greatest(-F.col("weight"), F.lit(0))), F.lit(0)),
        F.min(F.concat(F.when(F.col("weight") > 0, "missing: ").otherwise("surplus: "), shown)),
    ).collect()[0]
    missing, surplus, example = found
    return Difference(missing, surplus, example or "")


def _comparable(column: Declared, type_: DataType, nameless: bool) -> Column:
    """A column such that values are equal if Spark groups them together, and floating point if its first digits are.

    Raises:
        StatementError: there is none.
    """
    own = F.col(sql.identifier(column.name))
    if re.match(r"CHAR\b", column.type.upper()):
        return F.rtrim(own)
    if isinstance(type_, StringType):
        return F.when(~own.isin(*NAMELESS), own) if nameless else own
    return _by_value(own, type_, column)


def _by_value(own: Column, type_: DataType, of: Declared) -> Column:
    """A value of a column, or one within it. A map becomes the sorted list of its entries."""
    match type_:
        case FloatType() | DoubleType():
            return F.format_string(f"%.{DIGITS - 1}e", own.cast("double") + F.lit(0.0))
        case ArrayType():
            return F.transform(own, lambda each: _by_value(each, type_.elementType, of))
        case MapType():
            entries = F.transform(
                F.map_entries(own),
                lambda each: F.struct(
                    _by_value(each["key"], type_.keyType, of), _by_value(each["value"], type_.valueType, of)
                ),
            )
            return F.array_sort(entries)
        case StructType():
            within = [_by_value(own.getField(each.name), each.dataType, of) for each in type_.fields]
            return F.when(own.isNotNull(), F.struct(*(each.alias(f"f{n}") for n, each in enumerate(within))))
        case VariantType() | CalendarIntervalType() | GeometryType() | GeographyType():
            raise StatementError(f"the column {of.name} is a {of.type}, of which Spark does not compare values")
        case _:
            return own
