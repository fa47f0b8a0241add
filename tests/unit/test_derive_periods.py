"""Maps from the periods that a table is partitioned by, by hand. ``test_iceberg_periods`` asks Spark for them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.algebra import calendar
from headwater.algebra.dependency import forward
from headwater.algebra.derive import derive
from headwater.algebra.notation import spell_window, spellings
from headwater.model.calendar import Unit
from headwater.model.dependency import Computed, Dependency, Expression, Occurrence, Same, Windowed
from headwater.model.partition import WHOLE, Slice, of_unit

BERLIN, NEW_YORK, INDIA = "Europe/Berlin", "America/New_York", "Asia/Kolkata"


def call(name: str, sql: str, type: str, *args: Mapping) -> dict:
    known = {"kind": "scalar", "deterministic": True, "standalone": True, "name": name.lower()}
    return {"call": name, "sql": sql, "type": type, "args": list(args), **known}


def literal(text: str) -> dict:
    return {"lit": f"'{text}'", "type": "STRING"}


def cast(value: Mapping, type: str) -> dict:
    return call("Cast", f"CAST(`$0` AS {type})", type, value)


def date_trunc(unit: str, value: Mapping) -> dict:
    return call("TruncTimestamp", "date_trunc(`$0`, `$1`)", "TIMESTAMP", literal(unit), value)


def trunc(value: Mapping, unit: str) -> dict:
    return call("TruncDate", "trunc(`$0`, `$1`)", "DATE", value, literal(unit))


def year(value: Mapping) -> dict:
    return call("Year", "year(`$0`)", "INT", value)


TS = {"attr": 0}


def occurrence(
    expression: Mapping,
    transform: str = "days",
    type: str = "TIMESTAMP",
    zone: str = "UTC",
    declared: str = "",
    spelled: str = "UTC",
    **facts: object,
) -> Occurrence:
    """Of a view that is partitioned by an expression over ``ts``, which its table is partitioned by periods of."""
    relation = {
        "op": "Relation",
        "output": [0],
        "children": [],
        "kind": "iceberg",
        "format": "iceberg",
        "table": "lake.db.t",
        "partition_columns": [],
        "transforms": [{"name": transform, "over": ["ts"], "arguments": []}],
        "zone": zone,
        "columns": [{"id": 0, "name": "ts", "type": type}],
        **facts,
    }
    made = expression.get("type", type)
    attributes = [{"id": 0, "name": "ts", "type": type}, {"id": 1, "name": "c", "type": made}]
    alias = {"alias": "c", "id": 1, "child": expression}
    plan = {"op": "Project", "output": [1], "children": [relation], "projections": [alias]}
    described = {"columns": [attributes[1]], "attributes": attributes, "plan": plan, "clock": [], "patterns": []}
    [dependency] = derive(described, ["c"], [("c", declared or made)], lambda table: spelled).dependencies
    return dependency.occurrences[0]


def mapped(expression: Mapping, *arguments: str, **facts: object) -> Expression | None:
    return dict(occurrence(expression, *arguments, **facts).columns).get("c")


def window(expression: Mapping, *arguments: str, **facts: object) -> str:
    found = mapped(expression, *arguments, **facts)
    assert isinstance(found, Windowed) and found.nulls
    return spell_window(found.window)


def test_the_partition_column_is_named_by_the_unit():
    assert of_unit("ts", Unit.DAY, ["ts", "id"]) == "ts_day"
    assert of_unit("ts", Unit.DAY, ["ts", "TS_DAY"]) == "ts_day_"


def test_a_day_is_the_day():
    assert mapped(cast(TS, "DATE")) == Same("ts_day") == mapped(cast(TS, "DATE"), declared="STRING")
    assert mapped(date_trunc("HOUR", TS), "hours") == Same("ts_hour")
    assert mapped(TS, "days", "DATE") == Same("ts_day")


@pytest.mark.parametrize(
    ("expression", "transform", "type", "expected"),
    [
        (date_trunc("MONTH", TS), "days", "TIMESTAMP", "MONTH.days()"),
        (date_trunc("DAY", TS), "days", "TIMESTAMP", "DAY"),
        (date_trunc("HOUR", TS), "days", "TIMESTAMP", "HOUR.days()"),
        (date_trunc("DAY", TS), "months", "TIMESTAMP", "DAY.months()"),
        (date_trunc("WEEK", TS), "months", "TIMESTAMP", "WEEK.months()"),
        (year(cast(TS, "DATE")), "hours", "TIMESTAMP", "YEAR.hours()"),
        (trunc(cast(TS, "DATE"), "MM"), "hours", "TIMESTAMP_NTZ", "MONTH.hours()"),
        (trunc(TS, "MM"), "months", "DATE", "MONTH"),
        (cast(date_trunc("MONTH", TS), "DATE"), "years", "TIMESTAMP", "MONTH.years()"),
        (cast(date_trunc("HOUR", TS), "DATE"), "months", "TIMESTAMP", "DAY.months()"),
    ],
)
def test_a_period_is_a_window_of_the_partitions(expression, transform, type, expected):
    assert window(expression, transform, type) == expected


@pytest.mark.parametrize(
    ("expression", "transform", "zone", "expected"),
    [
        (cast(TS, "DATE"), "days", BERLIN, "DAY - 1 .. DAY"),
        (cast(TS, "DATE"), "days", NEW_YORK, "DAY .. DAY + 1"),
        (cast(TS, "DATE"), "days", "+02:00", "DAY - 1 .. DAY + 1"),  # clocks of offsets are not known here
        (date_trunc("MONTH", TS), "days", BERLIN, "MONTH.days() - 1 .. MONTH.days()"),
        (cast(TS, "DATE"), "hours", INDIA, "DAY.hours('Asia/Kolkata')"),
    ],
)
def test_another_zone_shows_a_partition_in_two_periods(expression, transform, zone, expected):
    assert window(expression, transform, zone=zone) == expected


def test_values_without_a_zone_are_the_same_in_all_zones():
    assert mapped(cast(TS, "DATE"), "days", "TIMESTAMP_NTZ", BERLIN) == Same("ts_day")
    assert window(date_trunc("MONTH", cast(TS, "TIMESTAMP")), "months", "DATE", BERLIN) == "MONTH"
    assert window(trunc(cast(TS, "DATE"), "MM"), "hours", "TIMESTAMP_NTZ", BERLIN) == "MONTH.hours()"


def test_a_clock_that_skips_an_hour_may_show_a_value_on_the_next_day():
    found = mapped(date_trunc("DAY", cast(TS, "TIMESTAMP")), "days", "TIMESTAMP_NTZ", BERLIN)
    assert isinstance(found, Windowed) and found.window.steps[0].first == -1


def test_a_zone_that_left_out_a_day_shows_a_date_on_the_next():
    found = mapped(date_trunc("MONTH", cast(TS, "TIMESTAMP")), "months", "DATE", "Pacific/Apia")
    assert isinstance(found, Windowed) and "- 1" in window(
        date_trunc("MONTH", cast(TS, "TIMESTAMP")), "months", "DATE", "Pacific/Apia"
    )


def test_any_function_that_is_the_same_all_day_is_computed_from_the_day():
    month = call("Month", "month(`$0`)", "INT", cast(TS, "DATE"))
    found = mapped(month)
    assert found == Computed(
        "CAST(CAST(month(CAST(CAST(CAST(`ts_day` AS DATE) AS TIMESTAMP) AS DATE)) AS INT) AS STRING)", ("ts_day",)
    )
    assert mapped(month, zone=BERLIN) is None
    pattern = call("DateFormatClass", "date_format(`$0`, `$1`)", "STRING", TS, literal("yyyy-MM"))
    assert isinstance(mapped(pattern), Computed) and mapped(pattern, "months") == mapped(pattern, "months")
    assert mapped(call("Hour", "hour(`$0`)", "INT", TS)) is None


def test_a_week_may_begin_in_the_month_before():
    month = call("Month", "month(`$0`)", "INT", cast(date_trunc("WEEK", TS), "DATE"))
    assert mapped(month, "months") is None and isinstance(mapped(month, "days"), Computed)
    assert mapped(date_trunc("MONTH", date_trunc("WEEK", TS)), "months") is None


def test_a_moment_itself_is_not_known():
    (found,) = [occurrence(TS)]
    assert not found.columns and found.reason.text == "`c` has no one period of those that t is partitioned by"


def test_buckets_say_nothing():
    found = occurrence(TS, transforms=[{"name": "bucket", "over": ["ts"], "arguments": ["8"]}])
    assert not found.columns and "bucket(8, ts)" in found.reason.text


def test_a_timestamp_is_known_from_its_text_in_utc_or_in_the_same_zone():
    by = {"partition_columns": ["ts"], "transforms": []}
    assert mapped(TS, **by) == mapped(TS, zone=BERLIN, spelled=BERLIN, **by) == Same("ts")
    assert mapped(TS, zone=BERLIN, **by) == Computed(
        "CAST(CAST(CAST(concat(`ts`, 'Z') AS TIMESTAMP) AS TIMESTAMP) AS STRING)", ("ts",)
    )
    found = occurrence(TS, spelled=BERLIN, **by)
    assert not found.columns and "declared in the time zone Europe/Berlin" in found.reason.text
    read = Computed("CAST(CAST(CAST(`ts` AS TIMESTAMP) AS TIMESTAMP) AS STRING)", ("ts",))
    assert mapped(TS, kind="file", zone=BERLIN, **by) == read, "the clock may skip the hour in the name of a directory"
    assert mapped(TS, kind="file", **by) == Same("ts")


def test_a_text_of_two_moments_tells_what_the_clock_shows_and_no_more():
    """At the end of summer time Berlin's clock shows two hours alike. An hour later it shows 2:30 or 3:30."""
    by = {"partition_columns": ["ts"], "transforms": [], "zone": BERLIN, "spelled": BERLIN}
    assert mapped(TS, **by) == Same("ts")
    assert mapped(cast(TS, "DATE"), **by) is not None and mapped(year(cast(TS, "DATE")), **by) is not None
    assert mapped(TS, declared="DATE", **by) is not None
    assert mapped(TS, declared="BIGINT", **by) is None
    assert mapped(cast(TS, "BIGINT"), **by) is None
    assert mapped(date_trunc("HOUR", TS), **by) is not None
    assert mapped(cast(date_trunc("HOUR", TS), "BIGINT"), **by) is None
    for found in (occurrence(cast(TS, "BIGINT"), **by), occurrence(TS, declared="BIGINT", **by)):
        assert "a clock that is set back shows two moments alike" in found.reason.text
    assert mapped(cast(TS, "BIGINT"), **{**by, "spelled": "UTC"}) is not None
    assert mapped(cast(TS, "BIGINT"), **{**by, "zone": "UTC", "spelled": "UTC"}) is not None
    assert mapped(cast(TS, "BIGINT"), **{**by, "kind": "file"}) is not None, "a directory is read as one moment"


