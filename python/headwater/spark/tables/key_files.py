"""Files of a lake view that hold the keys of a run. The run writes these files anew, and all others stay.

Example: a view of a thousand files has a row for each customer and day, and those of customer 7 are in two files. A
refresh of customer 7 reads and replaces these two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import frozen
from pyspark.sql import Column, DataFrame

from headwater.model.command import Launch
from headwater.model.dependency import common
from headwater.model.work import ByTotals
from headwater.spark.tables.rows_by_keys import Reach
from headwater.spark.tables.view_rows import within

SMALL = 8 << 20
"""Bytes of a view. One of fewer is written anew sooner than its files are searched."""

FEW = 4 << 20
"""Bytes of files that may hold keys. So few are written anew sooner than each is searched."""

MANY = 10
"""With so many keys for each file, each file will hold some, and no search is worth its time."""


@frozen
class KeyFiles:
    """Files that hold all rows of some keys, and perhaps others.

    Attributes:
        rows: the rows of these files.
        files: as their format knows them.
        size: bytes of them.
        close: to be called when they were read.
    """

    rows: DataFrame
    files: Any
    size: int
    close: Callable[[], None] = lambda: None

    @classmethod
    def none(cls, rows: DataFrame) -> KeyFiles:
        """No files: new rows stand beside all others. ``rows`` has the columns of the view."""
        return cls(rows.limit(0), (), 0)


def may_stay(launch: Launch, work: ByTotals) -> bool:
    """Whether a run by changes may leave rows of a large lake view as they are if no change reaches their keys. They
    must be of the same state of the sources as the totals, and each source that changed since must tell its keys."""
    run, definition, totals = launch.run, launch.definition, work.before
    if launch.unsure or not definition.storage.replaces_files or launch.size < SMALL:
        return False
    since = {source for source, _ in work.since}
    changed = {source for source, _ in set(run.inputs) - set(totals.inputs)}
    keys = [each.keys for each in definition.dependencies if each.source in since]
    return bool(since) and changed == since and bool(common(keys)) and launch.as_totals


def near(view: DataFrame, launch: Launch, reach: Reach) -> DataFrame:
    """The rows of a view's table in a run's slices, within the bounds of its keys."""
    return within(reach.near(view), launch.definition, launch.run.slices)


def named(near: DataFrame, reach: Reach, file: Column) -> list[str]:
    """The names of the files with keys; ``file`` is the name of the file that a row is in."""
    return [name for (name,) in reach.among(near).select(file.alias("file")).distinct().collect()]


def are_few(bytes: int, files: int, reach: Reach) -> bool:
    """Whether files that may hold keys are written anew sooner than each is searched."""
    return bytes <= FEW or files <= 1 or reach.count >= MANY * files


def is_known(launch: Launch) -> bool:
    """Whether the counts of a run's partitions are on record, so that a difference leads to the new ones."""
    return all(each.rows is not None for each in launch.existing.values())
