"""Which slices of which views a change reaches, through any number of views ([Xu23] §3.2).

The covered slices are the exact composition of the partition maps on the paths from the change. A
view that cannot run (suspended, broken, failed for good) is reached, but nothing is through it: its
next publication is a change of its own.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Set

from headwater.algebra.dependency import Images, forward_all, identity, missing
from headwater.engine.requests.limits import follows
from headwater.engine.requests.succession import following
from headwater.model.dependency import Computed, Dependency
from headwater.model.event import Changed, Declared, Event, Requested
from headwater.model.index import Alike, Reads, Route, Step
from headwater.model.partition import WHOLE, Slice, Value, Version, simplified
from headwater.model.state import State

Names = tuple[str, ...]
Reach = dict[str, tuple[Slice, ...]]
"""Slices of views."""


def cover(state: State, table: str, slices: Iterable[Slice], marked: bool = False) -> Reach:
    """The slices of each view downstream of ``table`` that a change of its ``slices``, marked or not, reaches.

    Views come in topological order. ``table`` itself is in the result only if it reads earlier partitions of
    itself, with those that follow.
    """
    return cover_with_news(state, table, slices, marked)[0]


def cover_with_news(state: State, table: str, slices: Iterable[Slice], marked: bool = False) -> tuple[Reach, Reach]:
    """What ``cover`` says, and of that what is reached because the view itself reads ``table``."""
    reached: Reach = {}
    news: Reach = {}
    changed = {table: simplified(slices)}
    written = dict(changed)
    named: dict[int, Names | None] = {}
    if table in state.views and (after := following(state, table, changed[table])):
        reached[table], changed[table] = after, simplified((*changed[table], *after))
    found = _route(state, table, marked)
    if found.alike is not None and not reached and _is_alike(state, found.alike, changed[table]):
        # the same values, not copies, here as below: a wide change is stored once
        return dict.fromkeys(found.alike.views, changed[table]), dict.fromkeys(found.alike.direct, changed[table])
    for step in found.steps:
        hit = _hit(step.reads, changed, named, state.images)
        if not hit:
            continue
        if step.direct:
            same = step.direct is step.reads and table not in reached
            news[step.view] = hit if same else _hit(step.direct, written, named, state.images)
        if step.goes_on:
            hit = with_following(state, step.view, hit)
        reached[step.view] = hit
        if not state.views[step.view].released:
            changed[step.view] = hit
    return reached, news


def cover_each(
    state: State, table: str, slices: Collection[Slice], origins: Iterable[Version]
) -> Iterator[tuple[frozenset[Version], bool, Reach]]:
    """What ``cover`` says for those of these origins that are not marked, and for those that are, with which."""
    by_mark: dict[bool, set[Version]] = {}
    for origin in origins:
        by_mark.setdefault(state.origins[origin].marked, set()).add(origin)
    for marked, some in by_mark.items():
        yield frozenset(some), marked, cover(state, table, slices, marked)


def with_following(state: State, view: str, slices: tuple[Slice, ...]) -> tuple[Slice, ...]:
    """Slices of a view, and what it makes of them itself."""
    after = following(state, view, slices)
    return simplified((*slices, *after)) if after else slices


def together(*reaches: Reach) -> Reach:
    """What any of them reaches."""
    some = [reach for reach in reaches if reach]
    if len(some) == 1:
        return some[0]
    found: Reach = {}
    for view, slices in (each for reach in some for each in reach.items()):
        found[view] = simplified((*found[view], *slices)) if view in found else slices
    return found


def unknown_images(state: State, table: str, slices: Iterable[Slice]) -> set[tuple[str, str, tuple[Value, ...]]]:
    """Computed values (view, sql, inputs) that ``cover`` would use for a marked change if it knew them.

    Evaluating them may uncover further ones downstream; ask again until there are none.
    """
    wanted: set[tuple[str, str, tuple[Value, ...]]] = set()
    changed = {table: simplified(slices), **cover(state, table, slices, marked=True)}
    for step in plan(state, table, marked=True):
        for dependency, _ in step.reads:
            if _computes(dependency) and not _is_released(state, table, dependency.source):
                for each in changed.get(dependency.source, ()):
                    wanted |= {(step.view, *key) for key in missing(dependency, each, state.images)}
    return wanted


def images_of(state: State, event: Event) -> set[tuple[str, str, tuple[Value, ...]]]:
    """Those that an event would use."""
    match event:
        case Changed(table=table, partitions=partitions):
            return unknown_images(state, table, [each.slice for each in partitions])
        case Requested(view=table, slices=slices):
            return unknown_images(state, table, slices)
        case Declared(definition=definition, fill=True):
            return unknown_images(state, definition.view, [WHOLE])
        case _:
            return set()


def images_of_readers(state: State, view: str, slices: Collection[Slice]) -> set[tuple[str, str, tuple[Value, ...]]]:
    """Computed values (view, sql, inputs) of what reads these slices of a view, where they are not known."""
    return {
        (reader, *key)
        for reader in state.index.readers.get(view, ())
        for dependency in state.views[reader].definition.dependencies
        if dependency.source == view
        for each in slices
        for key in missing(dependency, each, state.images)
    }


def upstream(state: State, name: str) -> set[str]:
    """A table, and all that it is made from, directly or not."""
    found, frontier = {name}, [name]
    while frontier:
        view = state.views.get(frontier.pop())
        new = set(view.definition.sources) - found if view is not None else set()
        found |= new
        frontier += new
    return found


def downstream(state: State, name: str) -> set[str]:
    """A table, and all that is made from it, directly or not."""
    found, frontier = {name}, [name]
    while frontier:
        new = set(state.index.readers.get(frontier.pop(), ())) - found
        found |= new
        frontier += new
    return found


def depending(state: State, tables: Set[str]) -> set[str]:
    """All that is made from any of these tables, directly or not, or through a plain view among them."""
    through = {name for name, view in state.views.items() if not tables.isdisjoint(view.definition.through)}
    return {each for table in {*tables, *through} for each in downstream(state, table)}


def unresolved(state: State, view: str) -> dict[Slice, frozenset[Version]]:
    """The slices of a view that are still to be renewed, pending or running, and on whose behalf."""
    found = dict(state.views[view].pending)
    run = state.running.get(view)
    for each, origins in run.needs if run is not None else ():
        found[each] = found.get(each, frozenset()) | origins
    return found


def plan(state: State, table: str, marked: bool = False) -> tuple[Step, ...]:
    """The views that changes of a table, marked or not, may reach, in topological order."""
    return _route(state, table, marked).steps


# --- inside


def _route(state: State, table: str, marked: bool) -> Route:
    """Kept until the graph changes."""
    kept = state.index.routes.get((table, marked))
    if kept is None:
        steps = _steps(state, table, marked)
        kept = state.index.routes[table, marked] = Route(steps, _alike(steps))
    return kept


def _alike(steps: tuple[Step, ...]) -> Alike | None:
    signatures = {same for step in steps for _, same in step.reads}
    names = signatures.pop() if len(signatures) == 1 else None
    if names is None or any(step.goes_on for step in steps):
        return None
    direct = tuple(step.view for step in steps if step.direct)
    return Alike(names, tuple(step.view for step in steps), direct)


def _is_alike(state: State, alike: Alike, slices: tuple[Slice, ...]) -> bool:
    """Whether a change of these slices reaches them everywhere, as nothing on the way stops it."""
    if not slices or any(each.names != alike.names for each in slices):
        return False
    return not any(state.views[name].released for name in alike.views)


def _steps(state: State, table: str, marked: bool) -> tuple[Step, ...]:
    below = {table}
    queue = [(state.index.order[view], view) for view in state.index.readers.get(table, ())]
    heapq.heapify(queue)
    seen = {view for _, view in queue}
    steps = []
    while queue:
        _, view = heapq.heappop(queue)
        definition = state.views[view].definition
        if not follows(definition, marked):
            continue
        reads = tuple(
            (dependency, identity(dependency, definition.partitioned_by))
            for dependency in definition.dependencies
            if dependency.source in below
        )
        below.add(view)
        own = tuple(read for read in reads if read[0].source == table)
        steps.append(Step(view, reads, reads if own == reads else own, bool(definition.earlier)))
        for reader in state.index.readers.get(view, ()):
            if reader not in seen:
                seen.add(reader)
                heapq.heappush(queue, (state.index.order[reader], reader))
    return tuple(steps)


def _hit(
    reads: Reads, changed: Mapping[str, tuple[Slice, ...]], named: dict[int, Names | None], images: Images
) -> tuple[Slice, ...]:
    hits = []
    for dependency, same in reads:
        slices = changed.get(dependency.source)
        if not slices:
            continue
        if same is not None and _names(slices, named) == same:
            hits.append(slices)
        else:
            hits.append(forward_all(dependency, slices, images))
    if len(hits) == 1:
        return hits[0]
    return simplified(each for hit in hits for each in hit) if hits else ()


def _names(slices: tuple[Slice, ...], named: dict[int, Names | None]) -> Names | None:
    """The columns that all of these slices bind, if they bind the same; looked at once for each tuple."""
    key = id(slices)
    if key not in named:
        names = slices[0].names
        named[key] = names if all(each.names == names for each in slices[1:]) else None
    return named[key]


def _computes(dependency: Dependency) -> bool:
    return any(
        isinstance(expression, Computed)
        for occurrence in dependency.occurrences
        for _, expression in occurrence.columns
    )


def _is_released(state: State, table: str, source: str) -> bool:
    return source != table and source in state.views and state.views[source].released
