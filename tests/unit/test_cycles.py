"""Two definitions may close a circle together, each of which was checked alone. Nothing reads itself then."""

from __future__ import annotations

from cases import A1, change, converged, machine, view
from reference import wrong
from strategies import rename

from headwater.engine.record.transition import transition
from headwater.model.event import Declared, Renamed
from headwater.model.state import State, Status


def test_a_view_that_would_read_itself_is_broken_and_all_others_go_on():
    made = machine({"t": "a"}, view("v", "a", "t"), view("w", "a", "v"), view("x", "a", "t"))
    made.record(lambda version: Declared(made.now, version, view("v", "a", "w"), "means something else"))
    known = made.state.views["v"]
    assert known.status is Status.BROKEN and known.definition.sources == ("t",)
    assert str(known.reason) == "v would read itself: v reads w reads v"
    change(made, "t", A1, 7)
    made.drain()
    assert made.state.views["x"].status is Status.ACTIVE and not made.state.views["x"].pending
    made.declare(view("v", "a", "t"), "can be computed again")
    converged(made)
    assert not wrong(made) and made.state.views["v"].status is Status.ACTIVE


def test_a_new_view_that_would_read_itself_reads_nothing():
    made = machine({"t": "a"}, view("w", "a", "t"))
    made.record(lambda version: Declared(made.now, version, view("t", "a", "w"), "was found in the catalog"))
    assert made.state.views["t"].status is Status.BROKEN and not made.state.views["t"].definition.sources


def test_a_view_that_takes_the_name_of_what_it_is_made_from():
    made = machine({"t": "a", "u": "a"}, view("w", "a", "t"), view("x", "a", "w"))
    rename(made, "x", "t")
    known = made.state.views["t"]
    assert known.status is Status.BROKEN and not known.definition.sources
    assert str(known.reason) == "t would read itself: t reads w reads t"


def test_no_event_leaves_a_circle():
    state = State()
    for version, definition in enumerate((view("a", "", "b"), view("b", "", "c"), view("c", "", "a")), 1):
        state = transition(state, Declared(0, version, definition, "was created"))
    state = transition(state, Renamed(0, 9, "b", "a2", view("a2", "", "a")))
    assert list(state.index.order) and state.views["c"].status is Status.BROKEN
