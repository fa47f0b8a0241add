"""Frames of windows: for which queries a changed row reaches no more than the rows in whose frames it is."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.algebra.derive.keys import derive_keys
from headwater.model.dependency import Frames

K, D, V = "CAST(CAST(`k` AS STRING) AS STRING)", "CAST(CAST(`d` AS DATE) AS DATE)", 2
RANGE, ROWS = ("org.apache.spark.sql.catalyst.expressions." + each for each in ("RangeFrame$", "RowFrame$"))


def attribute(id: int) -> dict[str, Any]:
    return {"attr": id}


def literal(sql: str, type: str) -> dict[str, Any]:
    return {"lit": sql, "type": type}


def call(call: str, *args: dict[str, Any], type: str = "", name: str = "", kind: str = "scalar", **more: Any) -> dict:
    known = {"call": call, "name": name or call.lower(), "kind": kind, "sql": call, "args": [*args], "type": type}
    return {**known, "deterministic": True, **more}


def aggregate(name: str = "sum", value: int = V, type: str = "BIGINT", **more: Any) -> dict[str, Any]:
    return call(name.capitalize(), attribute(value), type=type, name=name, kind="aggregate", **more)


NOW = call("CurrentRow$")
YEAR = call("UnaryMinus", literal("INTERVAL '364' DAY", "INTERVAL DAY"), type="INTERVAL DAY")


FIRST, LAST = call("UnboundedPreceding$"), call("UnboundedFollowing$")


def frame(lower: dict = YEAR, upper: dict = NOW, of: str = RANGE) -> dict[str, Any]:
    return call("SpecifiedWindowFrame", lower, upper, beside=[{"of": of, "parts": []}])


def window(
    child: dict, function: dict | None = None, within: dict | None = None, by: tuple[int, ...] = (0,), order: int = 1
) -> dict:
    sorted_ = call("SortOrder", attribute(order), type="DATE")
    keys = [attribute(each) for each in by]
    spec = call("WindowSpecDefinition", *keys, sorted_, within or frame(), kind="window")
    over = call("WindowExpression", function or aggregate(), spec, type="BIGINT", kind="window")
    return {
        "op": "Window",
        "output": [*child["output"], 9],
        "children": [child],
        "partition_by": keys,
        "order_by": [sorted_],
        "windows": [{"alias": "w", "id": 9, "child": over}],
    }


def relation(types: dict[str, str] | None = None, table: str = "db.t", first: int = 0) -> dict[str, Any]:
    columns = [
        {"id": first + n, "name": name, "type": type}
        for n, (name, type) in enumerate({"k": "STRING", "d": "DATE", "v": "INT", **(types or {})}.items())
    ]
    known = {"op": "Relation", "output": [each["id"] for each in columns], "children": [], "columns": columns}
    return {**known, "kind": "file", "format": "parquet", "table": table, "partition_columns": []}


def project(child: dict, *ids: int) -> dict[str, Any]:
    return {"op": "Project", "output": [*ids], "children": [child], "projections": [attribute(each) for each in ids]}


def join(left: dict, right: dict, type: str = "INNER", on: tuple[int, int] = (0, 5)) -> dict[str, Any]:
    equal = call("EqualTo", *map(attribute, on), type="BOOLEAN")
    ids = left["output"] if "SEMI" in type else [*left["output"], *right["output"]]
    return {"op": "Join", "output": ids, "children": [left, right], "type": type, "condition": equal}


def frames(
    plan: dict, shown: tuple[int, ...] = (0, 1, 9), types: dict[str, str] | None = None, apart: tuple[str, ...] = ()
) -> dict[str, Frames | None]:
    known = {"k": "STRING", "d": "DATE", "v": "INT", **(types or {})}
    attributes = [{"id": n, "name": name, "type": type} for n, (name, type) in enumerate(known.items())]
    attributes += [{"id": 5 + n, "name": f"u{name}", "type": type} for n, (name, type) in enumerate(known.items())]
    attributes.append({"id": 9, "name": "w", "type": "BIGINT"})
    columns = [each for id in shown for each in attributes if each["id"] == id]
    description = {"columns": columns, "attributes": attributes, "plan": project(plan, *shown)}
    found = derive_keys(description, apart, [(each["name"], each["type"]) for each in columns])
    return {source: keys.frames for source, keys in found.items()}


def of_t(plan: dict, **more: Any) -> Frames | None:
    return frames(plan, **more)["db.t"]


FOLLOWED = Frames(("k", "d"), ((K, D),))


def test_a_changed_row_reaches_the_rows_in_whose_frames_it_is():
    assert of_t(window(relation())) == FOLLOWED


def test_both_columns_of_the_window_must_be_shown_as_they_are():
    assert of_t(window(relation()), shown=(0, 9)) is None
    assert of_t(window(relation()), shown=(1, 9)) is None
    assert of_t(window(relation()), apart=("d",)) is None


@pytest.mark.parametrize(
    "within",
    [frame(of=ROWS), frame(FIRST, NOW, of=ROWS), frame(FIRST, LAST)],
    ids=["rows", "rows from the first one", "all rows"],
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
