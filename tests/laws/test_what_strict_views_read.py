"""Histories in which a strict view went back past a change that it had shown, or said that it was of a state that never
was. Random ones hardly find them: each has rare steps."""

from __future__ import annotations

import pytest
from attrs import evolve
from cases import A1, A2, change, converged, end, fail_for_good, machine, run_now, start, view
from reference import wrong
from test_law_9_no_state_that_never_was import States, untrue

from headwater.engine.decide.readiness import ready
from headwater.model.dependency import Dependency, Occurrence, Same
from headwater.model.event import Altered, Broken, Requested, Resumed, Suspended
from headwater.model.partition import Slice
from headwater.model.reason import Code, Reason


def three_sources(**of_r: str):
    """``r`` reads ``s`` over ``t`` and ``u``, ``s2`` over ``t``, and ``w``. One refresh of ``s`` shows a change of
    ``u`` in ``a=1`` and one of ``t`` in ``a=2``."""
    made = machine(
        {"t": "a", "u": "a", "w": "a"},
        view("s", "a", "t", "u", format="delta"),
        view("s2", "a", "t", format="delta"),
        view("r", "a", "s", "s2", "w", format="delta", **of_r),
        lakes=["t", "u", "w"],
    )
    change(made, "u", A1, 9)
    change(made, "t", A2, 5)
    made.now += 2_000
    return made


def goes_on(made) -> None:
    """``w`` changes, and ``r`` runs for that if it can. What it showed of ``u`` stays."""
    change(made, "w", A1, 6)
    made.now += 5_000
    run_now(made, "r")
    converged(made)
    assert not wrong(made)


def test_a_view_that_was_let_go_does_not_go_back():
    """``s2`` is late, so ``r`` shows the change of ``u`` by a version that does not agree with ``s2``."""
    made = three_sources(consistency="strict")
    assert run_now(made, "s")
    made.now += 700_000
    assert run_now(made, "r")
    goes_on(made)


def test_a_view_that_becomes_strict_does_not_go_back():
    made = three_sources()
    assert run_now(made, "s")
    made.now += 61_000
    assert run_now(made, "r")
    made.record(lambda _: Altered(made.now, "r", (("headwater.consistency", "strict"),)))
    goes_on(made)


def test_a_view_does_not_go_back_to_where_it_went_past_a_source():
    """``s`` is suspended when ``r`` reads it, and binds nobody then."""
    made = three_sources(consistency="strict")
    assert run_now(made, "s")
    made.record(lambda _: Suspended(made.now, "s"))
    made.now += 1_000
    run_now(made, "r")
    made.record(lambda _: Resumed(made.now, "s"))
    goes_on(made)


def two_changes_that_leave_p_as_it_is():
    """``s`` reads ``u``, and ``p``, which two changes of ``t`` leave as it is. So a version of ``s`` counts as newer
    without a refresh."""
    made = machine(
        {"t": "a", "u": "a"},
        view("p", "a", "t", format="delta"),
        view("s", "a", "p", "u", format="delta"),
        view("s2", "a", "t", format="delta"),
        lakes=["t", "u"],
    )
    change(made, "t", A1, 7)
    converged(made)
    change(made, "u", A1, 9)
    converged(made)
    return made


@pytest.mark.parametrize("filled", [True, False])
def test_a_view_does_not_read_what_was_replaced_before_it_was_defined(filled: bool):
    """Or before it was filled. It is pending for no change from before, so it would never show the one of ``u``."""
    made = two_changes_that_leave_p_as_it_is()
    made.declare(view("r", "a", "s", "s2", format="delta", consistency="strict"))
    if filled:
        converged(made)
        made.record(lambda version: Requested(made.now, version, "r", (A1,), "was asked for", downstream=False))
    made.now += 61_000
    for content in (8, 14):
        change(made, "t", A1, content)
        made.now += 2_000
    assert run_now(made, "p")
    made.step()
    run_now(made, "r")
    converged(made)
    assert not wrong(made) and not untrue(made)


