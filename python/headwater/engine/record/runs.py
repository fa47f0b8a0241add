"""Runs begin and end: what is computed then, what is on record afterwards, and who is told of it.

A reader of a view awaits changes that the view has not computed yet. When a run ends, those that did change
what the reader reads are news for it; a change that is news for nobody any more is completed without running.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import evolve

from headwater.engine.methods import totals
from headwater.engine.methods.all_methods import learn
from headwater.engine.methods.basis import reflects
from headwater.engine.methods.selective import trial
from headwater.engine.record import pinned_states, queue, readers
from headwater.engine.requests import ahead
from headwater.engine.requests.coverage import Reach, cover_each, cover_with_news, downstream, together
from headwater.engine.requests.cut import brought, carried, ended, newest
from headwater.engine.requests.limits import back_off, follows, gives_up
from headwater.engine.requests.reach import Reached
from headwater.engine.requests.succession import inherited, preceded
from headwater.model.command import Launch
from headwater.model.event import Failed, Prepared, Published, Reworked
from headwater.model.partition import WHOLE, Region, Slice, Version, simplified
from headwater.model.reason import Code, Reason
from headwater.model.state import Included, Origin, PartitionRecord, Run, State, Status, TableRecord, ViewState
from headwater.model.work import Totals, only_adds


def originate(state: State, origin: Origin, itself: Reach) -> None:
    """Records a change of a table with a request for every slice it covers, and for ``itself``; it is news for
    that and for what reads the table."""
    reached, news = cover_with_news(state, origin.table, origin.slices, origin.marked)
    request(state, origin, together(itself, reached), together(itself, news))


def request(state: State, origin: Origin, reached: Reach, news: Reach) -> None:
    """Records a change with a request for every slice it covers. What is new in a view that reads earlier
    partitions of itself is covered by what these are still to be renewed for, too."""
    queue.originate(state, origin, reached, news)
    for name in [name for name in reached if state.views[name].definition.earlier]:
        inherit(state, name, reached[name])


def inherit(state: State, name: str, slices: Iterable[Slice]) -> None:
    """New slices of a view that reads earlier partitions of itself are pending for what is pending for these."""
    view = state.views[name]
    for each, origins in inherited(state, name, slices):
        for some, marked, beyond in cover_each(state, name, (each,), origins):
            if follows(view.definition, marked):
                for reader, covered in together({name: (each,)}, {} if view.released else beyond).items():
                    queue.request(state, reader, covered, some)


def launched(state: State, name: str) -> Launch:
    """The run of a view that has just begun, with what has to be known to carry it out."""
    run = state.running[name]
    existing = _existing(state, name, run.slices)
    size, _ = expected_sizes(state, name, run.slices)
    view = state.views[name]
    as_totals = view.totals is not None and reflects(state, view, run, view.totals.inputs)
    return Launch(
        run,
        view.definition,
        existing,
        size,
        bool(view.unsure),
        view.totals,
        as_totals,
        view.edge,
        trial(state, run),
        doubted=bool(view.unsure) or _is_doubted(state, run),
        complete=not view.pending,
    )


def _is_doubted(state: State, run: Run) -> bool:
    """Whether somebody doubts the rows that a run replaces, or another program may have written them."""
    origins = [state.origins[each] for _, known in run.needs for each in known]
    return any(
        each.definition or each.asked or (each.table == run.view and each.code is not Code.VIEW_PUBLISHED_ELSEWHERE)
        for each in origins
    )


def expected_sizes(state: State, name: str, slices: Iterable[Slice]) -> tuple[int, int]:
    """How many bytes a run of a view writes for these slices, and how many they take in blocks of Spark's memory, by
    what its partitions took lately or, of the first run, by an estimate; 0 if nobody knows."""
    slices, view = tuple(slices), state.views[name]
    if view.costs.estimate is not None:
        return view.costs.estimate.size, view.costs.estimate.size
    count = max(len(_existing(state, name, slices)), len(slices))
    return round(view.costs.size * count), round((view.costs.held or view.costs.size) * count)


def unfilled(state: State, sources: Iterable[str]) -> dict[str, int | None]:
    """Bytes of those tables that are views which were not filled yet; ``None`` where nothing is foreseen."""
    views = {name: state.views[name] for name in sources if name in state.views}
    never = {
        name: view.costs.estimate
        for name, view in views.items()
        if view.costs.took is None and not state.tables[name].partitions
    }
    return {name: estimate.size if estimate else None for name, estimate in never.items()}


def _existing(state: State, name: str, slices: Iterable[Slice]) -> dict[Slice, PartitionRecord]:
    asked, columns = Region(slices), frozenset(state.views[name].definition.partitioned_by)
    known = state.tables[name].partitions
    # Partitions that are asked for by name are not searched among a million.
    found = [each for each in asked if each in known] if all(each.columns == columns for each in asked) else known
    return {
        each: known[each]
        for each in found
        if known[each].fingerprint is not None and each.columns == columns and asked.covers(each)
    }


def reworked(state: State, event: Reworked) -> None:
    """A run goes on with other work."""
    run = state.running.get(event.view)
    if run is not None and run.version == event.version:
        state.running[event.view] = evolve(run, work=event.work, instead=event.why)


def prepared(state: State, view: ViewState, event: Prepared) -> None:
    """Lets readers go on with what a run made, if it certainly differs from what is published, all of it. Of what
    may prove to be unchanged they wait for the publication, which tells."""
    run = state.running.get(event.view)
    if run is None or run.version != event.version or view.released or view.status is not Status.ACTIVE:
        return
    if _is_of_a_definition(state, run) and view.costs.estimate is None:
        return  # it may have other columns than what is published
    if not ahead.may_be_read(state, run, event):
        return
    changed = _differing(state, run, event)
    queue.prepare(state, run)
    for reader in state.index.readers.get(event.view, ()) if changed else ():
        _tell(state, reader, event.view, changed)


def published(state: State, view: ViewState, event: Published) -> None:
    run = state.running.get(event.view)
    if run is None or run.version != event.version:
        return
    changed, redefined = _differing(state, run, event), _is_of_a_definition(state, run)
    marked = [each for each, origins in run.needs if any(state.origins[origin].marked for origin in origins)]
    asked = any(state.origins[origin].asked for _, origins in run.needs for origin in origins)
    holds, first = ended(state, run)
    passed_by(state, view, [origins for _, origins in run.needs])
    brings = brought(state, run)
    if view.released:  # its readers follow a change of its own
        holds[event.view] = first[event.view] = event.version
    view.holds = holds if WHOLE in run.slices else newest(view.holds, holds)
    queue.end(state, run)
    _record_partitions(state, view, run, event, redefined)
    if redefined:
        readers.unsettle(state, event.view, event.version)
    pinned_states.hold(state.tables[event.view], view.holds, first)
    region = Region(run.slices)
    view.failures, view.retry_at, view.preempted, view.stopped = 0, 0, 0, None
    view.unsure = tuple(each for each in view.unsure if not region.covers(each))
    if view.unsure:
        pinned_states.doubt(state.tables[event.view])
    view.keeps_none = WHOLE in run.slices and view.definition.keeps_versions and not event.snapshot
    view.overran, view.refreshed_at = (event.version, state.highest), event.at
    view.began = event.version, run.started.at
    if WHOLE in run.slices:
        view.whole = run.inputs
    if event.measured.edge is not None:
        view.edge = event.measured.edge
    if event.totals is not None:
        view.totals = Totals(event.version, run.inputs, event.totals, event.seconds)
    elif asked:
        view.totals = None  # who asks for all rows doubts those that there are, and the totals with them
    learn(state, view, run, event)
    totals.give_up(view)
    if view.status is Status.FAILED:
        view.status, view.reason = Status.ACTIVE, None
    _tell_all(state, view, event, changed, marked, brings)


def _record_partitions(state: State, view: ViewState, run: Run, event: Published, redefined: bool) -> None:
    """What a run made and removed is on record as what readers see."""
    record = state.tables.setdefault(event.view, TableRecord())
    for made in event.made:
        record.partitions[made.slice] = PartitionRecord(
            event.version, made.fingerprint, made.rows, run.inputs, made.content
        )
    region = Region(run.slices)
    for gone in event.removed:
        record.partitions[gone] = PartitionRecord(event.version, None, 0, run.inputs)
    for each, known in [*record.partitions.items()]:
        if known.fingerprint is None and region.covers(each):
            record.partitions[each] = evolve(known, inputs=run.inputs)  # it is still empty
    if redefined:
        columns = frozenset(view.definition.partitioned_by)
        for other in [each for each in record.partitions if each.columns != columns]:
            del record.partitions[other]  # of a definition that was partitioned otherwise
    record.highest = event.version
    record.snapshot, record.pinned = event.snapshot, bool(event.snapshot)
    appends = only_adds(run.work) and view.definition.storage.commits  # files are written anew, with all of their rows
    went = 0 if appends else max(1, event.measured.size)  # all rows may go, and none come
    pinned_states.went_on(record, None if redefined else event.measured.size + went, went)


def _tell_all(
    state: State,
    view: ViewState,
    event: Published,
    changed: list[tuple[Slice, frozenset[Version]]],
    marked: Sequence[Slice],
    brings: tuple[Included, ...],
) -> None:
    """Lets all readers of a view know what a run changed.

    Args:
        marked: the slices that somebody asked for with all that is made from them.
        brings: the changes of other tables that came with it.
    """
    if view.released:
        # What is still pending was not announced to the readers either, so the view stays released
        # until it has caught up; and a run that was under way when it was released is news as well.
        caught_up(state, view)
        if changed or marked:
            slices = simplified((*(each for each, _ in changed), *marked))
            verb, code = "was refreshed again", Code.VIEW_REFRESHED
            again = Origin(
                event.version, event.at, event.view, verb, slices, marked=bool(marked), code=code, brings=brings
            )
            reached, news = cover_with_news(state, event.view, slices, bool(marked))
            request(state, again, reached, reached if marked else news)  # what is asked for runs, changed or not
    for reader in state.index.readers.get(event.view, ()) if changed else ():
        _tell(state, reader, event.view, changed)
    if view.definition.earlier:
        _tell_following(state, view, changed)


def passed_by(state: State, view: ViewState, needs: Iterable[Iterable[Version]]) -> None:
    """Notes what a view may never have shown that readers went past: of several changes of a table, all but the newest.
    What is made from the view may hold the newest, so nothing says that it is of a state between."""
    if not view.released:
        return
    needs = [*needs]
    oldest, newest_ones = carried(state, needs, min), carried(state, needs, max)
    several = {table: change for table, change in newest_ones.items() if change > oldest[table]}
    name = view.definition.view
    for each in (downstream(state, name) & state.views.keys()) - {name} if several else ():
        below = state.views[each]
        below.holds = newest(below.holds, several)
        pinned_states.hold(state.tables[each], below.holds)


def caught_up(state: State, view: ViewState) -> None:
    """Lets readers wait for a view again that went on past it, if nothing is left that they were not told."""
    left = bool(view.pending) or view.definition.view in state.running
    view.released = view.released and (view.status is not Status.ACTIVE or left)


def _is_of_a_definition(state: State, run: Run) -> bool:
    """Whether a run is the first of a definition."""
    return any(state.origins[origin].definition for _, origins in run.needs for origin in origins)


def _differing(state: State, run: Run, event: Prepared | Published) -> list[tuple[Slice, frozenset[Version]]]:
    """What a run leaves that is not as it was before, each with the origins on whose behalf. A new definition
    may give equal rows another meaning, so all that was computed by it differs."""
    if _is_of_a_definition(state, run):
        return list(run.needs)
    needs = Reached(run.needs)
    slices = [*(made.slice for made in event.made if not made.unchanged), *event.removed]
    return [(each, frozenset(needs.at(each))) for each in slices]


def _tell(state: State, reader: str, source: str, changed: list[tuple[Slice, frozenset[Version]]]) -> None:
    """Lets a reader know which of the changes that it awaits did reach it."""
    definition = state.views[reader].definition
    reached = Reached()
    for dependency in definition.dependencies:
        if dependency.source == source:
            reached.reach(definition, dependency, changed, state.images)
    queue.tell(state, reader, reached)


def _tell_following(state: State, view: ViewState, changed: list[tuple[Slice, frozenset[Version]]]) -> None:
    """Lets later partitions of a view know which changes did reach those that they read."""
    reached = [
        (part, origins)
        for each in view.pending
        for earlier, origins in changed
        for part in preceded(view.definition, earlier, each)
    ]
    queue.tell(state, view.definition.view, reached)


def failed(state: State, view: ViewState, event: Failed) -> None:
    run = state.running.get(event.view)
    if run is None or run.version != event.version:
        return
    queue.put_back(state, run, event.unsure)
    if event.cancelled and run.preempted:
        return
    cancelled = event.cancelled and not _lost_again(view, event)
    if event.error.code in STATE_GONE or (view.failures and not cancelled):
        for source, version in run.inputs:
            if source in state.tables:
                pinned_states.strike(state.tables[source], version, run.version, event.error.code in STATE_GONE)
                queue.touch(state, source)
    if cancelled:
        view.retry_at, view.stopped = event.at + back_off(1), event.error
        return
    view.failures, view.failed, view.stopped = view.failures + 1, event.version, None
    # Whoever asked after the run began wants an attempt of their own: the cause may be gone meanwhile.
    asked_since = event.version < max(view.hurried, state.hurried)
    view.retry_at = event.at if asked_since else event.at + back_off(view.failures)
    view.reason = event.error
    if gives_up(view.failures) and view.status is Status.ACTIVE:
        release(view, Status.FAILED, event.error)


def _lost_again(view: ViewState, event: Failed) -> bool:
    """Whether other files took the place of those of a view twice in a row: who replaces them may always be faster. The
    next run of a view that failed computes whole partitions, whatever files these have."""
    code = Code.RUN_TABLE_CHANGED
    return event.error.code is code and view.stopped is not None and view.stopped.code is code


STATE_GONE = (Code.SOURCE_SNAPSHOT_EXPIRED, Code.RUN_SOURCE_REPLACED)
"""A run failed as rows were not there any more that it was to read: they were expired, vacuumed or overwritten."""


def break_off(view: ViewState, reason: Reason) -> None:
    """The query of a view cannot be analysed. One that its owner suspended shows that when it is resumed."""
    view.broken = reason
    if view.status is not Status.SUSPENDED:
        release(view, Status.BROKEN, reason)


def release(view: ViewState, status: Status, reason: Reason) -> None:
    view.status, view.reason, view.released = status, reason, True
