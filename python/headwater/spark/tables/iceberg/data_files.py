"""Chosen data files of an Iceberg table, and whether they are there with all their rows."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from py4j.java_gateway import JavaObject

from headwater.spark.tables.iceberg.calls import Calls


@frozen
class DataFiles:
    """Data files of a snapshot.

    Attributes:
        snapshot: its number; 0: none.
        names: the locations of the files.
        tasks: Iceberg's tasks that read them, one for each.
    """

    snapshot: int = 0
    names: tuple[str, ...] = ()
    tasks: JavaObject | tuple[()] = ()


def chosen(calls: Calls, table: JavaObject, snapshot: int, names: Sequence[str]) -> DataFiles | None:
    """The files of these names; ``None`` if one is not there, or a file of deletes removes rows of it."""
    tasks = calls.tasks(table, snapshot, names) if names else ()
    return None if tasks is None else DataFiles(snapshot, tuple(names), tasks)
