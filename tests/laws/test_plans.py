"""Plans of a run: never more memory than there is, nothing before what it reads, and the best where it can be found."""

from __future__ import annotations

import contextlib
from itertools import combinations
from math import inf

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from plan_reference import Ambiguous, algorithm_2, orders, paying, played, score, subsets
from strategies import examples

from benchmarks.papers.exact import proven
from benchmarks.parts.baselines import without_copies
from benchmarks.parts.generated import Setting, generated
from headwater.memory.planning.flag import bound, constraints, flags, shortest
from headwater.memory.planning.joint import alternate, joint, side_by_side
from headwater.memory.planning.order import depth_first, frugal, longest_first
from headwater.memory.planning.plan import Plan, timeline
from headwater.memory.planning.problem import Problem, Read, Task
from headwater.memory.planning.search import player, saving, searched

SMALL = st.integers(0, 6)


@st.composite
def problems(draw, most: int = 6, tracks: int = 1) -> Problem:
    """Small figures, so that moments coincide and outputs fit exactly."""
    tasks: list[Task] = []
    for n in range(draw(st.integers(1, most))):
        sources = draw(st.lists(st.integers(0, n - 1), unique=True, max_size=3)) if n else []
        reads = tuple(Read(f"v{each}", draw(st.integers(-2, 6))) for each in sources)
        size, spared, copy = draw(SMALL), draw(st.integers(-3, 6)), draw(SMALL)
        tasks.append(Task(f"v{n}", size, draw(st.integers(0, 20)), reads, spared, copy))
    return Problem(tuple(tasks), draw(st.integers(0, 15)), tracks)


@st.composite
def large(draw, most: int = 6) -> Problem:
    """Figures as they are: gigabytes, and minutes in µs; no two alike."""
    drawn = draw(problems(most))
    bytes_off, micros_off = st.integers(0, 10**6), st.integers(0, 10**5)
    tasks = tuple(
        Task(
            task.name,
            task.size * 10**9 + draw(bytes_off),
            task.run * 10**7 + draw(micros_off),
            tuple(Read(read.name, read.saved * 10**7 + draw(micros_off)) for read in task.reads),
            task.spared * 10**7 + draw(micros_off),
            task.copy * 10**7 + draw(micros_off),
        )
        for task in drawn.tasks
    )
    return Problem(tasks, drawn.memory * 10**9 + 10**7)


@st.composite
def plans(draw, tracks: int) -> tuple[Problem, list[int], list[int]]:
    problem = draw(problems(tracks=draw(st.integers(1, tracks))))
    problem = evolve(problem, abreast=draw(st.sampled_from([1, inf])))
    rank = draw(st.permutations(range(len(problem.tasks))))
    order: list[int] = []
    while len(order) < len(rank):
        order.append(next(n for n in rank if n not in order and {each for each, _ in problem.inputs[n]} <= set(order)))
    kept = draw(st.lists(st.sampled_from(order), unique=True))
    return problem, order, kept


@examples(300)
@given(plans(tracks=3))
def test_a_timeline_is_what_happens_microsecond_by_microsecond(plan) -> None:
    problem, order, kept = plan
    told, used = played(problem, order, kept)
    found = timeline(problem, order, kept)
    assert [(span.start, span.end, span.published, span.released) for span in found.spans] == told
    assert found.peak == max(used) and found.makespan == max(published for _, _, published, _ in told)
    for one, other in combinations(found.spans, 2):
        assert one.track != other.track or one.end <= other.start or other.end <= one.start
    steps = dict(found.used)
    now = 0
    for moment, bytes_then in enumerate(used):
        now = steps.get(moment, now)
        assert now == bytes_then


def assert_sound(problem: Problem, plan) -> None:
    seen: set[int] = set()
    for task in plan.order:
        assert {each for each, _ in problem.inputs[task]} <= seen
        seen.add(task)
    assert len(plan.order) == len(problem.tasks) == len(seen)
    assert max(played(problem, plan.order, plan.flagged)[1]) <= problem.memory
    assert plan.score == score(problem, plan.flagged)
    assert plan.flagged <= set(paying(problem))


@examples(200)
@given(problems(most=9))
def test_a_plan_respects_precedence_and_memory_at_every_step(problem: Problem) -> None:
    assert_sound(problem, alternate(problem))
    assert_sound(problem, joint(problem, seed=1))
    assert_sound(problem, proven(problem, seed=1))
    assert_sound(problem, Plan(problem, frugal(problem), flags(problem, frugal(problem)), "frugal"))


@examples(8)
@given(st.data(), st.integers(0, 5))
def test_a_seed_gives_a_plan(data, seed: int) -> None:
    """Of runs that are too large to be proven best, too."""
    for problem in (data.draw(large(9)), generated(Setting(nodes=30), seed)):
        one, other = proven(problem, seed=seed), proven(problem, seed=seed)
        assert one == other and one.bound == other.bound


@examples(100)
@given(problems())
def test_flags_are_the_best_for_an_order_when_copies_take_no_time(problem: Problem) -> None:
    problem = without_copies(problem)
    order = depth_first(problem, ())
    fitting = (
        each
        for each in subsets(paying(problem) if problem.memory else ())
        if timeline(problem, order, each).peak <= problem.memory
    )
    best = max(score(problem, each) for each in fitting)
    assert score(problem, flags(problem, order)) == best


