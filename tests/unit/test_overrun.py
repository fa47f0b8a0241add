"""What becomes of a change that comes while its view runs."""

from __future__ import annotations

import pytest
from cases import A1, A2, change, end, machine, sound, start, view

from headwater.engine.decide.readiness import ready, wake_at
from headwater.engine.requests.limits import PREEMPTED, SETTLE, SKIPPED
from headwater.engine.tell.why_it_waits import waits
from headwater.model.event import Hurried


def running(**properties):
    """``v`` runs for a change of one partition of ``t``."""
    made = machine({"t": "a"}, view("v", "a", "t", **properties))
    change(made, "t", A1)
    made.now += 2 * SETTLE
    assert start(made, "v")
    return made


def can_run(made) -> bool:
    return bool(ready(made.state, made.now))


def published(made) -> int:
    return sum(each.view == "v" and each.partition == A1 for each in made.record_book)


@pytest.mark.parametrize("properties", [{}, {"overrun": "queue"}])
def test_a_change_waits_for_the_next_run(properties):
    made = running(**properties)
    change(made, "t", A1, 4)
    assert not made.state.running["v"].preempted
    made.now += SETTLE
    end(made, "v")
    assert can_run(made)
    sound(made)


# --- preempt


def test_a_change_of_what_is_computed_preempts_and_both_run_together():
    made = running(overrun="preempt")
    before, [first] = published(made), made.state.origins
    change(made, "t", A1, 4)
    assert made.state.running["v"].preempted
    end(made, "v")
    assert published(made) == before and not made.state.running
    assert made.state.views["v"].failures == 0
    made.now += SETTLE
    [chosen] = ready(made.state, made.now)
    assert first in chosen.origins and len(chosen.origins) == 2
    sound(made)
    assert published(made) == before + 1


def test_a_change_of_another_partition_does_not_preempt():
    made = running(overrun="preempt")
    change(made, "t", A2)
    assert not made.state.running["v"].preempted
    end(made, "v")
    sound(made)


def test_a_preempted_run_that_publishes_all_the_same_counts():
    made = running(overrun="preempt")
    flight, before = made.flights["v"], published(made)
    while not flight.visible:
        made.advance(flight)
    change(made, "t", A1, 4)
    end(made, "v")
    assert published(made) == before + 1 and made.state.views["v"].preempted == 0
    sound(made)
    assert published(made) == before + 2


def test_one_of_many_runs_ends_however_often_changes_come():
    made = running(overrun="preempt")
    before = published(made)
    for content in range(4, 4 + PREEMPTED):
        change(made, "t", A1, content)
        end(made, "v")
        made.now += SETTLE
        assert start(made, "v")
    assert published(made) == before
    change(made, "t", A1, 9)
    assert not made.state.running["v"].preempted
    end(made, "v")
    assert published(made) == before + 1
    made.now += SETTLE
    assert start(made, "v")
    change(made, "t", A1, 10)
    assert made.state.running["v"].preempted, "the count begins anew"
    sound(made)


def test_a_run_that_somebody_cancels_is_tried_again_after_a_pause():
    made = running(overrun="preempt")
    made.fail(made.flights["v"], cancelled=True)
    assert made.state.views["v"].retry_at == made.now + 5_000


# --- skip


def late():
    """A change came while ``v`` ran, which has ended since."""
    made = running(overrun="skip")
    came = made.now
    change(made, "t", A1, 4)
    end(made, "v")
    return made, came


def test_a_change_that_came_meanwhile_is_late_but_not_lost():
    made, came = late()
    made.now += SETTLE
    assert not can_run(made)
    assert waits(made.state, "v", made.now) == (
        "waits for the next change, or starts in 8.9 s (headwater.overrun = skip)"
    )
    assert wake_at(made.state, made.now) == came + SKIPPED * SETTLE
    made.now = came + SKIPPED * SETTLE
    assert can_run(made)
    sound(made)


def test_it_runs_with_the_next_change_that_comes_when_the_view_does_not_run():
    made, _ = late()
    made.now += 3_000
    change(made, "t", A2)
    assert not can_run(made), "which settles first"
    made.now += SETTLE
    [chosen] = ready(made.state, made.now)
    assert chosen.slices == (A1, A2)
    sound(made)


def test_a_change_that_came_before_the_run_is_not_late():
    made = machine({"t": "a"}, view("v", "a", "t", overrun="skip"))
    change(made, "t", A1)
    made.now += SETTLE - 1
    change(made, "t", A2)
    made.now += 1
    assert start(made, "v")
    assert set(made.state.views["v"].pending) == {A2}
    end(made, "v")
    made.now += SETTLE
    assert can_run(made)


def test_somebody_who_waits_does_not_wait_for_that():
    made, _ = late()
    made.record(lambda version: Hurried(made.now, version))
    assert can_run(made)


def test_a_run_that_fails_leaves_nothing_late():
    made = running(overrun="skip")
    change(made, "t", A1, 4)
    made.fail(made.flights["v"])
    made.now += 5_000
    assert can_run(made)
    sound(made)


def test_a_promised_freshness_comes_first():
    made = running(overrun="skip", freshness="2 seconds")
    change(made, "t", A1, 4)
    end(made, "v")
    made.now += 2_000
    assert can_run(made)
