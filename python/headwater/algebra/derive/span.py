"""Spans: values known to lie in a period that the source's changed partition names.

Example: a table is ``PARTITIONED BY (days(ts))``. Its partition column ``ts_day`` says of each row the day of ``ts``.
So ``date_trunc('MONTH', ts)`` has one value for each partition, and ``date_trunc('HOUR', ts)`` has 24.

Tables count periods in UTC, as a timestamp without a zone shows them. A session in another zone shows a ``TIMESTAMP``
on its own clock: then a partition's day overlaps two days of the session's.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from attrs import evolve, frozen

from headwater.algebra import calendar
from headwater.algebra.derive.image import Image, filled, plain, quoted
from headwater.algebra.derive.query import Call, Lit
from headwater.model.calendar import Into, Shift, Step, Unit, Window
from headwater.model.dependency import Expression, Same, Windowed

UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")
MOMENTS = ("TIMESTAMP", "TIMESTAMP_NTZ")


class PeriodClock(Enum):
    """How a value stands to the period of its partition."""

    SAME = "the value lies in the period"
    ZONE = "the value lies in the period in UTC; its own clock is of another zone"
    LATER = "the value lay in the period, and was moved on, by a day at most, where its clock skips that time"


@frozen
class PeriodSpan:
    """See the module.

    Attributes:
        column: the partition column.
        unit: of the column's periods.
        zone: the zone of the session that reads the table.
        type: of the value.
        clock: whose clock shows the value.
        grain: the unit of periods that the value begins one of; ``None``: it may be any moment.
        image: the value itself, if it is the same for a whole period.
    """

    column: str
    unit: Unit
    zone: str
    type: str
    clock: PeriodClock = PeriodClock.SAME
    grain: Unit | None = None
    image: Image | None = None

    def to(self, queried: str, declared: str) -> Expression | None:
        """The map into a view's partition column, which the query computes as ``queried`` and a publication casts to
        ``declared``. ``None``: it is unknown."""
        spelled = _spelled(plain(queried), declared, self.grain)
        if self.grain is None or spelled is None or plain(queried) != self.type or not self._is_shown(spelled):
            return None if self.image is None else self.image.to(queried, declared)
        if self.clock is PeriodClock.SAME and (self.grain, spelled) in _ALIKE and self.grain is self.unit:
            return Same(self.column)
        zone = self.zone if calendar.is_known(self.zone) and not self._counts_plainly else "UTC"
        return Windowed(self.column, Window(self.grain, tuple(self._steps()), zone), spelled, nulls=True)

    def _is_shown(self, spelled: str) -> bool:
        """Whether the periods of the grain can be spelled. Hours are counted in UTC."""
        if self.grain is Unit.HOUR:
            return self.clock is PeriodClock.SAME and (self.zone in UTC or spelled == "timestamp_ntz")
        if spelled != "timestamp" or self.zone in UTC:
            return True
        return calendar.is_known(self.zone) and not self._counts_plainly

    @property
    def _counts_plainly(self) -> bool:
        """Whether the column's hours are of no zone: then the session's must not be taken to count them."""
        return self.unit is Unit.HOUR and self.clock is not PeriodClock.ZONE

    def _steps(self) -> list[Step]:
        """From a period of the grain to the periods of the partition column."""
        into: list[Step] = [] if self.unit is self.grain else [Into(self.unit)]
        days: list[Step] = [] if self.grain is Unit.DAY else [Into(Unit.DAY)]
        ends: list[Step] = [] if self.unit is Unit.DAY else [Into(self.unit)]
        match self.clock:
            case PeriodClock.SAME:
                return into
            case PeriodClock.LATER:
                return [*days, Shift(-1, 0), *ends]
            case PeriodClock.ZONE if self.unit is Unit.HOUR and calendar.is_known(self.zone):
                return into  # the calendar knows the hours of UTC in which the zone's clocks show a day
            case PeriodClock.ZONE:
                return [*days, Shift(*calendar.overlap(self.zone)), *ends]


_ALIKE = {(Unit.DAY, "date"), (Unit.HOUR, "timestamp"), (Unit.HOUR, "timestamp_ntz")}
"""Units whose periods a table's partition column spells as a column of this type does."""

