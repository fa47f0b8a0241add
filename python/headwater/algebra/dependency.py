"""Partition maps: which partitions of a view a source's partition reaches ([Xu23] §2.2).

A changed source slice reaches, through one occurrence, the
view's slice in which the computable columns are bound and the free ones are not; through all
occurrences, the union.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import prod

from headwater.algebra import calendar
from headwater.algebra.notation import parse_period, spell_period, spellings
from headwater.model.dependency import Computed, Dependency, Expression, Occurrence, Same, Windowed
from headwater.model.partition import NAMELESS, Slice, Value, simplified

Images = Mapping[tuple[str, tuple[Value, ...]], Value]
"""Values of ``Computed`` expressions: (key, input values) to the view column's value."""

MOST = 10_000
"""More partitions than a change of one reaches by name, such as the hours of a year."""


def forward(dependency: Dependency, changed: Slice, images: Images) -> tuple[Slice, ...]:
    """The view's slices that a change of the source's slice ``changed`` may reach.

    A column whose inputs ``changed`` does not bind, or whose image is not known, stays free: the
    answer is then larger, never smaller.
    """
    return simplified(each for one in dependency.occurrences for each in _through(one, changed, images))


def forward_all(dependency: Dependency, changed: Iterable[Slice], images: Images) -> tuple[Slice, ...]:
    return simplified(each for one in changed for each in forward(dependency, one, images))


def backward(dependency: Dependency, wanted: Slice) -> tuple[Slice, ...]:
    """The source's slices in which everything lies that the view's slice ``wanted`` is made of.

    Columns that are not taken over as they are stay free: the answer is then larger, never smaller.
    """
    return simplified(each for one in dependency.occurrences for each in _behind(one, wanted))


def identity(dependency: Dependency, columns: tuple[str, ...]) -> tuple[str, ...] | None:
    """The partition columns, in order, if a partition of the source reaches just the one of the same name."""
    if len(dependency.occurrences) == 1 and columns:
        [occurrence] = dependency.occurrences
        if dict(occurrence.columns) == {column: Same(column) for column in columns}:
            return tuple(sorted(columns))
    return None


def missing(dependency: Dependency, changed: Slice, images: Images) -> list[tuple[str, tuple[Value, ...]]]:
    """The images ``forward`` would need and does not have."""
    wanted = []
    for occurrence in dependency.occurrences:
        for _, expression in occurrence.columns:
            match expression:
                case Computed(inputs=inputs) if changed.columns.issuperset(inputs):
                    wanted += [each for each in _asked(expression, dict(changed.bound)) if each not in images]
    return wanted


def _asked(expression: Computed, values: Mapping[str, Value]) -> list[tuple[str, tuple[Value, ...]]]:
    """The images that tell a view column, for a changed source slice that binds all inputs."""
    each = (
        (None, *NAMELESS) if column in expression.texts and values[column] is None else (values[column],)
        for column in expression.inputs
    )
    return [(expression.key, inputs) for inputs in product(*each)]


def _through(occurrence: Occurrence, changed: Slice, images: Images) -> Iterator[Slice]:
    values: dict[str, Value] = dict(changed.bound)
    bound: list[tuple[str, tuple[Value, ...]]] = []
    for column, expression in occurrence.columns:
        reached = _values(expression, values, images)
        if reached is not None and len(reached) * prod(len(each) for _, each in bound) <= MOST:
            bound.append((column, reached))
    names = [column for column, _ in bound]
    for each in product(*(reached for _, reached in bound)):
        yield Slice(tuple(zip(names, each, strict=True)))


def _behind(occurrence: Occurrence, wanted: Slice) -> Iterator[Slice]:
    bound: dict[str, Value] = {}
    for column, expression in occurrence.columns:
        match expression:
            case Same(source) if column in wanted.columns:
                if bound.setdefault(source, wanted.value(column)) != wanted.value(column):
                    return  # two columns of the view are one column of the source
    yield Slice.of(bound)


def _values(expression: Expression, values: Mapping[str, Value], images: Images) -> tuple[Value, ...] | None:
    """What a view column may be for a changed source slice that binds these values; ``None`` when anything."""
    match expression:
        case Same(source):
            return (values[source],) if source in values else None
        case Computed(inputs=inputs) if values.keys() >= set(inputs):
            asked = _asked(expression, values)
            return tuple({images[each]: None for each in asked}) if all(each in images for each in asked) else None
        case Computed():
            return None
        case Windowed(source, nulls=True) if values.get(source, "") is None:
            return (None,)
        case Windowed(source, window, spelled):
            period = _period(expression, values.get(source))
            first, last = (None, None) if period is None else calendar.forward(window, period)
            if first is None or last is None or last - first >= MOST:
                return None
            reached = (spellings(each, window.of, spelled, window.zone) for each in range(first, last + 1))
            return tuple(text for each in reached for text in each)


def _period(expression: Windowed, text: Value) -> calendar.Period | None:
    """The period of a source's partition; ``None`` where it tells nothing of the view column."""
    unit, zone = expression.window.upstream, expression.window.zone
    period = parse_period(text, unit) if zone == "UTC" or calendar.is_known(zone) else None
    if expression.alike and period is not None and spell_period(period, unit, expression.spelled) != text:
        return None
    return period
