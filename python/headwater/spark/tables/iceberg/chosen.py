"""Chosen data files of an Iceberg table, and whether they are there with all their rows."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen
from py4j.java_gateway import JavaObject

from headwater.spark.tables.iceberg.java import Java
from headwater.spark.tables.iceberg.loops import ANYTHING, TEXT, Loops

FILE, TASK = "iceberg.ContentFile", "iceberg.ContentScanTask"


@frozen
class DataFiles:
    """Data files of a snapshot.

    Attributes:
        snapshot: its number; 0: none.
        names: the places of the files.
        tasks: Iceberg's tasks that read them, one for each.
    """

    snapshot: int = 0
    names: tuple[str, ...] = ()
    tasks: tuple[JavaObject, ...] = ()


class Choosing:
    """Finds files by their names."""

    def __init__(self, java: Java) -> None:
        self._java, self._loops = java, Loops(java)

    def of(self, table: JavaObject, snapshot: int, names: Iterable[str]) -> DataFiles | None:
        """The files of these names; ``None`` if one is not there, or a file of deletes removes rows of it."""
        names = tuple(names)
        if not names:
            return DataFiles(snapshot)
        loops, wanted = self._loops, self._java("java.util.HashSet", self.listed(names))
        location = loops.then(loops.method(TASK, "file", FILE), loops.method(FILE, "location", TEXT))
        condition = loops.then(location, loops.method("java.util.Set", "contains", "boolean", ANYTHING).bindTo(wanted))
        planned = table.newScan().useSnapshot(snapshot).planFiles()
        try:
            tasks = tuple(loops.those(planned, condition))
        finally:
            planned.close()
        whole = len(tasks) == len(names) and all(each.deletes().isEmpty() for each in tasks)
        return DataFiles(snapshot, names, tasks) if whole else None

    def listed(self, values: Iterable[object]) -> JavaObject:
        """A Java list."""
        listed = self._java("java.util.ArrayList")
        for each in values:
            listed.add(each)
        return listed
