"""Histories in which a view once missed a change for good. Random ones hardly find them: each has rare steps."""

from __future__ import annotations

import pytest
from cases import A1, A2, change, converged, end, machine, run_now, start, view
from reference import wrong
from strategies import kept, mark

from headwater.model.event import Broken, Declared, Requested, Suspended
from headwater.model.partition import WHOLE, Slice
from headwater.model.reason import Code, Reason


def test_a_view_that_caught_up_without_a_refresh_is_waited_for_again():
    """``s`` is suspended while a change comes that ``p`` filters out. So it has nothing to do when it is resumed.
    Readers went on past it, and wait for it again. ``m`` follows marked changes alone, and would miss the mark."""
    made = machine(
        {"t": "a", "u": "a"}, view("p", "a", "t"), view("s", "a", "p", "u"), view("m", "a", "s", propagate="marked")
    )
    change(made, "t", A1, 7)
    converged(made)
    change(made, "u", A2, 5)
    converged(made)
    made.record(lambda _: Suspended(made.now, "s"))
    change(made, "t", A1, 14)
    kept(made)
    converged(made)
    assert not made.state.views["s"].released
    for table in ("t", "u"):
        mark(made, table)
    made.settle()
    assert not wrong(made, marked=True)


def test_a_refresh_that_was_asked_for_shows_changes_that_its_view_is_pending_for():
    """``s`` reads ``t`` directly and by ``v``. Asked for, it runs while ``v`` is late, and shows the change of ``t``.
    ``r`` must not go back to the version before, and say that it did what was asked for."""
    made = machine(
        {"t": "a"},
        view("v", "a", "t", format="delta"),
        view("s2", "a", "t", format="delta"),
        view(
            "s", "a", "v", ("t", "a,a"), format="delta"
        ),  # by two places of t it sees 7 become 14, which v filters out
        view("r", "a", "s", "s2", format="delta", consistency="strict"),
        lakes=["t"],
    )
    change(made, "t", A1, 7)
    converged(made)
    made.record(lambda version: Requested(made.now, version, "s", (A1,), "was asked for"))
    made.now += 61_000
    change(made, "t", A1, 14)
    made.now += 1_000
    assert start(made, "s")
    end(made, "s")
    made.now += 1_000
    if start(made, "r"):
        end(made, "r")
    converged(made)
    assert not wrong(made)


def test_a_table_that_gets_snapshots_while_it_is_empty_concerns_all_that_is_made_from_it():
    """``t`` is emptied, and made anew in a lake format. That changes no row, but its states can be told apart now. So
    ``r`` must not start for a change that the versions lack which agree about ``t``."""
    made = machine(
        {"t": "a", "u": "a"},
        view("s", "a", "t", format="delta"),
        view("s2", "a", "t", "u", format="delta"),
        view("r", "a", "s", "s2", format="delta", consistency="strict"),
        lakes=["u"],
    )

    def gone(partition: Slice) -> None:
        made.world.write("t", partition, None)
        made.look("t", named=(partition,))

    gone(A1)
    made.now += 5_000
    converged(made)
    change(made, "u", A1, 5)
    made.now += 5_000
    assert start(made, "s2")
    end(made, "s2")
    change(made, "u", A1, 6)
    made.now += 61_000
    gone(A2)
    made.now += 5_000
    assert start(made, "s2")
    end(made, "s2")
    made.now += 61_000
    made.world.make_anew("t", lake=True)
    made.look("t")
    made.now += 5_000
    if start(made, "r"):
        end(made, "r")
    converged(made)
    assert not wrong(made)


def test_a_mark_reaches_what_is_made_from_a_view_that_others_go_on_past():
    """``s`` is suspended when all that is made from ``t`` is asked for, and ``m`` follows marked changes alone."""
    made = machine({"t": "a"}, view("s", "a", "t"), view("n", "a", "s"), view("m", "a", "n", propagate="marked"))
    change(made, "t", A1, 5)
    converged(made)
    made.record(lambda _: Suspended(made.now, "s"))
    mark(made, "t")
    kept(made)
    converged(made)
    assert not wrong(made, marked=True)


def test_a_view_that_is_described_anew_is_waited_for_again():
    """Its query can be analysed again, and is the same."""
    made = machine({"t": "a"}, view("s", "a", "t", format="delta"), lakes=["t"])
    made.record(lambda _: Broken(made.now, "s", Reason(Code.QUERY_NOT_ANALYSED, "a column is gone")))
    again = made.state.views["s"].definition
    made.record(lambda version: Declared(made.now, version, again, "was described anew", fill=False))
    converged(made)
    assert not made.state.views["s"].released


@pytest.mark.parametrize("format", ["parquet", "delta"])
def test_what_a_view_shows_after_it_was_asked_for_reaches_its_readers(format: str):
    """``v`` reads ``t`` directly and by ``u``. Asked for alone, it shows a change that it awaits by ``u``. Its refresh
    for this change comes out equal then."""
    made = machine(
        {"t": "a"},
        view("u", "a", "t", format=format),
        view("v", "a", "u", ("t", "a,a"), format=format),
        view("r", "a", "v", format=format),
        lakes=["t"],
    )
    change(made, "t", A1, 7)
    converged(made)
    made.now += 100_000
    made.record(lambda version: Requested(made.now, version, "v", (A1,), "was asked for", downstream=False))
    made.now += 61_000
    change(made, "t", A1, 14)
    made.now += 100
    assert run_now(made, "v")
    converged(made)
    assert not wrong(made)


def test_what_is_made_from_a_view_that_does_not_follow_is_refreshed_when_that_is_asked_for():
    made = machine({"t": "a"}, view("m", "a", "t", propagate="marked"), view("n", "a", "m"))
    change(made, "t", A1, 5)
    converged(made)
    made.record(lambda version: Requested(made.now, version, "m", (WHOLE,), "was asked for", downstream=False))
    converged(made)
    assert not wrong(made, marked=True)


@pytest.mark.parametrize(
    ("properties", "gap"), [({"cadence": "10 seconds"}, 800), ({"cadence": "10 minutes", "settle": "1 minute"}, 30_000)]
)
def test_a_source_that_changes_again_and_again_does_not_stop_a_view_that_expects_groups(properties, gap: int):
    made = machine({"t": "a"}, view("v", "a", "t", **properties))
    ran = 0
    for content in range(100):
        made.now += gap
        change(made, "t", A1, content)
        ran += run_now(made, "v")
    assert ran > 3
