"""The reason of a refresh, in a plain sentence."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.model.partition import Slice
from headwater.model.state import Origin, State
from headwater.model.version import Version

SHOWN = 3


def reason(state: State, origins: Sequence[Version]) -> str:
    """One sentence for all changes of a refresh, the oldest first."""
    told: list[str] = []
    for version in sorted(origins):
        sentence = of_origin(state.origins[version])
        if sentence not in told:
            told.append(sentence)
    more = f"; and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
    return "; ".join(told[:SHOWN]) + more


def of_origin(origin: Origin) -> str:
    return f"{origin.table}{where(origin.slices)} {origin.verb}"


def counted_rows(count: int | None) -> str:
    """``2 rows``."""
    return "1 row" if count == 1 else "rows" if count is None else f"{count} rows"


def where(slices: Sequence[Slice]) -> str:
    """``[month=1996-03-01]``; nothing for a whole table."""
    bound = [each for each in slices if each.bound]
    if not bound:
        return ""
    more = f" and {len(bound) - SHOWN} more" if len(bound) > SHOWN else ""
    return "[" + "; ".join(str(each) for each in bound[:SHOWN]) + more + "]"
