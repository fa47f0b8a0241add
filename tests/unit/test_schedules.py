"""What every schedule promises, whatever is pending; and what is left of a plan that cannot be made."""

from __future__ import annotations

from copy import deepcopy

import pytest
from cases import A1, change, machine, view
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, graphs, play, scripts
from strategies import machine as machine_of

from headwater.engine.decide.readiness import Choice, ready
from headwater.engine.decide.schedule import InOrder, Planned
from headwater.engine.requests.limits import SETTLE
from headwater.memory.planning.arrange import ByPlan
from headwater.memory.planning.means import Costs, Means
from headwater.model.costs import Reading, Took
from headwater.model.extract import Extract, Shared
from headwater.model.measure import Place
from headwater.model.partition import WHOLE
from headwater.model.state import State

COSTS = Costs(written=0.1, read=0.1, copied=0.2, moved=0.01)
SCHEDULES = {
    "in order": InOrder(),
    "one track": ByPlan(Means(COSTS, 2_000_000, 1)),
    "two tracks": ByPlan(Means(COSTS, 2_000_000, 2, Place.BLOCKS)),
    "no memory": ByPlan(Means(COSTS, 0, 2)),
}
EXTRACTS = (Extract(("a",), ((),)), Extract(("b",), (("b > 1",),)))

every = pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)


@st.composite
def pending(draw) -> tuple[State, int]:
    """A state in the middle of things, of whose views something is known, and the time."""
    graph = draw(graphs())
    made = machine_of(graph)
    play(made, graph, draw(scripts(8)))
    made.now += SETTLE
    figures = st.sampled_from((0, 1_000, 1_000_000, 30_000_000))
    for each in made.state.views.values():
        each.costs.took, each.costs.size, each.costs.unaided = (
            Took(draw(figures) / 1e6, 0.0),
            draw(figures),
            draw(figures),
        )
        extract, size, micros = draw(st.sampled_from(EXTRACTS)), draw(figures), draw(figures)
        each.costs.readings = {source: Reading(extract, size, 0.1, micros) for source in each.definition.sources}
    return made.state, made.now


@every
@examples(12)
@given(given_=pending())
def test_it_chooses_of_what_is_ready_each_view_once(schedule, given_) -> None:
    state, now = given_
    found = ready(state, now)
    question = schedule.question(state, None)
    for planned in (None, Planned({}), question and schedule.solve(question)):
        chosen = [choice.ready for choice in schedule.choose(state, found, planned)]
        views = [each.view for each in chosen]
        assert len(views) == len(set(views)) and all(each in found for each in chosen)


@every
@examples(12)
@given(given_=pending())
def test_the_same_state_gives_the_same_and_stays_as_it_is(schedule, given_) -> None:
    state, now = given_
    found, before = ready(state, now), deepcopy(state)
    index = deepcopy(state.index)
    question = schedule.question(state, None)
    planned = question and schedule.solve(question)
    chosen = schedule.choose(state, found, planned)
    assert state == before and state.index == index
    assert schedule.question(before, None) == question
    assert (question and schedule.solve(question)) == planned
    assert schedule.choose(before, found, planned) == chosen


@every
@examples(12)
@given(given_=pending())
def test_a_solution_answers_its_question(schedule, given_) -> None:
    state, _ = given_
    question = schedule.question(state, None)
    assert question is None or schedule.question(state, schedule.solve(question)) is None
    assert question is None or schedule.question(state, Planned(question.pending)) is None, "so does one without a plan"


@every
@examples(10)
@given(given_=pending())
def test_a_solution_does_not_depend_on_events_after_the_question(schedule, given_) -> None:
    """It is made beside them."""
    state, _ = given_
    question = schedule.question(state, None)
    planned = question and schedule.solve(question)
    for each in state.views.values():
        each.pending.clear()
        each.costs.pace[("t", Place.WAREHOUSE)] = 7.0
        each.costs.readings.clear()
        each.costs.size = 8_000_000
    for record in state.tables.values():
        record.partitions.clear()
    state.origins.clear()
    assert (question and schedule.solve(question)) == planned


@every
def test_it_asks_nothing_where_nothing_is_pending(schedule) -> None:
    made = machine({"t": "a"}, view("v", "a", "t"))
    assert schedule.question(made.state, None) is None
    assert schedule.choose(made.state, [], None) == []


def two_ready():
    made = machine({"t": "a"}, view("v", "a", "t"), view("w", "a", "t"))
    change(made, "t", A1)
    made.now += SETTLE
    return made.state, ready(made.state, made.now)


@every
def test_without_a_plan_all_starts_as_it_was_found(schedule) -> None:
    state, found = two_ready()
    for planned in (None, Planned({"v": frozenset({1})})):
        assert schedule.choose(state, found, planned) == [Choice(each) for each in found]


def test_a_plan_says_what_comes_first_what_is_kept_and_what_is_shared() -> None:
    state, found = two_ready()
    shared = Shared("t", EXTRACTS[0], (WHOLE,), ("v", "x"), 100)
    planned = Planned({}, ("x", "w"), frozenset({"w", "x"}), (shared,))
    chosen = ByPlan(Means(COSTS, 1, 1)).choose(state, found, planned)
    assert [(each.ready.view, each.kept, each.shared) for each in chosen] == [("w", True, ()), ("v", False, (shared,))]
