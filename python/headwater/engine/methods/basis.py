"""What a run reads, and on which conditions it may go on from rows that a view has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set

from attrs import frozen

from headwater.engine.requests.ahead import prepared_by
from headwater.engine.requests.common_cut import Common, common_cut
from headwater.engine.requests.cut import held
from headwater.model.format import FORMATS
from headwater.model.partition import WHOLE, Inputs, Region, Slice, Version
from headwater.model.reason import Code, Reason
from headwater.model.state import Past, Run, State, TableRecord, ViewState
from headwater.model.view import Definition, Pairs, Query
from headwater.model.work import Mode


@frozen
class Basis:
    """What a run reads.

    Attributes:
        inputs: the versions of its sources: those of their newest common cut, or the newest ones if there is none.
        snapshots: of the tables that are pinned, among those that it reads and writes.
        watermarks: on record of the streams that write its sources. No watermark is known of an older snapshot.
    """

    inputs: tuple[tuple[str, Version], ...]
    snapshots: Pairs
    watermarks: tuple[tuple[str, int], ...]


def basis(state: State, definition: Definition) -> Basis:
    """What a run of a view reads which starts now."""
    agreed = _agreed(state, definition)
    read = _inputs(state, definition, agreed)
    tables = dict.fromkeys((*definition.sources, definition.view))
    records = {each: state.tables[each] for each in tables if each in state.tables}
    pins = tuple((name, _snapshot(record, agreed.get(name))) for name, record in records.items() if record.pinned)
    newest = {each: records[each] for each, version in read if each in records and version >= records[each].highest}
    known = ((each, record.watermark) for each, record in newest.items())
    return Basis(read, pins, tuple((each, watermark) for each, watermark in known if watermark is not None))


def inputs(state: State, definition: Definition) -> tuple[tuple[str, Version], ...]:
    """The versions of its sources that a run of a view reads which starts now."""
    return _inputs(state, definition, _agreed(state, definition))


NO_CHANGE = Reason(Code.METHOD_NO_CHANGE, "no source changed")
ONE_PARTITION = Reason(Code.VIEW_UNPARTITIONED, "the view has one partition")
REDEFINED = Reason(Code.VIEW_DEFINED, "it was redefined")
ELSEWHERE = Reason(Code.VIEW_PUBLISHED_ELSEWHERE, "another store published it")
ALL_ROWS = Reason(Code.VIEW_REQUESTED, "a statement asked for all rows")


def not_kept(source: str) -> Reason:
    """Why the rows of a source are unknown that changed since a state without a snapshot."""
    unknown = f"the changed rows of {source} are not known, as no snapshot from before them is kept"
    return Reason(Code.SOURCE_SNAPSHOT_NOT_KEPT, unknown)


def states_between(
    state: State, source: str, before: Set[Version | None], now: Version
) -> tuple[list[Past], Past] | Reason:
    """The states of a source from before its changed rows, and the one that a run reads; or why the rows between them
    cannot be followed. Where the sources of a view had no common cut, it may show a newer state than a run reads next.
    """
    past = state.tables[source].past if source in state.tables else {}
    known = sorted(each for each in before if each is not None)
    if any(each > now for each in known):
        said = f"it reads {source} as it was before a change that the view shows"
        return Reason(Code.METHOD_OLDER_STATE, said)
    if len(known) < len(before) or not {*known, now} <= past.keys():
        return not_kept(source)
    return [past[each] for each in known], past[now]


def never(definition: Definition) -> Reason | None:
    """Why runs of a view always compute whole partitions; ``None`` if changed rows may be followed."""
    if not isinstance(definition.made_by, Query):
        return Reason(Code.VIEW_JOB, "a function makes its rows")
    if definition.earlier:
        return Reason(Code.VIEW_READS_ITSELF, "it reads earlier partitions of itself")
    if definition.storage.incremental:
        return None
    return Reason(Code.VIEW_FORMAT, f"views in {definition.format} were not tried")


def strict(definition: Definition) -> bool:
    """Whether a refresh fails rather than compute whole partitions because a source changed."""
    asked = definition.policy.method
    return asked is not None and Mode.FULL not in asked


def only_changed(state: State, name: str, slices: Sequence[Slice]) -> bool:
    """Whether changes of sources are the only reason to renew these slices of a view, and it has rows of all of them.
    Nobody asked for all rows, it was not redefined, no other program wrote into it, and its runs are on record."""
    view = state.views[name]
    if view.unsure or _asked_for(state, view, slices):
        return False
    known = state.tables[name].partitions if name in state.tables else {}
    return bool(known) and all(each in known for each in slices if each != WHOLE)


def after_failure(view: ViewState) -> Reason | None:
    """Why a view computes whole partitions once; ``None`` if its last refresh did not fail, or it allows no other."""
    failed = view.failures and not strict(view.definition)
    return Reason(Code.METHOD_AFTER_FAILURE, "the last refresh failed") if failed else None


def unpinned(state: State, view: ViewState) -> Reason | None:
    """Of which source a run would read rows newer than its record; ``None`` if all are read at a snapshot. A run that
    computes a part of its rows would read a new write for that part only."""
    sources = ((each, state.tables.get(each)) for each in view.definition.sources)
    return next((without_snapshots(each) for each, known in sources if not (known and known.pinned)), None)


def without_snapshots(table: str) -> Reason:
    """Why changed rows of a table cannot be followed that its format does not tell."""
    having = (f"USING {each.name}" for each in FORMATS if each.snapshots)
    return Reason(Code.SOURCE_NO_SNAPSHOTS, f"{table} has no snapshots; a table {' or '.join(having)} has")


def reflected(state: State, view: ViewState, slices: Sequence[Slice], most: int) -> frozenset[Inputs] | Reason:
    """The states of the sources that the partitions in some slices reflect; or why no run can go on from their rows.
    One that is on no record had no rows when all partitions were made the last time, and reflects that state.

    Args:
        most: so many states a run can go on from.
    """
    if why := _unfit(view) or unpinned(state, view) or _asked_for(state, view, slices):
        return why
    known, region = state.tables[view.definition.view].partitions, Region(slices)
    states = frozenset(record.inputs for each, record in known.items() if region.covers(each))
    if not all(each in known for each in slices):
        if view.whole is None:
            unknown = "the state that its missing partitions reflect is not on record"
            return Reason(Code.METHOD_STATE_UNKNOWN, unknown)
        states |= {view.whole}
    if len(states) <= most:
        return states
    return Reason(Code.METHOD_MANY_STATES, f"its partitions reflect {len(states)} states of its sources")


def reflects(state: State, view: ViewState, run: Run, inputs: Inputs) -> bool:
    """Whether all partitions in a run's slices reflect the sources at these versions, also those that have no rows.

    Example: the totals of a view reflect version 7 of ``t``, and a new partition is behind since version 6. It has no
    rows, although the query had some of it at version 7.
    """
    known, region = state.tables[view.definition.view].partitions, Region(run.slices)
    # Partitions that are asked for by name are not searched among a million.
    columns = frozenset(view.definition.partitioned_by)
    named = all(each.columns == columns for each in run.slices)
    found = [each for each in run.slices if each in known] if named else filter(region.covers, known)
    if not all(known[each].inputs == inputs for each in found):
        return False
    elsewhere = {each for each in view.pending if named and each.columns == columns and not region.covers(each)}
    pending = ((each, origins) for each, origins in view.pending.items() if each not in elsewhere)
    behind = (*run.needs, *pending)
    origins = {origin for each, found in behind if each not in known for origin in found}
    return view.whole == inputs or not any(_may_be_in(state, inputs, each) for each in origins)


# --- inside


def _may_be_in(state: State, inputs: Inputs, version: Version) -> bool:
    """Whether a state of the sources may have a change."""
    origin, changes = state.origins.get(version), [held(state, source, at) for source, at in inputs]
    return origin is None or any(not each or version <= each.get(origin.table, 0) for each in changes)


def _agreed(state: State, definition: Definition) -> Mapping[str, Version]:
    found = common_cut(state, definition.view)
    return found.versions if isinstance(found, Common) else {}


def _inputs(state: State, definition: Definition, agreed: Mapping[str, Version]) -> tuple[tuple[str, Version], ...]:
    newest = {each: _highest(state, each, definition.reads_ahead) for each in definition.sources if each not in agreed}
    return tuple((source, agreed[source] if source in agreed else newest[source]) for source in definition.sources)


def _snapshot(record: TableRecord, version: Version | None) -> str:
    older = version is not None and version < record.highest
    return record.past[version].snapshot if version is not None and older else record.snapshot


def _highest(state: State, source: str, ahead: bool) -> Version:
    """The newest version of a source that a run reads which starts now; ``ahead``: before it is published."""
    run = prepared_by(state, source) if ahead else None
    if run is not None:
        return run.version
    return state.tables[source].highest if source in state.tables else 0


def _unfit(view: ViewState) -> Reason | None:
    definition = view.definition
    if why := after_failure(view) or never(definition):
        return why
    if any(re.search(r"\b(CHAR|VARIANT)\b", each.type, re.IGNORECASE) for each in definition.columns):
        changed = "it has a column of which the rows are not read back as they were written"
        return Reason(Code.VIEW_COLUMN_TYPE, changed)
    unsure = "a refresh that is on no record may have been published"
    return Reason(Code.METHOD_STATE_UNKNOWN, unsure) if view.unsure else None


def _asked_for(state: State, view: ViewState, slices: Iterable[Slice]) -> Reason | None:
    """Changes of sources tell which rows differ. Other reasons for a refresh do not."""
    origins = {origin for each in slices for origin in view.pending.get(each, ())}
    for origin in sorted(origins):
        found = state.origins.get(origin)
        if found is None or found.definition:
            return REDEFINED
        if found.asked:
            return ALL_ROWS
        if found.table == view.definition.view:
            elsewhere = found.code is Code.VIEW_PUBLISHED_ELSEWHERE
            return ELSEWHERE if elsewhere else Reason(Code.VIEW_WRITTEN_OUTSIDE, "it was written past Headwater")
    return None
