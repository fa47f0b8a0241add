"""Partition maps: which partitions of a view a source's partition reaches ([Xu23] §2.2).

A changed source slice reaches, through one occurrence, the
view's slice in which the computable columns are bound and the free ones are not; through all
occurrences, the union.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headwater.model.dependency import Computed, Dependency, Expression, Occurrence, Same
from headwater.model.partition import WHOLE, Slice, Value, simplified

__all__ = ["Computed", "Dependency", "Expression", "Images", "Occurrence", "Same", "forward", "forward_all", "missing"]


Images = Mapping[tuple[str, tuple[Value, ...]], Value]
"""Values of ``Computed`` expressions: (key, input values) to the view column's value."""


def forward(dependency: Dependency, changed: Slice, images: Images) -> tuple[Slice, ...]:
    """The view's slices that a change of the source's slice ``changed`` may reach.

    A column whose inputs ``changed`` does not bind, or whose image is not known, stays free: the
    answer is then larger, never smaller.
    """
    return simplified(_through(occurrence, changed, images) for occurrence in dependency.occurrences)


def forward_all(dependency: Dependency, changed: Iterable[Slice], images: Images) -> tuple[Slice, ...]:
    return simplified(each for one in changed for each in forward(dependency, one, images))


def missing(dependency: Dependency, changed: Slice, images: Images) -> list[tuple[str, tuple[Value, ...]]]:
    """The images ``forward`` would need and does not have."""
    wanted = []
    for occurrence in dependency.occurrences:
        for _, expression in occurrence.columns:
            match expression:
                case Computed(inputs=inputs, key=key) if changed.columns.issuperset(inputs):
                    image = (key, tuple(changed.value(column) for column in inputs))
                    if image not in images:
                        wanted.append(image)
    return wanted


def _through(occurrence: Occurrence, changed: Slice, images: Images) -> Slice:
    if not changed.bound or not occurrence.columns:
        return WHOLE
    values: dict[str, Value] = dict(changed.bound)
    bound = []
    for column, expression in occurrence.columns:
        match expression:
            case Same(source):
                if source in values:
                    bound.append((column, values[source]))
            case Computed(inputs=inputs, key=key):
                image = (key, tuple(values.get(each) for each in inputs))
                if values.keys() >= set(inputs) and image in images:
                    bound.append((column, images[image]))
    return Slice(tuple(bound))
