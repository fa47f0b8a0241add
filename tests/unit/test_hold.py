"""How long changes are held: the bounds downstream less the time that the runs to them take."""

from __future__ import annotations

import pytest
from attrs import evolve

from headwater.engine.decide.readiness import Choice, ready, wake_at
from headwater.engine.decide.starting import decided
from headwater.engine.methods.costs import took as learned
from headwater.engine.record.transition import transition
from headwater.engine.requests.limits import AHEAD, PATIENCE, SETTLE
from headwater.engine.tell import report
from headwater.engine.waits.freshness import QUANTILE, hold, needed, waits_for
from headwater.model.costs import Took
from headwater.model.dependency import Dependency
from headwater.model.event import Altered, Changed, Declared, Hurried, Made, Observed, Published, Suspended
from headwater.model.partition import WHOLE
from headwater.model.state import State
from headwater.model.view import Definition


def build(views: dict[str, tuple[tuple[str, ...], str, float | None]]) -> State:
    """Views with what they read, the freshness they promise, and the seconds that each of their runs took."""
    state = State()
    for version, (name, (reads, freshness, seconds)) in enumerate(views.items(), 1):
        properties = {"headwater.freshness": freshness} if freshness else {}
        definition = Definition(name, "", (), properties=properties, dependencies=tuple(map(Dependency, reads)))
        state = transition(state, Declared(0, version, definition, "was created", fill=False))
        if seconds is not None:
            state.views[name].costs.took = Took(seconds, 0.0)
    return state


def change(state: State, at: int = 0, table: str = "t") -> State:
    seen = (Observed(WHOLE, str(state.highest)),)
    return transition(state, Changed(at, state.highest + 1, table, seen, "", 0, "changed"))


def run(state: State, at: int, view: str) -> State:
    [chosen] = [each for each in ready(state, at) if each.view == view]
    return transition(state, decided(state, Choice(chosen), state.highest + 1, at).event)


def published(state: State, at: int, view: str) -> State:
    """A run ends, which takes what it is known to take."""
    begun = state.running[view]
    made = (Made(WHOLE, 1, str(begun.version)),)
    return transition(state, Published(at, begun.version, view, made, (), state.views[view].costs.took.mean))


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
    state = transition(state, Suspended(0, "b"))
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
    state = transition(state, Hurried(5, state.highest + 1))
    assert [each.view for each in ready(state, 5)] == ["a"]


def test_who_waits_for_one_view_hurries_no_other():
    views = {"a": (("t",), "1 minute", 10.0), "b": (("t",), "1 minute", 10.0), "c": (("a",), "1 minute", 1.0)}
    state = change(build(views))
    state = transition(state, Hurried(5, state.highest + 1, ("a", "c", "gone")))
    assert [each.view for each in ready(state, 5)] == ["a"]
    assert state.views["c"].hurried and not state.views["b"].hurried


@pytest.mark.parametrize(
    ("freshness", "seconds", "longest"),
    [
        ("", 10.0, PATIENCE - 1),
        ("10 minutes", 30.0, 570_000),
        ("10 minutes", None, PATIENCE - 1),
        ("10 seconds", None, 9_999),
    ],
)
def test_newer_changes_are_waited_for_while_the_bound_allows(freshness: str, seconds: float | None, longest: int):
    for at, waits in ((longest, True), (longest + 1, False)):
        state = change(change(build({"a": (("t",), freshness, seconds)})), at)
        first, second = sorted(state.origins)
        assert waits_for(state, state.views["a"], {first, second}, {second}) is waits


def test_a_change_that_comes_too_late_for_a_wave_begins_the_next():
    """c runs for the first change alone. It would be late if it waited for a to run again, and a need not hurry."""
    state = change(build({"a": (("t",), "100 seconds", 30.0), "c": (("a",), "100 seconds", 10.0)}))
    state = run(state, 60_000, "a")
    state = change(state, at=70_000)
    state = published(state, 90_000, "a")
    [chosen] = ready(state, 90_000)
    assert chosen.view == "c" and len(chosen.origins) == 1
    state = published(run(state, 90_000, "c"), 100_000, "c")
    assert ready(state, 100_000) == [] and wake_at(state, 100_000) == 130_000