def test_a_null_partition_reaches_the_null_partition():
    dependency = Dependency("t", (occurrence(date_trunc("MONTH", TS)),))
    assert forward(dependency, Slice.of(ts_day=None), {}) == (Slice.of(c=None),)
    stated = Dependency(
        "t", (Occurrence((("c", Windowed("ts_day", dependency.occurrences[0].columns[0][1].window)),)),)
    )
    assert forward(stated, Slice.of(ts_day=None), {}) == (WHOLE,)


# --- beside a slow reference

REFERENCE = {
    "date": (cast(TS, "DATE"), lambda shown: f"{shown:%Y-%m-%d}"),
    "month": (trunc(cast(TS, "DATE"), "MM"), lambda shown: f"{shown:%Y-%m}-01"),
    "week": (trunc(cast(TS, "DATE"), "WEEK"), lambda shown: f"{shown - timedelta(days=shown.weekday()):%Y-%m-%d}"),
    "quarter": (
        cast(date_trunc("QUARTER", TS), "DATE"),
        lambda shown: f"{shown:%Y}-{(shown.month - 1) // 3 * 3 + 1:02d}-01",
    ),
    "year": (year(TS), lambda shown: f"{shown.year}"),
}
"""Each an expression, and its text for the time that a clock shows."""
PARTITIONS = {
    "years": ("ts_year", "%Y"),
    "months": ("ts_month", "%Y-%m"),
    "days": ("ts_day", "%Y-%m-%d"),
    "hours": ("ts_hour", "%Y-%m-%d %H:00:00"),
}
"""The partition column of each transform, and how it spells the time in UTC."""
AROUND = [
    *(datetime(2024, 3, 31, 1), datetime(2024, 10, 27, 1), datetime(2024, 3, 10, 7), datetime(2024, 11, 3, 6)),
    *(datetime(2018, 11, 4, 3), datetime(2011, 12, 30, 10), datetime(1919, 3, 31, 4, 30), datetime(1970, 1, 1)),
]
"""Moments of UTC at which clocks of some zone are set, or a zone goes over the date line."""


