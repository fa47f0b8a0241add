"""The files that an Iceberg table's manifests list, and the partitions that they lie in."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from attrs import frozen
from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from headwater.spark.iceberg.loops import Handle, Loops

FILE, TEXT, NUMBER, ANYTHING = "org.apache.iceberg.ContentFile", "java.lang.String", "int", "java.lang.Object"
TYPE, STRUCT = "org.apache.iceberg.types.Type", "org.apache.iceberg.StructLike"


@frozen
class Placed:
    """Where a file lies: its spec, and its partition values in Iceberg's JSON form by the numbers of the fields."""

    spec: int
    values: tuple[tuple[str, Any], ...]


class Entries:
    """Reads the files that manifests list."""

    def __init__(self, session: SparkSession) -> None:
        self._jvm, self._loops = session._jvm, Loops(session)

    def changed(self, table: JavaObject, snapshot: JavaObject) -> set[Placed]:
        """The places of the files, also those of deletes, that a snapshot added or removed."""
        changes = self._jvm.org.apache.iceberg.SnapshotChanges.builderFor(table).snapshot(snapshot).build()
        kinds = (
            changes.addedDataFiles(),
            changes.removedDataFiles(),
            changes.addedDeleteFiles(),
            changes.removedDeleteFiles(),
        )
        place = self._placing(table)
        return {placed for files in kinds for placed in self._places(files, place)}

    def live(self, table: JavaObject, snapshot: JavaObject) -> set[Placed]:
        """The places of all data files of a snapshot."""
        manifests, place, found = self._jvm.org.apache.iceberg.ManifestFiles, self._placing(table), set()
        for manifest in snapshot.dataManifests(table.io()):
            reader = manifests.read(manifest, table.io(), table.specs()).select(["partition"])
            try:
                found |= self._places(reader, place)
            finally:
                reader.close()
        return found

    def size(self, files: JavaObject) -> int:
        """The bytes of some files."""
        return sum(map(int, self._loops.texts(files, self._sizing)))

    # --- inside

    def _places(self, files: JavaObject, place: Handle) -> set[Placed]:
        return set(map(_placed, set(self._loops.texts(files, place))))

    def _placing(self, table: JavaObject) -> Handle:
        """From a file of a table to ``3 {"1000": "a"}``: its spec, and its partition values by the spec's type."""
        types = self._jvm.java.util.HashMap()
        for number, spec in table.specs().items():
            types.put(number, spec.rawPartitionType())
        loops, spec = self._loops, self._of_file("specId", NUMBER)
        type = loops.then(spec, loops.method("java.util.Map", "get", ANYTHING, ANYTHING).bindTo(types))
        spelled = loops.function("org.apache.iceberg.SingleValueParser", "toJson", TEXT, TYPE, ANYTHING)
        values = loops.of_two(spelled, type, self._of_file("partition", STRUCT))
        return loops.spaced(loops.then(spec, loops.function(TEXT, "valueOf", TEXT, NUMBER)), values)

    @cached_property
    def _sizing(self) -> Handle:
        return self._loops.then(
            self._of_file("fileSizeInBytes", "long"), self._loops.function(TEXT, "valueOf", TEXT, "long")
        )

    def _of_file(self, name: str, result: str) -> Handle:
        return self._loops.method(FILE, name, result)


def _placed(line: str) -> Placed:
    spec, _, values = line.partition(" ")
    return Placed(int(spec), tuple(json.loads(values).items()))
