"""Times that come again: ``'06:00'`` of each day, or a cron text, each of them in a zone."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from attrs import frozen
from cronsim import CronSim, CronSimError

from headwater.model.error import StatementError
from headwater.model.zone import has_clock, zoned

FIELDS = 5
"""Of a cron text: minute, hour, day of the month, month, day of the week."""

_DAILY = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
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

    def last(self, now: int, zone: str) -> int | None:
        """The newest of these times that is not after a moment, both in ms; ``None`` if there was none for 50 years.

        Args:
            zone: that of a timetable which states none.
        """
        # The search leaves out the minute at which it begins.
        return self._next(now - now % 60_000 + 60_000, zone, reverse=True)

    def following(self, now: int, zone: str) -> int | None:
        """The oldest of these times that is after a moment; like ``last``."""
        return self._next(now, zone, reverse=False)

    def _next(self, now: int, zone: str, reverse: bool) -> int | None:
        clock = zoned(self.zone or zone)
        moment = next(CronSim(self.cron, (_UNIX + timedelta(milliseconds=now)).astimezone(clock), reverse), None)
        return None if moment is None else (moment - _UNIX) // timedelta(milliseconds=1)


def timetable(text: str) -> Timetable:
    """``'06:00'``, ``'06:00 Europe/Berlin'`` or ``'0 6 * * MON-FRI Europe/Berlin'``.

    Raises:
        StatementError: it is neither, or its zone is not known.
    """
    words = text.split()
    daily = _DAILY.fullmatch(words[0]) if words else None
    cron = f"{int(daily[2])} {int(daily[1])} * * *" if daily is not None else " ".join(words[:FIELDS])
    zones = words[1 if daily is not None else FIELDS :]
    try:
        CronSim(cron, _UNIX)
    except CronSimError as error:
        raise _malformed(text) from error
    if len(zones) > 1:
        raise _malformed(text)
    if zones and not has_clock(zones[0]):
        raise StatementError(f"'{text}' is not in a zone that is known here; write one such as Europe/Berlin or +02:00")
    return Timetable(cron, *zones)


def _malformed(text: str) -> StatementError:
    return StatementError(
        f"'{text}' is not a time; write one such as 06:00, or five fields as cron has them, and a zone after it if you "
        "like: 0 6 * * MON-FRI Europe/Berlin"
    )
