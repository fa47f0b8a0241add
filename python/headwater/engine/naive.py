"""What triggering on every change would have run: the count that Headwater is measured against.

Immediate triggering refreshes each reader's affected partitions at once for every new version of an
input, and each of those refreshes is a new version for the readers downstream. So a partition is
refreshed once for every path from the change to it.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.algebra.dependency import forward
from headwater.model.partition import Slice
from headwater.model.state import State


def immediate(state: State, table: str, changed: Iterable[Slice]) -> int:
    """How many partition refreshes a change of these slices causes when every change triggers at once.

    A slice with free columns counts as the existing partitions in it (at least one).
    """
    paths: dict[tuple[str, Slice], int] = {}
    for each in changed:
        paths[(table, each)] = paths.get((table, each), 0) + 1
    total = 0
    later = [view for view in sorted(state.order, key=state.order.__getitem__) if view != table]
    for source in [table, *later]:
        arriving = {each: count for (at, each), count in paths.items() if at == source}
        for reader in state.readers.get(source, ()) if arriving else ():
            for dependency in state.views[reader].definition.dependencies:
                if dependency.source != source:
                    continue
                for each, count in arriving.items():
                    for hit in forward(dependency, each, state.images):
                        for partition in _partitions(state, reader, hit):
                            paths[(reader, partition)] = paths.get((reader, partition), 0) + count
                            total += count
    return total


def _partitions(state: State, view: str, within: Slice) -> list[Slice]:
    columns = set(state.views[view].definition.partitioned_by)
    if within.columns >= columns:
        return [within]
    record = state.tables.get(view)
    existing = (
        [each for each, known in record.partitions.items() if known.fingerprint is not None and within.covers(each)]
        if record
        else []
    )
    return existing or [within]
