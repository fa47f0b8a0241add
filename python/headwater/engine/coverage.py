"""Which slices of which views a change reaches, through any number of views ([Xu23] §3.2).

The covered slices are the exact composition of the partition maps on the paths from the change. A
view that cannot run (suspended, broken, failed for good) is reached, but nothing is through it: its
next publication is a change of its own.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from headwater.algebra.dependency import forward_all, missing
from headwater.model.partition import Slice, Value, simplified
from headwater.model.state import State, Version


def cover(state: State, table: str, slices: Iterable[Slice]) -> dict[str, tuple[Slice, ...]]:
    """The slices of each view downstream of ``table`` that a change of its ``slices`` reaches.

    Views come in topological order. ``table`` itself is not in the result.
    """
    reached: dict[str, tuple[Slice, ...]] = {}
    for view, hit, _ in _walk(state, table, simplified(slices)):
        reached[view] = hit
    return reached


def unknown_images(state: State, table: str, slices: Iterable[Slice]) -> set[tuple[str, str, tuple[Value, ...]]]:
    """Computed values (view, sql, inputs) that ``cover`` would use if it knew them.

    Evaluating them may uncover further ones downstream; ask again until there are none.
    """
    wanted: set[tuple[str, str, tuple[Value, ...]]] = set()
    for _, _, lacking in _walk(state, table, simplified(slices)):
        wanted |= lacking
    return wanted


def unresolved(state: State, view: str) -> dict[Slice, frozenset[Version]]:
    """The slices of a view that are still to be renewed, pending or running, and on whose behalf."""
    found = dict(state.views[view].pending)
    run = state.running.get(view)
    for each, origins in run.needs if run is not None else ():
        found[each] = found.get(each, frozenset()) | origins
    return found


def _walk(state: State, table: str, slices: tuple[Slice, ...]):
    changed = {table: slices}
    queue = [(state.order[view], view) for view in state.readers.get(table, ())]
    heapq.heapify(queue)
    seen = {view for _, view in queue}
    while queue:
        _, view = heapq.heappop(queue)
        hit: list[Slice] = []
        lacking: set[tuple[str, str, tuple[Value, ...]]] = set()
        for dependency in state.views[view].definition.dependencies:
            source = changed.get(dependency.source)
            if source:
                hit += forward_all(dependency, source, state.images)
                lacking |= {(view, *key) for one in source for key in missing(dependency, one, state.images)}
        if not hit:
            continue
        changed[view] = simplified(hit)
        yield view, changed[view], lacking
        if state.views[view].released:
            changed.pop(view)
            continue
        for reader in state.readers.get(view, ()):
            if reader not in seen:
                seen.add(reader)
                heapq.heappush(queue, (state.order[reader], reader))
