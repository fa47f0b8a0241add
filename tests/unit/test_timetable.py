"""Times that come again, and the zone in which a clock shows them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.model.error import StatementError
from headwater.model.timetable import Timetable, timetable
from headwater.model.zone import zoned

MINUTE = 60_000
ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Havana",
    "Asia/Kolkata",
    "Africa/Cairo",
    "+05:45",
    "GMT-3",
)


def ms(text: str, zone: str = "UTC") -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=zoned(zone)).timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("06:00", Timetable("0 6 * * *")),
        ("6:05", Timetable("5 6 * * *")),
        ("  23:59   Europe/Berlin ", Timetable("59 23 * * *", "Europe/Berlin")),
        ("06:00 +02:00", Timetable("0 6 * * *", "+02:00")),
        ("*/15 8-17 * * MON-FRI", Timetable("*/15 8-17 * * MON-FRI")),
        ("0 6 1 * * America/New_York", Timetable("0 6 1 * *", "America/New_York")),
    ],
)
def test_a_time_of_the_day_or_a_cron_text_with_or_without_a_zone(text, expected):
    assert timetable(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "soon",
        "",
        "24:00",
        "6",
        "06:60",
        "0 25 * * *",
        "0 0 30 2 *",
        "@daily",
        "0 6 * * * UTC UTC",
        "06:00 UTC +1",
        "0 6 * * * *",
        "06:00 ../../etc/passwd",
        "0 6 * * " + "9" * 5000,
    ],
)
def test_other_texts_are_refused(text):
    with pytest.raises(StatementError, match="is not a time; write one such as 06:00"):
        timetable(text)


@pytest.mark.parametrize("text", ["0 0 31 2,4 *", "0 6 */31 * SUN#2"])
def test_a_time_that_never_comes_is_refused(text):
    with pytest.raises(StatementError, match="is not a time"):
        timetable(text)


def test_its_own_zone_counts_before_that_of_others():
    assert timetable("06:00 UTC").following(ms("2026-07-01T00:00"), "Asia/Kolkata") == ms("2026-07-01T06:00")


def test_a_zone_that_is_not_known_here_counts_as_utc():
    """Another machine may know it, and all are to have the same record."""
    assert timetable("06:00 Mars/Olympus").following(ms("2026-07-01T00:00"), "UTC") == ms("2026-07-01T06:00")


def test_a_time_that_a_clock_skips_comes_when_it_goes_on():
    """In Berlin, 02:30 was not shown on 29 March 2026."""
    assert timetable("02:30 Europe/Berlin").following(ms("2026-03-28T12:00"), "UTC") == ms("2026-03-29T01:00")


@given(
    st.sampled_from(("06:00", "*/7 * * * *", "15 2 * * *", "0 0 29 2 *", "0 0 * * SUN", "59 23 31 12 *", "45 1 * * *")),
    st.sampled_from(ZONES),
    st.datetimes(datetime(1990, 1, 1), datetime(2080, 1, 1)),
)
def test_times_follow_each_other(text, zone, moment):
    asked, now = timetable(text), round(moment.replace(tzinfo=timezone.utc).timestamp() * 1000)
    first = asked.following(now, zone)
    assert first is not None and now < first
    assert asked.following(first - 1, zone) == first
    second = asked.following(first, zone)
    assert second is not None and first < second


@given(st.sampled_from(ZONES), st.datetimes(datetime(2000, 1, 1), datetime(2060, 1, 1)))
def test_each_time_is_found_as_by_trying_them_one_by_one(zone, moment):
    """The reference goes on minute by minute, and looks at the clock."""
    now = round(moment.replace(tzinfo=timezone.utc, second=0, microsecond=0).timestamp() * 1000)
    tried = datetime.fromtimestamp(now / 1000, timezone.utc) + timedelta(minutes=1)
    while tried.astimezone(zoned(zone)).minute != 20:
        tried += timedelta(minutes=1)
    assert timetable("20 * * * *").following(now, zone) == round(tried.timestamp() * 1000)
