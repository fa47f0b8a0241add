"""What queries need of a table, and what one scan gives them all ([Golab11] §2.1)."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import field, frozen

from headwater.model.partition import Slice

Conditions = tuple[str, ...]
"""Conditions in SQL that all hold, sorted; none: they always do."""


def _names(columns: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(columns)))


def _plain(rows: Iterable[Iterable[str]]) -> tuple[Conditions, ...]:
    """Sorted, without what another one among them has too."""
    sets = {frozenset(each) for each in rows}
    return tuple(sorted(tuple(sorted(each)) for each in sets if not any(other < each for other in sets)))


@frozen
class Extract:
    """Some columns of a table, of the rows for which all of some conditions hold, or all of some others.

    Attributes:
        columns: their names, sorted.
        rows: the conditions; with none at all there are no rows.
    """

    columns: tuple[str, ...] = field(converter=_names)
    rows: tuple[Conditions, ...] = field(converter=_plain)

    def __or__(self, other: Extract) -> Extract:
        """The least extract that has what either has."""
        return Extract((*self.columns, *other.columns), (*self.rows, *other.rows))

    def covers(self, other: Extract) -> bool:
        """Whether it certainly has all that the other one has: conditions are compared by their text."""
        weakest = [frozenset(each) for each in self.rows]
        return set(self.columns) >= set(other.columns) and all(
            any(each <= frozenset(asked) for each in weakest) for asked in other.rows
        )

    @property
    def condition(self) -> str:
        """That a row is in it, in SQL; empty if every one is."""
        if () in self.rows:
            return ""
        return " OR ".join("(" + " AND ".join(each) + ")" for each in self.rows) or "FALSE"


@frozen
class Shared:
    """A scan of a table that several runs read in place of the table, as it is when the first of them starts.

    Attributes:
        extract: what they need of it, by what their last runs did.
        slices: the partitions that it reads; the others are read from the table.
        readers: the views.
        size: how many bytes it is foreseen to take.
    """

    table: str
    extract: Extract
    slices: tuple[Slice, ...]
    readers: tuple[str, ...]
    size: int
