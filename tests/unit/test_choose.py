"""Which request runs next: patience with overtaking changes, and views that hold nobody back."""

from __future__ import annotations

import pytest
from attrs import evolve
from cases import A1, A2, change, end, fail_for_good, machine, sound, start, view
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, slices

from headwater.engine.decide.readiness import Choice, ready, wake_at
from headwater.engine.decide.starting import decided
from headwater.engine.requests.limits import PATIENCE, SETTLE
from headwater.engine.requests.reach import Reached
from headwater.model.event import Broken, Declared, Hurried, Requested, Resumed, Suspended
from headwater.model.partition import WHOLE
from headwater.model.reason import Code, Reason
from headwater.model.view import Job, Query
from headwater.model.work import Mode

CHAIN = (view("v", "a", "u"), view("w", "a", "v", "t"))
BASES = {"t": "a", "u": "a"}


def names(made) -> list[str]:
    return [each.view for each in ready(made.state, made.now)]


def test_a_change_settles_before_it_runs():
    made = machine({"t": "a"}, view("v", "a", "t"))
    change(made, "t", A1)
    assert names(made) == [] and wake_at(made.state, made.now) == made.now + SETTLE
    made.now += SETTLE
    assert names(made) == ["v"]


def test_a_hurried_change_runs_at_once():
    made = machine({"t": "a"}, view("v", "a", "t"))
    change(made, "t", A1)
    made.record(lambda version: Hurried(made.now, version))
    assert names(made) == ["v"]
    change(made, "t", A2)
    assert ready(made.state, made.now)[0].slices == (A1,)


def test_a_request_waits_for_its_inputs_and_runs_once():
    made = machine(BASES, *CHAIN)
    change(made, "t", A1)
    change(made, "u", A1)
    made.now += SETTLE
    assert names(made) == ["v"]
    assert start(made, "v") and names(made) == []
    end(made, "v")
    assert names(made) == ["w"]
    sound(made)


def test_another_partition_does_not_wait():
    made = machine(BASES, *CHAIN)
    change(made, "u", A1)
    change(made, "t", A2)
    made.now += SETTLE
    [w] = [each for each in ready(made.state, made.now) if each.view == "w"]
    assert w.slices == (A2,)


@pytest.mark.parametrize(("properties", "expected"), [({}, PATIENCE), ({"freshness": "10 seconds"}, 10_000)])
def test_a_request_overtaken_by_newer_changes_goes_after_its_patience(properties, expected):
    """Every ten seconds u changes again and v is renewed again; t's change reaches w all the same."""
    made = machine(BASES, CHAIN[0], view("w", "a", "v", "t", **properties))
    change(made, "t", A1)
    origin, since = made.state.highest, made.now
    newer = 0
    while True:
        change(made, "u", A1, 10 + newer)
        newer = made.state.highest
        made.now += SETTLE
        assert start(made, "v")
        waits = [each for each in ready(made.state, made.now) if each.view == "w"]
        if waits:
            break
        made.now += 4 * SETTLE
        change(made, "u", A1, 10 + newer)
        end(made, "v")
        assert made.now - since < 2 * PATIENCE
    assert expected <= made.now - since <= expected + 10 * SETTLE
    assert origin in waits[0].origins and newer not in waits[0].origins
    assert start(made, "w")
    end(made, "w")
    assert origin not in made.state.views["w"].pending[A1] and newer in made.state.views["w"].pending[A1]
    sound(made)


def test_patience_does_not_let_a_request_go_without_the_change_it_is_for():
    made = machine(BASES, *CHAIN)
    change(made, "u", A1)
    made.now += SETTLE
    assert start(made, "v")
    made.now += 100 * PATIENCE
    assert names(made) == []
    end(made, "v")
    assert names(made) == ["w"]


@pytest.mark.parametrize("how", ["suspended", "broken", "failed"])
def test_a_view_that_cannot_run_does_not_hold_its_readers(how):
    made = machine(BASES, *CHAIN)
    change(made, "u", A1)
    change(made, "t", A1)
    made.now += SETTLE
    match how:
        case "suspended":
            made.record(lambda _: Suspended(made.now, "v"))
        case "broken":
            made.record(lambda _: Broken(made.now, "v", Reason(Code.QUERY_NOT_ANALYSED, "a column is gone")))
        case "failed":
            fail_for_good(made, "v")
    assert names(made) == ["w"]
    assert start(made, "w")
    end(made, "w")
    assert not made.state.views["w"].pending and made.state.views["v"].pending

    # What it publishes later is a change of its own for its readers.
    if how == "failed":
        made.now += 300_000
    elif how == "broken":
        again = made.state.views["v"].definition
        made.record(lambda version: Declared(made.now, version, again, "can be analysed again", fill=False))
    else:
        made.record(lambda _: Resumed(made.now, "v"))
    assert start(made, "v")
    version = made.state.running["v"].version
    end(made, "v")
    assert made.state.views["w"].pending == {A1: frozenset({version})}
    assert made.state.origins[version].table == "v" and made.state.origins[version].verb == "was refreshed again"
    sound(made)