COARSER = {
    Unit.HOUR: frozenset(Unit),
    Unit.DAY: frozenset(Unit) - {Unit.HOUR},
    Unit.WEEK: frozenset({Unit.WEEK}),
    Unit.MONTH: frozenset({Unit.MONTH, Unit.QUARTER, Unit.YEAR}),
    Unit.QUARTER: frozenset({Unit.QUARTER, Unit.YEAR}),
    Unit.YEAR: frozenset({Unit.YEAR}),
}
"""For each unit those of which each period consists of whole ones of it."""


def of_periods(partition: str, unit: Unit, type: str, zone: str) -> Image | PeriodSpan:
    """The column whose periods a partition column has."""
    if type == "DATE" and unit is Unit.DAY:
        return Image.of_column(partition, "DATE")
    clock = PeriodClock.ZONE if type == "TIMESTAMP" and zone not in UTC else PeriodClock.SAME
    return PeriodSpan(partition, unit, zone, type, clock)


def applied(call: Call, arguments: Sequence[Image | PeriodSpan]) -> Image | PeriodSpan | None:
    """What is known of a function's value, if one of its arguments is a span."""
    images = [each if isinstance(each, Image) else each.image for each in arguments]
    image = filled(call, [each for each in images if each is not None]) if None not in images else None
    spans = [each for each in arguments if isinstance(each, PeriodSpan)]
    if len(spans) != 1:
        return image
    [span] = spans
    if image is None:
        image = _alike(call, arguments, span)
    moved = _moved(call, span)
    if moved is None:
        return image
    return evolve(moved, image=image)


def _alike(call: Call, arguments: Sequence[Image | PeriodSpan], span: PeriodSpan) -> Image | None:
    """The function's value for a whole period: that of the period's start."""
    unit = _constant(call)
    if unit is None or span.clock is not PeriodClock.SAME or unit not in COARSER[span.unit]:
        return None
    if span.grain is not None and span.unit not in COARSER[span.grain]:
        return None  # the start of a week may lie in the month before
    start = Image(_start(span), (span.column,), span.type)
    return filled(call, [each if isinstance(each, Image) else start for each in arguments])


def _start(span: PeriodSpan) -> str:
    if span.unit is Unit.HOUR:
        return f"CAST({quoted(span.column)} AS {span.type})"
    date = f"CAST({quoted(span.column)} AS DATE)"
    return date if span.type == "DATE" else f"CAST({date} AS {span.type})"


def _moved(call: Call, span: PeriodSpan) -> PeriodSpan | None:
    """The span of a function that goes to the start of a period, or only to another type."""
    type = plain(call.type)
    match call.call:
        case "TruncTimestamp" | "TruncDate" | "Year":
            unit = _constant(call)
            grain = _floored(span.grain, unit)
            return evolve(span, type=type, grain=grain, image=None) if grain and unit else None
        case "Cast" | "ParseToDate" | "ParseToTimestamp" if len(call.args) == 1:
            return _cast(span, type)
    return None


def _cast(span: PeriodSpan, type: str) -> PeriodSpan | None:
    if type == span.type:
        return span
    match span.type, type:
        case (("TIMESTAMP" | "TIMESTAMP_NTZ"), "DATE"):
            grain = _floored(span.grain, Unit.DAY)
            return evolve(span, type=type, grain=grain, image=None) if grain else None
        case "TIMESTAMP", "TIMESTAMP_NTZ":
            return evolve(span, type=type, image=None)
        case "DATE", "TIMESTAMP_NTZ":
            return evolve(span, type=type, grain=span.grain or Unit.DAY, image=None)
        case "DATE", "TIMESTAMP":
            skips = span.zone not in UTC and calendar.skips_days(span.zone)
            return _later(evolve(span, type=type, grain=span.grain or Unit.DAY, image=None), skips)
        case "TIMESTAMP_NTZ", "TIMESTAMP":
            return _later(evolve(span, type=type, image=None), span.zone not in UTC)
    return None


