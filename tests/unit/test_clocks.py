"""What periods of UTC show on the clocks of all time zones, wherever these were set."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from functools import cache
from zoneinfo import ZoneInfo, available_timezones
from zoneinfo._zoneinfo import ZoneInfo as Listing  # the one in Python lists its transitions

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_derive_periods import TS, cast, occurrence

from headwater.algebra import calendar
from headwater.algebra.dependency import forward
from headwater.model.calendar import DAY, HOUR, Unit
from headwater.model.dependency import Dependency
from headwater.model.partition import Slice

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
ALL = sorted(available_timezones() - {"localtime", "Factory"})
SPELLED = {"hours": ("ts_hour", "%Y-%m-%d %H:00:00"), "days": ("ts_day", "%Y-%m-%d")}
"""The partition column of each transform, and how it spells the time in UTC."""


@cache
def to_date(transform: str, zone: str) -> Dependency:
    """Of a view by ``to_date(ts)`` over a table that is partitioned by periods of ``ts``."""
    return Dependency("t", (occurrence(cast(TS, "DATE"), transform, "TIMESTAMP", zone),))


def reached(transform: str, zone: str, partition: str) -> set[str]:
    return {
        each.value("c") for each in forward(to_date(transform, zone), Slice.of({SPELLED[transform][0]: partition}), {})
    }


def transitions(zone: str) -> list[datetime]:
    """When the clocks of a zone were set."""
    known = (EPOCH + timedelta(seconds=each) for each in Listing.no_cache(zone)._trans_utc if each > -6e10)
    return [each for each in known if each.year > 1]


def back_over_midnight(zone: str) -> Iterator[datetime]:
    clock = ZoneInfo(zone)
    for each in transitions(zone):
        if each.astimezone(clock).date() < (each - timedelta(seconds=1)).astimezone(clock).date():
            yield each


@pytest.mark.parametrize("transform", SPELLED)
def test_a_clock_that_is_set_back_over_midnight_shows_the_day_before_again(transform):
    checked = set()
    for zone in ALL:
        for each in back_over_midnight(zone):
            for seconds in (-7200, -3600, -61, -1, 0, 1, 59, 3599, 3600, 7200, 10_800, 86_399):
                moment = each + timedelta(seconds=seconds)
                partition = moment.strftime(SPELLED[transform][1])
                assert moment.astimezone(ZoneInfo(zone)).date().isoformat() in reached(transform, zone, partition), zone
                checked.add(zone)
    assert {"America/Moncton", "America/St_Johns", "America/Goose_Bay", "Antarctica/Casey"} <= checked


@given(zone=st.sampled_from(ALL), transform=st.sampled_from(sorted(SPELLED)), data=st.data())
@settings(max_examples=200, deadline=None)
def test_a_row_has_a_day_that_its_partition_reaches(zone, transform, data):
    moments = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31))
    if found := transitions(zone):
        about = st.sampled_from([each.replace(tzinfo=None) for each in found])
        moments |= st.builds(lambda at, by: at + timedelta(seconds=by), about, st.integers(-90_000, 90_000))
    moment = data.draw(moments)
    shown = moment.replace(tzinfo=timezone.utc).astimezone(ZoneInfo(zone)).date()
    partition = {"hours": f"{moment.isoformat(' ')[:13]}:00:00", "days": moment.isoformat()[:10]}[transform]
    assert shown.isoformat() in reached(transform, zone, partition)


@pytest.mark.parametrize(
    ("zone", "transform", "partition", "days"),
    [
        ("America/Moncton", "hours", "2006-10-29 03:00:00", {"2006-10-28", "2006-10-29"}),
        ("America/New_York", "hours", "0001-01-01 00:00:00", {"0000-12-31"}),
        ("Asia/Tokyo", "hours", "9999-12-31 20:00:00", {"+10000-01-01"}),
        ("Asia/Kolkata", "hours", "2024-05-01 18:00:00", {"2024-05-01", "2024-05-02"}),
        ("Asia/Kolkata", "hours", "2024-05-01 19:00:00", {"2024-05-02"}),
        ("Europe/Berlin", "hours", "2024-05-01 22:00:00", {"2024-05-02"}),
    ],
)
def test_an_hour_reaches_the_days_that_it_is_in(zone, transform, partition, days):
    assert reached(transform, zone, partition) == days


@pytest.mark.parametrize(
    "zone", ["Europe/London", "GB", "Europe/Belfast", "Asia/Manila", "Pacific/Guam", "Pacific/Saipan"]
)
def test_clocks_showed_local_mean_time_before_they_were_set_first(zone):
    offset = datetime(2, 1, 1, tzinfo=timezone.utc).astimezone(ZoneInfo(zone)).utcoffset()
    assert offset < timedelta(0)
    assert "0000-12-31" in reached("days", zone, "0001-01-01")


def test_a_clock_that_is_set_back_by_hours_shows_two_days_by_turns():
    """Casey went back from 2 o'clock to 23 o'clock of the day before, on 5 March 2010."""
    zone, day = "Antarctica/Casey", calendar.days_from_civil(2010, 3, 5)
    before, after = (calendar.backward(DAY.hours(zone), each) for each in (day - 1, day))
    assert before[1] == day * 24 - 11 + 2 and after[0] == day * 24 - 11
    assert [calendar.backward(HOUR.days(), hour) for hour in (0, 23, 24)] == [(0, 0), (0, 0), (1, 1)]
    for hour in range(after[0], before[1] + 1):
        assert calendar.forward(DAY.hours(zone), hour) == (day - 1, day)
        assert calendar.backward(HOUR.into(Unit.DAY, zone), hour) == (day - 1, day)
