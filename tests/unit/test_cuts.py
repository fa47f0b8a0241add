"""Each published version of a view knows which state of every base table it shows."""

from __future__ import annotations

from cases import A1, A2, change, end, machine, sound, start, view

from headwater.engine.requests.limits import SETTLE
from headwater.engine.tell import report
from headwater.engine.tell.cuts import agreements, cuts
from headwater.model.event import Resumed, Suspended
from headwater.model.partition import WHOLE

DIAMOND = (
    view("v1", "", "s", format="delta"),
    view("v2", "", "s", format="delta"),
    view("d", "", "v1", "v2", format="delta"),
)


def diamond():
    return machine({"s": "", "r": ""}, *DIAMOND, lakes=("s", "r"))


def versions(made, name):
    return {each.table: each.version for each in cuts(made.state, name)}


def notes(made, name):
    return {each.table: each.note for each in cuts(made.state, name)}


def run(made, name):
    made.now += SETTLE
    assert start(made, name)
    end(made, name)


def test_a_view_shows_the_newest_state_while_nothing_is_pending():
    made = diamond()
    highest = made.state.tables["s"].highest
    assert versions(made, "v1") == versions(made, "d") == {"s": highest}
    [cut] = cuts(made.state, "d")
    assert cut.snapshot == made.state.tables["s"].snapshot and not cut.note


def test_a_view_that_is_behind_shows_the_state_before():
    made = diamond()
    before = made.state.tables["s"]
    old, snapshot = before.highest, before.snapshot
    change(made, "s", WHOLE)
    assert versions(made, "v1") == versions(made, "d") == {"s": old}
    run(made, "v1")
    assert versions(made, "v1") == {"s": made.state.tables["s"].highest} and versions(made, "d") == {"s": old}
    assert cuts(made.state, "d")[0].snapshot == snapshot
    sound(made)
    assert versions(made, "d") == {"s": made.state.tables["s"].highest}


def test_what_a_view_holds_is_kept_with_each_state_that_can_be_read_again():
    made = diamond()
    first = made.state.tables["v1"].highest
    change(made, "s", WHOLE)
    second = made.state.tables["s"].highest
    run(made, "v1")
    past = made.state.tables["v1"].past
    newest = made.state.tables["v1"].highest
    assert dict(past[newest].holds)["s"] == dict(past[newest].first)["s"] == second
    assert dict(past[first].holds)["s"] < second


def test_a_change_that_does_not_reach_a_view_belongs_to_its_cut():
    """The view reads only the partition that did not change."""
    made = machine({"s": "a"}, view("v", "a", "s", format="delta"), lakes=("s",))
    change(made, "s", A1)
    made.now += 10
    change(made, "s", A2)
    assert len({each for origins in made.state.views["v"].pending.values() for each in origins}) == 2
    run(made, "v")
    assert versions(made, "v") == {"s": made.state.tables["s"].highest}


def test_partitions_of_different_states_have_no_cut():
    """The run of one partition ends after a change of another one, which is older than the next change of the first."""
    made = machine({"s": "a"}, view("v", "a", "s", format="delta"), lakes=("s",))
    change(made, "s", A1)
    late = made.state.tables["s"].highest
    made.state.views["v"].holds["s"] = late
    assert versions(made, "v") == {"s": None}
    assert notes(made, "v")["s"] == f"some partitions reflect {late}, and others not yet {late}"


def test_a_source_without_states_gives_none_and_says_why():
    made = machine({"s": ""}, view("v", "", "s"))
    assert versions(made, "v") == {"s": None}
    assert notes(made, "v")["s"].endswith("[source.no_snapshots]")


def test_partitioned_files_give_their_version():
    made = machine({"s": "a"}, view("v", "a", "s"))
    assert versions(made, "v") == {"s": made.state.tables["s"].highest}
    assert "may be in it" in notes(made, "v")["s"]


def test_behind_a_view_that_cannot_run_there_is_none():
    made = diamond()
    made.record(lambda _: Suspended(made.now, "v1"))
    change(made, "s", WHOLE)
    made.drain()
    assert notes(made, "d") == {"s": "v1 is suspended, and its readers go on past it"}
    assert versions(made, "v2") == {"s": made.state.tables["s"].highest}
    made.record(lambda _: Resumed(made.now, "v1"))
    run(made, "v1")
    assert notes(made, "d") == {"s": "v1 changed by more than its sources, and the view follows it"}
    sound(made)
    assert versions(made, "d") == {"s": made.state.tables["s"].highest}


def test_a_view_that_was_adopted_knows_its_cut_after_a_refresh():
    made = diamond()
    made.state.views["v1"].holds.clear()
    change(made, "s", WHOLE)
    assert notes(made, "v1") == {"s": "it is known after the next refresh of all partitions"}


def test_views_of_one_table_agree_or_say_what_one_lacks():
    made = diamond()
    assert [each.verdict.consistent for each in agreements(made.state, "v1", 20)] == [True, True]
    change(made, "s", WHOLE)
    run(made, "v1")
    made.now += 5_000
    found = {each.verdict.other: each.verdict.consistent for each in agreements(made.state, "v1", 20)}
    assert found == {"d": False, "v2": False}
    rows = {row[0]: row for row in report.describe(made.state, "v1", True, made.now)}
    assert rows["with v2"][1].startswith("no, for 6 s: s")
    assert rows["s"][1] == f"{made.state.tables['s'].highest}, snapshot {made.state.tables['s'].snapshot}"
    run(made, "v2")
    rows = {row[0]: row for row in report.describe(made.state, "v1", True, made.now)}
    assert rows["with v2"][1] == "yes, for 0 s"
    assert not [*agreements(made.state, "v1", 0)]
