"""The state of an Iceberg table as a record names it."""

from __future__ import annotations

import hashlib
import re

from attrs import frozen
from py4j.java_gateway import JavaObject

MAPPING = "schema.name-mapping.default"
"""The property by which columns are found in imported files, which do not number their columns."""

_TEXT = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:\.([0-9a-f]+))?(?:<(\d+))?")


@frozen
class At:
    """A table's snapshot, schema and partition spec, and how it finds columns by name. Iceberg changes each without the
    others.

    Example: ``ALTER TABLE … ADD COLUMN`` makes a schema and no snapshot.

    Attributes:
        snapshot: the number of the snapshot; 0: the table never had a row.
        told: of a view's table, the snapshot up to which the record knows all. Later ones up to ``snapshot`` are known
            only if Headwater made them. ``None``: all are known.
        names: a digest of ``MAPPING``; empty if the table has none.
    """

    snapshot: int
    schema: int
    spec: int
    told: int | None = None
    names: str = ""

    @property
    def known(self) -> int:
        """The last snapshot after which each other one is news."""
        return self.snapshot if self.told is None else self.told

    def __str__(self) -> str:
        text = f"{self.snapshot}.{self.schema}.{self.spec}" + (f".{self.names}" if self.names else "")
        return text if self.told is None else f"{text}<{self.told}"

    @classmethod
    def of(cls, text: str) -> At | None:
        """The state that ``str`` wrote; ``None``: the text names a state of another format."""
        found = _TEXT.fullmatch(text)
        if found is None:
            return None
        snapshot, schema, spec, names, told = found.groups()
        return cls(int(snapshot), int(schema), int(spec), None if told is None else int(told), names or "")

    @classmethod
    def now(cls, found: JavaObject) -> At:
        """The state of Iceberg's object of a table, or of its metadata."""
        snapshot, mapping = found.currentSnapshot(), found.properties().get(MAPPING)
        number = 0 if snapshot is None else snapshot.snapshotId()
        names = "" if mapping is None else hashlib.sha256(mapping.encode()).hexdigest()[:12]
        return cls(number, found.schema().schemaId(), found.spec().specId(), names=names)
