"""The only rule of change: a state and an event make the next state. Pure.

A request is a slice of a view with the set of origins on whose behalf it is to be recomputed. All
requests for the same slice are one, with the union of their origins (the merge of [Xu23] §3.5 with
sets instead of a scalar bound and one origin; see docs/decisions/0003-origin-sets.md).

A change is recorded together with a request for every slice it covers downstream, so a slice never
runs before those of its inputs that the same change will renew, and a diamond's foot runs once.
"""

from __future__ import annotations

from attrs import evolve

from headwater.algebra.dependency import forward
from headwater.engine.record import (
    circles,
    halts,
    membership,
    names,
    pinned_states,
    queue,
    readers,
    reading_order,
    runs,
)
from headwater.engine.requests import ahead
from headwater.engine.requests.coverage import Reach, cover, cover_each, cover_with_news, together, unresolved
from headwater.engine.requests.limits import follows
from headwater.engine.waits.ration import learn_gap
from headwater.model import event as events
from headwater.model.costs import RefreshCosts
from headwater.model.partition import WHOLE, simplified
from headwater.model.reason import Code, Reason
from headwater.model.state import Budget, Origin, PartitionRecord, State, Status, TableRecord, ViewState


def transition(state: State, event: events.Event) -> State:
    """Applies one event. ``state`` is consumed: use only the returned one from here on.

    Events about a view that is not there change nothing: it was dropped while they were under way.
    """
    state.highest = max(state.highest, getattr(event, "version", 0))
    state.index.places.clear()  # they follow from the state as it is at each event, here and in each replay
    match event:
        case events.Changed():
            _changed(state, event)
        case events.Advanced(table=table, snapshot=snapshot, watermark=watermark):
            if table in state.tables and table not in state.running:
                pinned_states.advance(state.tables[table], snapshot)
                membership.advance(state, table, snapshot)
                pinned_states.reached(state.tables[table], watermark)
        case events.Declared():
            _declared(state, event)
        case events.Evaluated(images=images):
            state.images.update({(sql, inputs): value for sql, inputs, value in images})
            state.index.stale.update(state.views)
        case events.Hurried():
            _hurried(state, event)
        case events.Budgeted(core_seconds_per_day=spent, cores=cores):
            state.budget, state.index.rations = None if spent is None else Budget(spent, cores), None
        case events.Unreadable(table=table, reason=reason):
            halts.unreadable(state, table, reason)
        case events.EpochMade():
            membership.made(state, event)
        case events.EpochPublished():
            membership.publish(state, event)
        case events.Convened(group=group):
            membership.convene(state, group)
        case events.EngineLost(engine=engine):
            queue.forget_engine(state, engine)
        case events.Dropped(view=view):
            names.drop(state, view)
        case events.Requested():
            _requested(state, event)
        case events.Started(view=view) if view in state.views:
            queue.start(state, event)
        case _ if event.view in state.views:
            _of_view(state, state.views[event.view], event)
            halts.reconsider(state, event.to if isinstance(event, events.Renamed) else event.view)
    if isinstance(event, (events.Declared, events.Altered, events.Dropped)):
        membership.retime(state, event.at)
    return state


def _hurried(state: State, event: events.Hurried) -> None:
    """Somebody waits: what failed, or was cancelled, is tried now and not after its pause."""
    if event.views is None:
        state.hurried = max(state.hurried, event.version)
    for name in state.views if event.views is None else state.views.keys() & set(event.views):
        view = state.views[name]
        view.retry_at = 0
        if event.views is not None:
            view.hurried = max(view.hurried, event.version)
        state.index.stale.add(name)


def _requested(state: State, event: events.Requested) -> None:
    origin = Origin(
        event.version,
        event.at,
        event.view,
        event.why,
        event.slices,
        marked=event.downstream,
        asked=True,
        code=Code.VIEW_REQUESTED,
    )
    view = state.views.get(event.view)
    news = _itself(state, origin) if view is not None else {}
    reached = news
    if event.downstream or view is not None:
        reached = together(news, cover(state, event.view, event.slices, marked=event.downstream))
    # What is asked for by hand runs, changed or not. What is made from it follows where rows come out different.
    runs.request(state, origin, reached, reached if event.downstream else news)
    if view is None:
        return
    view.failures, view.retry_at = 0, 0
    if view.status is Status.FAILED:
        view.status, view.reason = Status.ACTIVE, None
    halts.reconsider(state, event.view)


def _of_view(state: State, view: ViewState, event: events.Event) -> None:
    before = _waited_for(state, view)
    _happened(state, view, event)
    if before != _waited_for(state, view) and view.definition.view in state.views:
        readers.went_on(state, view.definition.view)


def _waited_for(state: State, view: ViewState) -> tuple[object, ...]:
    """What decides whether readers wait for a view, and by which of its states."""
    record = state.tables.get(view.definition.view)
    return view.released, view.status, view.definition, record is not None and record.pinned


