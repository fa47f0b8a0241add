"""Early cutoff: what came out unchanged runs no reader, or only the parts that did change."""

from __future__ import annotations

from attrs import evolve
from cases import A1, A2, change, end, machine, sound, start, view
from reference import replayed

from headwater.engine.decide.readiness import ready, unneeded
from headwater.engine.record.transition import transition
from headwater.engine.requests.limits import SETTLE
from headwater.engine.tell.refreshes import REFRESHES, refreshes
from headwater.model.event import Renamed, Requested, Skipped
from headwater.model.partition import WHOLE, Slice

CHAIN = (view("v", "a", "t"), view("w", "a", "v"), view("x", "a", "w"))


def refreshed(made, since: int) -> list[tuple[str, Slice]]:
    return [(each.view, each.partition) for each in made.record_book if each.version > since]


def test_readers_of_what_came_out_unchanged_are_completed_without_running():
    made = machine({"t": "a"}, *CHAIN)
    since = made.state.highest
    change(made, "t", A1, 1)  # written again with the same rows
    sound(made)
    assert refreshed(made, since) == [("v", A1)]
    skipped = [event for event in made.journal if isinstance(event, Skipped)]
    assert [event.view for event in skipped] == ["w", "x"]
    assert skipped[0].reason.text == "t[a=1] was written; what w reads of it came out unchanged"
    row = dict(zip(REFRESHES, refreshes(reversed(made.journal))[0].row, strict=True))
    assert (row["view"], row["partition"], row["mode"], row["status"]) == ("x", "a=1", "skipped", "unchanged")


def test_a_change_beside_one_that_changed_nothing_runs():
    made = machine({"t": "a", "u": "a"}, view("v", "a", "t"), view("w", "a", "v", "u"))
    since = made.state.highest
    change(made, "t", A1, 1)
    change(made, "u", A1, 9)
    sound(made)
    assert sorted(refreshed(made, since)) == [("v", A1), ("w", A1)]


def test_a_reader_waits_for_all_that_may_change_before_it_is_left_out():
    made = machine({"t": "a"}, view("v", "a", "t"), view("u", "a", "t"), view("w", "a", "v", "u"))
    change(made, "t", A1, 1)
    made.now += SETTLE
    assert start(made, "v")
    end(made, "v")
    assert not unneeded(made.state) and [each.view for each in ready(made.state, made.now)] == ["u"]
    sound(made)


def test_of_a_view_that_is_to_run_as_a_whole_only_what_its_input_changed_runs():
    """``d`` is not partitioned, so a change of it reaches all of ``v``, of which one partition comes out changed."""
    made = machine({"d": "", "t": "a"}, view("v", "a", ("d", ""), "t"), view("w", "a", "v"))
    since = made.state.highest
    made.world.write("d", WHOLE, 1)
    made.look("d")
    made.world.write("t", A2, 9)  # not looked at yet: v reads it all the same
    made.drain()
    assert ("w", A2) in refreshed(made, since) and ("w", A1) not in refreshed(made, since)
    made.settle()
    sound(made)


def test_a_new_definition_and_a_refresh_by_hand_run_all_that_follows():
    made = machine({"t": "a"}, *CHAIN)
    since = made.state.highest
    made.record(lambda version: Requested(made.now, version, "v", (A1,), "was to be refreshed"))
    sound(made)
    assert refreshed(made, since) == [("v", A1), ("w", A1), ("x", A1)]


def test_without_sums_everything_counts_as_changed():
    made = machine({"t": "a"}, *CHAIN)
    made.world.sums = False
    since = made.state.highest
    change(made, "t", A1, 1)
    sound(made)
    assert refreshed(made, since) == [("v", A1), ("w", A1), ("x", A1)]


def test_what_was_written_into_a_view_past_headwater_is_no_base_for_comparison():
    made = machine({"t": "a"}, *CHAIN)
    made.world.write("v", A1, 77)  # by somebody else, unnoticed
    change(made, "t", A1, 1)
    made.drain()
    assert ("w", A1) in refreshed(made, 0)
    sound(made)


def test_what_need_not_run_is_renamed_with_its_view():
    """Under the old name it would be completed again and again: an event about a view that is not there changes
    nothing."""
    made = machine({"t": "a"}, *CHAIN[:2])
    change(made, "t", A1, 1)
    made.now += SETTLE
    assert start(made, "v")
    end(made, "v")
    state = replayed(made.journal[:-1])  # before it was completed
    assert [each.view for each in unneeded(state)] == ["w"]
    state = transition(
        state, Renamed(made.now, state.highest + 1, "w", "z", evolve(state.views["w"].definition, view="z"))
    )
    assert [each.view for each in unneeded(state)] == ["z"]
