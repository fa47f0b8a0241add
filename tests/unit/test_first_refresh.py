"""A view that was just created: whether its readers may have its first rows before they are published."""

from __future__ import annotations

import pytest
from cases import machine, sound, start, view

from headwater.engine.decide.readiness import Choice, ready
from headwater.engine.decide.starting import decided
from headwater.engine.record.runs import unfilled
from headwater.model.costs import Estimate
from headwater.model.event import Declared

FORESEEN = Estimate(100, 100)


def created(estimate: Estimate | None):
    """Two views, one made from the other, of which the first runs, is kept, and has made its rows."""
    made = machine({"t": "a"})
    for each in (view("v", "a", "t"), view("w", "a", "v")):
        made.world.content[each.view], made.world.stamps[each.view] = {}, {}
        made.record(lambda version, it=each: Declared(made.now, version, it, "was created", estimate=estimate))
    [v] = ready(made.state, made.now)
    made.record(lambda version: decided(made.state, Choice(v, kept=True), version, made.now).event)
    flight = made.flights["v"]
    while not flight.told:
        made.advance(flight)
    return made


@pytest.mark.parametrize("estimate", [FORESEEN, None])
def test_readers_have_them_if_it_was_foreseen_to_be_kept(estimate):
    made = created(estimate)
    assert start(made, "w") == (estimate is not None)
    sound(made)


def test_a_redefinition_may_have_other_columns_so_its_readers_wait():
    made = created(FORESEEN)
    made.declare(view("v", "a", "t", fingerprint="2"))
    assert made.state.views["v"].costs.estimate is None and not start(made, "w")
    sound(made)


@pytest.mark.parametrize(("estimate", "size"), [(FORESEEN, 100), (None, None)])
def test_of_a_source_that_is_still_to_be_filled_only_an_estimate_tells_the_size(estimate, size):
    made = created(estimate)
    assert unfilled(made.state, ["v", "w", "t"]) == {"v": size, "w": size}
    made.drain()
    assert unfilled(made.state, ["v", "w", "t"]) == {}