def test_a_failed_run_is_tried_again_after_a_pause():
    made = machine({"t": "a"}, view("v", "a", "t"))
    change(made, "t", A1)
    made.now += SETTLE
    assert start(made, "v")
    made.fail(made.flights["v"])
    assert names(made) == [] and wake_at(made.state, made.now) == made.now + 5_000
    made.now += 5_000
    assert names(made) == ["v"]


def test_the_oldest_change_goes_first():
    made = machine(BASES, view("x", "a", "t"), view("y", "a", "u"))
    change(made, "u", A1)
    made.now += 10
    change(made, "t", A1)
    made.now += SETTLE
    assert names(made) == ["y", "x"]


def test_a_run_records_the_versions_it_may_count_on():
    made = machine(BASES, *CHAIN)
    change(made, "t", A1)
    made.now += SETTLE
    event = decided(made.state, Choice(ready(made.state, made.now)[0]), 99, made.now).event
    assert event.inputs == (("v", made.state.tables["v"].highest), ("t", made.state.tables["t"].highest))
    assert (event.work.mode, event.slices, str(event.reason)) == (Mode.PARTITION, (A1,), "t[a=1] was written")


@pytest.mark.parametrize("made_by, ahead", [(Query("query"), True), (Job("m:f"), False)])
def test_who_cannot_read_ahead_is_on_record_with_what_is_published(made_by, ahead):
    made = machine(BASES, *CHAIN)
    known = made.state.views["w"]
    known.definition = evolve(known.definition, made_by=made_by)
    change(made, "u", A2)
    change(made, "t", A1)
    made.now += SETTLE
    before = made.state.tables["v"].highest
    [of_v] = [each for each in ready(made.state, made.now) if each.view == "v"]
    made.record(lambda version: decided(made.state, Choice(of_v, kept=True), version, made.now).event)
    while not made.state.running["v"].prepared:
        made.advance(made.flights["v"])
    [of_w] = [each for each in ready(made.state, made.now) if each.view == "w"]
    version = dict(decided(made.state, Choice(of_w), 99, made.now).event.inputs)["v"]
    assert version == (made.state.running["v"].version if ahead else before)


def test_a_run_of_everything_is_full_and_computes_each_partition_once():
    made = machine({"t": "a"}, view("v", "a", "t"))
    change(made, "t", A1)
    made.declare(view("v", "a", "t", fingerprint="2"))
    event = decided(made.state, Choice(ready(made.state, made.now)[0]), 99, made.now).event
    assert event.work.mode is Mode.FULL and event.slices == (WHOLE,)


def test_a_view_that_does_not_follow_stays_as_it_is_and_its_readers_with_it():
    made = machine(BASES, view("v", "a", "u", propagate="none"), view("w", "a", "v", "t"))
    change(made, "u", A1)
    assert not any(each.pending for each in made.state.views.values()) and not made.state.origins
    change(made, "t", A1)
    made.now += SETTLE
    assert names(made) == ["w"]
    made.record(lambda version: Requested(made.now, version, "v", (A1,), "was asked for"))
    made.now += SETTLE
    assert names(made) == ["v"], "asked for, it runs, and w waits for it"


@examples(100)
@given(added=st.lists(st.tuples(slices, st.frozensets(st.integers(1, 3), min_size=1)), max_size=6), asked=slices)
def test_what_is_awaited_at_a_slice_is_what_is_awaited_where_it_overlaps(added, asked):
    awaited = Reached(added)
    expected = {origin for each, origins in added if each.overlaps(asked) for origin in origins}
    assert set(awaited.at(asked)) == expected and bool(awaited) == bool(added)


@pytest.mark.parametrize("how", ["set a property", "create or replace"])
def test_a_view_that_follows_again_is_filled(how):
    before, after = view("v", "a", "t", propagate="none"), view("v", "a", "t")
    made = machine({"t": "a"}, before)
    change(made, "t", A1)
    made.drain()
    why, fill = ("follows its sources again", True) if how == "set a property" else ("was replaced", False)
    made.record(lambda version: Declared(made.now, version, after, why, fill))
    assert set(made.state.views["v"].pending) == {WHOLE}
    sound(made)
