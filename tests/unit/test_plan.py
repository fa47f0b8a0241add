"""Planning a run, by cases that a person can follow."""

from __future__ import annotations

from math import inf

import pytest

from headwater.memory.planning.joint import joint
from headwater.memory.planning.order import depth_first
from headwater.memory.planning.plan import Plan, best
from headwater.memory.planning.problem import Problem, Read, Task
from headwater.model.error import PlanError

GB = 10**9


def run(memory: int, **tasks: tuple[int, list[str]]) -> Problem:
    """A run of tasks of so many GB, each a second long, of which 10 ms are spared for each GB that is kept."""
    made = []
    for name, (size, reads) in tasks.items():
        made.append(Task(name, size * GB, 1_000_000, tuple(map(Read, reads)), size * 10_000))
    return Problem(tuple(made), memory * GB)


TOY = run(100, v1=(100, []), v2=(10, []), v3=(100, ["v2"]), v4=(10, ["v1"]), v5=(10, ["v3"]), v6=(10, ["v5"]))
"""After the toy example of [Li23] §IV: two outputs of 100 GB, of which the first must have left before the second."""


def named(problem: Problem, tasks) -> list[str]:
    return [problem.tasks[task].name for task in tasks]


def test_an_order_that_frees_memory_soon_keeps_both_large_outputs():
    plan = joint(TOY)
    assert named(TOY, sorted(plan.flagged)) == ["v1", "v3", "v6"]
    step = {name: n for n, name in enumerate(named(TOY, plan.order))}
    assert step["v4"] < step["v3"] or step["v5"] < step["v1"], (
        "one of the large outputs is read before the other is made"
    )
    assert plan.fits and plan.cost == plan.bound


def test_of_two_branches_the_one_that_fills_less_memory_comes_first():
    """As in the figure of [Li23] §V-B: v2 is larger, but not kept."""
    problem = run(100, v1=(1, []), v2=(80, ["v1"]), v3=(50, ["v1"]), v4=(1, ["v2"]), v5=(1, ["v3"]), v6=(1, ["v3"]))
    assert named(problem, depth_first(problem, {2})) == ["v1", "v2", "v4", "v3", "v5", "v6"]
    assert named(problem, depth_first(problem, {1, 2})) == ["v1", "v3", "v5", "v6", "v2", "v4"]


def test_an_output_stays_until_its_copy_is_complete():
    """a is read by b alone, but is still being copied when c starts ([Li23] §III-C)."""
    a = Task("a", 60, 10, (), 5, copy=30)
    tasks = (a, Task("b", 1, 10, (Read("a", 5),)), Task("c", 60, 10, (Read("b"),), 4, copy=1), Task("d", 1, 10))
    problem = Problem(tasks, 100)
    both = Plan(problem, (0, 1, 2, 3), frozenset({0, 2}), "by hand")
    assert both.timeline.peak == 120 and not both.fits
    assert [(span.start, span.end, span.released) for span in both.timeline.spans] == [
        (0, 5, 35),
        (5, 10, None),
        (10, 16, 36),
        (16, 26, None),
    ]
    assert joint(problem).flagged == {0}


def test_on_two_tracks_tasks_run_side_by_side():
    problem = Problem((Task("a", 1, 5), Task("b", 1, 7), Task("c", 1, 2, (Read("a"),))), 0, tracks=2)
    spans = Plan(problem, (0, 1, 2), frozenset(), "by hand").timeline.spans
    assert [(span.start, span.end, span.track) for span in spans] == [(0, 5, 0), (0, 7, 1), (5, 7, 0)]


def test_tasks_share_the_speed_that_there_is():
    """Two tasks' worth of slots, and three tasks: until the first ends each goes at two thirds of its speed."""
    problem = Problem((Task("a", 1, 20), Task("b", 1, 40), Task("c", 1, 60)), 0, tracks=3, abreast=2.0)
    spans = Plan(problem, (0, 1, 2), frozenset(), "by hand").timeline.spans
    assert [(span.start, span.end) for span in spans] == [(0, 30), (0, 50), (0, 70)]


def test_with_few_slots_work_that_is_saved_counts_beside_the_longest_chain_too():
    """The chain of ``a`` and ``b`` is as long with ``c`` and its output in memory as without: what that saves lets
    others have the slots sooner."""
    tasks = (
        Task("a", 90, 50),
        Task("b", 1, 50, (Read("a"),)),
        Task("c", 90, 20, (), 10),
        Task("d", 1, 20, (Read("c", 10),)),
    )
    for abreast, kept in ((inf, frozenset()), (1.0, frozenset({2}))):
        problem = Problem(tasks, 100, tracks=2, abreast=abreast)
        without, found = Plan(problem, (0, 1, 2, 3), frozenset(), ""), Plan(problem, (0, 1, 2, 3), frozenset({2}), "")
        assert best(without, found).flagged == kept


def test_what_is_shared_is_not_lost_to_rounding():
    """Ten µs of work cannot be done in less than seven where 1.4 tasks go at full speed."""
    problem = Problem(tuple(Task(f"v{n}", 1, 1) for n in range(10)), 0, tracks=2, abreast=1.4)
    assert Plan(problem, tuple(range(10)), frozenset(), "by hand").timeline.makespan == 7


@pytest.mark.parametrize("abreast", [0.9, float("nan")])
def test_at_least_one_task_goes_at_full_speed(abreast: float):
    with pytest.raises(PlanError, match="at least one run at full speed"):
        Problem((Task("a", 1),), 0, abreast=abreast)


def test_without_memory_nothing_is_kept():
    assert joint(run(0, v1=(1, []), v2=(1, ["v1"]))).flagged == frozenset()


def test_an_output_that_costs_more_than_it_saves_is_never_kept():
    problem = Problem((Task("a", 1, 10, (), spared=-5), Task("b", 1, 10, (Read("a", 5),))), 100)
    assert problem.scores == (0, 0) and joint(problem).flagged == frozenset()


@pytest.mark.parametrize(
    "tasks, memory, tracks, said",
    [
        ([Task("a", 1), Task("a", 1)], 1, 1, "a is twice in one run"),
        ([Task("a", 1, reads=(Read("b"),)), Task("b", 1)], 1, 1, "a reads b, which does not come before it"),
        ([Task("a", 1), Task("b", 1, reads=(Read("a"), Read("a")))], 1, 1, "b reads a twice"),
        ([Task("a", -1)], 1, 1, "the size of a is -1"),
        ([Task("a", 1, copy=-2)], 1, 1, "the copy of a is -2"),
        ([], -1, 1, "a run cannot have -1 bytes of memory"),
        ([], 1, 0, "a run cannot have 0 tracks"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_its_name(tasks, memory: int, tracks: int, said: str):
    with pytest.raises(PlanError, match=said):
        Problem(tuple(tasks), memory, tracks)
