"""Looks at tables, for the tests of formats."""

from __future__ import annotations

from headwater.model.partition import Slice
from headwater.model.seen import Seen, TableQuestion
from headwater.spark.tables.table_format import TableFormat


def look(tables: TableFormat, table: str, *slices: Slice, since: str = "") -> Seen:
    """A table as it is now: all of it, or some slices; ``since`` a snapshot, the changes."""
    [seen] = tables.look([TableQuestion(table, slices or None, since)])
    return seen
