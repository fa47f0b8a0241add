"""How long changes are held: the bounds downstream less the time that the runs to them take."""

from __future__ import annotations

import pytest
from attrs import evolve

from headwater.engine import report
from headwater.engine.choose import ready, wake_at
from headwater.engine.hold import QUANTILE, hold, learned, needed, patience
from headwater.engine.policy import PATIENCE, SETTLE
from headwater.engine.transition import transition
from headwater.model.dependency import Dependency
from headwater.model.event import Altered, Changed, Declared, Hurried, Observed, Suspended
from headwater.model.partition import WHOLE
from headwater.model.state import State, Took
from headwater.model.view import Definition


def build(views: dict[str, tuple[tuple[str, ...], str, float | None]]) -> State:
    """Views with what they read, the freshness they promise, and the seconds that each of their runs took."""
    state = State()
    for version, (name, (reads, freshness, seconds)) in enumerate(views.items(), 1):
        properties = {"headwater.freshness": freshness} if freshness else {}
        definition = Definition(name, "", (), properties=properties, dependencies=tuple(map(Dependency, reads)))
        state, _ = transition(state, Declared(0, version, definition, "was created", fill=False))
        if seconds is not None:
            state.views[name].took = Took(seconds, 0.0)
    return state


def change(state: State, at: int = 0, table: str = "t") -> State:
    seen = (Observed(WHOLE, str(state.highest)),)
    return transition(state, Changed(at, state.highest + 1, table, seen, "", 0, "changed"))[0]


def test_a_view_waits_for_its_bound_less_its_own_run():
    state = build({"a": (("t",), "10 minutes", 30.0)})
    assert hold(state, "a").millis == 570_000


def test_the_tightest_path_downstream_decides():
    state = build(
        {
            "a": (("t",), "10 minutes", 30.0),
            "b": (("a",), "10 minutes", 60.0),
            "c": (("b",), "5 minutes", 20.0),
            "d": (("a",), "1 hour", 90.0),
        }
    )
    found = hold(state, "a")
    assert (found.millis, found.bound, found.path) == (190_000, 300_000, ("a", "b", "c"))
    assert found.needed == 110_000


def test_readers_that_promise_nothing_do_not_hurry():
    state = build({"a": (("t",), "10 minutes", 30.0), "b": (("a",), "", 500.0)})
    assert hold(state, "a").millis == 570_000


def test_a_suspended_reader_does_not_hurry():
    state = build({"a": (("t",), "10 minutes", 30.0), "b": (("a",), "1 minute", 5.0)})
    assert hold(state, "a").millis == 25_000
    state, _ = transition(state, Suspended(0, "b"))
    assert hold(state, "a").millis == 570_000


@pytest.mark.parametrize("seconds", [None, 700.0, 599.5])
def test_without_time_to_spare_nothing_is_held(seconds: float | None):
    assert hold(build({"a": (("t",), "10 minutes", seconds)}), "a") is None


def test_a_view_that_promises_nothing_is_not_held_for_its_readers():
    assert hold(build({"a": (("t",), "", 1.0), "b": (("a",), "1 hour", 1.0)}), "a") is None


def test_the_spread_of_run_times_is_kept_free_at_the_stated_confidence():
    took = None
    for seconds in [10.0] * 40:
        took = learned(took, seconds)
    assert took.mean == pytest.approx(10)
    assert needed(took) == pytest.approx(10_000, rel=0.05)
    assert needed(learned(None, 10.0)) == pytest.approx(1000 * (10 + QUANTILE * 10))
    later = took
    for _ in range(20):
        later = learned(later, 30.0)
    assert later.mean == pytest.approx(30, rel=0.01)


def test_a_held_change_runs_in_time_and_takes_along_what_came():
    state = change(build({"a": (("t",), "1 minute", 10.0), "b": (("a",), "1 minute", 5.0)}), at=1_000)
    assert ready(state, 1_000 + SETTLE) == []
    assert wake_at(state, 2_000) == 46_000
    state = change(state, at=40_000)
    assert ready(state, 45_999) == []
    [chosen] = ready(state, 46_000)
    assert chosen.view == "a" and len(chosen.origins) == 2


def test_who_waits_is_served_at_once():
    state = change(build({"a": (("t",), "1 minute", 10.0)}))
    state, _ = transition(state, Hurried(5, state.highest + 1))
    assert [each.view for each in ready(state, 5)] == ["a"]


def test_newer_changes_join_as_long_as_the_bound_allows():
    assert patience(build({"a": (("t",), "", 10.0)}), "a") == PATIENCE
    assert patience(build({"a": (("t",), "10 minutes", 30.0)}), "a") == 570_000
    assert patience(build({"a": (("t",), "10 minutes", None)}), "a") == PATIENCE
    assert patience(build({"a": (("t",), "10 seconds", None)}), "a") == 10_000


def test_the_roots_of_a_wave_start_together():
    """t1 changes first and t2 later: c needs both, so b starts when a must."""
    state = build(
        {"a": (("t1",), "1 minute", 5.0), "b": (("t2",), "1 minute", 5.0), "c": (("a", "b"), "1 minute", 5.0)}
    )
    state = change(state, 0, "t1")
    state = change(state, 20_000, "t2")
    assert [each.view for each in ready(state, 49_999)] == []
    assert [each.view for each in ready(state, 50_000)] == ["a", "b"]


def test_explain_shows_the_decision_and_its_numbers():
    state = change(build({"a": (("t",), "1 minute", 10.0), "b": (("a",), "1 minute", 5.0)}))
    assert report.waits(state, "a", 15_000) == (
        "held for 30.0 s more, so that further changes join: b may be 60 s behind, "
        "of which 15.0 s are kept for the runs of a, b"
    )


def test_a_reader_that_does_not_follow_does_not_hurry():
    state = build({"a": (("t",), "10 minutes", 30.0), "b": (("a",), "1 minute", 5.0)})
    once = evolve(
        state.views["b"].definition, properties={"headwater.freshness": "1 minute", "headwater.propagate": "none"}
    )
    state, _ = transition(state, Declared(0, 9, once, "was replaced", fill=False))
    assert hold(state, "a").millis == 570_000


def test_a_chain_of_any_length_is_held():
    length = 3_000
    views = {f"v{n:04d}": ((f"v{n - 1:04d}" if n else "t",), "", 0.001) for n in range(length)}
    views |= {"v0000": (("t",), "1 hour", 0.001), f"v{length - 1:04d}": ((f"v{length - 2:04d}",), "1 hour", 0.001)}
    assert hold(build(views), "v0000").millis == 3_600_000 - length


def test_a_new_promise_reaches_all_that_a_view_is_made_from():
    """Whether a request waits for newer changes depends on what is promised below, however far."""
    chain = {"a": (("t",), "", 1.0), "b": (("a",), "", 1.0), "c": (("b",), "1 hour", 1.0)}
    state = build(chain)
    state.stale.clear()
    state.stale.add("b")
    state, _ = transition(state, Altered(0, "c", (("headwater.freshness", "1 minute"),)))
    assert state.stale == {"a", "b", "c"}
