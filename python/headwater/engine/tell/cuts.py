"""The cut of a view: for every base table, the newest recorded state that is wholly in its published rows.

Example: ``s`` changed at 4 and at 9, and a view over it is pending for 9. Its cut is the state 4 of ``s``.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from headwater.engine.methods.basis import inputs, without_snapshots
from headwater.engine.requests.common_cut import is_strict, lets_go, loose, meeting
from headwater.engine.requests.coverage import downstream, unresolved, upstream
from headwater.engine.requests.cut import Changes, carried
from headwater.engine.requests.spans import has_states
from headwater.engine.tell.consistency import Verdict, horizontal
from headwater.model.partition import WHOLE, Version
from headwater.model.reason import Code, Reason
from headwater.model.state import State, TableRecord


@frozen
class TableCut:
    """Of one base table.

    Attributes:
        version: of its newest recorded state that is wholly in the view; ``None`` if there is none.
        snapshot: the table's own value for that state; empty where it is not kept.
        note: why there is none, or how exact it is.
    """

    table: str
    version: Version | None = None
    snapshot: str = ""
    note: str = ""


@frozen
class Agreement:
    """Whether two views reflect the same changes of what both are made from.

    Attributes:
        since: when the younger of both was published (ms): they agree since then, if they agree.
    """

    verdict: Verdict
    since: int | None


def cuts(state: State, name: str) -> list[TableCut]:
    """The state of every base table that the published rows of a view show."""
    tables = sorted(upstream(state, name) - state.views.keys())
    owed = carried(state, unresolved(state, name).values(), min)
    return [_cut(state, name, table, owed) for table in tables]


def agreements(state: State, name: str, most: int) -> Iterator[Agreement]:
    """For the other views that share a base table with this one, at most so many."""
    tables, view = upstream(state, name) - state.views.keys(), state.views[name]
    others = {each for table in tables for each in downstream(state, table)} & state.views.keys() - {name}
    for other in sorted(others)[:most]:
        times = (view.refreshed_at, state.views[other].refreshed_at)
        since = None if None in times else max(each for each in times if each is not None)
        yield Agreement(horizontal(state, name, other), since)


@frozen
class ReadTogether:
    """How a view reads one of its sources, of those that share a table with another one.

    Attributes:
        version: that its next run reads.
        older: whether the source has a newer one.
        reason: why the view may show another state of a table in this source than in others; ``None`` if it does not.
    """

    source: str
    version: Version
    older: bool
    reason: Reason | None = None


def readings(state: State, name: str) -> list[ReadTogether]:
    """The sources of a view that share a table with another one; none if nothing there can disagree."""
    definition, tables = state.views[name].definition, meeting(state, name)
    found = []
    for source, version in dict(inputs(state, definition)).items():
        mine = [each for each in tables if each in upstream(state, source)]
        if mine and source in state.tables:
            reason = _loosely(state, name, source, mine)
            found.append(ReadTogether(source, version, version < state.tables[source].highest, reason))
    return found


def _loosely(state: State, name: str, source: str, tables: list[str]) -> Reason | None:
    if not is_strict(state.views[name]):
        return Reason(Code.CUT_EVENTUAL, "headwater.consistency is eventual")
    without = next((each for each in tables if not has_states(state, each)), None)
    known = loose(state, source, tables)
    return without_snapshots(without) if without is not None else next(iter(known.values()), None)


# --- inside


def _cut(state: State, name: str, table: str, owed: Changes) -> TableCut:
    """Of one base table; ``owed``: the oldest change of each table that the view does not reflect everywhere."""
    record, view = state.tables.get(table), state.views[name]
    if record is None or not record.highest:
        return TableCut(table, note="the table was not looked at yet")
    if why := _stateless(table, record):
        return TableCut(table, note=why)
    if not state.tables[name].highest:
        return TableCut(table, note="the view was not filled yet")
    if why := _through(state, name, table, owed):
        return TableCut(table, note=why)
    exact = "" if record.pinned else "a write during a refresh may be in it, too, as its files have no snapshots"
    if table not in owed:
        return TableCut(table, record.highest, record.snapshot, exact)
    holds = view.holds.get(table)
    if holds is None:
        return TableCut(table, note="it is known after the next refresh of all partitions")
    if holds >= owed[table]:
        return TableCut(table, note=f"some partitions reflect {holds}, and others not yet {owed[table]}")
    version = max((each for each in record.past if holds <= each < owed[table]), default=holds)
    known = record.past.get(version)
    return TableCut(table, version, known.snapshot if known is not None else "", exact)


def _stateless(table: str, record: TableRecord) -> str:
    """Why no state of a table can be named; empty if it can."""
    parted = any(each != WHOLE for each in record.partitions)
    return "" if record.pinned or parted else without_snapshots(table).coded


def _through(state: State, name: str, table: str, owed: Changes) -> str:
    """A view between them that does not pass on what it lacks, or has yet to; empty if there is none."""
    for each in sorted(upstream(state, name) & state.views.keys()):
        if table not in upstream(state, each):
            continue
        why = lets_go(state, state.views[each])
        if why is not None and (each != name or why.code is Code.CUT_PROPAGATE):
            return why.text
        if each in owed:
            return f"{each} changed by more than its sources, and the view follows it"
    return ""
