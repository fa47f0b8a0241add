"""The names of views pass on: a view is dropped, or renamed, and another table may have its name before a look."""

from __future__ import annotations

from attrs import evolve

from headwater.engine.record import circles, halts, membership, pinned_states, queue, readers, reading_order, runs
from headwater.engine.requests import ahead
from headwater.model.event import Renamed
from headwater.model.partition import WHOLE
from headwater.model.reason import Code
from headwater.model.state import Origin, State, TableRecord

VACATED = -1
"""In place of when a table was created: it was that of a view, and is gone. No table that is found has it."""


def drop(state: State, view: str) -> None:
    """A view is no more. Readers go on with a table that takes its name."""
    if view not in state.views:
        return
    queue.forget(state, view)
    del state.views[view]
    _vacated(state, view)
    state.index.promising.discard(view)
    state.index.lenient.discard(view)
    reading_order.renew(state)
    membership.regroup(state, view)
    if view in state.unreadable:
        halts.unreadable(state, view, None)


def _vacated(state: State, name: str) -> None:
    """No view has this name any more. What readers were made of stays on record: a table that takes the name is
    compared with that."""
    record = state.tables.pop(name, None)
    if record is not None and state.index.readers.get(name):
        state.tables[name] = evolve(
            record, created=VACATED, past={}, began=state.highest, partitions=dict(record.partitions)
        )


def rename(state: State, event: Renamed) -> None:
    """A view goes by another name, which readers may know as that of a table."""
    old, new = event.view, event.to
    if old in state.running:
        queue.put_back(state, state.running[old], unsure=True)  # it would be published under the old name
    ahead.forget(state, old)
    view, record = state.views.pop(old), state.tables.get(old, TableRecord())
    _vacated(state, old)
    view.definition, view.holds = event.definition, pinned_states.renamed(view.holds, old, new)
    why = circles.closed(state, event.definition)
    state.views[new], state.tables[new] = view, record
    pinned_states.rename(record, old, new)
    membership.rename(state, old, new)
    for version, origin in state.origins.items():
        if origin.table == old:
            state.origins[version] = evolve(origin, table=new)
    state.index.promising.discard(old)
    state.index.lenient.discard(old)
    if why is not None:
        view.definition = evolve(view.definition, dependencies=())
        circles.cut(state, view.definition, why)
    reading_order.renew(state)
    if (why_not := state.unreadable.get(old)) is not None:
        halts.unreadable(state, old, None)
        halts.unreadable(state, new, why_not)
    if state.index.readers.get(new):
        _took_over(state, event)


def _took_over(state: State, event: Renamed) -> None:
    """A view has the name of a table that others were made of. All its rows are news for these, whatever versions they
    have, and what it is still pending for reaches them, too."""
    record = state.tables[event.to]
    for each, known in record.partitions.items():
        record.partitions[each] = evolve(known, version=event.version)
    record.highest = event.version
    pinned_states.went_on(record, None, 0)
    why, code = f"has the table that was {event.view}", Code.SOURCE_CHANGED
    runs.originate(state, Origin(event.version, event.at, event.to, why, (WHOLE,), code=code), {})
    readers.pass_on(state, event.to)
    readers.unsettle(state, event.to, event.version)
