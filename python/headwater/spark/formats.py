"""The formats of tables that an engine knows, and which table is of which."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.model.seen import Look, Seen
from headwater.ports import TableFormat


class Formats:
    """Looks at tables of any format.

    Args:
        formats: each table is of the first one that identifies it; the last takes all that no other does.
    """

    def __init__(self, *formats: TableFormat) -> None:
        self._special, self._last = formats[:-1], formats[-1]
        self._known: dict[str, TableFormat] = {}

    def of(self, table: str) -> TableFormat:
        """The format of a table."""
        if not self._special:
            return self._last
        if table not in self._known:
            found = (each for each in self._special if each.identify(table))
            self._known[table] = next(found, self._last)
        return self._known[table]

    def look(self, looks: Sequence[Look]) -> list[Seen]:
        """Tables as they are now, in the order of the looks, by one call for each format."""
        by_format: dict[TableFormat, list[Look]] = {}
        for each in looks:
            by_format.setdefault(self.of(each.table), []).append(each)
        seen = {each.table: each for tables, some in by_format.items() for each in tables.look(some)}
        for each in seen.values():
            if not each.exists:
                self._known.pop(each.table, None)  # a table of another format may take its name
        return [seen[each.table] for each in looks]

    def touches(self, table: str, path: str) -> bool:
        """Whether a write to a path may change a table."""
        return self.of(table).touches(table, path)
