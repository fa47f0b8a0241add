"""Which requests can run now, and when to look again.

A slice is ready when no slice of its inputs that reaches it is still to be renewed. Because a change
requests everything it covers at once, "an input is pending or running" and "an input is not resolved
for an origin this slice carries" are the same, except when newer changes overtake. Those of the same wave
(see ``engine.waits.freshness``) are waited for, however long they take through the graph; later ones are not: the older
origins, resolved in all inputs, go alone.

Pending slices that overlap (``a=1`` and ``b=2`` do) run together, or a partition in both would be
published twice for one change.

Of a slice that could run, the parts need not in which no origin changed anything that the view reads: they
are skipped, and what is left of the slice runs. Of a view that reads earlier partitions of itself, a slice of no
certain time is left to its partitions in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from attrs import evolve, frozen

from headwater.engine.requests.ahead import blockers
from headwater.engine.requests.common_cut import Common, common_cut
from headwater.engine.requests.limits import GRACE, HALTED, latest_end
from headwater.engine.requests.prefix import goes_in_order, in_order, lacked, out_of_order, with_older
from headwater.engine.requests.reach import Reached
from headwater.engine.requests.reasons import reason
from headwater.engine.requests.succession import awaited, is_dated, spread, unspread
from headwater.engine.waits.agreement import agrees_within
from headwater.engine.waits.deadline import Due
from headwater.engine.waits.freshness import waits_for
from headwater.engine.waits.ration import renew
from headwater.model.event import Skipped
from headwater.model.extract import Shared
from headwater.model.index import Apart
from headwater.model.partition import Needs, Slice, Value, Version, overlapping, sort_key
from headwater.model.state import State, ViewState

MOST_PARTS = 1_000
"""A slice of which more parts changed runs as it is: a query for so many values reads everything anyway."""


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
    renew(state, now)
    found = [each for name in _free_views(state) if (each := ready_of(state, name, now)) is not None]
    return sorted(found, key=lambda each: (min(each.origins), state.index.order[each.view]))


def ready_of(state: State, name: str, now: int) -> Ready | None:
    """What of one view can run at ``now``."""
    view, groups = state.views[name], _free_views(state).get(name, ())
    if view.retry_at > now:
        return None
    at = _ends(state, name)
    chosen = [number for number, needs in enumerate(groups) if any(at(origin) <= now for origin in _origins(needs))]
    if chosen and len(chosen) < len(groups) and goes_in_order(state, view):
        chosen = with_older(state, groups, chosen)
    needs = sorted((need for number in chosen for need in groups[number]), key=lambda need: sort_key(need[0]))
    return Ready(name, tuple(needs)) if needs else None


@frozen
class Choice:
    """What is to start.

    Attributes:
        kept: whether its output is to be kept for its readers.
        shared: the scans that it is to read in place of tables.
    """

    ready: Ready
    kept: bool = False
    shared: tuple[Shared, ...] = ()


@frozen
class Unneeded:
    """Slices of one view that need not run for these origins, but for the parts that are left."""

    view: str
    needs: Needs
    left: Needs


def unneeded(state: State) -> list[Unneeded]:
    """What need not run: no origin that it could run for changed anything that the view reads there."""
    _look_again(state)
    return [Unneeded(name, *found) for name, found in state.index.idle.items()]


def unspread_images(state: State) -> set[tuple[str, str, tuple[Value, ...]]]:
    """Computed values (view, sql, inputs) that ``unneeded`` would use if it knew them, to leave slices of no certain
    time to their partitions."""
    _look_again(state)
    wanted: set[tuple[str, str, tuple[Value, ...]]] = set()
    for name, (needs, _) in state.index.idle.items():
        definition = state.views[name].definition
        if definition.earlier and not all(is_dated(definition, each) for each, _ in needs):
            wanted |= unspread(state, name)
    return wanted


def skipped(state: State, chosen: Unneeded, version: Version, now: int) -> Skipped:
    """The event that completes, without running, what was chosen of ``unneeded``."""
    origins = {origin for _, some in chosen.needs for origin in some}
    why = reason(state, sorted(origins), f"; what {chosen.view} reads of it came out unchanged")
    return Skipped(now, version, chosen.view, chosen.needs, why, chosen.left)


def wake_at(state: State, now: int) -> int | None:
    """When something that waits for time alone becomes ready; ``None`` when nothing does."""
    renew(state, now)
    times = []
    for name, groups in _free_views(state).items():
        view = state.views[name]
        times.append(view.retry_at)
        at = _ends(state, name)
        times += [at(origin) for origin in _origins(need for needs in groups for need in needs)]
    for run in state.running.values():
        if (until := latest_end(state, run)) is not None:
            times += [until, until + GRACE]
    return min((each for each in times if each > now), default=None)


@frozen
class Start:
    """When a view can run if nothing else happens until then (ms), and the change that ends its wait."""

    at: int
    change: Version


def starts(state: State, name: str) -> Start | None:
    """When a view can run next; ``None`` when it waits for more than time."""
    groups = _free_views(state).get(name)
    if not groups:
        return None
    ends = _ends(state, name)
    at, change = min((ends(origin), origin) for origin in _origins(need for needs in groups for need in needs))
    return Start(max(state.views[name].retry_at, at), change)


def apart(state: State, name: str) -> Apart | None:
    """Why a view waits although its sources reflect changes that it lacks: they have no common cut."""
    _look_again(state)
    return state.index.apart.get(name)


def _ends(state: State, name: str) -> Callable[[Version], int]:
    """When a change need not wait any more: for others that come with it, nor for a common cut of the sources."""
    due = Due(state, state.views[name])
    split = state.index.apart.get(name)
    if split is None:
        return due.at
    within = agrees_within(state, split)
    return lambda origin: max(due.at(origin), state.origins[origin].at + within)


def _free_views(state: State) -> dict[str, tuple[Needs, ...]]:
    """What can run as far as inputs are concerned, for each view that has any: groups of overlapping slices."""
    _look_again(state)
    return state.index.free


def _look_again(state: State) -> None:
    """Brings up to date what is kept of readiness, for the views that ``engine.record.queue`` noted only."""
    for name in sorted(state.index.stale):
        state.index.free.pop(name, None)
        state.index.idle.pop(name, None)
        state.index.apart.pop(name, None)
        if name in state.views:
            found = _sorted_out(state, name)
            if found.free:
                state.index.free[name] = found.free
            if found.idle:
                state.index.idle[name] = found.idle
            if found.apart:
                state.index.apart[name] = found.apart
    state.index.stale.clear()


@frozen
class _Found:
    """What of a view can run, in groups of overlapping slices; what need not, with what is left of that; and why what
    can run waits all the same."""

    free: tuple[Needs, ...] = ()
    idle: tuple[Needs, Needs] | None = None
    apart: Apart | None = None


def _sorted_out(state: State, name: str) -> _Found:
    view = state.views[name]
    if not view.pending or view.status in HALTED or name in state.running:
        return _Found()
    blocking, news = blockers(state, view), Reached(view.news.items())
    if view.definition.earlier:
        undated = [each for each in view.pending if not is_dated(view.definition, each)]
        if undated:
            return _Found(idle=_spread(state, view, undated, blocking))
        for each, origins in awaited(state, name):
            blocking.add(each, origins)
    every = overlapping(view.pending)
    asked = [_asked(view, group, blocking) for group in every]
    if not any(each.alone for each in asked):
        return _Found()  # most views wait for their inputs, whatever versions these have
    agreed = common_cut(state, name)
    split = agreed if isinstance(agreed, Apart) else None
    lacking = lacked(state, view, agreed) if isinstance(agreed, Common) else frozenset()
    asked = [evolve(each, awaited=each.awaited | each.origins & lacking) for each in asked] if lacking else asked
    kept = _in_order(state, view, asked) if split is None else None
    if kept is not None and not any(kept) and any(each.alone for each in asked):
        split, kept = out_of_order(state, view, [each.awaited for each in asked]), None
    groups, idle, left = [], [], []
    for group, free in zip(every, kept or [_patient(state, view, each) for each in asked], strict=True):
        needs = []
        for each in group:
            origins = view.pending[each] & free
            parts = news.parts(each, origins) if origins else {}
            if each in parts or len(parts) > MOST_PARTS:
                needs.append((each, tuple(sorted(origins))))
            elif origins:
                idle.append((each, tuple(sorted(origins))))
                left += [(part, tuple(sorted(some))) for part, some in parts.items()]
        if needs:
            groups.append(tuple(needs))
    return _Found(tuple(groups), (tuple(idle), tuple(left)) if idle else None, split)


def _spread(state: State, view: ViewState, undated: list[Slice], blocking: Reached) -> tuple[Needs, Needs] | None:
    """Slices of no certain time, as far as they could run, and the partitions that are to run instead."""
    needs, parts = [], []
    for each in undated:
        free = tuple(sorted(_patient(state, view, _asked(view, [each], blocking))))
        if free:
            needs.append((each, free))
            parts += [(part, free) for part in spread(state, view.definition.view, each)]
    return (tuple(needs), tuple(parts)) if needs else None


def _origins(needs: Iterable[tuple[Slice, tuple[Version, ...]]]) -> set[Version]:
    return {origin for _, origins in needs for origin in origins}


@frozen
class _Asked:
    """What slices that run together are pending for, and for which of that an input is still to be renewed, or lacks
    it in the version that a run reads."""

    origins: frozenset[Version]
    awaited: frozenset[Version]

    @property
    def alone(self) -> frozenset[Version]:
        return self.origins - self.awaited


def _asked(view: ViewState, group: Sequence[Slice], blocking: Reached) -> _Asked:
    origins = frozenset().union(*(view.pending[each] for each in group))
    return _Asked(origins, frozenset().union(*(blocking.at(each) for each in group)) if blocking else frozenset())


def _waits(state: State, view: ViewState, asked: _Asked) -> bool:
    """Whether slices that could run for some changes wait for others, which come soon after these."""
    return bool(asked.awaited) and waits_for(state, view, asked.origins, asked.awaited)


def _patient(state: State, view: ViewState, asked: _Asked) -> frozenset[Version]:
    """The changes for which slices may run by themselves."""
    return frozenset() if not asked.alone or _waits(state, view, asked) else asked.alone


def _in_order(state: State, view: ViewState, asked: Sequence[_Asked]) -> list[frozenset[Version]] | None:
    """The changes for which groups of slices may run, if the view takes changes in their order; ``None`` if it does
    not. If one of the groups waits for nothing more, others that would wait for newer changes go with it: as long as
    these wait, no newer change may pass."""
    if len(asked) < 2 or not goes_in_order(state, view):
        return None
    kept = in_order(state, [each.origins for each in asked], [each.alone for each in asked])
    going = [each for each, some in zip(asked, kept, strict=True) if some]
    return [frozenset()] * len(asked) if going and all(_waits(state, view, each) for each in going) else kept
