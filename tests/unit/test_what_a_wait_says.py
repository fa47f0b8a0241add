"""What somebody hears who waited for a view."""

from __future__ import annotations

from cases import change, end, fail_for_good, machine, start, view

from headwater.engine.requests.limits import SETTLE
from headwater.model.partition import WHOLE
from headwater.runtime.wait import behind


def test_a_refresh_that_fails_after_another_one_is_told():
    """One run showed a change, and the next run failed for another change. Both are waited for."""
    made = machine({"s": ""}, view("v", "", "s", format="delta"), lakes=("s",))
    change(made, "s", WHOLE, 11)
    made.now += SETTLE
    assert start(made, "v")
    change(made, "s", WHOLE, 12)
    version = made.state.highest
    end(made, "v")
    assert not behind(made.state, "v", version), "nothing failed"
    made.now += SETTLE
    assert start(made, "v")
    made.fail(made.flights["v"])
    assert "v could not be refreshed" in behind(made.state, "v", version)


def test_a_change_that_came_later_is_not_waited_for():
    made = machine({"s": ""}, view("v", "", "s", format="delta"), lakes=("s",))
    version = made.state.highest
    change(made, "s", WHOLE, 11)
    made.now += SETTLE
    assert start(made, "v")
    made.fail(made.flights["v"])
    assert not behind(made.state, "v", version)


def test_a_view_that_has_what_was_asked_for_waits_for_nobody():
    """Its source fails for a later change, and it would wait for that."""
    made = machine(
        {"s": ""}, view("u", "", "s", format="delta"), view("v", "", "u", format="delta", upstream="hold"), lakes=("s",)
    )
    change(made, "s", WHOLE, 11)
    version = made.state.highest
    made.drain()
    change(made, "s", WHOLE, 12)
    fail_for_good(made, "u")
    assert not behind(made.state, "v", version)
    assert "v waits, because u cannot be refreshed" in behind(made.state, "v", made.state.highest)
