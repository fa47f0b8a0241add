"""Files that arrive for a stream, one micro-batch each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from attrs import asdict

from benchmarks.parts.soaking.world import DAYS, Day, Days, Row, Table, added


class Arriving:
    """The directory that a stream reads, of one table. Its files, in their order, tell the table's states."""

    def __init__(self, folder: Path, table: Table) -> None:
        self.place, self._draft = folder / "arriving" / table.name, folder / "drafts" / table.name
        for each in (self.place, self._draft):
            each.mkdir(parents=True, exist_ok=True)
        self._written = len(list(self.place.glob("*.json")))

    def days(self) -> Days:
        """The table's days after all files."""
        days = dict.fromkeys(DAYS, Day())
        for file in sorted(self.place.glob("*.json")):
            rows = [Row(**json.loads(line)) for line in file.read_text().splitlines()]
            for day in {row.day for row in rows}:
                days[day] = added(days[day], [row for row in rows if row.day == day])
        return days

    def add(self, rows: Sequence[Row]) -> None:
        """One more file. It appears whole."""
        self._written += 1
        name = f"{self._written:06d}.json"
        (self._draft / name).write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))
        (self._draft / name).rename(self.place / name)