def _happened(state: State, view: ViewState, event: events.Event) -> None:
    match event:
        case events.Reworked():
            runs.reworked(state, event)
        case events.Prepared():
            runs.prepared(state, view, event)
        case events.Published():
            runs.published(state, view, event)
        case events.Failed():
            runs.failed(state, view, event)
        case events.Skipped():
            runs.passed_by(state, view, [origins for _, origins in event.needs])
            queue.skip(state, event)
            runs.caught_up(state, view)
            if view is not None and view.definition.earlier:
                # A change of an earlier partition came while these were one slice of no certain time.
                runs.inherit(state, event.view, [each for each, _ in event.left])
        case events.CancelAsked():
            if event.view in state.running:
                state.running[event.view] = evolve(state.running[event.view], cancelled=True)
        case events.Suspended():
            why = Reason(Code.VIEW_SUSPENDED, "ALTER MATERIALIZED VIEW … SUSPEND stopped it")
            runs.release(view, Status.SUSPENDED, why)
        case events.Resumed():
            halts.resume(state, event.view)
            halts.halt(state, event.view)
        case events.Broken(reason=reason):
            runs.break_off(view, reason)
        case events.Analysed(upto=upto):
            view.unanalysed = view.unanalysed if view.unanalysed > upto else 0
        case events.Altered(properties=properties):
            view.definition = evolve(view.definition, properties=properties)
            state.index.routes.clear()
        case events.Renamed():
            names.rename(state, event)


# --- changes and definitions


def _changed(state: State, event: events.Changed) -> None:
    if event.table in state.running:
        return  # its run is about to replace what was seen; what it leaves is seen at the next look
    record = state.tables.get(event.table)
    if record is None:
        record = state.tables[event.table] = TableRecord()
    if record.created != event.created:
        record.watermark = None
    if (record.schema, record.created) != (event.schema, event.created) and not event.baseline:
        readers.unsettle(state, event.table, event.version)
    record.schema, record.created = event.schema, event.created
    pinned_states.reached(record, event.watermark)
    if record.pinned != event.pinned:
        readers.went_on(state, event.table)
    record.snapshot, record.pinned = event.snapshot, event.pinned
    for seen in event.partitions:
        record.partitions[seen.slice] = PartitionRecord(event.version, seen.fingerprint)
    record.highest = event.version
    pinned_states.went_on(record, event.churn, event.went)
    ahead.forget_rows(state, event.table)  # what was kept of a view that was written past Headwater is not what it is
    queue.touch(state, event.table)  # a new partition counts for readers too that this change does not reach
    if not event.baseline:
        learn_gap(record, event.at)
        state.index.learned = True
        if event.table in state.views:  # written past Headwater, it holds that, too
            state.views[event.table].holds[event.table] = event.version
            pinned_states.hold(record, state.views[event.table].holds, {event.table: event.version})
        slices = tuple(seen.slice for seen in event.partitions)
        origin = Origin(event.version, event.at, event.table, event.verb, slices, code=event.code)
        # A view found changed was written past Headwater: it is repaired, and so is what read it.
        runs.originate(state, origin, _itself(state, origin) if event.table in state.views else {})
        if event.before:
            queue.take_along(state, origin, event.before)


def _declared(state: State, event: events.Declared) -> None:
    name = event.definition.view
    if (why := circles.closed(state, event.definition)) is not None:
        circles.cut(state, event.definition, why)
        halts.reconsider(state, name)
        return
    known = state.views.get(name)
    follows_again = known is not None and follows(event.definition) and not follows(known.definition)
    fill = event.fill or follows_again
    if known is None:
        state.views[name] = ViewState(event.definition, costs=RefreshCosts(estimate=event.estimate))
        state.tables[name] = TableRecord()  # a table that had the name before was another one
        halts.halt(state, name)
    else:
        if name in state.running:
            queue.put_back(state, state.running[name], unsure=True)  # what it makes is of the old definition
        known.definition, known.totals, known.whole = event.definition, None, None
        known.costs.estimate = None
        known.costs.whole.clear()
        known.costs.narrow.clear()
        known.edge = None
        known.costs.reads = {each: size for each, size in known.costs.reads.items() if each in event.definition.sources}
        known.broken = None
        if known.status is not Status.SUSPENDED:
            known.status, known.reason = Status.ACTIVE, None
        known.failures, known.retry_at = 0, 0
        halts.halt(state, name)
        if fill:
            queue.widen(state, name)  # slices of the old definition may mean nothing in the new one
    read = [each for each in event.definition.sources if each in state.views]
    if known is None and name not in state.index.readers and all(each in state.index.order for each in read):
        reading_order.append(state, name)
    else:
        reading_order.renew(state)
    halts.reconsider(state, name)
    if fill:
        readers.pass_on(state, name)
        code = Code.VIEW_DEFINED
        origin = Origin(event.version, event.at, name, event.why, (WHOLE,), definition=True, code=code)
        itself = _itself(state, origin)
        reached, news = cover_with_news(state, name, (WHOLE,))
        # Of a table that had the name, readers have rows, also if the view is dropped before it has any.
        runs.request(state, origin, itself | reached, together(itself, news) if known is None else itself)
    if known is not None:
        runs.caught_up(state, known)
    _join(state, name)


def _join(state: State, name: str) -> None:
    """Requests a view for the changes that its inputs are still to be renewed for.

    They were recorded before the view read those inputs, so they did not cover it.
    """
    definition = state.views[name].definition
    for dependency in definition.dependencies:
        source = state.views.get(dependency.source)
        if source is None or source.released:
            continue
        for each, origins in unresolved(state, dependency.source).items():
            hit = forward(dependency, each, state.images)
            for some, marked, reached in cover_each(state, name, hit, origins):
                for view, slices in together({name: hit}, reached).items() if follows(definition, marked) else ():
                    queue.request(state, view, slices, some)


# --- requests


def _itself(state: State, origin: Origin) -> Reach:
    """The slices of a view that an origin of its own renews."""
    columns = state.views[origin.table].definition.partitioned_by
    return {origin.table: simplified(each.keep(columns) for each in origin.slices)}