@examples(200)
@given(problems(), st.data())
def test_constraints_are_the_maximal_sets_that_do_not_fit(problem: Problem, data) -> None:
    order = depth_first(problem, ())
    place = {task: n for n, task in enumerate(order)}
    last = {task: data.draw(st.integers(n, len(order) - 1)) for task, n in place.items() if task in problem.worthwhile}
    sets = [frozenset(n for n in last if place[n] <= step <= last[n]) for step in range(len(order))]
    large = {each for each in sets if sum(problem.tasks[n].size for n in each) > problem.memory}
    maximal = {each for each in large if not any(each < other for other in large)}
    found = constraints(problem, order, last)
    assert set(found) == maximal and len(found) == len(maximal)


@examples(300)
@given(plans(tracks=1))
def test_a_search_plays_a_plan_as_a_timeline_does(plan) -> None:
    problem, order, kept = plan
    told = timeline(problem, order, kept)
    area = sum(problem.tasks[n].size * (told.spans[n].released - told.spans[n].start) for n in kept)
    found = player(problem)(order, [n in kept for n in range(len(order))])
    assert found == (area if told.peak <= problem.memory else None)


def best_of_all(problem: Problem) -> int:
    """The highest score of any order with any outputs kept."""
    found = 0
    worth = sorted(subsets(paying(problem)), key=lambda each: score(problem, each), reverse=True)
    for order in orders(problem) if problem.memory else ():
        for kept in worth:
            if score(problem, kept) <= found:
                break
            if timeline(problem, order, kept).peak <= problem.memory:
                found = score(problem, kept)
    return found


@pytest.mark.thorough
@examples(60)
@given(problems(most=8))
def test_the_proven_plan_is_the_best_of_all_orders_and_flags(problem: Problem) -> None:
    plan = proven(problem)
    assert plan.score == -plan.bound == best_of_all(problem)
    assert plan.score >= alternate(problem).score


@examples(60)
@given(large())
def test_the_proven_plan_is_the_best_of_all_with_figures_as_they_are(problem: Problem) -> None:
    plan = proven(problem)
    assert plan.fits and plan.score == best_of_all(problem) <= -plan.bound


@examples(100)
@given(large())
def test_the_alternating_plan_is_that_of_the_paper(problem: Problem) -> None:
    problem = without_copies(problem)
    with contextlib.suppress(Ambiguous):
        plan = alternate(problem)
        assert (plan.score, plan.order) == algorithm_2(problem)


@examples(60)
@given(large())
def test_the_search_alone_comes_close(problem: Problem) -> None:
    """Without constraint programming, from the plan that keeps nothing."""
    nothing = Plan(problem, tuple(range(len(problem.tasks))), frozenset(), "nothing")
    assert searched(nothing, saving(problem), seed=1).score >= 0.8 * best_of_all(problem)


@examples(100)
@given(problems())
def test_the_bound_is_the_best_choice_within_what_is_always_there_together(problem: Problem) -> None:
    together = [{n, *(source for source, _ in inputs)} for n, inputs in enumerate(problem.inputs)]
    fitting = (
        score(problem, kept)
        for kept in subsets(paying(problem) if problem.memory else ())
        if all(sum(problem.tasks[n].size for n in each & set(kept)) <= problem.memory for each in together)
    )
    assert bound(problem) == max(fitting, default=0)


@examples(100)
@given(problems())
def test_with_copies_flags_keep_at_least_the_best_output_that_fits(problem: Problem) -> None:
    order = depth_first(problem, ())
    kept = flags(problem, order)
    assert timeline(problem, order, kept).peak <= problem.memory
    assert score(problem, kept) >= max((score(problem, [n]) for n in problem.worthwhile), default=0)


@examples(100)
@given(problems(most=4, tracks=2), st.sampled_from([1, 1.4, inf]))
def test_on_two_tracks_hardly_any_order_and_flags_are_complete_sooner(problem: Problem, abreast: float) -> None:
    problem = evolve(problem, abreast=abreast)
    plan = proven(problem)
    tried = (
        timeline(problem, order, kept).makespan
        for order in orders(problem)
        for kept in subsets(paying(problem) if problem.memory else ())
        if timeline(problem, order, kept).peak <= problem.memory
    )
    least = min(tried)
    assert shortest(problem) <= plan.bound <= min(least, plan.timeline.makespan)
    assert plan.timeline.makespan <= 1.1 * least + 1


@examples(30)
@given(problems(most=9), st.integers(2, 4), st.sampled_from([1.7, inf]))
def test_on_several_tracks_a_plan_is_sound_and_comes_from_its_seed(
    problem: Problem, tracks: int, abreast: float
) -> None:
    problem = evolve(problem, tracks=tracks, abreast=abreast)
    plan = side_by_side(problem, seed=3)
    assert_sound(problem, plan)
    assert plan == side_by_side(problem, seed=3)
    assert plan.timeline.makespan <= timeline(problem, longest_first(problem), ()).makespan


@examples(100)
@given(problems(most=8), st.integers(1, 15))
def test_less_memory_never_saves_more(problem: Problem, memory: int) -> None:
    less = evolve(problem, memory=min(memory, problem.memory))
    assert proven(less).score <= proven(problem).score
