"""Frames of windows: for which queries a changed row reaches no more than the rows in whose frames it is."""

from __future__ import annotations

import pytest
from window_plans import (
    FIRST,
    LAST,
    NOW,
    ROWS,
    YEAR,
    D,
    K,
    aggregate,
    attribute,
    call,
    frame,
    frames,
    join,
    literal,
    of_t,
    project,
    relation,
    window,
)

from headwater.model.dependency import Frames

FOLLOWED = Frames(("k", "d"), ((K, D),))


def test_a_changed_row_reaches_the_rows_in_whose_frames_it_is():
    assert of_t(window(relation())) == FOLLOWED


def test_both_columns_of_the_window_must_be_shown_as_they_are():
    assert of_t(window(relation()), shown=(0, 9)) is None
    assert of_t(window(relation()), shown=(1, 9)) is None
    assert of_t(window(relation()), apart=("d",)) is None


@pytest.mark.parametrize(
    "within", [frame(FIRST, NOW, of=ROWS), frame(FIRST, LAST)], ids=["rows from the first one", "all rows"]
)
def test_other_frames_are_not_followed(within):
    assert of_t(window(relation(), within=within)) is None


@pytest.mark.parametrize("within", [frame(FIRST), frame(upper=LAST), frame(FIRST, YEAR)])
def test_a_frame_may_reach_to_the_first_or_the_last_row(within):
    assert of_t(window(relation(), within=within)) == FOLLOWED


@pytest.mark.parametrize(
    "function",
    [
        aggregate("sum", type="DOUBLE", distinct=True),
        call("Rank", kind="window"),
        aggregate("first"),
        aggregate("sum", filter=call("IsNotNull", attribute(2), type="BOOLEAN")),
    ],
    ids=["distinct", "rank", "first", "filter"],
)
def test_other_functions_are_not_followed(function):
    assert of_t(window(relation(), function)) is None


@pytest.mark.parametrize("name", ["min", "max", "sum", "avg"])
def test_values_whose_order_decides_are_not_followed(name):
    for type, followed in (("DOUBLE", False), ("INT", True), ("DECIMAL(10,2)", True)):
        function = {**aggregate("average" if name == "avg" else name), "name": name}
        found = of_t(window(relation({"v": type}), function), types={"v": type})
        assert (found is not None) == followed


SECONDS = literal("INTERVAL '86399' SECOND", "INTERVAL SECOND")


@pytest.mark.parametrize(
    "type, bound, followed",
    [
        ("DATE", literal("-3", "INT"), True),
        ("DATE", literal("INTERVAL '-1' MONTH", "INTERVAL MONTH"), True),
        ("DATE", literal("CAST(NULL AS INTERVAL DAY)", "INTERVAL DAY"), False),
        ("TIMESTAMP", SECONDS, True),
        ("TIMESTAMP", call("UnaryMinus", SECONDS, type="INTERVAL SECOND"), True),
        ("TIMESTAMP", literal("INTERVAL '24' HOUR", "INTERVAL HOUR"), False),
        ("TIMESTAMP", YEAR, False),
        ("TIMESTAMP", literal("INTERVAL '1' MONTH", "INTERVAL MONTH"), False),
        ("TIMESTAMP_NTZ", YEAR, True),
        ("TIMESTAMP_NTZ", literal("INTERVAL '1' MONTH", "INTERVAL MONTH"), False),
        ("INT", literal("-3", "INT"), True),
        ("BIGINT", literal("-3", "INT"), False),
        ("DECIMAL(4,2)", literal("-3.00", "DECIMAL(4,2)"), True),
        ("DOUBLE", literal("-3.0D", "DOUBLE"), False),
    ],
)
def test_a_frame_is_followed_if_its_ends_never_go_back(type, bound, followed):
    found = of_t(window(relation({"d": type}), within=frame(bound)), types={"d": type})
    assert (found is not None) == followed


def test_operators_below_are_those_that_make_the_same_rows_each_time():
    child = relation()
    filtered = {"op": "Filter", "output": [0, 1, 2], "children": [child], "condition": call("IsNotNull", attribute(2))}
    assert of_t(window(filtered)) == FOLLOWED
    chance = {**filtered, "condition": call("Rand", type="BOOLEAN", deterministic=False)}
    assert of_t(window(chance)) is None
    sampled = {"op": "Sample", "output": [0, 1, 2], "children": [child], "expressions": [], "facts": []}
    assert of_t(window(sampled)) is None
    other = relation(table="db.u", first=5)
    by_chance = {**sampled, "output": other["output"], "children": [other]}
    assert of_t(window(join(relation(), other))) == FOLLOWED
    assert of_t(window(join(relation(), by_chance))) is None


def test_operators_above_make_rows_of_one_row_each():
    above = {
        "op": "Filter",
        "output": [0, 1, 2, 9],
        "children": [window(relation())],
        "condition": call("IsNull", attribute(9)),
    }
    assert of_t(above) == FOLLOWED
    assert of_t({**above, "condition": call("Rand", type="BOOLEAN", deterministic=False)}) is None
    limited = {
        "op": "GlobalLimit",
        "output": [0, 1, 2, 9],
        "children": [window(relation())],
        "expressions": [],
        "facts": [],
    }
    assert of_t(limited) is None


def test_a_table_that_is_joined_above_reaches_rows_by_its_keys_alone():
    found = frames(join(window(relation()), relation(table="db.u", first=5)))
    assert found == {"db.t": FOLLOWED, "db.u": None}


def test_a_join_above_keeps_the_rows_of_the_window_apart():
    other = relation(table="db.u", first=5)
    assert of_t(join(window(relation()), other, "LEFT OUTER")) == FOLLOWED
    assert of_t(join(other, window(relation()), "LEFT OUTER"), shown=(5, 0, 1, 9)) is None
    assert of_t(join(window(relation()), other, "FULL OUTER")) is None


def test_a_table_that_is_joined_below_has_frames_if_it_tells_both_columns():
    other = relation(table="db.u", first=5)
    found = frames(window(join(relation(), other)))
    assert found == {"db.t": FOLLOWED, "db.u": None}


def test_a_table_that_is_read_above_and_below_has_none():
    assert of_t(join(window(relation()), relation(first=5))) is None


def test_each_of_several_windows_would_have_other_frames():
    assert of_t({**window(window(relation())), "output": [0, 1, 2, 9]}) is None


def test_a_column_that_a_window_is_ordered_by_may_be_shown_under_another_name():
    below = {**project(relation(), 0, 1, 2), "output": [0, 1, 2, 6]}
    renamed = {"alias": "ud", "id": 6, "child": attribute(1)}
    below["projections"] = [*below["projections"], renamed]
    assert of_t(window(below), shown=(0, 6, 9)) == Frames(("k", "ud"), ((K, D),))
    other = {"alias": "ud", "id": 6, "child": call("DateAdd", attribute(1), literal("1", "INT"), type="DATE")}
    below["projections"] = [*below["projections"][:-1], other]
    assert of_t(window(below), shown=(0, 6, 9)) is None
