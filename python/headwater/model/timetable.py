"""Times that come again: ``'06:00'`` of each day, or a cron text, each of them in a zone."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from functools import lru_cache

from attrs import frozen
from cronsim import CronSim, CronSimError

from headwater.model.error import StatementError
from headwater.model.zone import has_clock, zoned

FIELDS = 5
"""Of a cron text: minute, hour, day of the month, month, day of the week."""

YEAR = 366 * 86_400_000
"""Milliseconds of a year, the longest one."""
MOST_TIMES = 1_000

_DAILY = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_ZONE = re.compile(r"[A-Za-z+-][A-Za-z0-9_+:/-]{0,63}")
_UNIX = datetime(1970, 1, 1, tzinfo=timezone.utc)


@frozen
class Timetable:
    """Some minutes of the clock.

    Attributes:
        cron: five fields, as cron has them.
        zone: whose clock that is; ``None``: somebody else knows.
    """

    cron: str
    zone: str | None = None

    def following(self, now: int, zone: str) -> int | None:
        """The first of these times that is after a moment, both in ms; ``None`` if none comes within 50 years.

        Args:
            zone: that of a timetable which states none. Where the clocks of the zone are not known here, UTC counts.
        """
        return _following(self.cron, self.zone or zone, now)

    def longest(self, now: int, zone: str) -> int:
        """The longest time (ms) between two of the next times: of a year, and of a thousand of them at most."""
        return _longest(self.cron, self.zone or zone, now // YEAR)


@lru_cache(maxsize=256)
def _longest(cron: str, zone: str, year: int) -> int:
    at, longest = _following(cron, zone, year * YEAR), 0
    for _ in range(MOST_TIMES):
        after = None if at is None else _following(cron, zone, at)
        if at is None or after is None:
            break
        longest, at = max(longest, after - at), after
        if at > (year + 1) * YEAR:
            break
    return longest


@lru_cache(maxsize=4096)
def _following(cron: str, zone: str, now: int) -> int | None:
    clock = zoned(zone) if has_clock(zone) else timezone.utc
    # Where a clock is set back, the search may begin with a time that is over.
    for moment in CronSim(cron, (_UNIX + timedelta(milliseconds=now)).astimezone(clock)):
        at = (moment - _UNIX) // timedelta(milliseconds=1)
        if at > now:
            return at
    return None


@lru_cache(maxsize=4096)
def timetable(text: str) -> Timetable:
    """``'06:00'``, ``'06:00 Europe/Berlin'`` or ``'0 6 * * MON-FRI Europe/Berlin'``. Whether the clocks of its zone are
    known depends on the machine, and is asked where a statement has the text.

    Raises:
        StatementError: it is neither, or such a time never comes.
    """
    words = text.split()
    daily = _DAILY.fullmatch(words[0]) if words else None
    cron = f"{int(daily[2])} {int(daily[1])} * * *" if daily is not None else " ".join(words[:FIELDS])
    zones = words[1 if daily is not None else FIELDS :]
    try:
        comes = next(CronSim(cron, _UNIX), None) is not None
    except (CronSimError, ValueError) as error:
        raise _malformed(text) from error
    if len(zones) > 1 or not all(map(_ZONE.fullmatch, zones)):
        raise _malformed(text)
    if not comes:
        raise StatementError(f"'{text}' is not a time that ever comes")
    return Timetable(cron, *zones)


def _malformed(text: str) -> StatementError:
    return StatementError(
        f"'{text[:100]}' is not a time; write one such as 06:00, or five fields as cron has them, and a zone after it "
        "if you like: 0 6 * * MON-FRI Europe/Berlin"
    )
