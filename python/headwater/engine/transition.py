"""The engine's only rule of change: state and event to state and actions. Pure.

A request is a slice of a view with the set of origins on whose behalf it is to be recomputed. All
requests for the same slice are one, with the union of their origins (the merge of [Xu23] §3.5 with
sets instead of a scalar bound and one origin; see docs/decisions/0003-origin-sets.md).

A change is recorded together with a request for every slice it covers downstream, so a slice never
runs before those of its inputs that the same change will renew, and a diamond's foot runs once.
"""

from __future__ import annotations

from attrs import evolve

from headwater.algebra import graph
from headwater.algebra.dependency import forward
from headwater.engine import queue
from headwater.engine.coverage import cover, unresolved
from headwater.engine.hold import learned
from headwater.engine.policy import back_off, follows, freshness, gives_up
from headwater.model.action import Action, Clean, Launch
from headwater.model.event import (
    Altered,
    Broken,
    Changed,
    Declared,
    Dropped,
    Evaluated,
    Event,
    Failed,
    Hurried,
    Published,
    Renamed,
    Requested,
    Restarted,
    Resumed,
    Started,
    Suspended,
)
from headwater.model.partition import WHOLE, Region, simplified
from headwater.model.state import Origin, PartitionRecord, State, Status, TableRecord, ViewState


def transition(state: State, event: Event) -> tuple[State, list[Action]]:
    """Applies one event. ``state`` is consumed: use only the returned one from here on.

    Events about a view that is not there change nothing: it was dropped while they were under way.
    """
    state.highest = max(state.highest, getattr(event, "version", 0))
    match event:
        case Changed():
            _changed(state, event)
        case Declared():
            _declared(state, event)
        case Evaluated(images=images):
            state.images.update({(sql, inputs): value for sql, inputs, value in images})
            state.stale.update(state.views)
        case Hurried(version=version):
            state.hurried = max(state.hurried, version)
        case Restarted():
            for run in list(state.running.values()):
                queue.put_back(state, run)
        case Dropped(view=view):
            return state, _dropped(state, view)
        case Requested():
            _requested(state, event)
        case Started(view=view) if view in state.views:
            return state, [_started(state, event)]
        case _ if event.view in state.views:
            _of_view(state, state.views[event.view], event)
            _reconsider(state, event.to if isinstance(event, Renamed) else event.view)
    return state, []


def _requested(state: State, event: Requested) -> None:
    origin = Origin(event.version, event.at, event.view, event.why, event.slices)
    view = state.views.get(event.view)
    if view is None:
        _originate(state, origin, include_self=False)
        return
    if event.downstream:
        _originate(state, origin, include_self=True)
    else:
        columns = view.definition.partitioned_by
        queue.originate(state, origin, {event.view: simplified(each.keep(columns) for each in event.slices)})
    view.failures, view.retry_at = 0, 0
    if view.status is Status.FAILED:
        view.status, view.reason = Status.ACTIVE, ""
    _reconsider(state, event.view)


def _of_view(state: State, view: ViewState, event: Event) -> None:
    match event:
        case Published():
            _published(state, view, event)
        case Failed():
            _failed(state, view, event)
        case Suspended():
            _release(view, Status.SUSPENDED, "suspended by ALTER MATERIALIZED VIEW … SUSPEND")
        case Resumed():
            view.status, view.reason, view.failures, view.retry_at = Status.ACTIVE, "", 0, 0
            view.released = view.released and (bool(view.pending) or event.view in state.running)
        case Broken(reason=reason):
            _release(view, Status.BROKEN, reason)
        case Altered(properties=properties):
            view.definition = evolve(view.definition, properties=properties)
            state.plans.clear()
        case Renamed(to=to, definition=definition):
            _renamed(state, event.view, to, definition)


# --- changes and definitions


def _changed(state: State, event: Changed) -> None:
    if event.table in state.running:
        return  # its run is about to replace what was seen; what it leaves is seen at the next look
    record = state.tables.setdefault(event.table, TableRecord())
    record.schema, record.created = event.schema, event.created
    for seen in event.partitions:
        record.partitions[seen.slice] = PartitionRecord(event.version, seen.fingerprint)
    record.highest = event.version
    if not event.baseline:
        slices = tuple(seen.slice for seen in event.partitions)
        # A view found changed was written past Headwater: it is repaired, and so is what read it.
        drifted = event.table in state.views
        _originate(state, Origin(event.version, event.at, event.table, event.verb, slices), include_self=drifted)


def _declared(state: State, event: Declared) -> None:
    name = event.definition.view
    known = state.views.get(name)
    follows_again = known is not None and follows(event.definition) and not follows(known.definition)
    fill = event.fill or follows_again
    if known is None:
        state.views[name] = ViewState(event.definition)
        state.tables.setdefault(name, TableRecord())
    else:
        if name in state.running:
            queue.put_back(state, state.running[name])  # what it makes is of the old definition
        known.definition = event.definition
        if known.status is not Status.SUSPENDED:
            known.status, known.reason = Status.ACTIVE, ""
        known.failures, known.retry_at = 0, 0
        if fill:
            queue.widen(state, name)  # slices of the old definition may mean nothing in the new one
    if known is None and name not in state.readers and all(each in state.order for each in _views_read(state, name)):
        _append(state, name)
    else:
        _rewire(state)
    _reconsider(state, name)
    if fill:
        origin = Origin(event.version, event.at, name, event.why, (WHOLE,), definition=True)
        _originate(state, origin, include_self=True)
    _join(state, name)


