"""The state of an Iceberg table as a record names it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping

from attrs import frozen

MAPPING = "schema.name-mapping.default"
"""The property by which columns are found in imported files, which do not number their columns."""

VERSION = "headwater.version"
"""The property of a view's table that says which version was published last."""

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


@frozen
class Metadata:
    """What the metadata of a table said at one moment.

    Attributes:
        snapshot: the number of the snapshot; 0: the table never had a row.
        specs: the number of partition specs that it has or had.
    """

    uuid: str
    location: str
    snapshot: int
    schema: int
    spec: int
    specs: int
    properties: Mapping[str, str]

    @classmethod
    def read(cls, told: str) -> Metadata:
        return cls(**json.loads(told))

    @property
    def at(self) -> At:
        mapping = self.properties.get(MAPPING)
        names = "" if mapping is None else hashlib.sha256(mapping.encode()).hexdigest()[:12]
        return At(self.snapshot, self.schema, self.spec, names=names)

    @property
    def version(self) -> int:
        """The version of a view that was published last."""
        return int(self.properties.get(VERSION) or "0")
