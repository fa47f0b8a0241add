"""What immediate triggering would run, counted by hand."""

from __future__ import annotations

from cases import A1, A2, machine, view

from headwater.engine.record.transition import transition
from headwater.model.event import Suspended
from headwater.model.partition import WHOLE, Slice
from headwater.simulate.naive import Triggered, immediate, triggered

DIAMOND = (view("l", "a", "t"), view("r", "a", "t"), view("foot", "a", "l", "r"), view("last", "a", "foot"))


def test_a_diamond():
    """t → l, r (1 each); foot once for l and once for r; last once for each of those: 2 + 2 + 2."""
    made = machine({"t": "a"}, *DIAMOND)
    assert immediate(made.state, "t", [A1]) == 6
    assert immediate(made.state, "t", [A1, A2]) == 12
    assert immediate(made.state, "t", []) == 0


def test_headwater_runs_four_of_these_six():
    made = machine({"t": "a"}, *DIAMOND)
    before = len(made.record_book)
    made.world.write("t", A1, 3)
    made.look("t")
    made.drain()
    assert len(made.record_book) - before == 4


def test_a_change_of_a_view_counts_only_what_is_downstream_of_it():
    made = machine({"t": "a"}, *DIAMOND)
    assert immediate(made.state, "l", [A1]) == 2
    assert immediate(made.state, "foot", [A1]) == 1
    assert immediate(made.state, "last", [A1]) == 0


def test_a_free_column_counts_the_partitions_that_exist():
    """The view keeps two partitions (a=1 and a=2), and the source's column is another one."""
    made = machine({"t": "a", "s": "b"}, view("v", "a", "t", ("s", "")))
    existing = len([each for each in made.world.content["v"]])
    assert immediate(made.state, "s", [Slice.of(b="1")]) == existing


def test_a_view_that_has_no_partition_yet_counts_one():
    made = machine({"t": ""})
    made.declare(view("v", "", "t"))
    assert immediate(made.state, "t", [WHOLE]) == 1


def test_a_wide_change_is_one_run_for_each_path():
    made = machine({"t": "a"}, *DIAMOND)
    once, twice = Triggered(1, 2), Triggered(2, 4)
    assert triggered(made.state, "t", [A1, A2]) == {"l": once, "r": once, "foot": twice, "last": twice}


def test_a_view_that_is_recomputed_counts_itself():
    made = machine({"t": "a"}, *DIAMOND)
    assert triggered(made.state, "foot", [WHOLE], itself=True) == {"foot": Triggered(1, 2), "last": Triggered(1, 2)}
    assert triggered(made.state, "foot", [A1])["last"] == Triggered(1, 1)


def test_nothing_passes_through_a_view_that_is_not_kept_or_does_not_follow():
    made = machine({"t": "a"}, *DIAMOND[:2], view("foot", "a", "l", "r", propagate="none"), DIAMOND[3])
    assert triggered(made.state, "t", [A1]).keys() == {"l", "r"}
    made = machine({"t": "a"}, *DIAMOND)
    suspended = transition(made.state, Suspended(0, "l"))
    assert triggered(suspended, "t", [A1]) == dict.fromkeys(("r", "foot", "last"), Triggered(1, 1))
