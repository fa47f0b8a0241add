"""Which requests can run now, and when to look again.

A slice is ready when no slice of its inputs that reaches it is still to be renewed. Because a change
requests everything it covers at once, "an input is pending or running" and "an input is not resolved
for an origin this slice carries" are the same, except when newer changes overtake. Those that came within
the slice's patience after its oldest change are waited for, however long they take through the graph;
later ones are not: the older origins, resolved in all inputs, go alone.

Pending slices that overlap (``a=1`` and ``b=2`` do) run together, or a partition in both would be
published twice for one change.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from headwater.algebra.dependency import forward
from headwater.engine.coverage import identity, unresolved
from headwater.engine.hold import Hold, hold, patience, wave_began
from headwater.engine.policy import settle
from headwater.engine.reasons import reason
from headwater.model.event import Started
from headwater.model.partition import WHOLE, Slice, overlapping, sort_key
from headwater.model.state import Needs, State, Status, Version, ViewState


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
    for name, groups in _free_views(state).items():
        view = state.views[name]
        if view.retry_at > now:
            continue
        due = [needs for needs in groups if _is_due(state, view, needs, now)]
        if due:
            needs = sorted((need for group in due for need in group), key=lambda need: sort_key(need[0]))
            found.append(Ready(name, tuple(needs)))
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
    for name, groups in _free_views(state).items():
        view = state.views[name]
        times.append(view.retry_at)
        times += [due_at(state, view, origin) for needs in groups for origin in _origins(needs)]
    return min((each for each in times if each > now), default=None)


def due_at(state: State, view: ViewState, origin: Version) -> int:
    """When a change need not wait for others any more; at once when somebody waits for it."""
    change = state.origins[origin]
    if origin <= state.hurried or change.definition:
        return change.at
    held = held_for(state, view, origin)
    if held is None:
        return change.at + settle(view.definition)
    return wave_began(state, view.definition.view, origin) + held.millis


def held_for(state: State, view: ViewState, origin: Version) -> Hold | None:
    """How long a change is held, if it is: what reads the changed table is, as long as the freshness
    downstream allows; what reads only views has settled when they are resolved."""
    table, definition = state.origins[origin].table, view.definition
    root = table == definition.view or table in definition.sources
    return hold(state, definition.view) if root else None


class Awaited:
    """The slices of one view that an input still to be renewed reaches, and on whose behalf."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, ...], dict[Slice, frozenset[Version]]] = {}

    def add(self, reached: Slice, origins: frozenset[Version]) -> None:
        group = self._groups.setdefault(reached.names, {})
        known = group.get(reached)
        group[reached] = origins if known is None else known | origins

    def __bool__(self) -> bool:
        return bool(self._groups)

    def at(self, asked: Slice) -> Iterator[Version]:
        """The origins that some input is awaited for where it overlaps a slice."""
        names = asked.names
        for bound, group in self._groups.items():
            if bound == names:
                yield from group.get(asked, ())
            elif set(bound) <= set(names):
                yield from group.get(asked.keep(bound), ())
            else:
                for reached, origins in group.items():
                    if reached.overlaps(asked):
                        yield from origins


def blockers(state: State, view: ViewState) -> Awaited:
    """Where inputs that are views still to be renewed reach this one."""
    awaited = Awaited()
    for dependency in view.definition.dependencies:
        source = state.views.get(dependency.source)
        if source is None or source.status is not Status.ACTIVE:
            continue
        same = identity(dependency, view.definition.partitioned_by)
        for each, origins in unresolved(state, dependency.source).items():
            if same is not None and each.names == same:
                awaited.add(each, origins)
            else:
                for hit in forward(dependency, each, state.images):
                    awaited.add(hit, origins)
    return awaited


def _free_views(state: State) -> dict[str, tuple[Needs, ...]]:
    """What can run as far as inputs are concerned, for each view that has any: groups of overlapping slices.

    It is kept in the state and found out anew only for views that ``engine.queue`` noted.
    """
    for name in state.stale:
        groups = _free_groups(state, name) if name in state.views else ()
        if groups:
            state.free[name] = groups
        else:
            state.free.pop(name, None)
    state.stale.clear()
    return state.free


def _free_groups(state: State, name: str) -> tuple[Needs, ...]:
    view = state.views[name]
    if not view.pending or view.status in (Status.SUSPENDED, Status.BROKEN) or name in state.running:
        return ()
    blocking = blockers(state, view)
    found = []
    for group in overlapping(view.pending):
        free = _free(state, view, group, blocking)
        needs = tuple((each, tuple(sorted(view.pending[each] & free))) for each in group if view.pending[each] & free)
        if needs:
            found.append(needs)
    return tuple(found)


def _is_due(state: State, view: ViewState, needs: Needs, now: int) -> bool:
    return any(due_at(state, view, origin) <= now for origin in _origins(needs))


def _origins(needs: Needs) -> set[Version]:
    return {origin for _, origins in needs for origin in origins}


def _free(state: State, view: ViewState, group: list[Slice], blocking: Awaited) -> frozenset[Version]:
    """The origins for which these slices may run as far as their inputs are concerned."""
    origins = frozenset().union(*(view.pending[each] for each in group))
    if not blocking:
        return origins
    awaited = {origin for each in group for origin in blocking.at(each)}
    if not awaited:
        return origins
    horizon = state.origins[min(origins)].at + patience(state, view.definition.view)
    if any(state.origins[origin].at < horizon for origin in awaited):
        return frozenset()
    return origins - awaited
