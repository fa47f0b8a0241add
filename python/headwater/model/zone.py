"""Zones as Spark's settings name them: a region, or an offset."""

from __future__ import annotations

import re
from datetime import timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_OFFSET = re.compile(r"(?:GMT|UTC|UT)?([+-])(\d\d?)(?::?(\d\d))?(?::?(\d\d))?")


@lru_cache(maxsize=256)
def zoned(zone: str) -> tzinfo:
    """The zone of a Spark setting: a region, or an offset such as ``+02:00``.

    Raises:
        ValueError, zoneinfo.ZoneInfoNotFoundError, OSError: its clocks are not known here.
    """
    if match := _OFFSET.fullmatch(zone):
        hours, minutes, seconds = (int(match[n] or 0) for n in (2, 3, 4))
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return timezone(offset if match[1] == "+" else -offset)
    return timezone.utc if zone in ("UTC", "Z") else ZoneInfo(zone)


def has_clock(zone: str) -> bool:
    """Whether the clocks of a zone are known here."""
    try:
        zoned(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