def _join(state: State, name: str) -> None:
    """Requests a view for the changes that its inputs are still to be renewed for.

    They were recorded before the view read those inputs, so they did not cover it.
    """
    definition = state.views[name].definition
    for dependency in definition.dependencies if follows(definition) else ():
        source = state.views.get(dependency.source)
        if source is None or source.released:
            continue
        for each, origins in unresolved(state, dependency.source).items():
            hit = forward(dependency, each, state.images)
            for view, slices in {name: hit, **cover(state, name, hit)}.items():
                queue.request(state, view, slices, origins)


def _dropped(state: State, view: str) -> list[Action]:
    if view not in state.views:
        return []
    running = state.running.get(view)
    queue.forget(state, view)
    definition = state.views.pop(view).definition
    state.tables.pop(view, None)
    state.promising.discard(view)
    _rewire(state)
    return [Clean(definition, running.version if running else None)]


def _renamed(state: State, old: str, new: str, definition) -> None:
    if old in state.running:
        queue.put_back(state, state.running[old])  # it would be published under the old name
    view = state.views.pop(old)
    view.definition = definition
    state.views[new] = view
    state.tables[new] = state.tables.pop(old, TableRecord())
    state.promising.discard(old)
    _rewire(state)


def _reconsider(state: State, name: str) -> None:
    if freshness(state.views[name].definition) is None:
        state.promising.discard(name)
    else:
        state.promising.add(name)
    queue.reconsider(state, name)


def _rewire(state: State) -> None:
    sources = {name: view.definition.sources for name, view in state.views.items()}
    state.order, state.readers = graph.order(sources), graph.readers(sources)
    state.stale |= state.views.keys() | state.free.keys()
    state.plans.clear()
    state.relations.clear()


def _append(state: State, name: str) -> None:
    """Puts a new view that nothing reads behind all others; the graph is large and mostly the same."""
    state.order[name] = len(state.order)
    for source in dict.fromkeys(state.views[name].definition.sources):
        state.readers[source] = tuple(sorted((*state.readers.get(source, ()), name)))
    state.stale.add(name)
    state.plans.clear()
    state.relations.clear()


def _views_read(state: State, name: str) -> list[str]:
    return [each for each in state.views[name].definition.sources if each in state.views]


# --- requests


def _originate(state: State, origin: Origin, include_self: bool) -> None:
    """Records an origin and a request for every slice it covers."""
    reached = cover(state, origin.table, origin.slices)
    if include_self:
        columns = state.views[origin.table].definition.partitioned_by
        reached = {origin.table: simplified(each.keep(columns) for each in origin.slices), **reached}
    queue.originate(state, origin, reached)


# --- runs


def _started(state: State, event: Started) -> Action:
    run, view = queue.start(state, event), state.views[event.view]
    asked, columns = Region(event.slices), frozenset(view.definition.partitioned_by)
    existing = tuple(
        each
        for each, record in state.tables[event.view].partitions.items()
        if record.fingerprint is not None and each.columns == columns and asked.covers(each)
    )
    return Launch(run, view.definition, existing)


def _published(state: State, view: ViewState, event: Published) -> None:
    run = state.running.get(event.view)
    if run is None or run.version != event.version:
        return
    queue.end(state, run)
    record = state.tables.setdefault(event.view, TableRecord())
    for made in event.made:
        record.partitions[made.slice] = PartitionRecord(event.version, made.fingerprint, made.rows, run.inputs)
    for gone in event.removed:
        record.partitions[gone] = PartitionRecord(event.version, None, 0, run.inputs)
    columns = frozenset(view.definition.partitioned_by)
    for other in [each for each in record.partitions if each.columns != columns]:
        del record.partitions[other]  # of a definition that was partitioned otherwise
    record.highest = event.version
    view.failures, view.retry_at = 0, 0
    view.refreshed_at, view.took = event.at, learned(view.took, event.seconds)
    if view.status is Status.FAILED:
        view.status, view.reason = Status.ACTIVE, ""
    if view.released:
        # What is still pending was not announced to the readers either, so the view stays released
        # until it has caught up; and a run that was under way when it was released is news as well.
        view.released = view.status is not Status.ACTIVE or bool(view.pending)
        origin = Origin(event.version, event.at, event.view, "was refreshed again", run.slices)
        _originate(state, origin, include_self=False)


def _failed(state: State, view: ViewState, event: Failed) -> None:
    run = state.running.get(event.view)
    if run is None or run.version != event.version:
        return
    queue.put_back(state, run)
    if event.cancelled:
        view.retry_at = event.at + back_off(1)
        return
    view.failures += 1
    view.retry_at = event.at + back_off(view.failures)
    view.reason = event.error
    if gives_up(view.failures) and view.status is Status.ACTIVE:
        _release(view, Status.FAILED, event.error)


def _release(view: ViewState, status: Status, reason: str) -> None:
    view.status, view.reason, view.released = status, reason, True