@given(
    moment=st.datetimes(datetime(1850, 1, 2), datetime(2090, 1, 1))
    | st.builds(lambda at, by: at + timedelta(seconds=by), st.sampled_from(AROUND), st.integers(-90_000, 90_000)),
    zone=st.sampled_from(
        ("UTC", BERLIN, NEW_YORK, INDIA, "America/Sao_Paulo", "America/Toronto", "Pacific/Apia", "Pacific/Kiritimati")
    ),
    transform=st.sampled_from(sorted(PARTITIONS)),
    wanted=st.sampled_from(sorted(REFERENCE)),
    type=st.sampled_from(("TIMESTAMP", "TIMESTAMP_NTZ")),
)
@settings(max_examples=150, deadline=None)
def test_a_row_is_in_the_image_of_its_partition(moment, zone, transform, wanted, type):
    """A row of the table lies in a partition, and makes a row of a partition of the view. Reached is nothing else than
    a moment of the partition makes, or one that is a day from it."""

    def made(at: datetime) -> str:
        return reference(at.replace(tzinfo=timezone.utc).astimezone(ZoneInfo(zone)) if type == "TIMESTAMP" else at)

    column, spelling = PARTITIONS[transform]
    expression, reference = REFERENCE[wanted]
    dependency = Dependency("t", (occurrence(expression, transform, type, zone),))
    image = {each.value("c") for each in forward(dependency, Slice.of({column: moment.strftime(spelling)}), {})}
    assert made(moment) in image
    halves = (moment + timedelta(hours=12 * n) for n in range(-734, 735))
    inside = [at for at in halves if at.strftime(spelling) == moment.strftime(spelling)]
    assert image <= {reference(at + timedelta(days=days)) for at in inside for days in (-1, 0, 1)}


