"""The rule of change, case by case: each of these lost, repeated or blocked something once."""

from __future__ import annotations

from cases import A1, A2, B2, change, end, fail_for_good, machine, sound, start, view
from reference import lost
from strategies import rename

from headwater.engine.decide.readiness import ready, wake_at
from headwater.engine.record import queue
from headwater.engine.requests.limits import PATIENCE, SETTLE
from headwater.model.event import (
    Broken,
    Changed,
    EngineLost,
    Failed,
    Observed,
    Published,
    Requested,
    Resumed,
    Suspended,
)
from headwater.model.partition import WHOLE, Slice
from headwater.model.reason import Code, Reason
from headwater.model.state import Status


def test_a_change_while_a_run_is_in_flight_is_another_run():
    made = machine({"t": "a"}, view("v", "a", "t"))
    change(made, "t", A1)
    made.now += SETTLE
    assert start(made, "v")
    made.advance(made.flights["v"])
    change(made, "t", A1, 5)
    end(made, "v")
    assert list(made.state.views["v"].pending) == [A1]
    sound(made)


def test_slices_that_overlap_run_together():
    """One change reaches ``a=1`` through one occurrence and ``b=2`` through another; the partition in both
    is published once, although older changes make one of the two ready before the other."""
    made = machine({"t": "ab"}, view("v", "ab", ("t", "a,b")))
    change(made, "t", Slice.of(a="1", b="1"))
    made.now += SETTLE // 2
    change(made, "t", Slice.of(a="1", b="2"), 5)
    made.now += SETTLE // 2
    [chosen] = ready(made.state, made.now)
    assert set(chosen.slices) == set(made.state.views["v"].pending) == {A1, B2, Slice.of(b="1")}
    sound(made)


def test_a_slice_runs_only_for_the_changes_its_own_inputs_reflect():
    """``a=1`` is overtaken and goes for its old change alone, beside ``a=2``, which goes for the new one too."""
    made = machine({"t": "a", "u": "a"}, view("v", "a", "u"), view("w", "a", "v", "t"))
    change(made, "t", A1)
    old = made.state.highest
    made.now += PATIENCE
    made.world.write("u", A1, 5)
    made.look("u")
    made.now += SETTLE
    [w] = [each for each in ready(made.state, made.now) if each.view == "w"]
    assert w.needs == ((A1, (old,)),)
    sound(made)


def test_two_slices_in_one_run_keep_their_own_origins():
    """The change that one slice may run for already, another in the same run may not."""
    made = machine({"t": "a", "u": "a"}, view("v", "a", "u"), view("w", "a", "v", "t"))
    change(made, "t", A1)
    made.now += PATIENCE
    for partition in (A1, A2):
        made.world.write("u", partition, 9)
    made.look("u")
    assert made.state.views["w"].pending.keys() == {A1, A2}
    new = made.state.highest
    made.now += PATIENCE
    # v renews a=2 alone: its a=1 is put back.
    run = [each for each in ready(made.state, made.now) if each.view == "v"]
    assert run[0].slices == (A1, A2)
    made.state.views["v"].pending.pop(A2)  # as if a=2 had been published for it
    queue.tell(made.state, "w", [(A2, frozenset((new,)))])
    queue.touch(made.state, "v")
    [w] = [each for each in ready(made.state, made.now) if each.view == "w"]
    assert dict(w.needs)[A2] == (new,) and new not in dict(w.needs)[A1]


def test_a_view_declared_over_one_that_is_behind_reflects_what_that_is_behind_with():
    """The reader is declared while its input has a run of minutes; it must not lose what that run brings."""
    made = machine({"t": "a"}, view("v", "a", "t"))
    change(made, "t", A1)
    made.now += SETTLE
    assert start(made, "v")
    made.declare(view("w", "a", "v"))
    made.now += 10 * PATIENCE
    if start(made, "w"):
        end(made, "w")
    end(made, "v")
    assert not lost(made)
    sound(made)


def test_a_view_suspended_while_it_runs_tells_its_readers_what_it_published():
    made = machine({"t": "a"}, view("v", "a", "t"), view("w", "a", "v"))
    change(made, "t", A1)
    made.now += SETTLE
    assert start(made, "v")
    made.record(lambda _: Suspended(made.now, "v"))
    made.step()  # w is let past: what it reads is as it was
    assert not made.state.views["w"].pending
    end(made, "v")
    assert not lost(made)
    sound(made)
    made.record(lambda _: Resumed(made.now, "v"))
    assert not made.state.views["v"].released
    sound(made)


def test_a_view_stays_released_until_it_has_caught_up():
    """It failed for good, and ran for one change while a later one, of which its readers do not know,
    was not settled yet: that one is news for them too."""
    made = machine({"t": "a"}, view("v", "a", "t"), view("w", "a", "v"))
    change(made, "t", A1)
    fail_for_good(made, "v")
    made.step()  # w is let past: what it reads is as it was
    assert not made.state.views["w"].pending
    change(made, "t", A2, 5)
    assert A2 not in made.state.views["w"].pending
    made.state.views["v"].retry_at = 0
    assert start(made, "v")
    end(made, "v")
    assert made.state.views["v"].status is Status.ACTIVE and made.state.views["v"].released
    sound(made)
    assert not made.state.views["v"].released


