"""The clocks of time zones, beside UTC.

Example: a day of Berlin overlaps two days of UTC, that of its own date and the one before. Cuba's clocks skip midnight
once a year, so a day begins at one o'clock there.
"""

from __future__ import annotations

from bisect import bisect_left
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headwater.algebra.calendar import civil_from_days

_FIRST, _EVERY, _SAMPLES = datetime(1850, 1, 1, tzinfo=timezone.utc), timedelta(days=10), 9132
"""Two centuries and a half, in steps that are shorter than any rule about clocks holds."""


@lru_cache(maxsize=256)
def is_known(zone: str) -> bool:
    """Whether the clocks of a zone are known here. Those of an offset such as ``+02:00`` are not."""
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def overlap(zone: str) -> tuple[int, int]:
    """The days of UTC that a day of a zone overlaps, counted from that day: (-1, 0) in the east, (0, 1) in the west."""
    offsets = _offsets(zone)
    if not offsets:
        return -1, 1
    return (-1 if max(offsets) > timedelta(0) else 0), (1 if min(offsets) < timedelta(0) else 0)


def skips_days(zone: str) -> bool:
    """Whether a zone ever left out a whole day, by going over to the other side of the date line."""
    offsets = _offsets(zone)
    return not offsets or any(abs(after - before) > timedelta(hours=20) for before, after in pairwise(offsets))


def beginnings(day: int, zone: str) -> tuple[datetime, ...]:
    """The times at which a day may begin by a zone's clocks, or none if Python does not know the year.

    There are two where the clocks skip midnight: a cast takes the first time after the gap, and ``date_trunc`` goes
    on by the length of the gap. They differ where a gap lies on both sides of midnight, as in Toronto in 1919.
    """
    year, month, of_month = civil_from_days(day)
    if not 1 < year < 10_000:
        return ()
    midnight, clock = datetime(year, month, of_month), ZoneInfo(zone)
    moved = _shown(_moment(midnight, clock), clock)
    if moved == midnight:
        return (midnight,)
    before = _moment(midnight.replace(fold=1), clock)
    seconds = range(int((moved - midnight).total_seconds()) + 1)
    gap = bisect_left(seconds, True, key=lambda each: _shown(before + timedelta(seconds=each), clock) >= midnight)
    return tuple(dict.fromkeys((_shown(before + timedelta(seconds=gap), clock), moved)))


# --- inside


@lru_cache(maxsize=256)
def _offsets(zone: str) -> tuple[timedelta, ...]:
    """The differences of a zone's clocks to UTC; none if they are not known here."""
    if not is_known(zone):
        return ()
    clock, samples = ZoneInfo(zone), (_FIRST + n * _EVERY for n in range(_SAMPLES))
    return tuple(each.astimezone(clock).utcoffset() or timedelta(0) for each in samples)


def _moment(shown: datetime, clock: ZoneInfo) -> datetime:
    """A moment at which clocks show a time. A time that they skip is counted on from before, or back if it folds."""
    return shown.replace(tzinfo=clock).astimezone(timezone.utc)


def _shown(moment: datetime, clock: ZoneInfo) -> datetime:
    return moment.astimezone(clock).replace(tzinfo=None)
