"""Checks of the rows that a reader got of a view, against those that it got before and the states of the sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from benchmarks.parts.soaking.world import TABLES, Day, States, Table, View


class Row(Protocol):
    """A row of a view; one of a view without days has no ``day``."""

    day: str
    n: int
    zero: int
    gen: int
    weight: int


class Checks:
    """All that one reader has seen so far."""

    def __init__(self, folder: Path) -> None:
        self._states: dict[Table, States] = {each: States(folder, each) for each in TABLES}
        self._newest: dict[tuple[str, str], int] = {}

    def violations(self, view: View, rows: Iterable[Row]) -> Iterator[str]:
        """The rows that no whole state of the sources gives, that are older than those of before, or that are gone."""
        days = {row.day if view.columns else "": row for row in rows}
        for day, row in days.items():
            if row.zero != 0 or row.n % 2:
                yield f"a part of a write: {row}"
            elif view.of and not self._states[view.of].has(day, Day(row.n, row.gen, row.weight)):
                yield f"no write left this: {row}"
            before = self._newest.get((view.name, day), 0)
            if row.gen < before:
                yield f"older than the write {before}, which was read before: {row}"
            self._newest[view.name, day] = row.gen
        known = {day for name, day in self._newest if name == view.name}
        yield from (
            f"the rows of {f'day {day}' if day else 'all days'} are gone" for day in sorted(known - days.keys())
        )
