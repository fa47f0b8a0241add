"""Changes that come together: one refresh when all came, at the latest when the expectation expires."""

from __future__ import annotations

from headwater.engine.decide.readiness import Choice, ready, wake_at
from headwater.engine.decide.starting import decided
from headwater.engine.record.transition import transition
from headwater.engine.requests.limits import SETTLE
from headwater.engine.tell import report
from headwater.model.dependency import Dependency
from headwater.model.event import Changed, Declared, Made, Observed, Published
from headwater.model.partition import WHOLE
from headwater.model.state import State
from headwater.model.view import Definition

HOUR, DAY = 3_600_000, 86_400_000


def build(**properties: str) -> State:
    """``v`` reads ``a`` and ``b``, which changed at the start of each of three days, and ``c``, which never did."""
    properties = {f"headwater.{key}": value for key, value in properties.items()}
    definition = Definition("v", "", (), properties=properties, dependencies=tuple(map(Dependency, "abc")))
    state = transition(State(), Declared(0, 1, definition, "was created", fill=False))
    for day in range(3):
        for table in "ab":
            state = change(state, table, day * DAY)
        state = run(state, day * DAY + SETTLE)
    return state


def change(state: State, table: str, at: int) -> State:
    seen = (Observed(WHOLE, str(state.highest)),)
    return transition(state, Changed(at, state.highest + 1, table, seen, "", 0, "changed"))


def run(state: State, at: int) -> State:
    while found := ready(state, at + DAY):
        event = decided(state, Choice(found[0]), state.highest + 1, at).event
        state = transition(state, event)
        made = (Made(WHOLE, 1, str(event.version)),)
        state = transition(state, Published(at, event.version, "v", made, (), 1.0))
    return state


def test_a_change_waits_for_the_one_that_comes_with_it():
    state = change(build(cadence="2 hours"), "a", 3 * DAY)
    assert not ready(state, 3 * DAY + HOUR) and wake_at(state, 3 * DAY) == 3 * DAY + 2 * HOUR
    assert report.waits(state, "v", 3 * DAY + HOUR) == (
        "waits 3600.0 s more for further changes: headwater.cadence expects b"
    )
    state = change(state, "b", 3 * DAY + HOUR)
    assert not ready(state, 3 * DAY + HOUR)
    [chosen] = ready(state, 3 * DAY + HOUR + SETTLE)
    assert len(chosen.origins) == 2


def test_the_expectation_expires():
    state = change(build(cadence="2 hours"), "a", 3 * DAY)
    assert ready(state, 3 * DAY + 2 * HOUR)
    state = change(run(state, 3 * DAY + 2 * HOUR), "b", 3 * DAY + 3 * HOUR)
    # Too late for that of its day, it waits as long for the next.
    assert wake_at(state, 3 * DAY + 3 * HOUR) == 3 * DAY + 5 * HOUR


def test_who_has_stopped_changing_is_not_expected():
    state = build(cadence="2 hours")
    for day in range(3, 8):
        state = run(change(state, "a", day * DAY), day * DAY + 2 * HOUR)
    state = change(state, "a", 8 * DAY)
    assert ready(state, 8 * DAY + SETTLE)


def test_a_promise_is_kept_and_nothing_waits_for_it_once_all_came():
    state = build(cadence="2 hours", freshness="1 hour")
    state = change(state, "a", 3 * DAY)
    expires = wake_at(state, 3 * DAY)
    assert 3 * DAY + SETTLE < expires < 3 * DAY + HOUR
    state = change(state, "b", 3 * DAY + 60_000)
    assert ready(state, 3 * DAY + 60_000 + SETTLE)


def test_without_a_cadence_nothing_is_expected():
    state = change(build(), "a", 3 * DAY)
    assert ready(state, 3 * DAY + SETTLE)


def test_a_learned_window_is_half_the_gap():
    state = change(build(cadence="learned"), "a", 3 * DAY)
    assert wake_at(state, 3 * DAY) == 3 * DAY + DAY // 2
    state = change(state, "b", 3 * DAY + 5 * HOUR)
    [chosen] = ready(state, 3 * DAY + 5 * HOUR + SETTLE)
    assert len(chosen.origins) == 2


def test_nothing_is_learned_from_one_change():
    definition = Definition(
        "v", "", (), properties={"headwater.cadence": "learned"}, dependencies=tuple(map(Dependency, "ab"))
    )
    state = transition(State(), Declared(0, 1, definition, "was created", fill=False))
    assert ready(change(state, "a", DAY), DAY + SETTLE)


def test_a_learned_group_has_only_who_is_due():
    """``c`` changes each hour from now on; ``a`` and ``b``, which change each day, are not due before midnight."""
    state = build(cadence="learned")
    for hour in range(1, 5):
        at = 2 * DAY + hour * HOUR
        state = run(change(state, "c", at), at + HOUR // 2)
    at = 2 * DAY + 5 * HOUR
    assert ready(change(state, "c", at), at + SETTLE)
