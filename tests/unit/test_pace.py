"""What keeping saves is learned from runs."""

from __future__ import annotations

from math import inf

import pytest
from cases import view
from test_arrange import pending

from headwater.engine.methods.costs import PACE, learn_pace, saving
from headwater.memory.planning.means import Costs, Means
from headwater.memory.planning.pending import SMALLEST, problem
from headwater.model.costs import RefreshCosts, Took
from headwater.model.event import Published
from headwater.model.measure import Effort, Measured, Moved, Place
from headwater.model.state import ViewState

FORESEEN = 0.1
MEANS = Means(Costs(0.1, 0.1, 0.2), 10_000_000, 2)
FAR, NEAR = Place.WAREHOUSE, Place.VOLUME


def known(*runs: tuple[Moved, ...], seconds: float = 1.0, copying: int = 0) -> ViewState:
    state = ViewState(view("w", "a", "v"), costs=RefreshCosts(took=Took(1.0, 0.0)))
    for moved in runs:
        learn_pace(state, Published(0, 1, "w", (), (), seconds, Measured(1000, moved, copying)))
    return state


def far(micros: int) -> Moved:
    return Moved("v", FAR, 1000, micros)


def near(micros: int) -> Moved:
    return Moved("v", NEAR, 1000, micros)


@pytest.mark.parametrize(
    "runs, expected",
    [
        ([], FORESEEN),
        ([(near(20),)], FORESEEN),
        ([(far(200),)], FORESEEN),
        ([(far(50),)], 0.05),
        ([(far(200),), (near(20),)], 0.18),
        ([(far(20),), (near(50),)], -0.03),
    ],
)
def test_what_is_measured_counts_and_the_rest_is_foreseen(runs: list, expected: float):
    assert saving(known(*runs), "v", NEAR, FORESEEN) == pytest.approx(expected)


def test_a_warehouse_that_changed_is_noticed():
    state = known((far(200),), *[(far(1),)] * 20)
    assert saving(state, "v", NEAR, FORESEEN) == pytest.approx(0.001 + 0.199 * (1 - PACE) ** 20)


def test_no_time_is_a_measurement_like_any_other():
    assert saving(known((far(0),), (far(200),)), "v", NEAR, FORESEEN) == pytest.approx(PACE * 0.2)


def test_a_first_run_takes_longer_than_others_and_is_left_out():
    state = ViewState(view("w", "a", "v"))
    learn_pace(state, Published(0, 1, "w", (), (), 9.0, Measured(1000, (far(900),), 5)))
    assert (state.costs.pace, state.costs.unaided, state.costs.copying) == ({}, 0, 0)


def test_no_copy_took_less_than_nothing():
    """A journal may have that of a clock that went back; nothing could be planned with it."""
    state = ViewState(view("w", "a", "v"), costs=RefreshCosts(took=Took(9.0, 0.0)))
    learn_pace(state, Published(0, 1, "w", (), (), 9.0, Measured(1000, (far(900),), -5)))
    assert state.costs.copying == 0


def test_what_moved_no_bytes_measured_nothing():
    assert known((Moved("v", FAR, 0, 7),)).costs.pace == {}


def test_how_long_a_run_would_take_that_nothing_helps():
    """It took 1 s, of which the copy was 0.3 s; what it read in memory would have taken 180 µs more."""
    assert known((far(200), near(20)), copying=300_000).costs.unaided == pytest.approx(700_180)


def test_of_a_run_beside_others_its_own_time_counts():
    """Of 10 s its tasks were about for 9, and would have taken 4 alone, on half of all slots; the driver took 1 s."""
    state = ViewState(view("w", "a", "v"), costs=RefreshCosts(took=Took(1.0, 0.0)))
    effort = Effort(4_000_000, 9_000_000, 0.5, 4_000_000)
    learn_pace(state, Published(0, 1, "w", (), (), 10.0, Measured(1000, effort=effort)))
    assert (state.costs.unaided, state.costs.share) == (5_000_000, 0.4)


