"""Windows of which a query has the first rows: a row after these reaches nothing."""

from __future__ import annotations

import pytest
from window_plans import (
    FIRST,
    NOW,
    ROWS,
    D,
    K,
    aggregate,
    attribute,
    call,
    frame,
    join,
    literal,
    of_t,
    project,
    relation,
    window,
)

from headwater.model.dependency import Foremost


def ranked(rank: str = "RowNumber") -> dict:
    return window(relation(), call(rank, kind="window", type="INT"), frame(FIRST, NOW, of=ROWS))


def limited(plan: dict, comparison: str = "LessThanOrEqual", most: str = "3", column: int = 9) -> dict:
    condition = call(comparison, attribute(column), literal(most, "INT"), type="BOOLEAN")
    return {"op": "Filter", "output": plan["output"], "children": [plan], "condition": condition}


def first(most: int) -> Foremost:
    return Foremost(("k", "d"), ((K, D),), 1, most)


@pytest.mark.parametrize("rank", ["RowNumber", "Rank"])
def test_a_query_has_the_first_rows_of_a_partition(rank):
    assert of_t(limited(ranked(rank))) == first(3)


@pytest.mark.parametrize("comparison, most", [("LessThanOrEqual", 3), ("LessThan", 2), ("EqualTo", 3)])
def test_a_condition_says_how_many(comparison, most):
    assert of_t(limited(ranked(), comparison)) == first(most)


def test_the_least_of_several_numbers_counts():
    assert of_t(limited(limited(ranked()), most="2")) == first(2)
    assert of_t(limited(limited(ranked()), most="5")) == first(3)


@pytest.mark.parametrize(
    "plan",
    [
        ranked(),
        limited(ranked("DenseRank")),
        limited(ranked("NTile")),
        limited(window(relation(), aggregate(), frame(FIRST, NOW, of=ROWS))),
        limited(ranked(), "GreaterThanOrEqual"),
        limited(ranked(), column=2),
        limited(ranked(), most="0"),
        limited(ranked(), most="CAST(NULL AS INT)"),
        {**limited(ranked()), "condition": call("Or", limited(ranked())["condition"], attribute(2), type="BOOLEAN")},
    ],
    ids=["no condition", "dense", "ntile", "sum", "the last ones", "another column", "none", "null", "or"],
)
def test_other_queries_may_have_other_rows(plan):
    assert of_t(plan) is None


def test_values_of_rows_in_the_view_do_not_depend_on_those_after_them():
    plan = ranked()
    for name, followed in (("DenseRank", True), ("PercentRank", False), ("Lead", False)):
        [other] = window(relation(), call(name, kind="window"), frame(FIRST, NOW, of=ROWS))["windows"]
        both = {**plan, "windows": [*plan["windows"], {**other, "id": 5}], "output": [0, 1, 2, 9, 5]}
        assert (of_t(limited(both)) is not None) == followed


def test_a_join_above_may_make_several_rows_of_one():
    assert of_t(join(limited(ranked()), relation(table="db.u", first=5), "LEFT OUTER")) is None


def test_the_number_may_be_shown_under_another_name():
    below = {**project(ranked(), 0, 1), "output": [0, 1, 6]}
    below["projections"] = [*below["projections"], {"alias": "ud", "id": 6, "child": attribute(9)}]
    assert of_t(limited(below, column=6), shown=(0, 1, 6)) == first(3)
    assert of_t(limited(below, column=1), shown=(0, 1, 6)) is None
