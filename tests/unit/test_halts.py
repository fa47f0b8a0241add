"""A view that its owner suspended stays so, whatever becomes of its query meanwhile."""

from __future__ import annotations

from cases import A1, change, converged, machine, view
from machine import Machine
from reference import wrong

from headwater.model.event import Broken, Resumed, Suspended
from headwater.model.reason import Code, Reason
from headwater.model.state import Status

GONE = Reason(Code.QUERY_NOT_ANALYSED, "a column is gone")


def suspend(made: Machine) -> None:
    made.record(lambda _: Suspended(made.now, "v"))


def break_(made: Machine) -> None:
    made.record(lambda _: Broken(made.now, "v", GONE))


def mend(made: Machine) -> None:
    made.declare(made.state.views["v"].definition, "can be computed again")


def resume(made: Machine) -> None:
    made.record(lambda _: Resumed(made.now, "v"))


def status(made: Machine) -> Status:
    return made.state.views["v"].status


def test_a_suspended_view_that_breaks_and_is_mended_is_still_suspended():
    made = machine({"t": "a"}, view("v", "a", "t"))
    suspend(made)
    break_(made)
    assert status(made) is Status.SUSPENDED, "who waits for all views does not hear of it"
    mend(made)
    assert status(made) is Status.SUSPENDED
    change(made, "t", A1, 5)
    made.drain()
    assert made.state.views["v"].pending
    resume(made)
    converged(made)
    assert not wrong(made) and status(made) is Status.ACTIVE


def test_a_broken_view_is_no_better_for_being_suspended_and_resumed():
    made = machine({"t": "a"}, view("v", "a", "t"))
    break_(made)
    suspend(made)
    assert status(made) is Status.SUSPENDED
    for _ in range(2):
        resume(made)
        assert (status(made), made.state.views["v"].reason) == (Status.BROKEN, GONE)
    mend(made)
    converged(made)
    assert not wrong(made) and status(made) is Status.ACTIVE
