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

from headwater.engine.groups.epochs import convenes_at
from headwater.engine.groups.kept import next_publication
from headwater.engine.requests.ahead import blockers
from headwater.engine.requests.common_cut import Common, common_cut
from headwater.engine.requests.limits import AHEAD, GRACE, HALTED, LONGEST_BACK_OFF, latest_end
from headwater.engine.requests.prefix import goes_in_order, in_order, lacked, out_of_order, with_older
from headwater.engine.requests.reach import Reached
from headwater.engine.requests.reasons import reason
from headwater.engine.requests.succession import awaited, is_dated, spread, unspread
from headwater.engine.waits.agreement import ends, is_in_vain
from headwater.engine.waits.freshness import waits_for
from headwater.engine.waits.ration import renew
from headwater.model.event import Skipped
from headwater.model.extract import Shared
from headwater.model.index import Apart, Ripe
from headwater.model.partition import Needs, Slice, Value, Version, overlapping, sort_key
from headwater.model.state import State, ViewState

MOST_PARTS = 1_000
"""A slice of which more parts changed runs as it is: a query for so many values reads everything anyway."""


@frozen
class Ready:
    """Slices of one view that can run together, each with the origins on whose behalf.

    Attributes:
        apart: why the rows will not show one state of every table, though the view asks for that and waited for it.
    """

    view: str
    needs: tuple[tuple[Slice, tuple[Version, ...]], ...]
    apart: Apart | None = None

    @property
    def slices(self) -> tuple[Slice, ...]:
        return tuple(each for each, _ in self.needs)

    @property
    def origins(self) -> tuple[Version, ...]:
        return tuple(sorted({origin for _, origins in self.needs for origin in origins}))


def ready(state: State, now: int) -> list[Ready]:
    """Everything that can run at ``now``, at most one run a view, those with the oldest change first."""
    renew(state, now)
    found = [each for name in _ripe_views(state) if (each := ready_of(state, name, now)) is not None]
    return sorted(found, key=lambda each: (min(each.origins), state.index.order[each.view]))


def ready_of(state: State, name: str, now: int) -> Ready | None:
    """What of one view can run at ``now``."""
    view, groups = state.views[name], _ripe_views(state).get(name, ())
    if now < view.retry_at <= now + LONGEST_BACK_OFF + AHEAD:
        return None
    times = enumerate(zip(groups, _ends(state, name, groups), strict=True))
    chosen = [
        number
        for number, (each, at) in times
        if any(at(origin) <= now or state.origins[origin].at > now + AHEAD for origin in _origins(each.needs))
    ]
    split = next((each for number in chosen if (each := groups[number].apart) is not None), None)
    if chosen and len(chosen) < len(groups) and goes_in_order(state, view):
        chosen = with_older(state, [each.needs for each in groups], chosen)
    needs = sorted((need for number in chosen for need in groups[number].needs), key=lambda need: sort_key(need[0]))
    return Ready(name, tuple(needs), split) if needs else None


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


def regrouped(state: State) -> set[str]:
    """The groups that may have another epoch. The caller takes out those that it looked at."""
    _look_again(state)
    return state.index.regrouped


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
    for name, groups in _ripe_views(state).items():
        times.append(state.views[name].retry_at)
        by_group = zip(groups, _ends(state, name, groups), strict=True)
        times += [at(origin) for each, at in by_group for origin in _origins(each.needs)]
    times += [convenes_at(state, each) for each in state.index.apart - state.convened]
    times += [at for each in state.published if (at := next_publication(state, each)) is not None]
    for run in state.running.values():
        if (until := latest_end(state, run, min(run.started.at, now))) is not None:
            times += [until, until + GRACE]
    return min((each for each in times if each > now), default=None)


@frozen
class Start:
    """When a view can run if nothing else happens until then (ms).

    Attributes:
        change: the one that ends its wait.
        apart: why the rows will not show one state of every table then.
    """

    at: int
    change: Version
    apart: Apart | None = None


