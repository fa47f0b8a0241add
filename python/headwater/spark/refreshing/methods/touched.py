"""The rows of a view that its changed groups make, where the view shows the keys of its groups.

Example: ``SELECT customer, sum(price) FROM sales GROUP BY customer``. The row of customer 7 is made of the totals of
customer 7, and no other row is.
"""

from __future__ import annotations

import re

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.model.error import ChangesUnknown
from headwater.model.view import Column, Query
from headwater.spark.jvm import sql
from headwater.spark.jvm.query_totals import ChangedGroups, QueryTotals
from headwater.spark.refreshing.changed_rows import refuse_drift
from headwater.spark.refreshing.recipe import Ingredients
from headwater.spark.tables.compaction import files
from headwater.spark.tables.key_files import SMALL
from headwater.spark.tables.rows_by_keys import Reach

_IN_STATISTICS = re.compile(r"(TINYINT|SMALLINT|INT|BIGINT|DECIMAL\(.*\)|DATE|STRING)", re.I)
"""Types of which files have statistics by which they are skipped."""


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
    return Reach.of(run.shim, [groups.keys], tuple(each.name for each in columns), groups.count)


def clustered(run: Ingredients, query: DataFrame, totals: QueryTotals, size: int, rows: DataFrame) -> DataFrame:
    """All rows of a view; of a large one in files with ranges of the groups' keys. So a run by changes finds and
    replaces few files.

    Args:
        size: bytes of the totals, which those of the rows resemble. Totals by value say nothing of these.
    """
    definition = run.launch.definition
    if (
        size < SMALL
        or totals.is_by_value
        or definition.partitioned_by
        or not definition.storage.replaces_files
        or totals.is_arranged
    ):
        return rows
    keys = [each for each in _columns(run, query, totals) or () if _IN_STATISTICS.fullmatch(each.type)]
    if not keys:
        return rows
    return rows.repartitionByRange(files(size), *(F.col(sql.identifier(each.name)) for each in keys))


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
