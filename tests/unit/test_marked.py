"""A view that only marked changes reach: those that somebody asks for with all that is made from them."""

from __future__ import annotations

import pytest
from cases import A1, A2, change, end, fail_for_good, machine, sound, start, view
from reference import wrong

from headwater.engine.decide.readiness import ready
from headwater.engine.requests.backfill import planned
from headwater.engine.requests.limits import SETTLE
from headwater.engine.tell.consistency import lacking
from headwater.model.event import Declared, Requested
from headwater.model.partition import WHOLE
from headwater.model.state import Status

MARKED = view("m", "a", "v", propagate="marked")
CHAIN = view("v", "a", "t"), MARKED, view("w", "a", "m")


def mark(made, table, *slices, downstream=True):
    made.record(lambda version: Requested(made.now, version, table, slices, "was to be backfilled", downstream))


def pending(made):
    return {name: set(each.pending) for name, each in made.state.views.items() if each.pending}


def test_an_ordinary_change_does_not_reach_it_nor_what_reads_it():
    made = machine({"t": "a"}, *CHAIN)
    change(made, "t", A1)
    assert pending(made) == {"v": {A1}}
    assert {name for name, verdicts in lacking(made.state).items() if verdicts} == {"v"}
    sound(made)
    assert wrong(made, marked=True) == ["m"]


def test_a_marked_one_reaches_both_and_brings_what_was_missed():
    made = machine({"t": "a"}, *CHAIN)
    change(made, "t", A1)
    made.drain()
    assert [part.view for part in planned(made.state, "t", (A1,), True)] == ["v", "m", "w"]
    mark(made, "t", A1)
    assert pending(made) == {"v": {A1}, "m": {A1}, "w": {A1}}
    sound(made)
    assert not wrong(made, marked=True)


def test_it_waits_for_an_ordinary_change_of_what_it_is_about_to_read():
    made = machine({"t": "a"}, *CHAIN)
    mark(made, "m", A1)
    made.now += SETTLE
    assert "m" in [each.view for each in ready(made.state, made.now)]
    change(made, "t", A1)
    assert "m" not in [each.view for each in ready(made.state, made.now)]
    sound(made)


def test_a_refresh_without_what_follows_is_no_mark():
    made = machine({"t": "a"}, *CHAIN)
    mark(made, "v", A1, downstream=False)
    assert pending(made) == {"v": {A1}}


def test_the_mark_survives_a_view_that_fails_on_the_way():
    made = machine({"t": "a"}, *CHAIN)
    change(made, "t", A1)
    fail_for_good(made, "v")
    mark(made, "t", A1)
    assert pending(made) == {"v": {A1}}, "m is let go past v"
    made.now += 600_000
    assert start(made, "v")
    end(made, "v")
    assert made.state.views["v"].status is Status.ACTIVE
    assert pending(made) == {"m": {A1}, "w": {A1}}
    sound(made)
    assert not wrong(made, marked=True)


def test_catching_up_with_an_ordinary_change_is_no_mark():
    made = machine({"t": "a"}, *CHAIN)
    change(made, "t", A1)
    fail_for_good(made, "v")
    made.now += 600_000
    assert start(made, "v")
    end(made, "v")
    assert not pending(made)


@pytest.mark.parametrize(("marks", "reached"), [(True, {A1}), (False, set())])
def test_a_view_declared_later_joins_the_marked_changes_under_way(marks, reached):
    made = machine({"t": "a"}, view("v", "a", "t"))
    change(made, "t", A2)
    if marks:
        mark(made, "t", A1)
    made.record(lambda version: Declared(made.now, version, MARKED, "was declared", fill=False))
    assert set(made.state.views["m"].pending) == reached


def test_a_view_that_follows_all_changes_again_is_filled():
    made = machine({"t": "a"}, *CHAIN)
    change(made, "t", A1)
    made.drain()
    made.record(lambda version: Declared(made.now, version, view("m", "a", "v"), "follows its sources again", False))
    assert set(made.state.views["m"].pending) == {WHOLE}
    sound(made)