def test_a_redefinition_forgets_the_slices_and_the_run_of_the_old_one():
    made = machine({"t": "ab"}, view("v", "a", "t"))
    change(made, "t", Slice.of(a="1", b="1"))
    made.now += SETTLE
    assert start(made, "v")
    flight = made.flights["v"]
    made.declare(view("v", "b", "t", fingerprint="2"))
    assert list(made.state.views["v"].pending) == [WHOLE] and not made.state.running
    made.record(lambda _: Published(made.now, flight.launch.run.version, "v", (), (), 0.1))  # too late
    assert list(made.state.views["v"].pending) == [WHOLE]
    assert start(made, "v") and made.flights["v"].launch.existing == {}
    end(made, "v")
    assert all(each.columns == {"b"} for each in made.state.tables["v"].partitions)
    sound(made)


def test_a_redefined_view_carries_older_changes_wherever_its_new_definition_does():
    """Its partitions of today are not those that the change covered when it was recorded, and its readers' neither."""
    made = machine({"t": "a"}, view("v", "a", "t"), view("w", "a", "v"))
    change(made, "t", A1)
    origin = made.state.highest
    assert made.state.views["w"].pending == {A1: {origin}}
    made.declare(view("v", "a", "t", fingerprint="2"))
    assert origin in made.state.views["v"].pending[WHOLE]
    assert origin in made.state.views["w"].pending[WHOLE]
    sound(made)


def test_a_view_renamed_while_it_runs_runs_again():
    made = machine({"t": "a"}, view("v", "a", "t"))
    change(made, "t", A1)
    made.now += SETTLE
    assert start(made, "v")
    rename(made, "v", "x")
    assert not made.state.running and list(made.state.views["x"].pending) == [A1]
    sound(made)


def test_a_view_dropped_with_pending_changes_leaves_no_trace():
    made = machine({"t": "a"}, view("v", "a", "t"), view("w", "a", "v"))
    change(made, "t", A1)
    made.now += SETTLE
    made.drop("w")
    assert start(made, "v")
    made.drop("v")
    assert not made.state.running and not made.state.origins and ready(made.state, made.now) == []
    assert wake_at(made.state, made.now) is None


def test_what_is_seen_of_a_view_that_runs_does_not_count():
    """A look that raced with the start of a run would record a version above the run's."""
    made = machine({"t": "a"}, view("v", "a", "t"))
    change(made, "t", A1)
    made.now += SETTLE
    assert start(made, "v")
    made.record(lambda version: Changed(made.now, version, "v", (Observed(A1, "x"),), "", 1, "was written"))
    assert made.state.tables["v"].highest < made.state.running["v"].version
    end(made, "v")
    sound(made)


def test_a_run_put_back_by_a_restart_waits_while_its_view_is_suspended():
    made = machine({"t": "a"}, view("v", "a", "t"))
    change(made, "t", A1)
    made.now += SETTLE
    assert start(made, "v")
    made.record(lambda _: Suspended(made.now, "v"))
    made.crash()
    assert list(made.state.views["v"].pending) == [A1]
    assert ready(made.state, made.now) == [] and wake_at(made.state, made.now) is None
    made.record(lambda _: Resumed(made.now, "v"))
    sound(made)


def test_events_about_a_view_that_is_not_there_change_nothing():
    made = machine({"t": "a"})
    before = len(made.state.views)
    for event in (
        Published(1, 2, "gone", (), (), 0.1),
        Failed(1, 2, "gone", Reason(Code.RUN_FAILED, "x"), 0.1),
        Suspended(1, "gone"),
        Broken(1, "gone", Reason(Code.QUERY_NOT_ANALYSED, "x")),
        Requested(1, 5, "gone", (WHOLE,), "x"),
        EngineLost(1, 1),
    ):
        made.record(lambda _, event=event: event)
    assert len(made.state.views) == before == 0 and not made.state.origins


def test_every_change_that_only_waits_for_time_wakes_the_engine():
    """``a=1`` cannot run (its input is behind and that has failed just now); ``a=2`` settles later."""
    made = machine({"t": "a", "u": "a"}, view("v", "a", "u"), view("w", "a", "v", "t"))
    change(made, "u", A1)
    made.now += SETTLE
    assert start(made, "v")
    change(made, "t", A2)
    assert wake_at(made.state, made.now) == made.now + SETTLE
    made.now += SETTLE
    assert start(made, "w") and made.state.running["w"].slices == (A2,)


def test_a_merge_puts_no_change_on_record_for_partitions_it_does_not_reach():
    """A request for everything, merged with one for ``a=1``, does not make the change of ``a=1`` one of ``a=2``."""
    made = machine({"t": "a"}, view("v", "a", "t"))
    change(made, "t", A1)
    small = made.state.highest
    made.record(lambda version: Requested(made.now, version, "v", (WHOLE,), "was asked for"))
    made.drain()
    last = {each.partition: each.origins for each in made.record_book[-2:]}
    assert small in last[A1] and small not in last[A2]


def test_a_view_renamed_while_it_is_ready_is_ready_under_its_new_name():
    made = machine({"t": "a"}, view("v", "a", "t"))
    change(made, "t", A1)
    assert wake_at(made.state, made.now) is not None
    rename(made, "v", "w")
    made.now += SETTLE
    assert [each.view for each in ready(made.state, made.now)] == ["w"]
    sound(made)


def test_a_table_that_is_gone_or_has_other_columns_has_no_partition_that_changed():
    made = machine({"t": "a"}, view("v", "a", "t"))
    made.record(lambda version: Changed(made.now, version, "t", (), "other", 0, "is gone"))
    assert not made.state.views["v"].pending and not made.state.origins