# --- clocks


@pytest.mark.parametrize(
    ("zone", "overlap", "skips"),
    [
        ("UTC", (0, 0), False),
        (BERLIN, (-1, 0), False),
        (NEW_YORK, (0, 1), False),
        ("Pacific/Apia", (-1, 1), True),
        ("nowhere", (-1, 1), True),
    ],
)
def test_zones_overlap_days_of_utc(zone, overlap, skips):
    assert calendar.overlap(zone) == overlap and calendar.skips_days(zone) == skips


def test_a_day_begins_when_its_clock_first_shows_it():
    day = calendar.days_from_civil(2018, 11, 4)
    assert spellings(day, Unit.DAY, "timestamp", "America/Sao_Paulo") == ("2018-11-04 01:00:00",)
    assert spellings(day, Unit.DAY, "timestamp", BERLIN) == ("2018-11-04 00:00:00",)
    assert spellings(day, Unit.DAY, "date", "America/Sao_Paulo") == ("2018-11-04",)


def test_a_day_has_two_beginnings_where_clocks_skip_the_time_around_midnight():
    day = calendar.days_from_civil(1919, 3, 31)
    assert spellings(day, Unit.DAY, "timestamp", "America/Toronto") == ("1919-03-31 00:30:00", "1919-03-31 01:00:00")


def test_years_that_python_does_not_know_are_spelled_too():
    day = calendar.days_from_civil(10_000, 1, 1)
    assert spellings(day, Unit.DAY, "timestamp", BERLIN) == ("+10000-01-01 00:00:00",)
    assert spellings(day, Unit.DAY, "date", BERLIN) == ("+10000-01-01",)


@given(
    day=st.integers(-25_000, 40_000),
    zone=st.sampled_from((BERLIN, NEW_YORK, INDIA, "America/Toronto", "Pacific/Apia", "Europe/London")),
)
def test_a_day_of_a_zone_lies_in_the_days_of_utc_that_it_overlaps(day, zone):
    first, last = calendar.overlap(zone)
    moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(days=day)
    for hour in range(24):
        local = (moment + timedelta(hours=hour)).astimezone(ZoneInfo(zone))
        shown = calendar.days_from_civil(local.year, local.month, local.day)
        assert shown + first <= day <= shown + last
