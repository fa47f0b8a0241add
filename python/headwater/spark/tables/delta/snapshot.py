"""The string that stands for a state of a Delta table. The record keeps it, and the next look compares with it."""

from __future__ import annotations

import hashlib
import re

from attrs import frozen

_TEXT = re.compile(r"(?P<version>\d+)@(?P<table>[^:]*):(?P<mark>[0-9a-f]*)(?:<(?P<told>\d+))?")


@frozen
class Snapshot:
    """A state of a table: ``7@a242a32e-2776-4387-829a-f827189524f5:90802055``.

    Attributes:
        version: the last commit.
        table: the id of the table.
        mark: tells that commit from another one of the same version. A log can be put back from a copy, and go on.
        told: up to this commit the record knows all; later ones up to ``version`` are known only if Headwater made
            them. ``None``: all are known.
    """

    version: int
    table: str
    mark: str
    told: int | None = None

    @classmethod
    def read(cls, text: str) -> Snapshot | None:
        """The snapshot that a string stands for; ``None`` if it is no string of a Delta table."""
        found = _TEXT.fullmatch(text)
        if found is None:
            return None
        told = found["told"]
        return cls(int(found["version"]), found["table"], found["mark"], None if told is None else int(told))

    @property
    def known(self) -> int:
        """The last commit after which each other one is news."""
        return self.version if self.told is None else self.told

    @property
    def commit(self) -> tuple[int, str, str]:
        """The last commit alone."""
        return self.version, self.table, self.mark

    def precedes(self, other: Snapshot) -> bool:
        """Whether another state of the same table is newer, by the numbers of the commits."""
        return self.table == other.table and self.version < other.version

    def __str__(self) -> str:
        text = f"{self.version}@{self.table}:{self.mark}"
        return text if self.told is None else f"{text}<{self.told}"


def mark(line: str) -> str:
    """The mark of a commit, by its first line, which tells who made it and when."""
    return hashlib.sha256(line.encode()).hexdigest()[:8]


def incarnation(table: str) -> int:
    """A number for the id of a table."""
    return int(hashlib.sha256(table.encode()).hexdigest()[:12], 16)
