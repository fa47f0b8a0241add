"""Windows, periods and partition values as text.

window  := [end] '..' [end] | end            DAY - 3 .. DAY - 1      .. MONTH      DAY ..
end     := (UNIT | '(' window ')') part*     WEEK.days()             (WEEK - 1 .. WEEK).days() + 2
part    := ('+' | '-') number | '.' units '(' [zone in quotes] ')'
"""

from __future__ import annotations

import re
from typing import NoReturn

from headwater.algebra.calendar import beginnings, civil_from_days, days_from_civil, first_day, is_known, of_day
from headwater.model.calendar import Into, ReversedRange, Shift, Unit, Window
from headwater.model.error import DefinitionError

_TOKEN = re.compile(r"\s*(?:(\.\.)|([A-Za-z]+)|(\d+)|'([^']*)'|([().+-]))")
_DECIMAL = re.compile(r"DECIMAL\(\d+, *(-?\d+)\)", re.IGNORECASE)
_DIGITS_WITHOUT_EXPONENT = 6
"""Java writes a decimal of so many digits after its point without an exponent, however small it is."""
_METHODS = {f"{unit.value.lower()}s": unit for unit in Unit}

_DATE = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:[ T]?(\d\d)(?::?\d\d(?::?\d\d(?:\.\d+)?)?)?)?")
_MONTH = re.compile(r"(\d{4})-?(\d\d)")
_QUARTER = re.compile(r"(\d{4})-?Q([1-4])")
_WEEK = re.compile(r"(\d{4})-?W(\d\d)")
_YEAR = re.compile(r"\d{4}")


def as_text(type: str) -> str:
    """How SQL makes the text of a partition value: ``CAST(%s AS STRING)``.

    The text is the same under all settings of a session. Without ANSI, Spark writes a small DECIMAL with an exponent:
    zero of seven digits is ``0E-7``. With ANSI it is ``0.0000000``, and so are all texts that Headwater compares.

    Args:
        type: the type of the value, in Spark's spelling.

    Returns:
        a template, with ``%s`` in place of the value.
    """
    digits = _DECIMAL.fullmatch(type)
    scale = int(digits[1]) if digits else 0
    if 0 <= scale <= _DIGITS_WITHOUT_EXPONENT:
        return "CAST(%s AS STRING)"
    return f"replace(format_number(%s, {max(0, scale)}), ',', '')"


def is_window(text: str) -> bool:
    """Whether a text speaks of partition variables (and is no SQL expression)."""
    return re.match(rf"[\s(]*(\.\.\s*\(*)?({'|'.join(unit.value for unit in Unit)})\b(?!\s*\()", text) is not None


def parse_window(text: str) -> Window:
    """The window that a text stands for.

    Raises:
        DefinitionError: it is none; the message shows where it stops being one.
    """
    return _Parser(text).window()


def spell_window(window: Window) -> str:
    """The text that ``parse_window`` reads as this window."""
    text, shifted = window.of.value, False
    for step in window.steps:
        match step:
            case Shift(0, 0):
                pass
            case Shift(first, last):
                ends = [_moved(f"({text})" if shifted else text, each) for each in (first, last)]
                is_one = first is not None and first == last
                text, shifted = ends[0] if is_one else " .. ".join(ends).strip(), True
            case Into(unit):
                zone = f"'{window.zone}'" if window.zone != "UTC" and Unit.HOUR in (unit, window.of) else ""
                text, shifted = f"{f'({text})' if shifted else text}.{unit.value.lower()}s({zone})", False
    return text


def parse_period(text: str | None, unit: Unit) -> int | None:
    """The period of a partition value: ISO dates, timestamps and labels, or a month, quarter, ISO week or year
    on its own. ``None`` when the text is of no period, or of a year that functions of Spark spell in several ways:
    ``yyyy`` is ``0001`` in the year 0, and ``+10000`` in the year 10000, of which ``year`` makes ``10000``."""
    if text is None or text.startswith("0000"):
        return None
    if match := _DATE.fullmatch(text):
        day = _day(int(match[1]), int(match[2]), int(match[3]))
        if day is None:
            return None
        return day * 24 + int(match[4] or 0) if unit is Unit.HOUR else of_day(unit, day)
    if unit is Unit.MONTH and (match := _MONTH.fullmatch(text)) and 1 <= int(match[2]) <= 12:
        return int(match[1]) * 12 + int(match[2]) - 1
    if unit is Unit.QUARTER and (match := _QUARTER.fullmatch(text)):
        return int(match[1]) * 4 + int(match[2]) - 1
    if unit is Unit.WEEK and (match := _WEEK.fullmatch(text)):
        return of_day(Unit.WEEK, days_from_civil(int(match[1]), 1, 4)) + int(match[2]) - 1
    if unit is Unit.YEAR and _YEAR.fullmatch(text):
        return int(text)
    return None


