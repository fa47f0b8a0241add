"""A view may wait for what it reads however long that fails, or go on without it."""

from __future__ import annotations

import pytest
from attrs import evolve
from cases import A1, A2, change, end, fail_for_good, machine, sound, start, view

from headwater.engine.decide.readiness import ready
from headwater.engine.requests.coverage import depending
from headwater.engine.tell.report import explain
from headwater.engine.tell.waiting import settled
from headwater.engine.tell.why_it_waits import held_by, waits
from headwater.model.event import Altered, Broken, Hurried, Suspended
from headwater.model.reason import Code, Reason
from headwater.model.state import Status

DAY = 86_400_000


def failing(**properties):
    """``w`` reads the table ``u`` and ``v``, which fails for good for a change of ``t``; ``u`` changes too."""
    made = machine({"t": "a", "u": "a"}, view("v", "a", "t"), view("w", "a", "v", "u", **properties))
    change(made, "t", A1)
    change(made, "u", A1)
    fail_for_good(made, "v")
    made.now += DAY
    return made


def can_run(made) -> list[str]:
    return [each.view for each in ready(made.state, made.now)]


def published(made, name: str) -> int:
    return sum(each.view == name for each in made.record_book)


def test_a_reader_goes_on_past_a_failed_view_unless_it_is_to_hold():
    assert sorted(can_run(failing())) == ["v", "w"]
    assert sorted(can_run(failing(upstream="release"))) == ["v", "w"]
    assert can_run(failing(upstream="hold")) == ["v"]


def test_it_says_what_it_waits_for():
    made = failing(upstream="hold")
    said = "waits, as headwater.upstream = hold: v failed: no luck"
    assert waits(made.state, "w", made.now) == said
    assert f"  {said} [wait.upstream_stuck]" in explain(made.state, "w", made.now)
    assert held_by(made.state, "w") == ["v"]


def test_a_later_change_of_another_table_waits_too_and_one_of_another_partition_does_not():
    made = failing(upstream="hold")
    change(made, "u", A1, 4)
    made.now += DAY
    assert can_run(made) == ["v"]
    change(made, "u", A2)
    made.now += DAY
    [chosen] = [each for each in ready(made.state, made.now) if each.view == "w"]
    assert chosen.slices == (A2,)


def test_when_the_failed_view_recovers_its_reader_runs_once_for_all_that_came_meanwhile():
    made = failing(upstream="hold")
    change(made, "t", A1, 5)
    change(made, "u", A1, 6)
    made.now += DAY
    before = published(made, "w")
    assert start(made, "v")
    assert not start(made, "w"), "not while it runs either"
    end(made, "v")
    assert not made.state.views["v"].released
    sound(made)
    assert published(made, "w") == before + 1


def test_a_broken_view_holds_and_a_suspended_one_does_not():
    made = machine({"t": "a", "u": "a"}, view("v", "a", "t"), view("w", "a", "v", "u", upstream="hold"))
    change(made, "t", A1)
    change(made, "u", A1)
    made.record(lambda _: Broken(made.now, "v", Reason(Code.QUERY_NOT_ANALYSED, "a column is gone")))
    made.now += DAY
    assert not can_run(made)
    assert waits(made.state, "w", made.now) == "waits, as headwater.upstream = hold: v is broken: a column is gone"
    made.record(lambda _: Suspended(made.now, "v"))
    assert made.state.views["v"].status is Status.SUSPENDED and can_run(made) == ["w"]


def test_what_reads_a_view_that_holds_waits_with_it():
    made = machine({"t": "a"}, view("v", "a", "t"), view("w", "a", "v", upstream="hold"), view("x", "a", "w"))
    change(made, "t", A1)
    fail_for_good(made, "v")
    made.now += DAY
    assert can_run(made) == ["v"]
    assert held_by(made.state, "x") == ["v"]
    assert waits(made.state, "x", made.now) == "waits for w, so that one refresh takes all changes"


@pytest.mark.parametrize("name", ["v", "w"])
def test_whoever_waits_for_a_view_that_holds_need_not_wait_for_ever(name):
    made = failing(upstream="hold")
    made.record(lambda version: Hurried(made.now, version))
    asked = made.state.highest
    assert not settled(made.state, name, asked), "v is tried once more"
    assert start(made, "v")
    made.fail(made.flights["v"])
    assert settled(made.state, name, asked)


def test_the_property_may_be_set_while_it_matters():
    made = failing()
    properties = {"headwater.upstream": "hold"}
    made.record(lambda _: Altered(made.now, "w", tuple(properties.items())))
    assert can_run(made) == ["v"]
    made.record(lambda _: Altered(made.now, "w", ()))
    assert sorted(can_run(made)) == ["v", "w"]
    assert start(made, "w")
    end(made, "w")
    sound(made)


def test_a_write_that_waits_waits_for_what_is_made_of_it():
    made = machine({"t": "a", "u": "a"}, view("v", "a", "t"), view("w", "a", "v", "u"), view("x", "a", "u"))
    last = made.state.views["x"]
    last.definition = evolve(last.definition, through=("plain",))
    assert depending(made.state, {"t"}) == {"t", "v", "w"}
    assert depending(made.state, {"u"}) == {"u", "w", "x"}
    assert depending(made.state, {"plain"}) == {"plain", "x"}
