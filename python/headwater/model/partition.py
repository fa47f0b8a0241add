"""Slices: one partition of a table, or a family of them; and the versions of partitions.

A slice binds some of a table's partition columns to values. With every column bound it is one
partition; with none it is the whole table; in between it is a family ("month = 1996-03, any
region"). An unpartitioned table has the single slice ``()``, which is both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from attrs import field, frozen

from headwater.model.calendar import Unit

NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The directory of the null partition, as Spark and Hive name it."""

NAMELESS = ("", NULL_PARTITION)
"""Texts that go to the null partition. Spark reads them back from files as NULL. The shim's ``AsRead`` has them."""

Value = str | None
"""A partition value as the catalog spells it; ``None`` is the null partition."""


def _sorted(bound: Iterable[tuple[str, Value]]) -> tuple[tuple[str, Value], ...]:
    return tuple(sorted(bound))


@frozen(order=False, cache_hash=True)
class Slice:
    """A set of partitions: all those that agree with every bound column.

    ``bound`` is sorted by column name, so equal slices are equal values.
    """

    bound: tuple[tuple[str, Value], ...] = field(default=(), converter=_sorted)

    @classmethod
    def of(cls, values: Mapping[str, Value] | None = None, **columns: Value) -> Slice:
        return cls(tuple({**(values or {}), **columns}.items()))

    @property
    def names(self) -> tuple[str, ...]:
        """The bound columns, in order."""
        return tuple([column for column, _ in self.bound])

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(column for column, _ in self.bound)

    def value(self, column: str) -> Value:
        """The value bound to ``column``; ``KeyError`` when the slice leaves it free."""
        for name, value in self.bound:
            if name == column:
                return value
        raise KeyError(column)

    def covers(self, other: Slice) -> bool:
        """Whether every partition in ``other`` is in this slice."""
        return set(self.bound) <= set(other.bound)

    def overlaps(self, other: Slice) -> bool:
        """Whether some partition may lie in both: they agree on every column both bind."""
        mine = dict(self.bound)
        return all(column not in mine or mine[column] == value for column, value in other.bound)

    def meet(self, other: Slice) -> Slice:
        """The partitions in both, of two slices that overlap."""
        return Slice(tuple({**dict(self.bound), **dict(other.bound)}.items()))

    def keep(self, columns: Iterable[str]) -> Slice:
        """The smallest slice over only ``columns`` that covers this one."""
        kept = frozenset(columns)
        return Slice(tuple(pair for pair in self.bound if pair[0] in kept))

    def __str__(self) -> str:
        if not self.bound:
            return "()"
        return ", ".join(f"{column}={'NULL' if value is None else value}" for column, value in self.bound)


def of_unit(column: str, unit: Unit, columns: Iterable[str]) -> str:
    """The name of the partition column that a table makes of the periods of one of its ``columns``: ``ts_day``."""
    name = f"{column}_{unit.value.lower()}"
    taken = {each.casefold() for each in columns}
    while name.casefold() in taken:
        name += "_"
    return name


WHOLE = Slice()
"""Every partition of a table (for an unpartitioned table: its only one)."""

Version = int
Inputs = tuple[tuple[str, Version], ...]
"""The versions of its sources that a partition, or totals, reflect."""

Needs = tuple[tuple[Slice, tuple[Version, ...]], ...]
"""Slices, each with the origins on whose behalf it is, or can be, computed."""


class Region:
    """A set of slices, in the order in which they came, that is fast to ask whether it covers one.

    They are grouped by which columns they bind.
    """

    def __init__(self, slices: Iterable[Slice] = ()) -> None:
        # A set would go through its slices in another order in each process.
        self._groups: dict[frozenset[str], dict[Slice, None]] = {}
        for each in slices:
            self.add(each)

    def add(self, added: Slice) -> None:
        self._groups.setdefault(added.columns, {})[added] = None

    def __bool__(self) -> bool:
        return bool(self._groups)

    def __iter__(self) -> Iterator[Slice]:
        for group in self._groups.values():
            yield from group

    def covers(self, asked: Slice) -> bool:
        """Whether one slice of the region covers ``asked`` (never true by union of several)."""
        return any(columns <= asked.columns and asked.keep(columns) in group for columns, group in self._groups.items())


def simplified(slices: Iterable[Slice]) -> tuple[Slice, ...]:
    """The same partitions with no slice that another one covers, in a stable order."""
    given = tuple(slices)
    if len(given) == 1:
        return given
    distinct = set(given)
    if WHOLE in distinct:
        return (WHOLE,)
    signatures = {each.columns for each in distinct}
    kept = [
        each
        for each in distinct
        if not any(columns < each.columns and each.keep(columns) in distinct for columns in signatures)
    ]
    return tuple(sorted(kept, key=sort_key))


def overlapping(slices: Iterable[Slice]) -> list[list[Slice]]:
    """The slices in groups: two that overlap are in one group, two of different groups never do."""
    by_columns: dict[frozenset[str], list[Slice]] = {}
    for each in sorted(set(slices), key=sort_key):
        by_columns.setdefault(each.columns, []).append(each)
    group = {each: {each} for alike in by_columns.values() for each in alike}
    for left, right in combinations(by_columns, 2):
        # Slices overlap when they agree on the columns that both bind: they meet in one bucket.
        buckets: dict[Slice, tuple[list[Slice], list[Slice]]] = {}
        for side, columns in enumerate((left, right)):
            for each in by_columns[columns]:
                buckets.setdefault(each.keep(left & right), ([], []))[side].append(each)
        for ours, theirs in buckets.values():
            if ours and theirs:
                _unite(group, (*ours, *theirs))
    return [sorted(each, key=sort_key) for each in {id(each): each for each in group.values()}.values()]


def _unite(group: dict[Slice, set[Slice]], slices: Sequence[Slice]) -> None:
    largest = max((group[each] for each in slices), key=len)
    for each in slices:
        if group[each] is not largest:
            moved = group[each]
            largest |= moved
            for one in moved:
                group[one] = largest


def sort_key(each: Slice) -> tuple[tuple[str, bool, str], ...]:
    """Orders slices by their values; nulls first."""
    return tuple((column, value is not None, value or "") for column, value in each.bound)
