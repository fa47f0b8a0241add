"""Which periods a window selects, and which periods select one ([Xu23] §2.2).

A period is an integer: hours since 1970 in UTC, days and ISO weeks since 1970, months, quarters and
years since the year 0. A window maps a period t to the range [first(t), last(t)], and neither end ever
decreases with t. So the periods whose range holds u are a range too, and bisection finds its ends:

    t in forward(w, u)  <=>  u in backward(w, t)

holds by construction, whatever calendars and time zones do between.

Here are also the clocks of time zones, beside UTC. Example: a day of Berlin overlaps two days of UTC, that of its own
date and the one before. Cuba's clocks skip midnight once a year, so a day begins at one o'clock there. In Moncton a
clock was set back over midnight, so it showed a new day, then the old one, then the new one again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from itertools import count, pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headwater.model.calendar import Into, Shift, Unit, Window

Period = int
Range = tuple[Period | None, Period | None]
"""Both ends belong to it; ``None`` is an open end. It is empty when the first end is above the last."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_HOURS, _HOUR, _DAY = 24, 3_600, 86_400
"""The hours of a day, and the seconds of an hour and of a day."""
_MONTHS = {Unit.MONTH: 1, Unit.QUARTER: 3, Unit.YEAR: 12}


def backward(window: Window, period: Period) -> Range:
    """The upstream periods that a downstream period is computed from."""
    return _end(window, period, first=True), _end(window, period, first=False)


def forward(window: Window, period: Period) -> Range:
    """The downstream periods that are computed from an upstream one."""
    guess = _overlapped(window.upstream, period, window.of, window.zone)[0]
    starts, ends = backward(window, guess)

    def reaches(other: Period) -> bool:
        end = _end(window, other, first=False)
        return end is not None and end >= period

    def is_past(other: Period) -> bool:
        start = _end(window, other, first=True)
        return start is not None and start > period

    first = None if ends is None else _least(reaches, guess)
    last = None if starts is None else _least(is_past, guess) - 1
    return first, last


def first_day(unit: Unit, period: Period) -> int:
    """The day, counted from 1970-01-01, on which a period longer than an hour begins."""
    match unit:
        case Unit.DAY:
            return period
        case Unit.WEEK:
            return period * 7 - 3  # 1970-01-01 was a Thursday
        case _:
            year, month = divmod(period * _MONTHS[unit], 12)
            return days_from_civil(year, month + 1, 1)


