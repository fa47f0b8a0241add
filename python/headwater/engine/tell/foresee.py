"""The ways in which a view would follow changes, before there is one (``EXPLAIN CREATE MATERIALIZED VIEW``)."""

from __future__ import annotations

from collections.abc import Iterator, Set

from headwater.engine.methods.basis import never, without_snapshots
from headwater.engine.methods.by_changes import barred
from headwater.engine.tell.report import mapped
from headwater.model.dependency import Dependency, Foremost, Frames, Keys, Neighbours
from headwater.model.reason import Reason
from headwater.model.view import Definition


def foresee(definition: Definition, pinned: Set[str]) -> list[str]:
    """What a definition would do, a line each.

    Args:
        pinned: those of its sources that are read at snapshots.
    """
    by = f", partitioned by {', '.join(definition.partitioned_by)}" if definition.partitioned_by else ""
    lines = [f"{definition.view} can be created USING {definition.format}{by}"]
    for each in definition.dependencies:
        lines += [f"  depends on {line}" for line in mapped(each, definition)]
        lines += [f"    {line}" for line in _followed(definition, each, pinned)]
    return lines


def _followed(definition: Definition, dependency: Dependency, pinned: Set[str]) -> Iterator[str]:
    """How changes of one source are followed, or the reason against it."""
    why = _never(definition, pinned)
    adding, keys = dependency.adding, dependency.keys
    added = why or barred(definition) or adding.reason
    keyed = why or (None if keys.columns else keys.reason)
    yield f"by changes is out: {added.coded}" if added else "can be followed by changes"
    named = f"({', '.join(keys.columns)})"
    yield f"by keys is out: {keyed.coded}" if keyed else f"can be followed by keys {named}{_through(keys)}"


def _through(keys: Keys) -> str:
    """Which of the rows with a key a window leaves out."""
    match keys.through:
        case Frames(columns=(*_, order)):
            return f" and frames of {order}"
        case Neighbours(columns=columns, grouped=grouped):
            return f" and neighbours by {', '.join(columns[grouped:])}"
        case Foremost(columns=columns, grouped=grouped, most=most):
            return f" and the first {most} by {', '.join(columns[grouped:])}"
    return ""


def _never(definition: Definition, pinned: Set[str]) -> Reason | None:
    """Why a view computes whole partitions after each change; ``None`` if it need not."""
    if why := never(definition):
        return why
    loose = [each for each in definition.sources if each not in pinned]
    return without_snapshots(loose[0]) if loose else None
