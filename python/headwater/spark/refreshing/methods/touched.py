"""The rows of a view that its changed groups make, where the view shows the keys of its groups.

Example: ``SELECT customer, sum(price) FROM sales GROUP BY customer``. The row of customer 7 is made of the totals of
customer 7, and no other row is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from decimal import Decimal

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.model.error import ChangesUnknown
from headwater.model.view import Column, Query
from headwater.spark.jvm import sql
from headwater.spark.jvm.query_totals import ChangedGroups, QueryTotals
from headwater.spark.refreshing.changed_rows import refuse_drift
from headwater.spark.refreshing.recipe import Ingredients
from headwater.spark.tables.key_bounds import LISTED, among, are_compared, between
from headwater.spark.tables.key_files import SMALL
from headwater.spark.tables.rows_by_keys import Reach

LEAST, MOST = 1 << 20, 4 << 20
"""Bytes of a file with a range of keys: one that is written anew in a fraction of a second."""

LISTED_FILES = 48
"""So many files a checksum of Delta lists, and some more."""

_NUMBER = re.compile(r"TINYINT|SMALLINT|INT|BIGINT|DECIMAL\(.*\)", re.I)
_PLAIN_DATE = re.compile(rb"\d{4}-\d\d-\d\d")


def shown(run: Ingredients, query: DataFrame, totals: QueryTotals, groups: ChangedGroups) -> Reach | None:
    """The keys of the changed groups, as columns of the view; ``None`` if these do not tell a group, or another program
    wrote the view."""
    columns = _columns(run, query, totals)
    if columns is None:
        return None
    try:
        refuse_drift(run.formats, run.launch)
    except ChangesUnknown:
        return None
    names = tuple(f"headwater key {n}" for n in range(len(columns)))
    keys, count = groups.keys.toDF(*names), groups.count
    values = _values(keys)
    listed = all(_are_listed(each.type, some - {None}) for each, some in zip(columns, values, strict=True))
    # Lists of two columns have values of both that no group has together.
    exact = listed and (len(columns) == 1 or count <= 1)
    bounds = _condition(columns, values) if count else "FALSE"
    return Reach(keys, tuple(each.name for each in columns), names, bounds, count, exact)


def clustered(run: Ingredients, query: DataFrame, totals: QueryTotals, size: int, rows: DataFrame) -> DataFrame:
    """All rows of a view; of a large one in files with ranges of the groups' keys. So a run by changes finds and
    replaces few files.

    Args:
        size: bytes of the totals, which those of the rows resemble.
    """
    definition = run.launch.definition
    if size < SMALL or definition.partitioned_by or not definition.storage.replaces_files or totals.is_arranged:
        return rows
    keys = [each for each in _columns(run, query, totals) or () if are_compared(each.type)]
    if not keys:
        return rows
    return rows.repartitionByRange(files(size), *(F.col(sql.identifier(each.name)) for each in keys))


def files(size: int) -> int:
    """In how many files so many bytes lie."""
    return max(min(LISTED_FILES, -(-size // LEAST)), size // MOST)


def bound(column: Column, texts: Collection[bytes | None]) -> str | None:
    """A condition that holds for these values of a column; ``None``: there is none.

    Args:
        texts: the values as Spark spells them.
    """
    known = {each for each in texts if each is not None}
    if not known or _are_listed(column.type, known):
        return among(column.name, column.type, sorted(texts, key=lambda each: each or b""))
    ends = _ends(column.type, known)
    return None if ends is None else between(column.name, column.type, ends, None in texts)


# --- inside


def _columns(run: Ingredients, query: DataFrame, totals: QueryTotals) -> list[Column] | None:
    """The columns of the view that show the keys of a group; ``None`` if they do not tell one."""
    definition = run.launch.definition
    places = totals.shown
    if places is None or not isinstance(definition.made_by, Query):
        return None
    columns, fields = [definition.columns[each] for each in places], query.schema.fields
    for place, column in zip(places, columns, strict=True):
        type = fields[place].dataType.simpleString()
        # The directories of partitions have NULL for the empty string.
        if type.lower() != column.type.lower() or (type == "string" and column.name in definition.partitioned_by):
            return None
    return columns


def _values(keys: DataFrame) -> list[set[bytes | None]]:
    """The values of each column, as Spark spells them."""
    # The text is told in bytes: Python would take bytes that are no UTF-8 for other ones.
    told = [F.col(sql.identifier(name)).cast("string").cast("binary") for name in keys.columns]
    rows = keys.select(*told).collect()
    return [{None if row[n] is None else bytes(row[n]) for row in rows} for n in range(len(told))]


def _condition(columns: Sequence[Column], values: Sequence[Collection[bytes | None]]) -> str:
    """A condition that rows with some keys fulfil."""
    terms = [bound(column, some) for column, some in zip(columns, values, strict=True)]
    return " AND ".join(each for each in terms if each is not None) or "TRUE"


def _are_listed(type: str, texts: Collection[bytes | None]) -> bool:
    """Whether a condition lists some values."""
    return len(texts) <= LISTED and are_compared(type)


def _ends(type: str, texts: Collection[bytes]) -> tuple[bytes, bytes] | None:
    """The least and the greatest of some values; ``None`` where their texts do not tell."""
    if _NUMBER.fullmatch(type):
        return min(texts, key=_number), max(texts, key=_number)
    if type.upper() == "STRING" or (type.upper() == "DATE" and all(map(_PLAIN_DATE.fullmatch, texts))):
        return min(texts), max(texts)
    return None


def _number(text: bytes) -> Decimal:
    return Decimal(text.decode())
