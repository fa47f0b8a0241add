"""What a budget makes changes wait, in the core: learned gaps and costs, the plan, and a day under it."""

from __future__ import annotations

from random import Random

import pytest
from test_hold import build, change

from headwater.engine.decide.readiness import Choice, ready, wake_at
from headwater.engine.decide.starting import decided
from headwater.engine.record.transition import transition
from headwater.engine.requests.limits import SETTLE
from headwater.engine.tell import report
from headwater.engine.waits.deadline import Due
from headwater.engine.waits.ration import LONGEST, MADE_ANEW, ration
from headwater.model.error import StatementError
from headwater.model.event import Budgeted, Changed, Hurried, Made, Observed, Published, Suspended
from headwater.model.partition import WHOLE
from headwater.model.state import State
from headwater.spark.jvm.settings import Settings

NOW = 60_000


def budgeted(state: State, core_seconds: float | None) -> State:
    return transition(state, Budgeted(NOW, core_seconds))


def changing(views) -> State:
    """The first of two changes, a minute apart, has been reflected; the second one came just now."""
    state = change(build(views), at=0)
    state = transition(state, Hurried(0, state.highest + 1))
    while found := ready(state, 0):
        state = transition(state, decided(state, Choice(found[0]), state.highest + 1, 0).event)
        state = end(state, found[0].view, 0)
    return change(state, at=NOW)


def end(state: State, view: str, at: int) -> State:
    run, took = state.running[view], state.views[view].costs.took
    made = (Made(WHOLE, 1, str(run.version)),)
    return transition(state, Published(at, run.version, view, made, (), took.mean))


def waits(state: State, view: str, now: int = NOW) -> int:
    """How long after it came the oldest change waits (ms)."""
    ready(state, now)
    oldest = min(min(each) for each in state.views[view].pending.values())
    return Due(state, state.views[view]).at(oldest) - state.origins[oldest].at


def test_gaps_between_changes_are_learned():
    state = build({"a": (("t",), "", 30.0)})
    for at in (0, 60_000, 120_000, 280_000):
        state = change(state, at=at)
    assert state.tables["t"].gap == pytest.approx(60 + 0.1 * 100)


def test_the_first_look_at_a_table_is_no_change():
    seen = (Observed(WHOLE, "1"),)
    state = transition(build({"a": (("t",), "", 30.0)}), Changed(0, 9, "t", seen, "", 0, "seen", baseline=True))
    assert state.tables["t"].changed_at is None


def test_a_change_waits_as_the_budget_asks():
    """Every minute 30 core-seconds: for 3,000 a day a wave every 864 s."""
    state = budgeted(changing({"a": (("t",), "", 30.0)}), 3_000)
    assert waits(state, "a") == pytest.approx(804_000, abs=1)
    assert ready(state, NOW + 803_000) == []
    assert wake_at(state, NOW) == NOW + waits(state, "a")


def test_the_change_that_is_due_first_ends_the_wait():
    """The budget makes a change of ``t`` wait. A later change of ``u`` does not wait, and takes it along."""
    state = change(budgeted(changing({"a": (("t", "u"), "", 30.0)}), 3_000), at=NOW, table="u")
    assert report.waits(state, "a", NOW) == "starts in 1.0 s; further changes may join until then"
    assert [len(each.origins) for each in ready(state, NOW + SETTLE)] == [2]


def test_what_is_downstream_costs_too():
    state = budgeted(changing({"a": (("t",), "", 10.0), "b": (("a",), "", 20.0)}), 3_000)
    assert waits(state, "a") == pytest.approx(804_000, abs=1)


def test_a_view_that_does_not_run_costs_nothing():
    state = changing({"a": (("t",), "", 30.0), "b": (("t",), "", 60.0)})
    held = waits(budgeted(state, 14_400), "a")
    state = transition(transition(state, Suspended(NOW, "b")), Hurried(NOW, 0, ()))
    state.index.rations = None
    assert waits(state, "a") < held


def test_a_core_second_is_a_second_of_one_core():
    state = transition(changing({"a": (("t",), "", 10.0)}), Budgeted(NOW, 3_000, cores=3))
    assert waits(state, "a") == pytest.approx(804_000, abs=1)


