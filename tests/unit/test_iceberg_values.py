"""Partition values of Iceberg, the slices of its partition specs, and the filters of regions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.calendar import days_from_civil
from headwater.algebra.notation import spell_year
from headwater.model.calendar import Unit
from headwater.model.partition import WHOLE, Slice
from headwater.spark.tables.iceberg import values
from headwater.spark.tables.iceberg.at import At
from headwater.spark.tables.iceberg.partitioning import Field, Spec
from headwater.spark.tables.iceberg.regions import region


def test_a_state_is_spelled_and_read():
    for at in (
        *(At(8271638263827000000, 3, 1), At(8271638263827000000, 3, 1, 7)),
        *(At(5, 3, 1, names="0a1b2c"), At(5, 3, 1, 4, "0a1b2c")),
    ):
        assert At.of(str(at)) == at
    assert At.of("5@a242a32e:90802055") is None and At.of("") is None, "of another format"


# --- values


@pytest.mark.parametrize(
    ("value", "type", "zone", "text"),
    [
        (None, "int", "UTC", None),
        (True, "boolean", "UTC", "true"),
        (5, "long", "UTC", "5"),
        ("", "string", "UTC", None),
        ("-0.05", "decimal(3, 2)", "UTC", "-0.05"),
        ("2024-02-29", "date", "UTC", "2024-02-29"),
        ("2023-12-31T23:30:00+00:00", "timestamptz", "UTC", "2023-12-31 23:30:00"),
        ("2023-12-31T23:30:00.120000+00:00", "timestamptz", "Asia/Tokyo", "2024-01-01 08:30:00.12"),
        ("2023-12-31T23:30:00+00:00", "timestamptz", "-03:30", "2023-12-31 20:00:00"),
        ("2023-12-31T23:30:00", "timestamp", "Asia/Tokyo", "2023-12-31 23:30:00"),
    ],
)
def test_a_value_is_spelled_as_spark_casts_it(value, type, zone, text):
    assert values.spelled(value, type, zone) == text


def test_floating_numbers_and_bytes_have_no_spelling():
    assert not any(map(values.is_spelled, ("float", "double", "binary", "fixed[4]", "timestamp_ns", "time")))


def test_a_moment_that_a_clock_shows_twice_is_two():
    assert len(values.moments("2024-10-27 02:30:00", "Europe/Berlin")) == 2
    assert [each.hour for each in values.moments("2024-10-27 04:30:00", "Europe/Berlin")] == [3]
    assert values.moments("2024-03-31 02:30:00", "Europe/Berlin") == []  # no clock shows it


@given(hour=st.integers(-3_000_000, 3_000_000))
def test_each_unit_holds_the_periods_of_finer_ones(hour):
    """Iceberg's own numbers: years, months, days and hours since 1970."""
    day = hour // 24
    for unit in (Unit.DAY, Unit.MONTH, Unit.YEAR):
        [holding] = values.periods(hour, Unit.HOUR, unit)
        assert hour in values.periods(holding, unit, Unit.HOUR) and day in values.periods(holding, unit, Unit.DAY)
        assert values.read_period(values.spelled_period(holding, unit), unit) == holding


# --- slices

REGION, DAY = Field(1000, "region", 1, "identity", "string"), Field(1001, "ts_day", 2, "day", "timestamptz")
MONTH, HOUR = Field(1002, "ts_month", 2, "month", "timestamptz"), Field(1003, "ts_hour", 2, "hour", "timestamptz")
EXACT, BUCKET = Field(1004, "ts", 2, "identity", "timestamptz"), Field(1005, "id_bucket", 3, "bucket[8]", "long")


def spec(*fields: Field) -> Spec:
    return Spec(0, fields)


@pytest.mark.parametrize(
    ("now", "written", "file", "slices"),
    [
        ((REGION, BUCKET), (REGION, BUCKET), {"1000": "eu", "1005": 3}, [{"region": "eu"}]),
        ((DAY,), (DAY,), {"1001": "1969-12-31"}, [{"ts_day": "1969-12-31"}]),
        ((DAY,), (DAY,), {"1001": None}, [{"ts_day": None}]),
        ((MONTH,), (DAY,), {"1001": "1969-12-31"}, [{"ts_month": "1969-12"}]),
        ((MONTH,), (MONTH,), {"1002": -1}, [{"ts_month": "1969-12"}]),
        ((DAY,), (HOUR,), {"1003": -1}, [{"ts_day": "1969-12-31"}]),
        ((DAY,), (EXACT,), {"1004": "1969-12-31T23:59:59.9+00:00"}, [{"ts_day": "1969-12-31"}]),
        ((HOUR,), (EXACT,), {"1004": "1970-01-01T05:59:59+00:00"}, [{"ts_hour": "1970-01-01 05:00:00"}]),
        ((DAY,), (EXACT,), {"1004": None}, [{"ts_day": None}]),
        ((REGION, DAY), (DAY,), {"1001": "2024-01-01"}, [{"ts_day": "2024-01-01"}]),
        ((DAY,), (REGION, DAY), {"1000": "eu", "1001": "2024-01-01"}, [{"ts_day": "2024-01-01"}]),
        ((DAY,), (), {}, [{}]),
        ((), (DAY,), {"1001": "2024-01-01"}, [{}]),
    ],
)
def test_files_lie_in_slices_of_the_partitioning_of_now(now, written, file, slices):
    assert spec(*now).slices(spec(*written), file, "UTC") == list(map(Slice.of, slices))


