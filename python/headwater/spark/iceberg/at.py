"""The state of an Iceberg table as a record names it."""

from __future__ import annotations

from attrs import frozen


@frozen
class At:
    """A table's snapshot, schema and partition spec. Iceberg changes each without the others.

    Example: ``ALTER TABLE … ADD COLUMN`` makes a schema and no snapshot.

    Attributes:
        snapshot: the number of the snapshot; 0: the table never had a row.
    """

    snapshot: int
    schema: int
    spec: int

    def __str__(self) -> str:
        return f"{self.snapshot}.{self.schema}.{self.spec}"

    @classmethod
    def of(cls, text: str) -> At:
        """The state that ``str`` wrote.

        Raises:
            ValueError: the text names none.
        """
        return cls(*map(int, text.split(".")))