def held(failing: bool):
    """``x`` holds its rows while ``s`` is broken or failing. ``r`` is above ``x`` by two views, and is looked at while
    ``x`` has requests: nothing tells then which states of ``t`` they show."""
    made = machine(
        {"t": "a", "b": "a"},
        view("s", "a", "b", format="delta"),
        view("x", "a", "s", "t", format="delta", upstream="hold"),
        view("n", "a", "x", format="delta"),
        view("s2", "a", "t", format="delta"),
        view("r", "a", "n", "s2", format="delta", consistency="strict"),
        lakes=["t", "b"],
    )
    change(made, "t", A2, 7)
    converged(made)
    if failing:
        change(made, "b", A2, 9)
        made.now += 2_000
        fail_for_good(made, "s")
    else:
        made.record(lambda _: Broken(made.now, "s", Reason(Code.QUERY_NOT_ANALYSED, "a column is gone")))
    for partition, content, names in ((A1, 4, ("x", "n", "s2")), (A1, 5, ("x", "n")), (A2, 14, ("s2",))):
        change(made, "t", partition, content)
        made.now += 2_000
        for name in names:
            assert run_now(made, name)
    made.step()
    ready(made.state, made.now)
    return made


def test_what_is_looked_at_while_a_view_holds_is_looked_at_again_when_it_runs():
    made = held(failing=False)
    assert start(made, "x")
    run_now(made, "r")
    end(made, "x")
    converged(made)
    assert not wrong(made)


def test_what_is_looked_at_while_a_view_holds_is_looked_at_again_when_its_source_is_asked_for():
    made = held(failing=True)
    made.loop.step, step = lambda: None, made.loop.step
    made.record(lambda version: Requested(made.now, version, "s", (A2,), "was asked for", downstream=False))
    made.loop.step = step
    run_now(made, "r")
    converged(made)
    assert not wrong(made)


def test_a_view_that_skips_one_of_two_changes_may_show_the_other():
    """``p`` came out unchanged by both at once. ``s`` skips the first one, and is pending for the second by ``q``."""
    made = machine(
        {"t": "a"},
        view("p", "a", ("t", "a,a"), format="delta"),
        view("q", "a", "t", format="delta"),
        view("s", "a", "p", "q", format="delta"),
        view("z", "a", "t", ("t", "a,a"), format="delta"),
        view("r", "a", "s", "z", format="delta", consistency="strict"),
        lakes=["t"],
    )
    change(made, "t", A1, 7)
    converged(made)
    change(made, "t", A1, 14)
    made.now += 5_000
    assert run_now(made, "q") and run_now(made, "z")
    made.now += 61_000
    change(made, "t", A1, 7)
    made.now += 5_000
    assert run_now(made, "p")
    made.now += 61_000
    made.step()
    run_now(made, "r")
    assert not untrue(made)
    converged(made)
    assert not wrong(made)


def test_a_view_that_others_went_past_brings_the_changes_that_it_ran_for():
    """``p`` is suspended during two changes of ``t``. Its rows with both of them reach ``a=1`` of ``r``, and ``a=2`` of
    ``r`` waits for the second one of ``t`` itself."""
    by_b = evolve(view("r", "a", "t", "p", format="delta", consistency="strict"), dependencies=(
        Dependency("t", (Occurrence((("a", Same("a")),)),)),
        Dependency("p", (Occurrence((("a", Same("b")),)),)),
    ))  # fmt: skip
    made = machine({"t": "ab"}, view("p", "b", "t", format="delta"), by_b, lakes=["t"])
    states = States(made)
    states.follow()
    made.record(lambda _: Suspended(made.now, "p"))
    change(made, "t", Slice.of(a="1", b="1"), 5)
    made.now += 1_000
    change(made, "t", Slice.of(a="2", b="1"), 6)
    made.record(lambda _: Resumed(made.now, "p"))
    assert run_now(made, "p")
    assert run_now(made, "r")
    assert not states.follow()
    converged(made)
    assert not wrong(made)


@pytest.mark.parametrize("early", [True, False])
def test_nothing_is_said_of_a_state_that_a_view_never_showed_while_others_went_past_it(early: bool):
    """``p`` is suspended during two changes of ``t``, and comes out unchanged by both at once."""
    made = machine(
        {"t": "a"},
        view("p", "a", "t", format="delta"),
        view("s", "a", "p", format="delta"),
        view("s2", "a", "t", format="delta"),
        view("r", "a", "s", "s2", format="delta", consistency="strict"),
        lakes=["t"],
    )
    change(made, "t", A1, 7)
    converged(made)
    made.record(lambda _: Suspended(made.now, "p"))
    change(made, "t", A1, 8)
    made.now += 5_000
    assert run_now(made, "s2")
    made.now += 5_000
    if early:
        assert run_now(made, "r")
    made.now += 56_000
    change(made, "t", A1, 14)
    made.record(lambda _: Resumed(made.now, "p"))
    made.now += 2_000
    assert run_now(made, "p")
    made.now += 1_000
    run_now(made, "r")
    assert not untrue(made)
    converged(made)
    assert not wrong(made)
