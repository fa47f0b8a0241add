"""Slices of one view with the origins that reach them, asked by overlap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from headwater.algebra.dependency import Images, forward, identity
from headwater.model.dependency import Dependency
from headwater.model.partition import Slice, Version
from headwater.model.view import Definition

Names = tuple[str, ...]
Changes = Iterable[tuple[Slice, frozenset[Version]]]


class Reached:
    """Slices, each with origins, grouped by which columns they bind so that overlap is mostly a lookup."""

    def __init__(self, changes: Changes = ()) -> None:
        self._groups: dict[Names, dict[Slice, frozenset[Version]]] = {}
        self._buckets: dict[tuple[Names, Names], dict[Slice, list[Slice]]] = {}
        for each, origins in changes:
            self.add(each, origins)

    def add(self, reached: Slice, origins: frozenset[Version]) -> None:
        self._buckets.clear()
        group = self._groups.setdefault(reached.names, {})
        known = group.get(reached)
        group[reached] = origins if known is None else known | origins

    def __iter__(self) -> Iterator[tuple[Slice, frozenset[Version]]]:
        for group in self._groups.values():
            yield from group.items()

    def __bool__(self) -> bool:
        return bool(self._groups)

    def at(self, asked: Slice) -> Iterator[Version]:
        """The origins of what overlaps a slice; one may come more than once."""
        for _, origins in self._overlapping(asked):
            yield from origins

    def parts(self, asked: Slice, wanted: frozenset[Version]) -> dict[Slice, frozenset[Version]]:
        """What of a slice these origins reach: the slice itself when one of them reaches all of it."""
        found: dict[Slice, frozenset[Version]] = {}
        for reached, origins in self._overlapping(asked):
            mine = origins & wanted
            if mine and reached.covers(asked):
                return {asked: wanted}
            if mine:
                part = asked.meet(reached)
                found[part] = found.get(part, frozenset()) | mine
        return found

    def _overlapping(self, asked: Slice) -> Iterator[tuple[Slice, frozenset[Version]]]:
        names = asked.names
        for bound, group in self._groups.items():
            if set(bound) <= set(names):
                kept = asked if bound == names else asked.keep(bound)
                if kept in group:
                    yield kept, group[kept]
            else:
                common = tuple(name for name in bound if name in names)
                for reached in self._bucketed(bound, common).get(asked.keep(common), ()):
                    yield reached, group[reached]

    def _bucketed(self, bound: Names, common: Names) -> Mapping[Slice, list[Slice]]:
        """The slices of a group by their values of some columns; sorted out once."""
        buckets = self._buckets.get((bound, common))
        if buckets is None:
            buckets = self._buckets[bound, common] = {}
            for reached in self._groups[bound]:
                buckets.setdefault(reached.keep(common), []).append(reached)
        return buckets

    def reach(self, view: Definition, dependency: Dependency, changes: Changes, images: Images) -> None:
        """Adds where changes of a source reach a view that depends on it."""
        same = identity(dependency, view.partitioned_by)
        for each, origins in changes:
            if same is not None and each.names == same:
                self.add(each, origins)
            else:
                for hit in forward(dependency, each, images):
                    self.add(hit, origins)