def of_day(unit: Unit, day: int) -> Period:
    """The period, longer than an hour, that holds a day."""
    match unit:
        case Unit.DAY:
            return day
        case Unit.WEEK:
            return (day + 3) // 7
        case _:
            year, month, _ = civil_from_days(day)
            return (year * 12 + month - 1) // _MONTHS[unit]


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 in the proleptic Gregorian calendar, for any year.

    Months are counted from March, so that a leap day is a year's last; an era is 400 years.
    """
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def civil_from_days(day: int) -> tuple[int, int, int]:
    """Year, month and day of month: the inverse of ``days_from_civil``."""
    era, of_era = divmod(day + 719468, 146097)
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = (shifted + 2) % 12 + 1
    return era * 400 + year + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


# --- inside


def _end(window: Window, period: Period, first: bool) -> Period | None:
    unit, at = window.of, period
    for step in window.steps:
        match step:
            case Shift(lower, upper):
                by = lower if first else upper
                if by is None:
                    return None
                at += by
            case Into(into):
                at = _overlapped(unit, at, into, window.zone)[0 if first else 1]
                unit = into
    return at


def _overlapped(unit: Unit, period: Period, into: Unit, zone: str) -> tuple[Period, Period]:
    """The first and the last period of one unit that overlap a period of another."""
    if unit is into:
        return period, period
    if unit is Unit.HOUR:
        first, last = _days_of_hour(period, zone)
        return of_day(into, first), of_day(into, last)
    start, end = first_day(unit, period), first_day(unit, period + 1)
    if into is Unit.HOUR:
        return _hours_of_day(start, zone)[0], _hours_of_day(end - 1, zone)[1]
    return of_day(into, start), of_day(into, end - 1)


_FARTHEST = 17
"""Hours that no clock was ever away from UTC."""


@lru_cache(maxsize=65536)
def _hours_of_day(day: int, zone: str) -> tuple[Period, Period]:
    """The first hour that shows a day or a later one, and the last that shows the day or an earlier one. There is none
    between them if the zone skips the day."""
    if zone == "UTC":
        return day * _HOURS, day * _HOURS + _HOURS - 1
    first = next(hour for hour in count(day * _HOURS - _FARTHEST) if _shown_days(hour, zone)[1] >= day)
    last = next(hour for hour in count((day + 1) * _HOURS + _FARTHEST, -1) if _shown_days(hour, zone)[0] <= day)
    return first, last


def _days_of_hour(hour: Period, zone: str) -> tuple[int, int]:
    """The first and the last day that have an hour: the inverse of ``_hours_of_day``."""
    about = hour // _HOURS
    if zone == "UTC":
        return about, about
    near = [(day, *_hours_of_day(day, zone)) for day in range(about - 2, about + 3)]
    having = [day for day, first, last in near if first <= hour <= last]
    return having[0], having[-1]


def _shown_days(hour: Period, zone: str) -> tuple[int, int]:
    """The earliest and the latest day that a clock may show within an hour. It may be set in the middle of one."""
    offsets = _offset(hour, 0, zone), _offset(hour, _HOUR - 1, zone)
    start = hour * _HOUR
    return (start + min(offsets)) // _DAY, (start + _HOUR - 1 + max(offsets)) // _DAY


_KNOWN = days_from_civil(2, 1, 1) * _HOURS, days_from_civil(9999, 1, 1) * _HOURS
"""Hours of the years that Python knows in all zones."""
_CYCLE = days_from_civil(400, 1, 1) * _HOURS - days_from_civil(0, 1, 1) * _HOURS
"""After so many hours the calendar repeats, and so do the last rules of each zone."""


def _offset(hour: Period, second: int, zone: str) -> int:
    """The seconds that a clock is ahead of UTC. Before the years that Python knows, it shows local mean time."""
    first, end = _KNOWN
    near = max(hour, first)
    if near >= end:
        near -= ((near - end) // _CYCLE + 1) * _CYCLE
    moment = _EPOCH + timedelta(hours=near, seconds=second)
    return (moment.astimezone(ZoneInfo(zone)).utcoffset() or timedelta(0)) // timedelta(seconds=1)


def _least(holds: Callable[[Period], bool], guess: Period) -> Period:
    """The least period for which ``holds``, which never turns false again; found by galloping from a guess."""
    stride = 1
    if holds(guess):
        above = guess
        while holds(above - stride):
            above, stride = above - stride, stride * 2
        below = above - stride
    else:
        below = guess
        while not holds(below + stride):
            below, stride = below + stride, stride * 2
        above = below + stride
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above


_FIRST, _EVERY, _SAMPLES = datetime(1850, 1, 1, tzinfo=timezone.utc), timedelta(days=10), 9132
"""Two centuries and a half, in steps that are shorter than any rule about clocks holds."""
_BEFORE = datetime(2, 1, 1, tzinfo=timezone.utc)
"""Clocks showed local mean time then, some of them until shortly before 1850."""


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
    clock, samples = ZoneInfo(zone), (_BEFORE, *(_FIRST + n * _EVERY for n in range(_SAMPLES)))
    return tuple(each.astimezone(clock).utcoffset() or timedelta(0) for each in samples)


def _moment(shown: datetime, clock: ZoneInfo) -> datetime:
    """A moment at which clocks show a time. A time that they skip is counted on from before, or back if it folds."""
    return shown.replace(tzinfo=clock).astimezone(timezone.utc)


def _shown(moment: datetime, clock: ZoneInfo) -> datetime:
    return moment.astimezone(clock).replace(tzinfo=None)
