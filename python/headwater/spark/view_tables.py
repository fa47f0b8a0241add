"""The table of a view, whatever its format: whose it is, and what a run replaces there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from headwater.model.command import Launch
from headwater.model.error import RefreshCancelled
from headwater.model.event import Made
from headwater.model.partition import Region, Slice
from headwater.model.seen import Look, Seen
from headwater.model.state import PartitionRecord
from headwater.model.view import Definition
from headwater.spark import catalog
from headwater.spark.shim import Shim

Looking = Callable[[Sequence[Look]], Sequence[Seen]]


def emptied(launch: Launch, made: Collection[Slice], look: Looking) -> tuple[Slice, ...]:
    """The partitions in a run's slices that readers see before it is published, and that it did not make again."""
    return tuple(each for each in _there(launch, look) if each not in made)


def is_same(made: Made, known: PartitionRecord | None) -> bool:
    """Whether a partition holds the rows that the record says it held."""
    return known is not None and bool(made.content) and (made.content, made.rows) == (known.content, known.rows)


def taken(view: str) -> RefreshCancelled:
    """Another table has the name of a view."""
    return RefreshCancelled(f"{view} was dropped, and another table has its name; that table stays as it is")


def refuse_renamed(shim: Shim, definition: Definition) -> None:
    """Keeps a view from a second table.

    Raises:
        RefreshCancelled: its table has another name.
    """
    for each in shim.views():
        if each.properties.get(catalog.OWNER) == definition.owner:
            raise RefreshCancelled(f"{definition.view} is {each.table} now; its refresh goes on under that name")


def _there(launch: Launch, look: Looking) -> Iterable[Slice]:
    if not launch.unsure:
        return launch.existing
    [seen] = look([Look(launch.run.view)])
    computed = Region(launch.run.slices)
    return dict.fromkeys((*launch.existing, *(each for each in seen.partitions if computed.covers(each))))
