"""Plans of what is pending: what is kept, in which order runs start, and when nothing is kept."""

from __future__ import annotations

import pytest
from cases import A1, change, machine, view

from headwater.engine.decide.readiness import ready
from headwater.engine.decide.schedule import pending_views
from headwater.engine.requests.limits import SETTLE
from headwater.memory.buffers.volume import Rates, costs
from headwater.memory.planning.arrange import PLAIN, ByPlan, planned, quick
from headwater.memory.planning.means import Costs, Means
from headwater.memory.planning.pending import SMALLEST, problem
from headwater.memory.planning.plan import timeline
from headwater.memory.planning.problem import Problem, Task
from headwater.model.costs import Estimate, Took
from headwater.model.event import Published
from headwater.model.measure import Measured

PAYS = Costs(written=0.1, read=0.1, copied=0.2)
DIAMOND = (view("v", "a", "t"), view("w", "a", "v"), view("x", "a", "v"), view("y", "", "w", "x"))


def pending(size: float = 1_000_000, seconds: float = 1.0):
    """A diamond of which all is to be refreshed."""
    made = machine({"t": "a"}, *DIAMOND)
    for state in made.state.views.values():
        state.costs.took, state.costs.size = Took(seconds, 0.0), size
    change(made, "t", A1)
    made.now += SETTLE
    return made


def arranged(made, memory: int, costs: Costs = PAYS) -> list[tuple[str, bool]]:
    schedule = ByPlan(Means(costs, memory, 2))
    found = schedule.solve(schedule.question(made.state, None))
    return [(each.ready.view, each.kept) for each in schedule.choose(made.state, ready(made.state, made.now), found)]


def test_the_problem_is_what_is_pending():
    made = pending()
    assert pending_views(made.state) == ("v", "w", "x", "y")
    run = problem(made.state, pending_views(made.state), Means(PAYS, 10_000_000, 2))
    v = run.tasks[0]
    assert (v.name, v.size, v.run, v.spared, v.copy) == ("v", 1_000_000, 1_000_000, 100_000 - SMALLEST, 200_000)
    assert [[read.name for read in task.reads] for task in run.tasks] == [[], ["v"], ["v"], ["w", "x"]]
    assert run.tasks[1].reads[0].saved == 100_000


def test_what_saves_time_and_fits_is_kept():
    assert arranged(pending(), memory=10_000_000) == [("v", True)]
    assert arranged(pending(), memory=999_999) == [("v", False)]


def test_nothing_is_kept_that_saves_nothing():
    assert arranged(pending(), 10_000_000, Costs(-0.1, 0.0, 0.1)) == [("v", False)]


def test_nothing_small_is_kept():
    assert arranged(pending(size=1000), 10_000_000) == [("v", False)]


def test_nothing_is_kept_whose_size_nobody_knows():
    assert arranged(pending(size=0), 10_000_000) == [("v", False)]


def foreseen(made, estimate: Estimate | None):
    """The same, when no view was ever refreshed."""
    for state in made.state.views.values():
        state.costs.took, state.costs.size, state.costs.estimate = None, 0, estimate
    return made


def test_a_first_refresh_takes_what_statistics_foresee():
    made = foreseen(pending(), Estimate(size=1_000_000, read=5_000_000))
    v = problem(made.state, pending_views(made.state), Means(PAYS, 10_000_000, 2)).tasks[0]
    assert (v.size, v.run) == (1_000_000, 600_000), "a byte that is read or written takes 0.1 µs"
    assert arranged(made, memory=10_000_000) == [("v", True)]
    assert arranged(made, memory=999_999) == [("v", False)]
    assert arranged(foreseen(pending(), None), memory=10_000_000) == [("v", False)]


def test_a_first_refresh_takes_no_less_than_nothing_where_memory_is_the_slower_place():
    made = foreseen(pending(), Estimate(size=9_000_000, read=1))
    v = problem(made.state, pending_views(made.state), Means(Costs(-0.1, 0.1, 0.1), 10_000_000, 2)).tasks[0]
    assert v.run == 0


def test_what_was_foreseen_is_forgotten_when_a_view_was_refreshed():
    made = foreseen(pending(), Estimate(1_000_000, 5_000_000))
    made.drain()
    assert not any(state.costs.estimate for state in made.state.views.values())


def test_a_plan_serves_until_something_new_is_pending():
    made = pending()
    schedule = ByPlan(Means(PAYS, 10_000_000, 2))
    plan = schedule.solve(schedule.question(made.state, None))
    assert schedule.question(made.state, plan) is None
    made.start()
    assert schedule.question(made.state, plan) is None
    change(made, "t", A1)
    assert schedule.question(made.state, plan) is not None


