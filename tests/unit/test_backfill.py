"""What a backfill asks for, what it would run, and how the command tells it."""

from __future__ import annotations

import json

import pytest
from cases import A1, A2, change, end, machine, sound, start, view
from test_cli import Here, here  # noqa: F401

from headwater.engine.decide.readiness import ready
from headwater.engine.requests.backfill import asked, planned
from headwater.engine.requests.limits import SETTLE
from headwater.model.error import StatementError
from headwater.model.event import Requested
from headwater.model.partition import WHOLE, Slice

CHAIN = (view("v", "a", "u"), view("w", "a", "v", "t"))
BASES = {"t": "a", "u": "a"}


@pytest.mark.parametrize(
    ("conditions", "found"),
    [
        ([], (WHOLE,)),
        (["a=1"], (A1,)),
        (["a=1..2"], (A1, A2)),
        (["A = 2.."], (A2,)),
        (["a=..1"], (A1,)),
        (["a=..", "a=1"], (A1,)),
    ],
)
def test_conditions_pick_known_partitions(conditions, found):
    assert asked(machine(BASES, *CHAIN).state, "u", conditions) == found


@pytest.mark.parametrize(
    ("conditions", "why"),
    [
        (["a"], "is not column=value"),
        (["z=1"], "no partition column z; there are a"),
        (["a=7"], "no partition with a=7"),
    ],
)
def test_what_picks_nothing_is_refused(conditions, why):
    with pytest.raises(StatementError, match=why):
        asked(machine(BASES, *CHAIN).state, "u", conditions)


def test_numbers_are_compared_as_numbers_and_dates_as_dates():
    made = machine({"t": "a"}, view("v", "a", "t"))
    for value in ("9", "10", "2024-01-31", "2024-02-01"):
        made.world.write("t", Slice.of(a=value), 1)
    made.look("t")
    values = [each.value("a") for each in asked(made.state, "t", ["a=9..10"])]
    assert sorted(values) == ["10", "9"]
    assert asked(made.state, "t", ["a=2024-01-01..2024-01-31"]) == (Slice.of(a="2024-01-31"),)


def test_a_plan_names_what_would_run_in_order():
    state = machine(BASES, *CHAIN).state
    assert [(part.view, part.slices) for part in planned(state, "u", (A1,), True)] == [("v", (A1,)), ("w", (A1,))]
    assert [part.view for part in planned(state, "v", (A1,), False)] == ["v"]
    assert planned(state, "u", (A1,), False) == []


@pytest.mark.parametrize(("table", "downstream", "run"), [("v", True, "vw"), ("v", False, "v"), ("u", True, "vw")])
def test_a_backfill_runs_what_was_planned(table, downstream, run):
    made = machine(BASES, *CHAIN)
    made.record(lambda version: Requested(made.now, version, table, (A1,), "was to be backfilled", downstream))
    made.now += SETTLE
    ran = ""
    while found := ready(made.state, made.now):
        [chosen] = found
        assert chosen.slices == (A1,) and start(made, chosen.view)
        end(made, chosen.view)
        ran += chosen.view
    assert ran == run
    sound(made)


def test_a_backfill_and_a_change_are_one_refresh():
    made = machine(BASES, *CHAIN)
    change(made, "u", A1)
    made.record(lambda version: Requested(made.now, version, "v", (A1,), "was to be backfilled"))
    made.now += SETTLE
    [chosen] = ready(made.state, made.now)
    assert chosen.view == "v" and len(chosen.origins) == 2
    sound(made)


def test_a_dry_run_leaves_no_order(here: Here):  # noqa: F811
    shown = here.run("backfill", "sales", "month=2024-01..2024-02", "--downstream", "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert "default.monthly" in shown.output and "1 refresh, about 1.5 s of work" in shown.output
    assert here.store.orders() == []
    [part] = json.loads(here.run("backfill", "monthly", "--dry-run", "--json").output)["plan"]
    assert part == {"view": "default.monthly", "partitions": ["()"], "seconds": 1.5}


def test_an_order_waits_for_an_engine(here: Here):  # noqa: F811
    shown = here.run("backfill", "monthly", "month=2024-01")
    assert "no engine is running" in shown.output
    [order] = here.store.orders()
    assert order.kind == "backfill"
    assert json.loads(order.subject) == {
        "table": "default.monthly",
        "slices": [{"month": "2024-01"}],
        "downstream": False,
    }


def test_what_cannot_be_backfilled_is_refused(here: Here):  # noqa: F811
    assert "is no view; add --downstream" in here.run("backfill", "sales").output
    assert "there is no view nothing" in here.run("backfill", "nothing").output
    assert "no partition with month=1999-01" in here.run("backfill", "monthly", "month=1999-01").output
