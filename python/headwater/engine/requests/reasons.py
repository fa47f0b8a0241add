"""The reason of a refresh, in a plain sentence."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.model.partition import Slice, Version, sort_key
from headwater.model.reason import Reason
from headwater.model.state import Origin, State

SHOWN = 3


def reason(state: State, versions: Sequence[Version], result: str = "") -> Reason:
    """One sentence for all changes of a refresh, the oldest first, with the code of that one.

    Args:
        result: what came of them, as the end of the sentence.
    """
    origins = [state.origins[version] for version in sorted(versions)]
    sentences = list(dict.fromkeys(map(of_origin, origins)))
    more = f"; and {len(sentences) - SHOWN} more" if len(sentences) > SHOWN else ""
    return Reason(origins[0].code, "; ".join(sentences[:SHOWN]) + more + result)


def of_origin(origin: Origin) -> str:
    return f"{origin.table}{where(origin.slices)} {origin.verb}"


def counted_rows(count: int | None) -> str:
    """``2 rows``."""
    return "1 row" if count == 1 else "rows" if count is None else f"{count} rows"


def where(slices: Sequence[Slice]) -> str:
    """``[month=1996-03-01]``; nothing for a whole table. The order in which slices were found does not show."""
    bound = sorted((each for each in slices if each.bound), key=sort_key)
    if not bound:
        return ""
    more = f" and {len(bound) - SHOWN} more" if len(bound) > SHOWN else ""
    return "[" + "; ".join(str(each) for each in bound[:SHOWN]) + more + "]"
