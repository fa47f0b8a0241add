"""Spelling values and slices in SQL, without Spark. ``tests/spark/test_partition_values.py`` asks Spark."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.model.partition import WHOLE, Slice
from headwater.spark.jvm import sql

TYPES = {"region": "STRING", "month": "DATE", "hour": "timestamp", "note": "VARCHAR(9)"}
EMPTY = "(`region` IS NULL OR `region` IN ('', '__HIVE_DEFAULT_PARTITION__'))"


@pytest.mark.parametrize(
    ("slices", "condition"),
    [
        ([WHOLE], "TRUE"),
        ([Slice.of(month="2024-01-01")], "`month` = CAST('2024-01-01' AS DATE)"),
        ([Slice.of(month=None)], "`month` IS NULL"),
        ([Slice.of(region=None)], EMPTY),
        ([Slice.of(region="EU"), Slice.of(region=None)], f"`region` = CAST('EU' AS STRING) OR {EMPTY}"),
        ([Slice.of(region=None, month="2024-01-01")], f"(`month` = CAST('2024-01-01' AS DATE) AND {EMPTY})"),
        ([Slice.of(hour="2024-10-27 02:00:00")], "CAST(`hour` AS STRING) = '2024-10-27 02:00:00'"),
        (
            [Slice.of(month="2024-01-01"), Slice.of(month="2024-02-01")],
            "`month` IN (CAST('2024-01-01' AS DATE), CAST('2024-02-01' AS DATE))",
        ),
    ],
)
def test_the_rows_of_slices(slices, condition):
    assert sql.predicate(slices, TYPES) == condition


@pytest.mark.parametrize("value", [None, "", "__HIVE_DEFAULT_PARTITION__"])
def test_values_of_the_null_partition(value):
    assert sql.partition_value(value) is None
    assert sql.is_null_partition(value, "VARCHAR(9)")
    assert sql.is_null_partition(value, "INT") == (value is None)


def test_other_values_are_themselves():
    assert sql.partition_value(" ") == " "
    assert not sql.is_null_partition(" ", "STRING")


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        (None, "NULL"),
        ("hi", "'hi'"),
        ("it's", "CAST(X'69742773' AS STRING)"),
        ("a\\b", "CAST(X'615C62' AS STRING)"),
        ("é'", "CAST(X'C3A927' AS STRING)"),
        ("${env:HOME}", "CAST(X'247B656E763A484F4D457D' AS STRING)"),
        ("a\nb", "CAST(X'610A62' AS STRING)"),
        ("\ud800", "CAST(X'3F' AS STRING)"),
        (b"hi", "'hi'"),
        (b"M\xfc", "CAST(X'4DFC' AS STRING)"),
    ],
)
def test_a_string_means_the_same_under_every_parser_setting(value, spelled):
    assert sql.string(value) == spelled


def test_a_literal_is_for_sessions_with_fixed_parser_settings():
    assert sql.literal("it's a\\b") == "'it\\'s a\\\\b'"


@given(st.text() | st.binary())
def test_no_text_has_a_variable(value):
    assert "${" not in sql.string(value)
    if isinstance(value, str):
        assert "${" not in sql.literal(value)


def test_bytes_that_are_no_utf_8_are_in_the_partition_that_is_named_so():
    assert sql.predicate([Slice.of(region="M\ufffd")], TYPES).startswith("make_valid_utf8(`region`) = CAST(")
