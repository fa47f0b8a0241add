"""Views that read earlier partitions of themselves: a[t] of a[t-1] and i[t] ([Xu23] §2.2).

A change of one partition covers all later ones that are made of it, through any number of steps, as far as
partitions exist. They run in ascending order: a slice waits while an earlier one is still to be renewed. A
slice of no certain time, such as a whole view, is spread over its partitions before it runs.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby

from attrs import evolve

from headwater.algebra import calendar
from headwater.algebra.calendar import Period
from headwater.algebra.dependency import forward, missing
from headwater.algebra.notation import parse_period
from headwater.engine.requests.reach import Reached
from headwater.model.calendar import Unit
from headwater.model.dependency import Dependency, Occurrence, Same, Windowed
from headwater.model.partition import Slice, Value, Version, simplified
from headwater.model.state import State
from headwater.model.view import Definition

ORIGINS: frozenset[Version] = frozenset()


def time(definition: Definition) -> tuple[str, Unit]:
    """The partition column by which such a view goes from earlier to later, and the unit of its periods."""
    return next(
        (column, each.window.of)
        for occurrence in definition.earlier
        for column, each in occurrence.columns
        if isinstance(each, Windowed)
    )


def is_dated(definition: Definition, each: Slice) -> bool:
    """Whether a slice of such a view is of a certain time."""
    return time(definition)[0] in each.columns


def preceded(definition: Definition, earlier: Slice, later: Slice) -> tuple[Slice, ...]:
    """The parts of a slice of a view that read another one: those that agree with it in what is taken over."""
    found = []
    for occurrence in definition.earlier:
        chain = _Chain(definition, occurrence)
        chain.add(earlier)
        if chain.reaches(later):
            found.append(later.meet(earlier.keep(_taken_over(occurrence))))
    return simplified(found)


def following(state: State, name: str, slices: Collection[Slice]) -> tuple[Slice, ...]:
    """What is made of slices of a view, by the view itself and in any number of steps, of what exists or is
    requested; without the slices. Of a slice of no certain time that is all that agrees with it in the columns
    taken over."""
    definition = state.views[name].definition
    if not definition.earlier:
        return ()
    kept = _common(definition)
    wide = {each.keep(kept) for each in slices if not is_dated(definition, each)}.difference(slices)
    begun = [each for each in slices if _period(definition, each) is not None]
    return simplified((*wide, *_closed(state, name, begun))) if wide else _closed(state, name, begun)


def _closed(state: State, name: str, begun: list[Slice]) -> tuple[Slice, ...]:
    if not begun:
        return ()
    definition = state.views[name].definition
    found: list[Slice] = []
    chains = [_Chain(definition, occurrence) for occurrence in definition.earlier]
    for chain in chains:
        for each in begun:
            chain.add(each)
    periods = (_period(definition, each) for each in begun)
    first, known = min(each for each in periods if each is not None), set(begun)
    for period, each in _dated(definition, _existing(state, name)):
        if period > first and any(chain.reaches(each) for chain in chains):
            for chain in chains:
                chain.add(each)
            if each not in known:
                found.append(each)
    return simplified(found)


def awaited(state: State, name: str) -> Reached:
    """Where slices of a view have to wait for earlier ones that are pending, and on whose behalf those are.

    A slice waits for all earlier ones that agree with it in the columns taken over, not only for those it reads.
    """
    view = state.views[name]
    kept = _common(view.definition)
    before: dict[Slice, frozenset[Version]] = {}
    found = Reached()
    for _, dated in groupby(_dated(view.definition, view.pending), key=_when):
        now = [(each, each.keep(kept)) for _, each in dated]
        for each, same in now:
            origins = ORIGINS.union(*(some for other, some in before.items() if other.overlaps(same)))
            if origins:
                found.add(each, origins)
        for each, same in now:
            before[same] = before.get(same, ORIGINS) | view.pending[each]
    return found


def inherited(state: State, name: str, slices: Iterable[Slice]) -> Iterator[tuple[Slice, frozenset[Version]]]:
    """For slices that did not exist when changes that are still pending were recorded: those that reach them now,
    by what they read. Earlier slices come first, and are to be requested before the next is asked for."""
    view, run = state.views[name], state.running.get(name)
    record = state.tables[name].partitions
    new = [each for each in slices if (last := record.get(each)) is None or last.fingerprint is None]
    for _, each in _dated(view.definition, new):
        unresolved = [*view.pending.items(), *(run.needs if run is not None else ())]
        before = [origins for earlier, origins in unresolved if preceded(view.definition, earlier, each)]
        yield each, ORIGINS.union(*before)


def spread(state: State, name: str, asked: Slice) -> tuple[Slice, ...]:
    """The partitions of a slice of no certain time: those that exist, and those that its sources make."""
    definition = state.views[name].definition
    known = _existing(state, name)
    for dependency, source in _made_from(state, definition):
        for occurrence in dependency.occurrences:
            known += forward(evolve(dependency, occurrences=(occurrence,)), source, state.images)
    return simplified(asked.meet(each) for each in known if is_dated(definition, each) and each.overlaps(asked))


def unspread(state: State, name: str) -> set[tuple[str, str, tuple[Value, ...]]]:
    """Computed values (view, sql, inputs) that ``spread`` would use if it knew them."""
    definition = state.views[name].definition
    return {
        (name, *key)
        for dependency, source in _made_from(state, definition)
        for key in missing(dependency, source, state.images)
    }


def _made_from(state: State, definition: Definition) -> Iterator[tuple[Dependency, Slice]]:
    """The partitions that there are of what a view reads."""
    for dependency in definition.dependencies:
        record = state.tables.get(dependency.source)
        for source, last in record.partitions.items() if record is not None else ():
            if last.fingerprint is not None:
                yield dependency, source


class _Chain:
    """What was reached through one place where a view reads itself, by the columns that are taken over."""

    def __init__(self, definition: Definition, occurrence: Occurrence) -> None:
        self._definition, self._columns = definition, _taken_over(occurrence)
        [self._window] = [each.window for _, each in occurrence.columns if isinstance(each, Windowed)]
        self._periods: dict[Slice, list[Period]] = {}
        self._broad: set[Slice] = set()  # those that leave a column open

    def add(self, each: Slice) -> None:
        period, kept = _period(self._definition, each), each.keep(self._columns)
        if period is None:
            return
        insort(self._periods.setdefault(kept, []), period)
        if len(kept.bound) < len(self._columns):
            self._broad.add(kept)

    def reaches(self, later: Slice) -> bool:
        period, kept = _period(self._definition, later), later.keep(self._columns)
        if period is None:
            return False
        first, last = calendar.backward(self._window, period)
        broad = self._broad if len(kept.bound) == len(self._columns) else self._periods
        agreeing = {kept, *(each for each in broad if each.overlaps(kept))}
        return any(_any_between(self._periods.get(each, ()), first, last) for each in agreeing)


def _any_between(periods: Sequence[Period], first: Period | None, last: Period | None) -> bool:
    start = 0 if first is None else bisect_left(periods, first)
    return start < (len(periods) if last is None else bisect_right(periods, last))


def _common(definition: Definition) -> frozenset[str]:
    """The columns that are taken over in all places where a view reads itself."""
    return frozenset.intersection(*(frozenset(_taken_over(each)) for each in definition.earlier))


def _taken_over(occurrence: Occurrence) -> tuple[str, ...]:
    return tuple(column for column, each in occurrence.columns if isinstance(each, Same))


def _period(definition: Definition, each: Slice) -> Period | None:
    """When a slice is; ``None`` when its time is free or no time, of which no partition reads another."""
    column, unit = time(definition)
    return parse_period(dict(each.bound).get(column), unit)


def _dated(definition: Definition, slices: Iterable[Slice]) -> list[tuple[Period, Slice]]:
    """Those of slices that have a period, in ascending order."""
    periods = [(_period(definition, each), each) for each in slices]
    return sorted(((period, each) for period, each in periods if period is not None), key=_when)


def _when(dated: tuple[Period, Slice]) -> Period:
    return dated[0]


def _existing(state: State, name: str) -> list[Slice]:
    """The partitions of a view that exist or are requested."""
    columns = frozenset(state.views[name].definition.partitioned_by)
    record, run = state.tables.get(name), state.running.get(name)
    known = {
        each: None
        for each, last in (record.partitions.items() if record is not None else ())
        if last.fingerprint is not None and each.columns == columns
    }
    return list(known | dict.fromkeys(state.views[name].pending) | dict.fromkeys(run.slices if run is not None else ()))