def test_a_file_of_a_coarser_period_lies_in_each_finer_one():
    assert len(spec(DAY).slices(spec(MONTH), {"1002": 649}, "UTC")) == 29  # 2024-02
    [free] = spec(HOUR).slices(spec(Field(1006, "ts_year", 2, "year", "timestamptz"), BUCKET), {"1006": 54}, "UTC")[:1]
    assert free == Slice.of(ts_hour="2024-01-01 00:00:00")


def test_a_slice_of_fewer_columns_is_no_partition():
    both = spec(REGION, DAY, BUCKET)
    assert both.is_partition(Slice.of(region="eu", ts_day="2024-01-01")) and not both.is_partition(
        Slice.of(region="eu")
    )


def test_a_spec_is_read_from_icebergs_description():
    described = {
        "spec-id": 3,
        "fields": [
            {"name": "r", "transform": "identity", "source-id": 1, "field-id": 1000},
            {"name": "ts_day", "transform": "day", "source-id": 2, "field-id": 1001},
            {"name": "gone", "transform": "void", "source-id": 9, "field-id": 1002},
        ],
    }
    found = Spec.of(described, {1: ("region", "string"), 2: ("ts", "timestamptz")})
    assert [(each.name, each.binds) for each in found.fields] == [("region", True), ("ts_day", True), ("gone", False)]


# --- regions

TYPES = {"p": "string", "n": "int", "d": "date", "t": "timestamptz", "z": "timestamp", "b": "boolean"}


def filter(*slices: Slice, zone: str = "UTC"):
    return region(slices, TYPES, zone)


def test_the_whole_table_is_no_filter():
    assert filter(Slice.of(p="a"), WHOLE) is True and filter() is False


def test_values_of_one_column_are_one_list():
    assert filter(*(Slice.of(p=each) for each in "cab")) == {"type": "in", "term": "p", "values": ["a", "b", "c"]}


def test_the_null_partition_holds_the_empty_string_too():
    found = filter(Slice.of(p=None), Slice.of(p="a"))
    assert found["right"] == {"type": "is-null", "term": "p"}
    assert found["left"]["values"] == ["a", "", "__HIVE_DEFAULT_PARTITION__"]
    assert filter(Slice.of(n=None)) == {"type": "is-null", "term": "n"}


def test_the_column_with_the_most_values_is_listed_for_each_value_of_the_others():
    found = filter(*(Slice.of(p=p, n=str(n)) for p in "ab" for n in range(10)))
    assert found["type"] == "or"
    for side, p in (("left", "a"), ("right", "b")):
        held = found[side]
        assert held["left"]["values"] == [p] and held["right"]["values"] == list(range(10))


def test_values_have_the_form_of_their_types():
    def literals(zone: str = "UTC", **bound: str) -> list:
        return filter(Slice.of(bound), zone=zone)["values"]

    assert literals(b="true") == [True] and literals(n="-5") == [-5] and literals(d="2024-02-29") == ["2024-02-29"]
    assert literals(z="2024-01-01 00:00:00.125") == ["2024-01-01T00:00:00.125000"]
    assert literals("Asia/Tokyo", t="2024-01-01 08:30:00") == ["2023-12-31T23:30:00.000000+00:00"]
    assert len(literals("Europe/Berlin", t="2024-10-27 02:30:00")) == 2


def test_a_filter_of_many_slices_is_no_deeper_than_it_must_be():
    def depth(found) -> int:
        return 1 + max(depth(found["left"]), depth(found["right"])) if "left" in found else 1

    assert depth(filter(*(Slice.of(p=str(n), n=str(n)) for n in range(1000)))) <= 12


@pytest.mark.parametrize("year", [-4000, -1, 0, 1, 2, 1970, 9998, 9999, 10000, 290000])
def test_a_period_of_any_year_is_spelled_and_read(year):
    day = days_from_civil(year, 3, 4)
    for unit, told in ((Unit.HOUR, day * 24 + 5), (Unit.DAY, day), (Unit.MONTH, year * 12 + 2), (Unit.YEAR, year)):
        known = 0 < year < 10000
        assert values.read_period(values.spelled_period(told, unit), unit) == (told if known else None)
    spelled = f"{spell_year(year)}-03-04"
    assert values.spelled_period(day, Unit.DAY) == spelled and values.period(spelled, Unit.DAY) == day
    assert values.period_of(f"{spelled}T05:59:59.9+00:00", "timestamptz", Unit.HOUR) == day * 24 + 5
    assert values.period_of(spelled, "date", Unit.YEAR) == year
    assert values.spelled(f"{spelled}T05:00:00+00:00", "timestamptz", "+02:00") == f"{spelled} 07:00:00"
    assert values.instants(f"{spelled} 07:00:00", "+02:00") == [f"{spelled}T05:00:00.000000+00:00"]
    assert filter(Slice.of(z=f"{spelled} 07:00:00.5"))["values"] == [f"{spelled}T07:00:00.500000"]


def test_years_have_the_sign_that_spark_reads():
    assert [spell_year(each) for each in (-1, 0, 1, 9999, 10000)] == ["-0001", "0000", "0001", "9999", "+10000"]


def test_years_that_python_does_not_know_are_spelled_as_spark_does():
    assert values.spelled("+12000-05-01T01:02:03.100000+00:00", "timestamptz", "UTC") == "+12000-05-01 01:02:03.1"
    assert values.spelled("+12000-05-01T01:02", "timestamp", "Europe/Berlin") == "+12000-05-01 01:02:00"