def test_the_same_views_are_planned_anew_for_a_larger_change():
    made = pending(size=1000)
    schedule = ByPlan(Means(PAYS, 10_000_000, 2))
    plan = schedule.solve(schedule.question(made.state, None))
    assert not plan.kept
    made.drain()
    for state in made.state.views.values():
        state.costs.size = 1_000_000
    change(made, "t", A1)
    made.now += SETTLE
    assert "v" in schedule.solve(schedule.question(made.state, plan)).kept


def test_a_search_is_made_where_it_can_save_more_than_it_takes():
    made = pending(seconds=60.0)

    def method(costs: Costs, memory: int) -> str:
        plan = planned(problem(made.state, pending_views(made.state), Means(costs, memory, 2)))
        assert plan.fits and (plan.flagged or not memory)
        return plan.method

    dear = Costs(5.0, 5.0, 0.1)
    assert method(PAYS, 1_500_000) == "greedy", "little is left to save"
    assert method(dear, 10_000_000) == "greedy", "everything is kept that could be"
    assert method(dear, 1_500_000) not in ("greedy", "longest first")
    assert method(dear, 0) == "longest first"


@pytest.mark.parametrize("memory", [1000, 310, 1])
def test_of_many_tasks_not_each_is_tried_by_itself(monkeypatch, memory: int):
    """A play of a thousand takes some milliseconds, and nothing starts before the plan."""
    played = []

    def counted(*arguments):
        played.append(arguments)
        return timeline(*arguments)

    monkeypatch.setattr("headwater.memory.planning.plan.timeline", counted)
    copied_later = 10_000_000
    run = Problem(tuple(Task(f"v{n}", 1, 1000, (), 500, copied_later) for n in range(1000)), memory)
    assert len(quick(run).flagged) == memory and len(played) <= 1 + PLAIN // 1000


def test_a_brief_search_finds_an_order_that_is_complete_sooner():
    """Longest first, the kept ``a`` is done early, and the second of the long ones ends last all the same."""
    second = 1_000_000
    kept = (Task(name, 60, run * second, (), 3 * second, 2 * second) for name, run in (("a", 10), ("b", 9)))
    run = Problem((*kept, Task("c", 1, 10 * second), Task("d", 1, 9 * second)), 100, tracks=2)
    found = planned(run)
    assert quick(run).cost == 19 * second
    assert found.fits and found.cost <= 18 * second


def test_without_history_the_order_is_topological_and_it_is_said():
    made = pending(size=0)
    for state in made.state.views.values():
        state.costs.took = None
        state.costs.unaided = 0
    plan = planned(problem(made.state, pending_views(made.state), Means(PAYS, 10_000_000, 2)))
    assert [plan.problem.tasks[task].name for task in plan.order] == ["v", "w", "x", "y"] and not plan.flagged
    assert plan.method == "topological order, for no refresh was measured yet"


def test_the_size_of_a_view_is_learned_and_forgotten():
    made = machine({"t": "a"}, DIAMOND[0])

    def publish(size: int) -> float:
        change(made, "t", A1)
        made.now += SETTLE
        made.start()
        flight = made.flights.pop("v")
        run, found = flight.launch.run, made.world.written(flight.launch, {"t": made.world.read("t")})
        made.record(lambda _: Published(made.now, run.version, "v", found.made, (), 1.0, Measured(size)))
        return made.state.views["v"].costs.size

    assert publish(100) == 100
    assert [publish(1000) for _ in range(4)] == [550, 775, 887.5, 943.75]


@pytest.mark.parametrize(
    ("warehouse", "pays"),
    [(Rates(0.001, 0.0005, 0.002), False), (Rates(0.0015, 0.0009, 0.003), False), (Rates(0.066, 0.046, 0.066), True)],
    ids=["local disk", "local disk, by chance", "remote"],
)
def test_keeping_pays_only_where_the_warehouse_is_slower_than_memory(warehouse, pays):
    found = costs(warehouse, Rates(0.001, 0.0005, 0.002))
    assert Means(found, 10_000_000, 2).pays == pays


def test_a_copy_that_may_take_less_than_there_is_takes_longer():
    remote, memory = Rates(0.066, 0.046, 0.066), Rates(0.001, 0.0005, 0.002)
    assert costs(remote, memory, bandwidth=5_000_000).copied == 0.2
    assert costs(remote, memory, bandwidth=500_000_000).copied == costs(remote, memory).copied < 0.1