def _later(span: PeriodSpan, moves: bool) -> PeriodSpan | None:
    if not moves or span.clock is PeriodClock.LATER:
        return span
    return evolve(span, clock=PeriodClock.LATER) if span.clock is PeriodClock.SAME else None


def _floored(grain: Unit | None, unit: Unit | None) -> Unit | None:
    """The grain of a value that goes on to the start of a period of ``unit``; ``None``: it begins no period."""
    if unit is None or grain is None:
        return unit
    return unit if unit in COARSER[grain] else grain if grain in COARSER[unit] else None


def _constant(call: Call) -> Unit | None:
    """The coarsest unit for each period of which a function has one value."""
    match call.call, call.args:
        case "TruncTimestamp", (Lit(sql=text), _):
            return _TRUNCATED.get(text.strip("'").upper())
        case "TruncDate", (_, Lit(sql=text)):
            unit = _TRUNCATED.get(text.strip("'").upper())
            return unit if unit not in (Unit.DAY, Unit.HOUR) else None
        case (("Cast" | "ParseToDate"), (_,)) if call.type == "DATE":
            return Unit.DAY
        case "DateFormatClass", (_, Lit(sql=pattern)):
            return _of_pattern(pattern.strip("'"))
    return _CONSTANT.get(call.call)


def _of_pattern(pattern: str) -> Unit | None:
    letters = {each for each in pattern if each.isalpha()}
    return next((unit for unit, shown in _SHOWN if letters <= shown), None)


_TRUNCATED = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), Unit.YEAR),
    "QUARTER": Unit.QUARTER,
    **dict.fromkeys(("MONTH", "MM", "MON"), Unit.MONTH),
    "WEEK": Unit.WEEK,
    **dict.fromkeys(("DAY", "DD"), Unit.DAY),
    "HOUR": Unit.HOUR,
}
"""The formats of ``trunc`` and ``date_trunc``."""

_CONSTANT = {
    "Year": Unit.YEAR,
    "Quarter": Unit.QUARTER,
    **dict.fromkeys(("Month", "LastDay"), Unit.MONTH),
    **dict.fromkeys(("WeekOfYear", "YearOfWeek"), Unit.WEEK),
    **dict.fromkeys(("DayOfMonth", "DayOfYear", "DayOfWeek", "WeekDay"), Unit.DAY),
    **dict.fromkeys(("DayName", "MonthName", "UnixDate"), Unit.DAY),
    "Hour": Unit.HOUR,
}

_SHOWN = [
    (Unit.YEAR, frozenset("y")),
    (Unit.QUARTER, frozenset("yQq")),
    (Unit.MONTH, frozenset("yQqML")),
    (Unit.DAY, frozenset("yQqMLdDE")),
    (Unit.HOUR, frozenset("yQqMLdDEHhkKa")),
]
"""The letters of a pattern of ``date_format`` that show no more than a unit."""


def _spelled(queried: str, declared: str, grain: Unit | None) -> str | None:
    """The type whose spelling a column's values have; ``None``: it is none that periods are spelled in."""
    types = [*MOMENTS, "DATE"]
    if queried == "INT":
        return "int" if declared.upper() in ("INT", "BIGINT", "STRING") and grain is Unit.YEAR else None
    if declared.upper() == "STRING" or declared.upper() == queried:
        return queried.lower() if queried in types else None
    if queried in types and declared.upper() == "DATE" and grain is not Unit.HOUR:
        return "date"
    return None
