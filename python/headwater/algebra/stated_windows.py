"""Windows that a property or a job states: what they say of a view column's text, given the text of a source's column.

A window counts periods, and slices have texts. Where it is not certain how the one becomes the other, the view column
stays free: a change then reaches more than needed, and never less. Example: for ``month = MONTH.days() OF day``, a
STRING ``month`` may have ``2024-05``, ``202405`` or ``May 2024``.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from headwater.algebra import calendar
from headwater.algebra.derive.image import plain
from headwater.algebra.derive.relation import PartitionText
from headwater.algebra.derive.span import MOMENTS, UTC
from headwater.model.calendar import Into, Shift, Unit, Window
from headwater.model.dependency import Windowed
from headwater.model.error import DefinitionError
from headwater.model.reason import Code, Reason
from headwater.model.view import Column

WHOLE_NUMBERS = ("SMALLINT", "INT", "BIGINT")


def fitted(
    window: Window,
    text: PartitionText,
    column: Column,
    zone: str,
    *,
    source: str,
    names_zone: bool,
    labelled: bool = False,
) -> Windowed | Reason:
    """The map into a view's column, or why the column is free.

    Args:
        text: of a column of the source.
        zone: that of the view's sessions.
        source: the name of the source, for a refusal.
        names_zone: whether the window names the zone in which its hours are counted.
        labelled: whether the view's column spells all periods as ``spell_period`` does, as that of a job must.

    Raises:
        DefinitionError: another zone than UTC, and than that of the view, spelled the column's moments.
    """
    if text.shown not in UTC:
        refuse_misread(text, column.name, source)
    placed = _placed(window, text, names_zone)
    if isinstance(placed, Reason):
        return placed
    kind, own = plain(column.type).upper(), plain(text.type).upper()
    shown = _shown(placed, kind, own, zone)
    if shown is not None:
        return Windowed(text.name, shown, column.type)
    alike = window.of is window.upstream and kind == own
    if kind in MOMENTS or not (alike or labelled):
        several = f"`{column.name}` is a {kind}, which may spell each {window.of.value} in several ways"
        return Reason(Code.VIEW_DEPENDENCY_SPELLING, several)
    return Windowed(text.name, placed, column.type, alike=not labelled)


def is_label(type: str, unit: Unit) -> bool:
    """Whether a column of a type may have the text that ``spell_period`` makes of a unit's periods."""
    kind = plain(type).upper()
    return (
        kind in ("STRING", *MOMENTS)
        or (kind == "DATE" and unit is not Unit.HOUR)
        or (kind in WHOLE_NUMBERS and (kind != "SMALLINT" or unit is Unit.YEAR))
    )


def refuse_misread(text: PartitionText, column: str, source: str) -> None:
    """Refuses a rule over moments of which no SQL is the value in the view's sessions.

    Raises:
        DefinitionError: with the code of the reason.
    """
    if isinstance(text.value, Reason):
        why = text.value.text.replace("{source}", source)
        remedy = f"leave out the rule of {column}, or declare the view in the time zone {text.shown}"
        raise DefinitionError(text.value.code.value, f"{column} is stated by {text.name}, {why}; {remedy}")


def _placed(window: Window, text: PartitionText, names_zone: bool) -> Window | Reason:
    """The same window over the texts of a column. Those of moments in UTC are hours that lie in days of the session,
    and days of UTC overlap days of the session."""
    zone = "UTC" if text.zone in UTC else text.zone
    if window.upstream is Unit.HOUR and text.type == "DATE":
        return Reason(Code.VIEW_DEPENDENCY_SPELLING, f"`{text.name}` is a DATE, whose text names no HOUR")
    if not text.shown or (zone == "UTC" and text.shown in UTC):
        return window
    if text.shown in UTC and text.type == "DATE":
        return _beside(window, zone)
    if text.shown in UTC:
        counted = window.zone if names_zone else zone
        if window.of is Unit.HOUR or not calendar.is_known(counted):
            told = f"`{text.name}` has moments of UTC, and hours of {zone} are not counted by its text"
            return Reason(Code.QUERY_TIME_ZONE, told)
        return evolve(window, zone=counted) if window.upstream is Unit.HOUR else window.hours(counted)
    if (names_zone and window.zone != zone) or _moves_hours(window):
        told = f"`{text.name}` shows the clock of {zone}, on which hours cannot be counted"
        return Reason(Code.QUERY_TIME_ZONE, told)
    return evolve(window, zone="UTC")


def _beside(window: Window, zone: str) -> Window:
    """The periods of UTC that overlap those of a zone."""
    first, last = calendar.overlap(zone)
    days = window if window.upstream is Unit.DAY else window.days()
    moved = (days + first).to(days + last)
    return moved if window.upstream is Unit.DAY else moved.into(window.upstream)


def _shown(window: Window, kind: str, own: str, zone: str) -> Window | None:
    """The window whose periods are spelled as the view's column does in sessions of a zone; ``None`` if that is not
    certain.

    Args:
        kind: the type of the view's column.
        own: the type of the source's column.
    """
    counted, zone = ("UTC" if each in UTC else each for each in (window.zone, zone))
    if kind in WHOLE_NUMBERS:
        return window if window.of is Unit.YEAR else None
    if kind not in (*MOMENTS, "DATE"):
        return None
    if window.of is Unit.HOUR:
        plainly = counted == "UTC" and not (_moves_hours(window) and "TIMESTAMP" in (kind, own))
        return window if kind in MOMENTS and (zone == "UTC" or plainly) else None
    if kind != "TIMESTAMP" or counted == zone:
        return window
    # The beginning of a day is not midnight where the clock skips that, and without hours no other zone counts.
    return evolve(window, zone=zone) if Unit.HOUR not in _units(window) and calendar.is_known(zone) else None


def _units(window: Window) -> Iterator[Unit]:
    yield window.of
    yield from (step.unit for step in window.steps if isinstance(step, Into))


def _moves_hours(window: Window) -> bool:
    """Whether a window goes some hours on or back: a clock that is set skips one, or shows one twice."""
    unit = window.of
    for step in window.steps:
        match step:
            case Into(into):
                unit = into
            case Shift(first, last) if unit is Unit.HOUR and (first, last) != (0, 0):
                return True
    return False
