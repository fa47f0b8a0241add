"""Durations as a person writes them: ``'10 minutes'``."""

from __future__ import annotations

import re
from functools import lru_cache

from headwater.model.error import StatementError

UNITS = {"millisecond": 1, "second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000, "week": 604_800_000}
"""Milliseconds of each unit."""


def pause(text: str) -> int:
    """The same, or 0 for none: ``'0 seconds'``.

    Raises:
        StatementError: not a number and a unit.
    """
    none = re.fullmatch(r"\s*0+(?:\.0+)?\s*([a-z]+?)s?\s*", text.lower())
    return 0 if none is not None and none[1] in UNITS else duration(text)


@lru_cache(maxsize=4096)
def duration(text: str) -> int:
    """``'10 minutes'`` in milliseconds.

    Raises:
        StatementError: not a positive number and a unit.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+?)s?\s*", text.lower())
    if not match or match[2] not in UNITS or float(match[1]) <= 0:
        raise StatementError(f"'{text}' is not a duration; write a positive number and a unit, such as '10 minutes'")
    return round(float(match[1]) * UNITS[match[2]])
