"""The ways in which a view would follow changes, before there is one (``EXPLAIN CREATE MATERIALIZED VIEW``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headwater.engine.basis import never, without_snapshots
from headwater.engine.report import mapped
from headwater.engine.totals import unfollowed
from headwater.model.dependency import Dependency
from headwater.model.view import LAKE_FORMATS, Definition


def foresee(definition: Definition, formats: Mapping[str, str]) -> list[str]:
    """What a definition would do, a line each.

    Args:
        formats: of its sources.
    """
    by = f", partitioned by {', '.join(definition.partitioned_by)}" if definition.partitioned_by else ""
    lines = [f"{definition.view} can be created USING {definition.format}{by}"]
    for each in definition.dependencies:
        lines += [f"  depends on {line}" for line in mapped(each, definition)]
        lines += [f"    {line}" for line in _followed(definition, each, formats)]
    return lines


def _followed(definition: Definition, dependency: Dependency, formats: Mapping[str, str]) -> Iterator[str]:
    """How changes of one source are followed, or the reason against it."""
    why = _never(definition, formats)
    adding, keys = dependency.adding, dependency.keys
    added = why or unfollowed(definition) or ("" if adding.possible else adding.reason)
    keyed = why or ("" if keys.columns else keys.reason)
    yield f"by changes is out: {added}" if added else "can be followed by changes"
    named = ", ".join(keys.columns)
    yield f"by keys is out: {keyed}" if keyed else f"can be followed by keys ({named})"


def _never(definition: Definition, formats: Mapping[str, str]) -> str:
    """Why a view computes whole partitions after each change; empty if it need not."""
    if why := never(definition):
        return why
    loose = [each for each in definition.sources if formats.get(each) not in LAKE_FORMATS]
    return without_snapshots(loose[0]) if loose else ""