def spellings(period: int, unit: Unit, column_type: str, zone: str) -> tuple[str, ...]:
    """The partition values that a period may have in a column of this type. A timestamp is that of the period's
    beginning, as a clock of the zone shows it. There are two where functions of Spark do not agree about that."""
    shows = column_type.lower() == "timestamp" and unit is not Unit.HOUR and zone != "UTC"
    found = beginnings(first_day(unit, period), zone) if shows else ()
    return tuple(each.isoformat(" ", "seconds") for each in found) or (spell_period(period, unit, column_type),)


def spell_period(period: int, unit: Unit, column_type: str) -> str:
    """The partition value of a period in a column of this type, as the catalog spells it."""
    hour = 0
    if unit is Unit.HOUR:
        day, hour = divmod(period, 24)
    else:
        day = first_day(unit, period)
    year, month, of_month = civil_from_days(day)
    date = f"{spell_year(year)}-{month:02d}-{of_month:02d}"
    match column_type.lower(), unit:
        case (("timestamp" | "timestamp_ntz"), _):
            return f"{date} {hour:02d}:00:00"
        case "date", _:
            return date
        case (("int" | "bigint" | "smallint"), Unit.YEAR):
            return str(year)
        case (("int" | "bigint"), Unit.MONTH):
            return f"{year:04d}{month:02d}"
        case (("int" | "bigint"), Unit.HOUR):
            return f"{date.replace('-', '')}{hour:02d}"
        case (("int" | "bigint"), _):
            return date.replace("-", "")
        case _:
            return _label(period, unit, date, hour)


def spell_year(year: int) -> str:
    """A year as Spark spells it in a date: ``0001``, ``-0001``, ``+10000``."""
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}"


# --- inside


def _label(period: int, unit: Unit, date: str, hour: int) -> str:
    match unit:
        case Unit.HOUR:
            return f"{date} {hour:02d}"
        case Unit.DAY:
            return date
        case Unit.MONTH:
            return date[:-3]
        case Unit.QUARTER:
            return f"{spell_year(period // 4)}-Q{period % 4 + 1}"
        case Unit.YEAR:
            return date[:-6]
        case Unit.WEEK:
            year = civil_from_days(first_day(unit, period) + 3)[0]  # a week is of the year of its Thursday
            return f"{spell_year(year)}-W{period - of_day(unit, days_from_civil(year, 1, 4)) + 1:02d}"


def _day(year: int, month: int, day: int) -> int | None:
    found = days_from_civil(year, month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None
    return found if found is not None and civil_from_days(found) == (year, month, day) else None


def _moved(text: str, by: int | None) -> str:
    """An end of a range; nothing for one that is open."""
    if by is None:
        return ""
    return f"{text} {'-' if by < 0 else '+'} {abs(by)}" if by else text


class _Parser:
    """A recursive descent over the tokens of one window."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def window(self) -> Window:
        found = self._range()
        if self._text[self._at :].strip():
            self._refuse("a window ends here")
        return found

    def _range(self) -> Window:
        if self._take(".."):
            return self._end().and_earlier()
        first = self._end()
        if not self._take(".."):
            return first
        if self._text[self._at :].strip()[:1] in ("", ")"):
            return first.and_later()
        try:
            return first.to(self._end())
        except ReversedRange:
            self._refuse("a range goes from the earlier end to the later one, such as DAY - 3 .. DAY")
        except ValueError:
            self._refuse("both ends of a range need the same variable and the same units")

    def _end(self) -> Window:
        if self._take("("):
            found = self._range()
            if not self._take(")"):
                self._refuse("a ) is missing")
        else:
            name = self._word()
            if name not in Unit.__members__:
                self._refuse(f"one of {', '.join(Unit.__members__)} is expected")
            found = Window(Unit[name])
        while True:
            if self._take("+"):
                found = found + self._number()
            elif self._take("-"):
                found = found - self._number()
            elif self._take("."):
                found = self._method(found)
            else:
                return found

    def _method(self, found: Window) -> Window:
        unit = _METHODS.get(self._word())
        if unit is None or not self._take("("):
            self._refuse(f"one of {', '.join(f'{each}()' for each in _METHODS)} is expected")
        match = _TOKEN.match(self._text, self._at)
        zone = None
        if match and match[4] is not None:
            zone, self._at = match[4], match.end()
            if not is_known(zone):
                self._refuse(f"{zone or 'an empty text'} is no known time zone; name one such as Europe/Berlin")
        if not self._take(")"):
            self._refuse("a ) is missing")
        return found.into(unit, zone)

    def _word(self) -> str:
        match = _TOKEN.match(self._text, self._at)
        if not match or not match[2]:
            return ""
        self._at = match.end()
        return match[2]

    def _number(self) -> int:
        match = _TOKEN.match(self._text, self._at)
        if not match or not match[3]:
            self._refuse("a number of periods is expected")
        self._at = match.end()
        return int(match[3])

    def _take(self, token: str) -> bool:
        match = _TOKEN.match(self._text, self._at)
        if match and token in (match[1], match[5]):
            self._at = match.end()
            return True
        return False

    def _refuse(self, why: str) -> NoReturn:
        raise DefinitionError("WINDOW", f"'{self._text[: self._at]}' ⟨here⟩ '{self._text[self._at :]}': {why}")
