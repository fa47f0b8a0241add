"""Partition values of Iceberg as slices spell them.

Iceberg's own JSON form of a value comes in, the text of Spark's ``CAST(value AS STRING)`` goes out.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from headwater.algebra import calendar
from headwater.algebra.notation import parse_period, spell_period, spell_year
from headwater.model.calendar import Into, Unit, Window
from headwater.model.partition import Value
from headwater.model.zone import zoned
from headwater.spark.jvm import sql

UNITS = {"year": Unit.YEAR, "month": Unit.MONTH, "day": Unit.DAY, "hour": Unit.HOUR}
"""Iceberg's transforms into calendar periods, all of UTC."""

INSTANT, LOCAL, DATE = "timestamptz", "timestamp", "date"
"""Iceberg's names of Spark's ``TIMESTAMP``, ``TIMESTAMP_NTZ`` and ``DATE``."""

UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")

_PLAIN = ("int", "long")
_TEXT = ("string", "uuid")
_EPOCH = datetime(1970, 1, 1)
_BEGINNINGS = {Unit.YEAR: 1970, Unit.MONTH: 1970 * 12}
_MOMENT = re.compile(r"([+-]?\d{4,})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?(?:\+00:00|Z)?")
CYCLE, CYCLE_DAYS = 400, 146_097
"""After so many years, which are whole weeks, the calendar and the last rules of each zone repeat."""


def is_spelled(type: str) -> bool:
    """Whether the values of a type have one text each. Numbers with a floating point and bytes have not."""
    return type in (*_PLAIN, *_TEXT, INSTANT, LOCAL, DATE, "boolean") or type.startswith("decimal")


def spelled(value: Any, type: str, zone: str) -> Value:
    """The text of a value that an ``identity`` transform keeps."""
    match value, type:
        case None, _:
            return None
        case bool(), _:
            return "true" if value else "false"
        case str(), "string":
            return sql.partition_value(value)
        case str(), "timestamptz" if zone not in UTC:
            moment, cycles = _moment(value)
            return _clock(moment.replace(tzinfo=timezone.utc).astimezone(zoned(zone)), cycles)
        case str(), ("timestamptz" | "timestamp"):
            return _plainly(value)
        case str(), _ if type.startswith("decimal"):
            return format(Decimal(value), "f")
    return str(value)


def period(value: Any, unit: Unit) -> int:
    """The period that a calendar transform made, as ``algebra.calendar`` counts."""
    if unit is Unit.DAY and isinstance(value, str):
        return _hour(value) // 24
    return value + _BEGINNINGS.get(unit, 0)


def period_of(value: str, type: str, unit: Unit) -> int | None:
    """The period that a date or timestamp lies in; ``None`` for values of other types."""
    if type not in (INSTANT, LOCAL, DATE):
        return None
    hours = _hour(value)
    if unit is Unit.HOUR:
        return hours
    return calendar.of_day(unit, hours // 24)


def periods(period: int, unit: Unit, into: Unit) -> range:
    """The periods of a unit that overlap a period of another."""
    first, last = calendar.backward(Window(unit, (Into(into),)), period)
    assert first is not None and last is not None, "a window of a unit alone has two ends"
    return range(first, last + 1)


def spelled_period(period: int, unit: Unit) -> str:
    """``2024-05`` for a month, ``2024-05-17 08:00:00`` for an hour: Spark casts each to the moment of its start."""
    return spell_period(period, unit, "timestamp" if unit is Unit.HOUR else "string")


def read_period(text: Value, unit: Unit) -> int | None:
    """The period that ``spelled_period`` wrote."""
    return parse_period(text, unit)


def moments(text: str, zone: str) -> list[datetime]:
    """The moments of UTC that a clock of a zone shows as a text: two, where it is set back."""
    shown, _ = _moment(text)
    found: list[datetime] = []
    for fold in (0, 1):
        moment = shown.replace(tzinfo=zoned(zone), fold=fold).astimezone(timezone.utc)
        if moment not in found and moment.astimezone(zoned(zone)).replace(tzinfo=None) == shown:
            found.append(moment)
    return found


def instants(text: str, zone: str) -> list[str]:
    """The same, in Iceberg's JSON form."""
    _, cycles = _moment(text)
    return [f"{_form(each, cycles)}+00:00" for each in moments(text, zone)]


def local(text: str) -> str:
    """A timestamp without a zone in Iceberg's JSON form."""
    return _form(*_moment(text))


def _moment(text: str) -> tuple[datetime, int]:
    """A date, or a timestamp of UTC or without a zone, and the number of ``CYCLE`` years that it is later. Python knows
    the years 1 to 9999 only."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(f"no date or timestamp: {text}")
    year, month, day, hour, minute, second = (int(match[n] or 0) for n in range(1, 7))
    cycles = 0 if 1 < year < 9999 else (year - (2400 if year > 1 else 2)) // CYCLE
    micros = int((match[7] or "").ljust(6, "0")[:6])
    return datetime(year - cycles * CYCLE, month, day, hour, minute, second, micros), cycles


def _hour(text: str) -> int:
    """The hour, counted from 1970, that a date or timestamp lies in."""
    moment, cycles = _moment(text)
    return (moment - _EPOCH) // timedelta(hours=1) + cycles * CYCLE_DAYS * 24


def _plainly(text: str) -> str:
    """A timestamp of UTC or without a zone, in Spark's spelling. Python knows no year above 9999."""
    date, time = text.removesuffix("+00:00").split("T")
    time = time if time.count(":") == 2 else f"{time}:00"
    return f"{date} {time.rstrip('0').rstrip('.') if '.' in time else time}"


def _form(moment: datetime, cycles: int) -> str:
    return f"{_date(moment, cycles)}T{moment.time().isoformat('microseconds')}"


def _date(moment: datetime, cycles: int) -> str:
    return f"{spell_year(moment.year + cycles * CYCLE)}-{moment.month:02d}-{moment.day:02d}"


def _clock(moment: datetime, cycles: int) -> str:
    text = moment.strftime("%H:%M:%S")
    fraction = f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else ""
    return f"{_date(moment, cycles)} {text}{fraction}"