def test_what_the_clock_says_does_not_count_where_more_is_known():
    state = ViewState(view("w", "a", "v"), costs=RefreshCosts(took=Took(1.0, 0.0), unaided=5_000_000, share=0.4))
    learn_pace(state, Published(0, 1, "w", (), (), 10.0, Measured(1000)))
    assert (state.costs.unaided, state.costs.share) == (5_000_000, 0.4)


def test_what_a_scan_takes_within_a_run_is_what_was_added():
    assert Effort(500, 900, 0.4, 600).since(Effort(200, 700, 0.3, 250)) == Effort(300, 200, 0.4, 350)
    assert Effort(300, 200, 0.4, 350).own(1000) == 800 + 300
    assert Effort(500, 900, 0.4, 600).own(800) == 500, "tasks were about all the time"


def test_core_seconds_are_those_of_tasks_and_of_the_driver_beside_them():
    """Of 10 s its tasks were about for 9, and took 16 in all."""
    assert Effort(8_000_000, 9_000_000, 1.0, 16_000_000).cores(10.0) == 17.0
    assert Effort(8_000_000, 9_000_000, 1.0, 16_000_000).cores(8.0) == 16.0


def test_tasks_that_fill_half_the_slots_go_on_two_by_two():
    made = pending()
    views = made.state.views
    run = problem(made.state, ("v", "w", "x"), MEANS)
    assert run.abreast == inf, "nobody knows"
    for name, micros, share in (("v", 1e6, 1.0), ("w", 3e6, 1 / 3)):
        views[name].costs.unaided, views[name].costs.share = micros, share
    assert problem(made.state, ("v", "w", "x"), MEANS).abreast == 2.0


def test_a_plan_counts_what_was_measured():
    made = pending()
    w = made.state.views["w"]
    w.costs.pace = {("v", FAR): 0.2, ("v", NEAR): 0.05, ("w", FAR): 0.4, ("w", NEAR): 0.1}
    w.costs.copying, w.costs.unaided = 0.7, 5e6
    run = problem(made.state, ("v", "w", "x"), Means(Costs(0.1, 0.1, 0.2, moved=0.05), 10_000_000, 2))
    v, w, x = run.tasks
    assert (v.run, v.spared, v.copy) == (1_000_000, 50_000 - SMALLEST, 200_000)
    assert (w.run, w.spared, w.copy, w.reads[0].saved) == (5_000_000, 250_000 - SMALLEST, 700_000, 150_000)
    assert x.reads[0].saved == 100_000


def test_what_measurement_shows_to_cost_time_is_not_kept():
    made = pending()
    for name, read in (("v", "v"), ("w", "v"), ("x", "v")):
        made.state.views[name].costs.pace = {(read, FAR): 0.01, (read, NEAR): 0.02}
    run = problem(made.state, ("v", "w", "x"), MEANS)
    assert 0 not in run.worthwhile


def test_what_was_measured_in_one_kind_of_buffer_says_nothing_of_the_other():
    state = known((far(200),), (near(20),))
    assert saving(state, "v", Place.BLOCKS, FORESEEN) == FORESEEN


def test_what_lies_in_blocks_has_a_size_of_its_own_there():
    made = pending()
    made.state.views["v"].costs.held = 3_000_000
    names = ("v", "w", "x")
    in_files = problem(made.state, names, MEANS)
    in_blocks = problem(made.state, names, Means(Costs(0.1, 0.1, 0.2), 10_000_000, 2, Place.BLOCKS))
    assert [task.size for task in in_files.tasks] == [1_000_000] * 3
    assert [task.size for task in in_blocks.tasks] == [3_000_000, 1_000_000, 1_000_000]
    assert in_blocks.scores == in_files.scores, "what is saved is counted by the bytes of files"
