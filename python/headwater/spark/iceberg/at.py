"""The state of an Iceberg table as a record names it."""

from __future__ import annotations

import re

from attrs import frozen

_TEXT = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:<(\d+))?")


@frozen
class At:
    """A table's snapshot, schema and partition spec. Iceberg changes each without the others.

    Example: ``ALTER TABLE … ADD COLUMN`` makes a schema and no snapshot.

    Attributes:
        snapshot: the number of the snapshot; 0: the table never had a row.
        told: of a view's table, the snapshot up to which the record knows all. Later ones up to ``snapshot`` are known
            only if Headwater made them. ``None``: all are known.
    """

    snapshot: int
    schema: int
    spec: int
    told: int | None = None

    @property
    def known(self) -> int:
        """The last snapshot after which each other one is news."""
        return self.snapshot if self.told is None else self.told

    def __str__(self) -> str:
        text = f"{self.snapshot}.{self.schema}.{self.spec}"
        return text if self.told is None else f"{text}<{self.told}"

    @classmethod
    def of(cls, text: str) -> At | None:
        """The state that ``str`` wrote; ``None``: the text names a state of another format."""
        found = _TEXT.fullmatch(text)
        if found is None:
            return None
        snapshot, schema, spec, told = found.groups()
        return cls(int(snapshot), int(schema), int(spec), None if told is None else int(told))