def test_a_root_that_is_slow_is_not_waited_for_when_its_change_came_late():
    """b takes 60 s, so of a change at 70 s nothing can be in c by 100 s."""
    views = {"a": (("t1",), "100 seconds", 30.0), "b": (("t2",), "100 seconds", 60.0)}
    state = change(build({**views, "c": (("a", "b"), "100 seconds", 10.0)}), table="t1")
    state = run(state, 60_000, "a")
    state = published(change(state, at=70_000, table="t2"), 90_000, "a")
    assert [each.view for each in ready(state, 90_000)] == ["c"]
    assert wake_at(state, 89_999) == 100_000


def test_the_roots_of_a_wave_start_together():
    """t1 changes first and t2 later: c needs both, so b starts when a must."""
    state = build(
        {"a": (("t1",), "1 minute", 5.0), "b": (("t2",), "1 minute", 5.0), "c": (("a", "b"), "1 minute", 5.0)}
    )
    state = change(state, 0, "t1")
    state = change(state, 20_000, "t2")
    assert [each.view for each in ready(state, 49_999)] == []
    assert [each.view for each in ready(state, 50_000)] == ["a", "b"]


@pytest.mark.parametrize(("ahead", "together"), [(3_600_000, False), (AHEAD + 1, False), (AHEAD, True), (5, True)])
def test_a_change_joins_no_wave_of_before_the_clock_went_back(ahead: int, together: bool):
    state = change(build({"a": (("t",), "5 minutes", 10.0), "b": (("a",), "5 minutes", 5.0)}), at=7_200_000)
    state = run(state, 7_500_000, "a")
    now = 7_200_000 - ahead
    state = change(state, at=now)
    assert state.origins[max(state.origins)].wave == (7_200_000 if together else now)
    state = published(state, now + 10_000, "a")
    due = (7_200_000 if together else now) + 285_000
    assert wake_at(state, now + 10_000) == due
    assert "a" in {each.view for each in ready(state, due)}


def test_explain_shows_the_decision_and_its_numbers():
    state = change(build({"a": (("t",), "1 minute", 10.0), "b": (("a",), "1 minute", 5.0)}))
    assert report.waits(state, "a", 15_000) == (
        "waits 30.0 s more for further changes: b may be 60 s behind, and the refreshes of a, b may take 15.0 s"
    )


def test_a_reader_that_does_not_follow_does_not_hurry():
    state = build({"a": (("t",), "10 minutes", 30.0), "b": (("a",), "1 minute", 5.0)})
    once = evolve(
        state.views["b"].definition, properties={"headwater.freshness": "1 minute", "headwater.propagate": "none"}
    )
    state = transition(state, Declared(0, 9, once, "was replaced", fill=False))
    assert hold(state, "a").millis == 570_000


def test_a_chain_of_any_length_is_held():
    length = 3_000
    views = {f"v{n:04d}": ((f"v{n - 1:04d}" if n else "t",), "", 0.001) for n in range(length)}
    views |= {"v0000": (("t",), "1 hour", 0.001), f"v{length - 1:04d}": ((f"v{length - 2:04d}",), "1 hour", 0.001)}
    assert hold(build(views), "v0000").millis == 3_600_000 - length


def test_a_new_promise_reaches_all_that_a_view_is_made_from():
    state = build({"a": (("t",), "1 hour", 1.0), "b": (("a",), "", 1.0), "c": (("b",), "", 1.0)})
    assert hold(state, "a").millis == 3_599_000
    state = transition(state, Altered(0, "c", (("headwater.freshness", "1 minute"),)))
    assert hold(state, "a").millis == 57_000
    state = transition(state, Altered(0, "c", ()))
    assert hold(state, "a").millis == 3_599_000


def test_a_run_that_took_longer_shortens_what_is_held_above():
    state = change(build({"a": (("t",), "1 minute", 10.0), "b": (("a",), "1 minute", 5.0)}))
    assert hold(state, "a").millis == 45_000
    state = published(run(state, 45_000, "a"), 55_000, "a")
    state.views["b"].costs.took = Took(9.0, 0.0)
    state = published(run(state, 55_000, "b"), 60_000, "b")
    assert hold(state, "a").millis == 41_000
