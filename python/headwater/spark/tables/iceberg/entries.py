"""The files that an Iceberg table's manifests list, and the partitions that they lie in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from attrs import frozen
from py4j.java_gateway import JavaObject

from headwater.spark.tables.iceberg.java import Java
from headwater.spark.tables.iceberg.loops import ANYTHING, TEXT, Handle, Loops

KEPT = 1000
"""The number of tables whose function is kept."""

FILE, MANIFEST, STRUCT = "iceberg.ContentFile", "iceberg.ManifestFile", "iceberg.StructLike"


@frozen
class Placed:
    """Where a file lies: its spec, and its partition values in Iceberg's JSON form by the numbers of the fields."""

    spec: int
    values: tuple[tuple[str, Any], ...]


class Entries:
    """Reads the files that manifests list."""

    def __init__(self, java: Java) -> None:
        self._java, self._loops = java, Loops(java)
        self._placing: dict[tuple[str, int], JavaObject] = {}

    def changed(self, table: JavaObject, snapshot: JavaObject) -> set[Placed]:
        """The places of the files, also those of deletes, that a snapshot added or removed.

        A removed file stands in a manifest among all others that it ever stood with, and to read that takes long. New
        files stand apart. So theirs are read first, and the rest only if the snapshot says that it changed more.
        """
        written = self._loops.those(snapshot.allManifests(table.io()), self._is_of(snapshot.snapshotId()))
        place = self._place(table)
        fresh = [each for each in written if not each.hasExistingFiles() and not each.hasDeletedFiles()]
        added = {placed for manifest in fresh for placed in self._listed(table, manifest, place)}
        if len(fresh) == len(written) or _is_all(added, snapshot.summary()):
            return added
        changes = self._java("iceberg.SnapshotChanges.builderFor", table).snapshot(snapshot).build()
        kinds = (changes.removedDataFiles(), changes.removedDeleteFiles(), changes.addedDataFiles())
        return added | {
            placed for files in (*kinds, changes.addedDeleteFiles()) for placed in self._places(files, place)
        }

    def live(self, table: JavaObject, snapshot: JavaObject) -> set[Placed]:
        """The places of all data files of a snapshot."""
        place = self._place(table)
        manifests = snapshot.dataManifests(table.io())
        return {placed for manifest in manifests for placed in self._listed(table, manifest, place)}

    def size(self, files: JavaObject) -> int:
        """The bytes of some files."""
        return sum(map(int, self._loops.texts(files, self._sizing)))

    # --- inside

    def _listed(self, table: JavaObject, manifest: JavaObject, place: JavaObject) -> set[Placed]:
        """The places of the files that a manifest lists and does not call removed."""
        is_data = manifest.content().toString() == "DATA"
        read = "iceberg.ManifestFiles.read" if is_data else "iceberg.ManifestFiles.readDeleteManifest"
        reader = self._java(read, manifest, table.io(), table.specs()).select(["partition"])
        try:
            return self._places(reader, place)
        finally:
            reader.close()

    def _places(self, files: JavaObject, place: JavaObject) -> set[Placed]:
        return set(map(_placed, set(self._loops.texts(files, place))))

    def _place(self, table: JavaObject) -> JavaObject:
        """From a file of a table to ``3 {"1000": "a"}``: its spec, and its partition values by the spec's type."""
        specs = table.specs()
        key = str(table.uuid()), specs.size()
        if key not in self._placing:
            while len(self._placing) >= KEPT:
                del self._placing[next(iter(self._placing))]
            types = self._java("java.util.HashMap")
            for number, spec in specs.items():
                types.put(number, spec.rawPartitionType())
            loops, spec = self._loops, self._of_file("specId", "int")
            type = loops.then(spec, loops.method("java.util.Map", "get", ANYTHING, ANYTHING).bindTo(types))
            spelled = loops.function("iceberg.SingleValueParser", "toJson", TEXT, "iceberg.types.Type", ANYTHING)
            values = loops.of_two(spelled, type, self._of_file("partition", STRUCT))
            told = loops.spaced(loops.then(spec, loops.function(TEXT, "valueOf", TEXT, "int")), values)
            self._placing[key] = loops.function_of(told)
        return self._placing[key]

    def _is_of(self, snapshot: int) -> Handle:
        """Whether a manifest was written by a snapshot."""
        return self._loops.then(self._snapshot_of, self._equal.bindTo(str(snapshot)))

    @cached_property
    def _snapshot_of(self) -> Handle:
        """The number of a manifest's snapshot, as text: py4j makes objects of two classes of numbers."""
        number = self._loops.method(MANIFEST, "snapshotId", "java.lang.Long")
        return self._loops.then(number, self._loops.function(TEXT, "valueOf", TEXT, ANYTHING))

    @cached_property
    def _equal(self) -> Handle:
        return self._loops.function("java.util.Objects", "equals", "boolean", ANYTHING, ANYTHING)

    @cached_property
    def _sizing(self) -> JavaObject:
        size, text = self._of_file("fileSizeInBytes", "long"), self._loops.function(TEXT, "valueOf", TEXT, "long")
        return self._loops.function_of(self._loops.then(size, text))

    def _of_file(self, name: str, result: str) -> Handle:
        return self._loops.method(FILE, name, result)


def _is_all(added: Iterable[Placed], summary: Mapping[str, str]) -> bool:
    """Whether a snapshot changed no other partitions, by its own count. The count is trusted if Iceberg's own library
    took it: other programs may count otherwise."""
    found = set(added)
    counted = summary.get("changed-partition-count") if summary.get("iceberg-version") else None
    return counted == str(len(found)) and len({each.spec for each in found}) == 1


def _placed(line: str) -> Placed:
    spec, _, values = line.partition(" ")
    return Placed(int(spec), tuple(json.loads(values).items()))
