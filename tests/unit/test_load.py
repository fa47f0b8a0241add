"""Whether promised freshness can be kept at the present load."""

from __future__ import annotations

import pytest
from cases import change, machine, view, warehouse, written

from headwater.engine.tell.load import load
from headwater.engine.tell.status import statuses
from headwater.model.costs import Took
from headwater.model.partition import WHOLE
from headwater.model.state import State


def every(state: State, table: str, seconds: float, until: int = 600) -> State:
    """A table that changes every so many seconds, for a while."""
    at = 0.0
    while at <= until:
        state, at = written(state, table, round(1000 * at)), at + seconds
    return state


def promising(bound: str, *reads: str, seconds: float = 40.0) -> tuple[tuple[str, ...], dict[str, str], float]:
    return reads, {"freshness": bound}, seconds


def test_a_change_that_just_misses_a_refresh_waits_for_two():
    state = every(warehouse({"v": promising("60 seconds", "t")}), "t", 5)
    assert load(state, 4).attainable == {"v": 80.0}
    state = every(warehouse({"v": promising("90 seconds", "t")}), "t", 5)
    assert load(state, 4).attainable == {"v": 90.0}
    state = every(warehouse({"v": promising("60 seconds", "t")}), "t", 100)
    assert load(state, 4).attainable == {"v": 60.0}, "changes are too rare to miss a refresh"


def test_the_refreshes_upstream_are_on_the_way():
    views = {"a": (("t",), {}, 30.0), "b": (("a",), {}, 20.0), "c": promising("60 seconds", "a", "b", seconds=15.0)}
    assert load(every(warehouse(views), "t", 200), 4).attainable == {"c": 65.0}
    often = "and the longest may have just begun, twice where c is to show one state of t"
    assert load(every(warehouse(views), "t", 5), 4).attainable == {"c": 125.0}, often
    views["c"][1]["consistency"] = "eventual"
    assert load(every(warehouse(views), "t", 5), 4).attainable == {"c": 95.0}, often


@pytest.mark.parametrize(
    ("format", "consistency", "kept"),
    [("parquet", "strict", 41 + 40 + 40), ("parquet", "eventual", 41 + 40), ("delta", "strict", 41 + 40)],
)
def test_sources_that_never_agree_by_themselves_cost_one_more_refresh(format, consistency, kept):
    """One source in files is ahead of the other one, which takes 40 s. Lake tables have older versions that agree."""
    sources = view("a", "", "t", format=format), view("b", "", "t", format=format)
    promised = view("c", "", "a", "b", format="delta", consistency=consistency, freshness="50 seconds")
    made = machine({"t": ""}, *sources, promised, lakes=["t"])
    for name, seconds in (("a", 5.0), ("b", 40.0), ("c", 1.0)):
        made.state.views[name].costs.took = Took(seconds, 0.0)
    made.now += 1_000_000
    for second in range(20):
        made.now += 5_000
        change(made, "t", WHOLE, second)
    assert round(load(made.state, 4).attainable["c"], 3) == kept


def test_promises_that_need_more_tracks_than_there_are_get_longer_by_one_factor():
    views = {f"v{n}": promising("60 seconds", "t", seconds=20.0) for n in range(4)}
    state = every(warehouse(views), "t", 1)
    found = load(state, 4)
    assert found.promised == 2.0, "each runs every 40 s, for 20 s"
    assert set(found.attainable.values()) == {60.0}
    found = load(state, 1)
    assert {round(each, 3) for each in found.attainable.values()} == {100.0}, "each runs every 80 s"


def test_views_without_a_promise_count_for_the_load_alone():
    views = {"v": promising("60 seconds", "t", seconds=20.0), "w": (("t",), {}, 20.0)}
    found = load(every(warehouse(views), "t", 1), 1)
    assert (found.promised, found.needed) == (0.5, 1.5)
    assert found.attainable == {"v": 60.0}


def test_a_table_that_stopped_to_change_makes_no_load():
    views = {"v": promising("60 seconds", "t", seconds=20.0), "w": promising("60 seconds", "u", seconds=20.0)}
    state = every(every(warehouse(views), "t", 1, until=60), "u", 10, until=6_000)
    found = load(state, 1)
    assert 0.5 <= found.promised < 0.51, "only that of u"


def test_where_nobody_knows_nothing_is_said():
    state = every(warehouse({"v": (("t",), {"freshness": "60 seconds"}, None)}), "t", 5)
    assert load(state, 4).attainable == {}
    [told] = statuses(state, 0)
    assert told.row(0)[7] is None


def test_the_status_says_which_freshness_can_be_kept():
    state = every(warehouse({"v": promising("60 seconds", "t")}), "t", 5)
    [told] = statuses(state, 0)
    assert told.row(0)[6:8] == [60.0, 80.0]
    assert told.row(0)[-2].startswith("at this load 80 s can be kept, not 60 s")
