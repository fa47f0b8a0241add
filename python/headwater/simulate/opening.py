"""A state as events from outside: a simulation begins with them where the journal before that is removed."""

from __future__ import annotations

from collections.abc import Iterator

from headwater.model.event import Broken, Changed, Declared, Evaluated, Event, Observed, Requested, Suspended
from headwater.model.state import State, Status


def opening(state: State, at: int) -> Iterator[Event]:
    """Events that lead to tables, views and pending requests like these, at once. Of views, partitions are as they
    were seen in the warehouse."""
    bases = [name for name in state.tables if name not in state.views]
    for name in (*bases, *sorted(state.views, key=state.index.order.__getitem__)):
        record, view = state.tables[name], state.views.get(name)
        if view is not None:
            yield Declared(at, record.highest, view.definition, "was there", fill=False)
        seen = tuple(Observed(slice_, known.fingerprint) for slice_, known in record.partitions.items())
        yield Changed(at, record.highest, name, seen, record.schema, record.created, "was there", baseline=True)
    if state.images:
        yield Evaluated(at, tuple((sql, inputs, value) for (sql, inputs), value in state.images.items()))
    for number, (name, view) in enumerate(state.views.items(), state.highest + 1):
        if view.pending or name in state.running:
            run = state.running[name].slices if name in state.running else ()
            yield Requested(at, number, name, (*view.pending, *run), "was pending", downstream=False)
        match view.status:
            case Status.SUSPENDED:
                yield Suspended(at, name)
            case Status.BROKEN if view.reason is not None:
                yield Broken(at, name, view.reason)
