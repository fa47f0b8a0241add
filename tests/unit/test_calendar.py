"""Periods, windows and their notation against the calendar of Python's standard library."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra import calendar, notation
from headwater.model.calendar import DAY, HOUR, MONTH, QUARTER, WEEK, YEAR, ReversedRange, Unit, Window
from headwater.model.error import DefinitionError

DAYS = st.integers(-800_000, 3_000_000)


@given(st.dates())
def test_days_are_those_of_the_gregorian_calendar(day: date) -> None:
    number = (day - date(1970, 1, 1)).days
    assert calendar.days_from_civil(day.year, day.month, day.day) == number
    assert calendar.civil_from_days(number) == (day.year, day.month, day.day)


@given(st.dates())
def test_weeks_are_iso_weeks(day: date) -> None:
    week = calendar.of_day(Unit.WEEK, (day - date(1970, 1, 1)).days)
    year, number, _ = day.isocalendar()
    assert notation.spell_period(week, Unit.WEEK, "string") == f"{year:04d}-W{number:02d}"


@given(DAYS, st.sampled_from([Unit.DAY, Unit.WEEK, Unit.MONTH, Unit.QUARTER, Unit.YEAR]))
def test_a_period_holds_the_days_from_its_first_to_the_next_ones_first(day: int, unit: Unit) -> None:
    period = calendar.of_day(unit, day)
    assert calendar.first_day(unit, period) <= day < calendar.first_day(unit, period + 1)


@pytest.mark.parametrize(
    ("window", "of", "selected"),
    [
        (DAY, "2024-03-01", ("2024-03-01", "2024-03-01")),
        (DAY - 1, "2024-03-01", ("2024-02-29", "2024-02-29")),
        ((DAY - 3).to(DAY - 1), "2023-03-01", ("2023-02-26", "2023-02-28")),
        (WEEK.days(), "2025-W01", ("2024-12-30", "2025-01-05")),
        (MONTH.days(), "2024-02", ("2024-02-01", "2024-02-29")),
        (MONTH.weeks(), "2024-12", ("2024-W48", "2025-W01")),
        (YEAR.weeks(), "2026", ("2026-W01", "2026-W53")),
        (QUARTER.months(), "2024-Q1", ("2024-01", "2024-03")),
        (DAY.months(), "2024-02-29", ("2024-02", "2024-02")),
        (DAY.months() - 1, "2024-03-31", ("2024-02", "2024-02")),
        ((WEEK - 1).days(), "2025-W01", ("2024-12-23", "2024-12-29")),
        (WEEK.days() - 7, "2025-W01", ("2024-12-23", "2024-12-29")),
        (DAY.hours(), "2024-03-31", ("2024-03-31 00", "2024-03-31 23")),
        (DAY.hours("Europe/Berlin"), "2024-03-31", ("2024-03-30 23", "2024-03-31 21")),
        (DAY.hours("Europe/Berlin"), "2024-10-27", ("2024-10-26 22", "2024-10-27 22")),
        (HOUR.days(), "2024-02-29 13", ("2024-02-29", "2024-02-29")),
        ((DAY - 1).and_earlier(), "2024-03-01", (None, "2024-02-29")),
        (DAY.and_later(), "2024-03-01", ("2024-03-01", None)),
    ],
    ids=lambda each: notation.spell_window(each) if isinstance(each, Window) else None,
)
def test_what_a_window_selects(window: Window, of: str, selected: tuple[str | None, str | None]) -> None:
    found = calendar.backward(window, notation.parse_period(of, window.of))
    spelled = tuple(None if each is None else notation.spell_period(each, window.upstream, "string") for each in found)
    assert spelled == selected


def test_a_day_that_a_zone_skips_has_no_hours() -> None:
    skipped = notation.parse_period("2011-12-30", Unit.DAY)
    first, last = calendar.backward(DAY.hours("Pacific/Apia"), skipped)
    assert last < first


@pytest.mark.parametrize(
    "text",
    [
        "DAY", "DAY - 1", "DAY - 3 .. DAY - 1", ".. DAY - 1", "MONTH ..", "WEEK.days()", "(WEEK - 1).days()",
        "WEEK.days() - 7", "WEEK.days() - 7 .. WEEK.days()", "DAY.hours('Europe/Berlin')", "(MONTH.weeks() + 1).days()",
        "(DAY - 1 .. DAY).hours('Europe/Berlin')", "(.. MONTH).days() - 7 .. (.. MONTH).days()", "(DAY ..).hours()",
    ],
)  # fmt: skip
def test_windows_are_written_as_they_are_read(text: str) -> None:
    assert notation.is_window(text)
    assert notation.spell_window(notation.parse_window(text)) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("FORTNIGHT - 1", "one of HOUR"),
        ("DAY -", "a number of periods"),
        ("DAY.minutes()", "one of hours()"),
        ("DAY .. WEEK", "the same variable"),
        ("DAY .. DAY - 3", "from the earlier end to the later one"),
        ("DAY - 1 .. DAY - 3", "from the earlier end to the later one"),
        ("DAY.hours('PST')", "PST is no known time zone"),
        ("DAY.hours('')", "no known time zone"),
        ("(DAY - 1", "a ) is missing"),
        ("DAY 3", "a window ends here"),
        ("", "one of HOUR"),
    ],
)
def test_what_is_no_window_says_where(text: str, why: str) -> None:
    with pytest.raises(DefinitionError, match="here") as refused:
        notation.parse_window(text)
    assert why in str(refused.value)


def test_a_range_goes_from_the_earlier_end_to_the_later_one() -> None:
    for first, last in ((DAY, DAY - 3), (DAY - 1, DAY - 3), (WEEK.days(), WEEK.days() - 1)):
        with pytest.raises(ReversedRange, match="from the earlier end to the later one"):
            first.to(last)
        assert last.to(first).steps[-1].last >= last.to(first).steps[-1].first
    assert (DAY - 3).and_earlier().to(DAY - 4) == (DAY - 4).and_earlier()


def test_sql_is_not_taken_for_a_window() -> None:
    for text in ("trunc(day, 'MM')", "day(x)", "DAY(x)", "month", "all", "YEAR (d)"):
        assert not notation.is_window(text)


@pytest.mark.parametrize(
    ("text", "unit", "column_type", "spelled"),
    [
        ("2024-02-29", Unit.MONTH, "date", "2024-02-01"),
        ("2024-02", Unit.MONTH, "string", "2024-02"),
        ("202402", Unit.MONTH, "int", "202402"),
        ("2024-02-29 05:00:00", Unit.HOUR, "timestamp", "2024-02-29 05:00:00"),
        ("2024022905", Unit.HOUR, "bigint", "2024022905"),
        ("20240229", Unit.DAY, "int", "20240229"),
        ("2024-W09", Unit.WEEK, "date", "2024-02-26"),
        ("2024-Q4", Unit.QUARTER, "date", "2024-10-01"),
        ("2024", Unit.YEAR, "int", "2024"),
        ("9999-12-31", Unit.DAY, "date", "9999-12-31"),
        ("0001-01-01", Unit.YEAR, "date", "0001-01-01"),
    ],
)
def test_values_are_spelled_as_the_column_does(text: str, unit: Unit, column_type: str, spelled: str) -> None:
    assert notation.spell_period(notation.parse_period(text, unit), unit, column_type) == spelled


@pytest.mark.parametrize("text", [None, "", "US", "2024-02-30", "2024-13", "2024-Q5", "yesterday"])
def test_what_is_of_no_period(text: str | None) -> None:
    assert all(notation.parse_period(text, unit) is None for unit in Unit)


@given(st.integers(-5_000, 5_000), st.sampled_from(list(Unit)), st.sampled_from(["string", "date", "timestamp"]))
def test_what_is_spelled_is_read_again(offset: int, unit: Unit, column_type: str) -> None:
    if unit is Unit.HOUR and column_type == "date":
        return
    period = notation.parse_period("2024-06-15", unit) + offset
    if unit is Unit.YEAR and not 1 <= period <= 9999:
        return
    spelled = notation.spell_period(period, unit, column_type)
    if int(spelled[:4]) >= 1 and len(spelled.split("-")[0]) == 4:
        assert notation.parse_period(spelled, unit) == period


def test_first_days_follow_one_another() -> None:
    assert calendar.first_day(Unit.WEEK, 0) == (date(1969, 12, 29) - date(1970, 1, 1)) // timedelta(days=1)
