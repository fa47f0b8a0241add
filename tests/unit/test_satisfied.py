"""What is written just before a run reads is read by it, and asks for no other run."""

from __future__ import annotations

from cases import A1, A2, B2, change, machine, sound, start, view

from headwater.engine.requests.limits import SETTLE
from headwater.model.event import Changed, Failed, Observed
from headwater.model.partition import Slice
from headwater.model.reason import Code, Reason

V, W = view("v", "a", "t"), view("w", "a", "v")


def begun(*views, bases=None):
    """A machine on which ``v`` is about to read ``t``, of which A1 changed."""
    made = machine(bases or {"t": "a"}, *views)
    made.looks = False
    change(made, "t", A1)
    made.now += SETTLE
    assert start(made, "v")
    return made, made.state.running["v"].version


def write(made, partition: Slice, content: int, run: int) -> None:
    made.world.write("t", partition, content)
    made.look("t", before=run)


def runs(made, name: str) -> int:
    return len({each.version for each in made.record_book if each.view == name})


def test_a_run_that_is_about_to_read_a_change_satisfies_what_it_asks_for():
    made, run = begun(V, W)
    before = runs(made, "v"), runs(made, "w")
    write(made, A1, 9, run)
    changed = made.state.tables["t"].highest
    assert not made.state.views["v"].pending
    assert dict(made.state.running["v"].inputs) == {"t": changed}
    sound(made)
    assert (runs(made, "v"), runs(made, "w")) == (before[0] + 1, before[1] + 1)


def test_what_the_run_does_not_compute_remains():
    made, run = begun(V)
    write(made, A2, 9, run)
    assert list(made.state.views["v"].pending) == [A2]
    sound(made)


def test_what_reaches_the_view_through_another_one_too_remains():
    """``v`` runs for another table; it has to run again when ``u``, which the change reaches too, has."""
    made = machine({"t": "a", "s": "a"}, view("u", "a", "t"), view("v", "a", "u", "t", "s"))
    made.looks = False
    change(made, "s", A1)
    made.now += SETTLE
    assert start(made, "v")
    write(made, A1, 9, made.state.running["v"].version)
    assert list(made.state.views["v"].pending) == [A1]
    sound(made)


def test_it_is_taken_whole_or_not_at_all():
    """A change reaches ``a=1`` through one place of the query and ``b=2`` through the other; the run computes one."""
    both = view("v", "ab", ("t", "a,b"))
    made = machine({"t": "ab"}, both)
    made.looks = False
    written = Slice.of(a="1", b="2")
    made.record(lambda version: Changed(made.now, version, "t", (Observed(Slice.of(a="1", b="1"), "x"),), "", 1, "was"))
    assert {A1, Slice.of(b="1")} == set(made.state.views["v"].pending)
    made.now += SETTLE
    assert start(made, "v")
    made.world.write("t", written, 9)
    made.look("t", before=made.state.running["v"].version)
    assert B2 in made.state.views["v"].pending and A1 in made.state.views["v"].pending


def test_a_run_that_fails_leaves_what_it_took_along_pending():
    made, run = begun(V)
    write(made, A1, 9, run)
    made.record(lambda _: Failed(made.now, run, "v", Reason(Code.RUN_FAILED, "no luck"), 1.0))
    assert made.state.views["v"].pending[A1] == set(made.state.origins) and len(made.state.origins) == 2
    sound(made)


def test_what_a_run_takes_along_does_not_preempt_it():
    made, run = begun(view("v", "a", "t", overrun="preempt"))
    write(made, A1, 9, run)
    assert not made.state.running["v"].preempted and made.state.views["v"].preempted == 0
    change(made, "t", A1, 10)
    assert made.state.running["v"].preempted
    sound(made)