def test_nothing_waits_while_the_budget_does_not_bind_or_is_gone():
    state = budgeted(changing({"a": (("t",), "", 30.0)}), 100_000)
    assert waits(state, "a") == SETTLE
    state = budgeted(state, 3_000)
    assert waits(state, "a") > SETTLE
    state = budgeted(state, None)
    assert waits(state, "a") == SETTLE


def test_a_promise_limits_what_the_budget_asks():
    state = budgeted(changing({"a": (("t",), "5 minutes", 30.0)}), 3_000)
    assert waits(state, "a") == 270_000
    assert ration(state, "t").over


def test_a_budget_limits_what_a_promise_allows():
    state = budgeted(changing({"a": (("t",), "1 hour", 30.0)}), 3_000)
    assert waits(state, "a") == pytest.approx(804_000, abs=1)


def test_the_promise_of_a_reader_limits_what_the_budget_asks_of_a_view_without():
    state = budgeted(changing({"a": (("t",), "", 30.0), "b": (("a",), "5 minutes", 30.0)}), 3_000)
    assert waits(state, "a") == 240_000


def test_nothing_waits_for_more_than_a_day():
    state = budgeted(changing({"a": (("t",), "", 30.0)}), 0.001)
    assert waits(state, "a") == 1000 * LONGEST


def test_a_table_of_which_only_one_change_is_known_is_not_held():
    state = budgeted(change(build({"a": (("t",), "", 30.0)})), 3_000)
    assert waits(state, "a") == SETTLE


def test_who_waits_is_served_at_once():
    state = budgeted(changing({"a": (("t",), "", 30.0)}), 3_000)
    state = transition(state, Hurried(NOW, state.highest + 1))
    assert [each.view for each in ready(state, NOW)] == ["a"]


def test_the_plan_is_made_anew_when_something_was_learned_and_not_too_often():
    state = budgeted(changing({"a": (("t",), "", 30.0)}), 3_000)
    before = waits(state, "a")
    state = change(state, at=NOW + 2_000)
    assert waits(state, "a", NOW + MADE_ANEW - 1) == before
    assert waits(state, "a", NOW + MADE_ANEW) > before


def test_a_plan_of_before_the_clock_went_back_is_made_anew():
    state = budgeted(changing({"a": (("t",), "", 30.0)}), 3_000)
    before = waits(state, "a")
    state = change(state, at=NOW + 2_000)
    assert waits(state, "a", NOW - 3_600_000) > before


def test_explain_shows_the_decision_and_its_numbers():
    state = budgeted(changing({"a": (("t",), "", 30.0)}), 3_000)
    told = report.waits(state, "a", NOW + 4_000)
    assert told == (
        "waits 800.0 s more for further changes: t changes every 60 s, and each time costs 30.0 core-seconds; "
        "the budget is 3000 a day"
    )


@pytest.mark.parametrize("core_seconds", [2_000, 8_000])
def test_ten_days_of_random_changes_cost_what_may_be_spent(core_seconds: int):
    """Two tables, one changing ten times as often; the views of both cost 90 core-seconds."""
    random = Random(core_seconds)
    state = budgeted(build({"a": (("t",), "", 30.0), "b": (("a",), "", 60.0), "c": (("u",), "", 90.0)}), core_seconds)
    days, rates = 10, {"t": 1 / 600, "u": 1 / 6_000}
    arrivals = []
    for table, rate in rates.items():
        at = 0.0
        while (at := at + 1000 * random.expovariate(rate)) < days * 86_400_000:
            arrivals.append((round(at), table))
    arrivals.sort(reverse=True)
    now, spent = 0, 0.0
    while arrivals:
        for chosen in ready(state, now):
            state = transition(state, decided(state, Choice(chosen), state.highest + 1, now).event)
            spent += state.views[chosen.view].costs.took.mean
            state = end(state, chosen.view, now)
        if ready(state, now):
            continue
        wake = wake_at(state, now)
        if wake is None or arrivals[-1][0] <= wake:
            now, table = arrivals.pop()
            state = change(state, now, table)
        else:
            now = wake
    assert spent / days == pytest.approx(core_seconds, rel=0.15)


def test_the_setting_is_a_positive_number():
    assert Settings.of({}).budget is None
    assert Settings.of({"spark.headwater.budget": "3600"}).budget == 3600
    for wrong in ("0", "-1", "much", "1 hour", ""):
        with pytest.raises(StatementError, match="core-seconds a day"):
            Settings.of({"spark.headwater.budget": wrong})
