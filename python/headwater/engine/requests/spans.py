"""The states that the versions of a source show, and the way back through them.

A version of a source *spans*, for each table, the states from the newest change that it holds up to the oldest one that
it lacks (see ``engine.requests.cut``).

Example: ``s`` changed at 4, 9 and 12, and ``v`` ran for each. Its version with 4 lacks 9, and the one with 9 lacks 12.

An older version holds less and lacks more. So a search for one that lacks a change halves the way.
What older versions held and what came after them is the same for all readers, so it is kept with the index.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise

from attrs import define, evolve

from headwater.engine.requests.cut import oldest
from headwater.model.index import Older, StateSpan
from headwater.model.partition import Version
from headwater.model.state import State


@define
class Walk:
    """The versions of a source that a run can read.

    Attributes:
        source: the table or view.
        newest: the newest one.
        older: those before it.
        tables: the tables that matter.
        at: how far back the walk is; 0 is the newest one.
        chosen: the version there.
    """

    source: str
    newest: StateSpan
    older: Older = Older()
    tables: Sequence[str] = ()
    at: int = 0
    chosen: StateSpan = StateSpan()

    def __attrs_post_init__(self) -> None:
        self.newest = self.chosen = _only(self.newest, self.tables)

    @property
    def lacks(self) -> Mapping[str, Version]:
        """The oldest change of each table that the chosen version lacks, also of tables that do not matter otherwise: a
        change that only later versions hold is not in it, whatever table it is of."""
        return oldest(self.chosen.until, self.older.spans[self.at - 1].until) if self.at else self.chosen.until

    @property
    def next(self) -> Version:
        """The version after the chosen one; the newest has itself."""
        return self.older.spans[self.at - 2].version if self.at > 1 else self.newest.version

    def back(self, table: str, change: Version) -> bool:
        """Goes back to the newest version before the chosen one that lacks a change of a table; whether there is one.
        The chosen one holds it."""
        spans = self.older.spans
        if table in self.older.uneven:
            at = next((n for n in range(self.at, len(spans)) if spans[n].holds.get(table, 0) < change), len(spans))
        else:
            at = bisect_right(spans, -change, lo=self.at, key=lambda each: -each.holds.get(table, 0))
        if at == len(spans):
            return False
        found = _only(spans[at], self.tables)
        self.at, self.chosen = at + 1, evolve(found, until=oldest(found.until, self.newest.until))
        return True


def has_states(state: State, table: str) -> bool:
    """Whether the states of a table can be told apart. Files without snapshots may change while a run reads them."""
    record = state.tables.get(table)
    return table in state.views or (record is not None and record.pinned)


def older(state: State, source: str) -> Older:
    """The versions before the newest one of a pinned table or view that is on record; kept until the record changes."""
    record, kept = state.tables[source], state.index.older.get(source)
    if kept is None or kept.highest != record.highest or kept.past != record.past:
        found = _of_view(state, source) if source in state.views else _of_table(state, source)
        kept = state.index.older[source] = Older(record.highest, dict(record.past), tuple(found), uneven(found))
    return kept


def uneven(spans: Sequence[StateSpan]) -> frozenset[str]:
    """The tables of which an older version of a view holds more: a refresh of all partitions began anew with them."""
    pairs = ((before, after) for after, before in pairwise(spans))
    return frozenset(
        table for before, after in pairs for table, change in before.holds.items() if change > after.holds.get(table, 0)
    )


# --- inside


def _only(span: StateSpan, tables: Sequence[str]) -> StateSpan:
    holds = {each: span.holds[each] for each in tables if each in span.holds}
    return evolve(span, holds=holds, until={each: span.until[each] for each in tables if each in span.until})


def _of_table(state: State, table: str) -> list[StateSpan]:
    record, found = state.tables[table], list[StateSpan]()
    after = record.highest
    for version in [each for each in reversed(record.past) if each < record.highest]:
        found.append(StateSpan(version, {table: version}, {table: after}))
        after = version
    return found


def _of_view(state: State, source: str) -> list[StateSpan]:
    record, found = state.tables[source], list[StateSpan]()
    until: dict[str, Version] = {}
    first = record.past[record.highest].first if record.highest in record.past else ()
    for version in [each for each in reversed(record.past) if each < record.highest]:
        before = dict(record.past[version].holds)
        if not before or any(table in state.views for table, _ in first):
            break  # rows changed there for another reason than a table, so the span of older versions is unknown
        until = oldest(until, dict(first))
        found.append(StateSpan(version, before, until))
        first = record.past[version].first
    return found