def starts(state: State, name: str) -> Start | None:
    """When a view can run next; ``None`` when it waits for more than time."""
    groups = _ripe_views(state).get(name)
    if not groups:
        return None
    times = enumerate(zip(groups, _ends(state, name, groups), strict=True))
    at, change, number = min((at(each), each, n) for n, (group, at) in times for each in _origins(group.needs))
    return Start(max(state.views[name].retry_at, at), change, groups[number].apart)


def _ends(state: State, name: str, groups: Sequence[Ripe]) -> list[Callable[[Version], int]]:
    """For groups of slices, when a change need not wait any more."""
    known: dict[tuple[Apart | None, bool], Callable[[Version], int]] = {}
    for each in groups:
        if (each.apart, each.in_vain) not in known:
            known[each.apart, each.in_vain] = ends(state, name, each)
    return [known[each.apart, each.in_vain] for each in groups]


def _ripe_views(state: State) -> dict[str, tuple[Ripe, ...]]:
    """What can run as far as inputs are concerned, for each view that has any."""
    _look_again(state)
    return state.index.ripe


def _look_again(state: State) -> None:
    """Brings up to date what is kept of readiness, for the views that ``engine.record.queue`` noted only."""
    for group in state.convened:  # where a member runs to depends on all others
        members = state.index.grouped.get(group, set())
        if not members.isdisjoint(state.index.stale):
            state.index.stale |= members
            state.index.places.pop(group, None)
    for name in sorted(state.index.stale):
        state.index.ripe.pop(name, None)
        state.index.idle.pop(name, None)
        if name in state.views:
            if (mine := state.views[name].definition.policy.group) is not None:
                state.index.regrouped.add(mine)
            found = _sorted_out(state, name)
            if found.ripe:
                state.index.ripe[name] = found.ripe
            if found.idle:
                state.index.idle[name] = found.idle
    state.index.stale.clear()


@frozen
class _Found:
    """What of a view can run, in groups of overlapping slices; and what need not, with what is left of that."""

    ripe: tuple[Ripe, ...] = ()
    idle: tuple[Needs, Needs] | None = None


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
    if lacking and isinstance(agreed, Common) and agreed.meets:
        asked = [_Asked(each.origins - lacking, each.awaited - lacking) for each in asked]
    elif lacking:
        asked = [evolve(each, awaited=each.awaited | each.origins & lacking) for each in asked]
    kept = _in_order(state, view, asked) if split is None else None
    if kept is not None and any(each.alone and not some for each, some in zip(asked, kept, strict=True)):
        split = out_of_order(state, view, [each.awaited for each in asked])
    vain, nothing_goes = split is not None and is_in_vain(state, name, split), kept is None or not any(kept)
    groups, idle, left = [], [], []
    for number, (group, each_asked) in enumerate(zip(every, asked, strict=True)):
        goes = kept[number] if kept is not None else frozenset()
        free, stopped = goes or _patient(state, view, each_asked), None if goes else split
        needs = []
        for each in group:
            origins = view.pending[each] & free
            parts = news.parts(each, origins) if origins else {}
            if each in parts or len(parts) > MOST_PARTS:
                needs.append((each, tuple(sorted(origins))))
            elif origins and (goes or nothing_goes):
                idle.append((each, tuple(sorted(origins))))
                left += [(part, tuple(sorted(some))) for part, some in parts.items()]
        if needs:
            groups.append(Ripe(tuple(needs), stopped, vain and stopped is not None))
    return _Found(tuple(groups), (tuple(idle), tuple(left)) if idle else None)


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
    """Whether slices that could run for some changes wait for others, which come soon after these. Who asked for a
    refresh waits for none that came later."""
    awaited, hurried = asked.awaited, max(state.hurried, view.hurried)
    if any(each <= hurried for each in asked.alone):
        awaited = frozenset(each for each in awaited if each <= hurried)
    return bool(awaited) and waits_for(state, view, asked.origins, awaited)


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
