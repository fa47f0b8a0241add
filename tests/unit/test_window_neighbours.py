"""Windows of which a changed row reaches few rows beside it: ``ROWS`` frames, ``lag`` and ``lead``."""

from __future__ import annotations

import pytest
from window_plans import (
    FIRST,
    LAST,
    NOW,
    ROWS,
    D,
    K,
    aggregate,
    attribute,
    call,
    frame,
    literal,
    of_t,
    relation,
    window,
)

from headwater.model.dependency import Neighbours

ONE = literal("-1", "INT")
BESIDE = Neighbours(("k", "d"), ((K, D),), 1)
V = "CAST(CAST(`v` AS INT) AS INT)"


def offset(name: str = "Lag", ignores: str = "false") -> dict:
    nothing = literal("NULL", "INT")
    return call(name, attribute(2), ONE, nothing, type="INT", kind="window", beside=[ignores])


@pytest.mark.parametrize("function", [offset(), offset("Lead"), aggregate(), aggregate("sum", type="DOUBLE")])
def test_a_changed_row_reaches_the_rows_beside_it(function):
    assert of_t(window(relation(), function, frame(ONE, NOW, of=ROWS))) == BESIDE


def test_a_window_may_be_ordered_by_several_columns():
    plan = window(relation(), offset(), frame(ONE, ONE, of=ROWS), orders=(1, 2))
    assert of_t(plan, shown=(0, 1, 2, 9)) == Neighbours(("k", "d", "v"), ((K, D, V),), 1)
    assert of_t(plan, shown=(0, 1, 9)) is None


@pytest.mark.parametrize(
    "within",
    [frame(FIRST, NOW, of=ROWS), frame(ONE, LAST, of=ROWS), frame(FIRST, LAST, of=ROWS)],
    ids=["from the first", "to the last", "all"],
)
def test_frames_without_an_end_reach_more(within):
    assert of_t(window(relation(), aggregate(), within)) is None


@pytest.mark.parametrize(
    "function",
    [
        offset(ignores="true"),
        call("NthValue", attribute(2), ONE, kind="window", beside=["false"]),
        call("RowNumber", kind="window"),
        aggregate(distinct=True),
        aggregate(filter=call("IsNotNull", attribute(2), type="BOOLEAN")),
        aggregate(deterministic=False),
    ],
    ids=["null is left out", "nth", "rank", "distinct", "filter", "chance"],
)
def test_functions_that_look_at_other_rows_are_not_followed_by_neighbours(function):
    assert of_t(window(relation(), {**function}, frame(ONE, NOW, of=ROWS))) is None


def test_all_functions_of_a_window_are_made_of_its_neighbours():
    plan = window(relation(), offset(), frame(ONE, ONE, of=ROWS))
    [other] = window(relation(), aggregate(), frame(FIRST, NOW))["windows"]
    assert of_t({**plan, "windows": [*plan["windows"], {**other, "id": 5}], "output": [0, 1, 2, 9, 5]}) is None


def test_a_column_may_be_in_the_window_once():
    assert of_t(window(relation(), offset(), frame(ONE, ONE, of=ROWS), by=(0, 1))) is None
