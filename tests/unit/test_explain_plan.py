"""``headwater explain --plan``: what a run would do, said and drawn for those who have the store only."""

from __future__ import annotations

import json

import click
import pytest
from cases import A1, change, machine, view

from headwater.cli.explain import say_plan
from headwater.engine.decide.flight import Flights
from headwater.engine.decide.starting import Capacity
from headwater.engine.requests.limits import SETTLE
from headwater.engine.tell.report import explain
from headwater.memory.planning.arrange import ByPlan
from headwater.memory.planning.means import Costs, Means, decode_means, encode_means
from headwater.model.costs import Estimate, Took
from headwater.store.sql_store import SqlStore

MEANS = Means(Costs(written=1.0, read=1.0, copied=2.0), 10_000_000, 2)
NOTED = encode_means(MEANS)
DIAMOND = (view("v", "a", "t"), view("w", "a", "v"), view("x", "a", "v"), view("y", "", "w", "x"))


def explained(state, name: str) -> list[str]:
    """What ``EXPLAIN REFRESH`` adds of a plan that was made for all that is pending."""
    schedule = ByPlan(MEANS)
    mine = Flights(plan=(question := schedule.question(state, None)) and schedule.solve(question))
    lines = explain(state, name, 0, mine, Capacity(MEANS.tracks, schedule))
    return lines[len(explain(state, name, 0)) :]


@pytest.fixture
def made():
    """A diamond whose sizes and times are known."""
    found = machine({"t": "a"}, *DIAMOND)
    change(found, "t", A1)
    found.now += SETTLE
    found.drain()
    for state in found.state.views.values():
        state.costs.took, state.costs.unaided, state.costs.size = Took(5.0, 0.0), 5e6, 1_000_000
    return found


def said(made, capsys, noted=NOTED, plot=None) -> dict:
    say_plan(made.state, noted, plot, True)
    return json.loads(capsys.readouterr().out)


def test_what_is_pending_is_planned(made, capsys):
    change(made, "t", A1)
    found = said(made, capsys)
    assert found["pending"]
    rows = {row["view"]: row for row in found["runs"]}
    assert [*rows][0] == "v" and [*rows][-1] == "y" and rows.keys() == {"v", "w", "x", "y"}
    assert rows["w"]["starts_s"] == rows["x"]["starts_s"] == rows["v"]["ends_s"] < rows["v"]["published_s"]
    assert rows["v"]["kept_until_s"] >= max(rows["w"]["ends_s"], rows["x"]["ends_s"])
    assert found["saved_seconds"] > 1 and 0 < found["peak_bytes"] <= found["memory_bytes"] == 10_000_000


def test_nothing_pending_is_a_refresh_of_everything(made, capsys):
    assert not said(made, capsys)["pending"]
    say_plan(made.state, NOTED, None, False)
    out = capsys.readouterr().out
    assert out.startswith("nothing is pending; this is the plan for a refresh of every view")
    assert "of 4 outputs saves" in out and "of 10.0 MB (" in out


@pytest.mark.parametrize("noted", [None, encode_means(None)], ids=["no engine yet", "an engine without memory"])
def test_without_memory_that_is_said(made, capsys, noted):
    found = said(made, capsys, noted)
    assert all(row["kept_until_s"] is None for row in found["runs"]) and found["peak_bytes"] == 0
    say_plan(made.state, noted, None, False)
    assert "set spark.headwater.memory" in capsys.readouterr().out


def test_a_warehouse_as_fast_as_memory_is_told(made, capsys):
    slow = Means(Costs(-0.001, 0.0, 0.003), 10_000_000, 2)
    say_plan(made.state, encode_means(slow), None, False)
    out = capsys.readouterr().out
    assert "the warehouse was as fast" in out and "keeping" not in out


def test_without_views_there_is_no_plan(capsys):
    with pytest.raises(click.ClickException, match="no view"):
        said(machine({"t": "a"}), capsys)


def test_a_view_is_told_its_place_in_the_plan(made):
    assert explained(made.state, "v") == []
    change(made, "t", A1)
    first, *others = explained(made.state, "v")
    assert first == "  planned as 1 of 4 refreshes, 0.0 s after the first starts"
    assert others[0].startswith("  its output, about 1.0 MB, is kept in memory for 2 readers for some ")
    assert "  reads from memory: v" in explained(made.state, "w")


def test_of_a_first_refresh_it_is_told_where_its_size_is_from(made):
    change(made, "t", A1)
    state = made.state.views["v"]
    state.costs.took, state.costs.size, state.costs.estimate = None, 0, Estimate(size=2_000_000, read=1)
    lines = explained(made.state, "v")
    assert any("its output, about 2.0 MB by Spark's statistics, is" in line for line in lines)


def test_a_plan_is_drawn(made, capsys, tmp_path):
    change(made, "t", A1)
    said(made, capsys, plot=tmp_path / "plan.png")
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")


def test_an_engine_notes_what_it_has(tmp_path):
    store = SqlStore(tmp_path / "store.db")
    assert store.noted("means") is None
    for means in (None, MEANS):
        store.note("means", encode_means(means))
        assert decode_means(store.noted("means")) == means
    assert [decode_means(each) for each in ("null", "7", '{"costs": {}}', "{")] == [None] * 4, "of another version"
