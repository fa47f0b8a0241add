"""Epochs of a group: versions of its members that show one state of every base table."""

from __future__ import annotations

import re

from attrs import frozen

from headwater.model.partition import Version
from headwater.model.timetable import Timetable

_NUMBERED = re.compile(r"([1-9]\d*|0(?=@))[@.].*")
"""Snapshots of lake tables begin with a number: ``7@a242:90`` of Delta, ``532.1.0`` of Iceberg. So do kept versions of
views in files: ``1790000000000@@file:/shop.db/by_day``. 0 is none there."""


@frozen
class TableState:
    """One state of a table.

    Attributes:
        version: the newest change in it.
        snapshot: the table's own value for it; empty where there is none.
    """

    table: str
    version: Version
    snapshot: str

    @property
    def as_of(self) -> int | None:
        """The number after ``VERSION AS OF``, by which any engine reads this state; ``None`` where there is none."""
        found = _NUMBERED.fullmatch(self.snapshot)
        return None if found is None else int(found[1])


@frozen
class Epoch:
    """A cut of which each member of a group has a version.

    Attributes:
        number: counts the epochs of all groups of a store, so that one number names a moment for all of them.
        at: when it was made (ms).
        members: the versions of the members.
        sources: for each base table that they are made from, the newest recorded state that they show.
        until: the number of the epoch that replaced it; ``None`` if it is the newest one.
    """

    number: int
    at: int
    members: tuple[TableState, ...]
    sources: tuple[TableState, ...]
    until: int | None = None

    def of(self, table: str) -> TableState | None:
        """The state of a member, or of a base table; ``None`` if it is neither."""
        return next((each for each in (*self.members, *self.sources) if each.table == table), None)


@frozen
class GroupPublication:
    """From a moment on, readers of a group see one of its epochs.

    Attributes:
        number: of that moment, counted with the epochs.
        at: when that was (ms).
        epoch: the number of the epoch; ``None``: they see each epoch as soon as it is made.
        timed: whether the clock made it. Others follow a statement, or come with the first epochs of a group.
        asked: the times at which members ask for the next one, each with the zone of a text that names none.
        since: from when on these count (ms).
    """

    number: int
    at: int
    epoch: int | None
    timed: bool = False
    asked: tuple[tuple[Timetable, str], ...] = ()
    since: int = 0
