"""Which requests can run now, and when to look again.

A slice is ready when no slice of its inputs that reaches it is still to be renewed. Because a change
requests everything it covers at once, "an input is pending or running" and "an input is not resolved
for an origin this slice carries" are the same, except when newer changes overtake: then the older
origins, resolved in all inputs, may go alone once the slice's patience is over.

Pending slices that overlap (``a=1`` and ``b=2`` do) run together, or a partition in both would be
published twice for one change.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from headwater.algebra.dependency import forward_all
from headwater.engine.coverage import unresolved
from headwater.engine.hold import hold
from headwater.engine.policy import patience, settle
from headwater.engine.reasons import reason
from headwater.model.event import Started
from headwater.model.partition import WHOLE, Region, Slice, overlapping, sort_key
from headwater.model.state import State, Status, Version, ViewState


@frozen
class Ready:
    """Slices of one view that can run together, each with the origins on whose behalf."""

    view: str
    needs: tuple[tuple[Slice, tuple[Version, ...]], ...]

    @property
    def slices(self) -> tuple[Slice, ...]:
        return tuple(each for each, _ in self.needs)

    @property
    def origins(self) -> tuple[Version, ...]:
        return tuple(sorted({origin for _, origins in self.needs for origin in origins}))


def ready(state: State, now: int) -> list[Ready]:
    """Everything that can run at ``now``, at most one run a view, those with the oldest change first."""
    found = []
    for name in state.order:
        view = state.views[name]
        if not view.pending or view.status in (Status.SUSPENDED, Status.BROKEN) or name in state.running:
            continue
        if view.retry_at > now:
            continue
        each = _ready_of(state, name, view, now)
        if each is not None:
            found.append(each)
    return sorted(found, key=lambda each: (min(each.origins), state.order[each.view]))


def started(state: State, chosen: Ready, version: Version, now: int) -> Started:
    """The event that begins a run of what was chosen."""
    definition = state.views[chosen.view].definition
    inputs = tuple(
        (source, state.tables[source].highest if source in state.tables else 0) for source in definition.sources
    )
    mode = "full" if WHOLE in chosen.slices else "partition"
    return Started(now, version, chosen.view, chosen.needs, inputs, mode, reason(state, chosen.origins))


def wake_at(state: State, now: int) -> int | None:
    """When something that waits for time alone becomes ready; ``None`` when nothing does."""
    times = []
    for name, view in state.views.items():
        if view.pending and view.status in (Status.ACTIVE, Status.FAILED) and name not in state.running:
            times.append(view.retry_at)
            for origin in frozenset().union(*view.pending.values()):
                times += [due_at(state, view, origin), state.origins[origin].at + patience(view.definition)]
    return min((each for each in times if each > now), default=None)


def due_at(state: State, view: ViewState, origin: Version) -> int:
    """When a change need not wait for others any more; at once when somebody waits for it.

    What reads the changed table is held as long as the freshness downstream allows; what reads only
    views has settled when they are resolved.
    """
    change = state.origins[origin]
    if origin <= state.hurried or change.definition:
        return change.at
    definition = view.definition
    root = change.table == definition.view or change.table in definition.sources
    held = hold(state, definition.view) if root else None
    return change.at + (settle(definition) if held is None else held.millis)


def blockers(state: State, view: ViewState) -> list[tuple[Region, dict[Slice, frozenset[Version]]]]:
    """For each input view still to be renewed: where it reaches this view, and on whose behalf."""
    found = []
    for dependency in view.definition.dependencies:
        source = state.views.get(dependency.source)
        if source is None or source.status is not Status.ACTIVE:
            continue
        awaited = unresolved(state, dependency.source)
        if awaited:
            reached: dict[Slice, frozenset[Version]] = {}
            for each, origins in awaited.items():
                for hit in forward_all(dependency, (each,), state.images):
                    reached[hit] = reached.get(hit, frozenset()) | origins
            found.append((Region(reached), reached))
    return found


def _ready_of(state: State, name: str, view: ViewState, now: int) -> Ready | None:
    blocking = blockers(state, view)
    needs: list[tuple[Slice, tuple[Version, ...]]] = []
    for group in overlapping(view.pending):
        free = _free(state, view, group, blocking, now)
        if any(due_at(state, view, origin) <= now for origin in free):
            needs += [(each, tuple(sorted(view.pending[each] & free))) for each in group if view.pending[each] & free]
    return Ready(name, tuple(sorted(needs, key=lambda need: sort_key(need[0])))) if needs else None


def _free(state: State, view: ViewState, group: list[Slice], blocking, now: int) -> frozenset[Version]:
    """The origins for which all inputs of these slices are resolved, if they may run for them now."""
    origins = frozenset().union(*(view.pending[each] for each in group))
    in_the_way = [(each, reached) for region, reached in blocking for each in group if region.overlaps(each)]
    if not in_the_way:
        return origins
    if now < state.origins[min(origins)].at + patience(view.definition):
        return frozenset()
    return origins.difference(*(_origins_at(each, [reached]) for each, reached in in_the_way))


def _origins_at(each: Slice, reached_by: list[dict[Slice, frozenset[Version]]]) -> Iterator[Version]:
    for reached in reached_by:
        for hit, origins in reached.items():
            if hit.overlaps(each):
                yield from origins
