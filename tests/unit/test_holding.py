"""Rules of holding beside the optimum by enumeration, and the enumeration beside a slower one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from random import Random

import pytest
from attrs import evolve

from benchmarks.papers.holding import HOLDING, holding
from benchmarks.papers.optimum import Case, least_cost
from benchmarks.papers.ratio import Rule, charitable, literal
from benchmarks.papers.trial import run
from benchmarks.papers.truth import ancestors

DIAMOND = {"a": ("b", "c"), "b": ("d",), "c": ("d",)}
"""Readers."""


def case(graph, changes, takes, bounds) -> Case:
    return Case(graph, changes, takes, bounds, takes)


# --- the optimum


def test_changes_within_the_bound_of_the_first_are_one_refresh():
    one = {"a": ()}
    assert least_cost(case(one, ((0, "a"), (6, "a")), {"a": 4}, {"a": 10})) == 4
    assert least_cost(case(one, ((0, "a"), (7, "a")), {"a": 4}, {"a": 10})) == 8


def test_a_reader_that_promises_less_runs_less_often():
    chain = {"a": (), "b": ("a",)}
    changes = ((0, "a"), (7, "a"))
    assert least_cost(case(chain, changes, {"a": 4, "b": 5}, {"a": 10, "b": 30})) == 4 + 4 + 5
    assert least_cost(case(chain, changes, {"a": 4, "b": 5}, {"a": 10, "b": 15})) == 4 + 4 + 5 + 5


def test_a_promise_that_nothing_can_keep_has_no_schedule():
    assert least_cost(case({"a": ()}, ((0, "a"),), {"a": 4}, {"a": 3})) is None


GRAPHS = ({"a": (), "b": ("a",)}, {"a": (), "b": (), "c": ("a", "b")}, {"a": (), "b": ("a",), "c": ("a", "b")})


@pytest.mark.parametrize("seed", range(15))
def test_the_optimum_is_that_of_all_start_times(seed):
    random = Random(seed)
    graph = random.choice(GRAPHS)
    takes = {job: random.randint(1, 2) for job in graph}
    bounds = {job: random.randint(2, 6) for job in graph}
    roots = [job for job, inputs in graph.items() if not inputs]
    changes = tuple(sorted((random.randint(0, 3), random.choice(roots)) for _ in range(2)))
    asked = case(graph, changes, takes, bounds)
    assert least_cost(asked) == min(_costs(asked, list(graph), {}), default=None)


def _costs(asked: Case, jobs: list[str], published: dict[str, dict[int, int]]) -> Iterator[int]:
    """The cost of every way to start each job at whole times, up to twice, that keeps every promise."""
    if not jobs:
        yield 0
        return
    job, above = jobs[0], ancestors(asked.graph)
    ready = {
        change: max([at, *(published[each][change] for each in asked.graph[job] if root in above[each])])
        for change, (at, root) in enumerate(asked.changes)
        if root in above[job]
    }
    for starts in (each for count in range(3) for each in combinations(range(9), count)):
        if any(b - a < asked.takes[job] for a, b in pairwise(starts)):
            continue
        ends = {change: [at + asked.takes[job] for at in starts if at >= since] for change, since in ready.items()}
        if all(end and end[0] <= asked.changes[change][0] + asked.bounds[job] for change, end in ends.items()):
            mine = {change: end[0] for change, end in ends.items()}
            for rest in _costs(asked, jobs[1:], {**published, job: mine}):
                yield rest + asked.cost[job] * len(starts)


# --- the ratio rule, as the paper describes it


def test_the_ratio_divides_by_zero_where_nothing_is_late():
    rule = Rule(DIAMOND, dict.fromkeys("abcd", 1), lambda job, time: 0, literal)
    with pytest.raises(ZeroDivisionError):
        rule.delays("a", 10)


def test_the_literal_ratio_divides_by_zero_at_every_job_without_readers():
    rule = Rule(DIAMOND, dict.fromkeys("abcd", 1), lambda job, time: 1, literal)
    with pytest.raises(ZeroDivisionError):
        rule.delays("d", 10)


def test_the_foot_of_a_diamond_counts_twice_when_the_head_is_not_delayed():
    """Delaying a saves a run of each, 13. Starting it and delaying b and c saves 12, but is taken for 22."""
    rule = Rule(DIAMOND, {"a": 1, "b": 1, "c": 1, "d": 10}, lambda job, time: 0, charitable)
    assert rule.delayed("a", 10).reward == 13
    assert rule.started("a", 10).reward == 22
    assert not rule.delays("a", 10)
    assert evolve(rule, readers={"a": ("b",), "b": ("c",), "c": ("d",)}).delays("a", 10)


def test_what_would_be_late_is_not_delayed():
    rule = Rule({}, {"a": 1}, lambda job, time: time > 5, charitable)
    assert rule.delays("a", 5) and not rule.delays("a", 6)


# --- the rules beside the optimum


@pytest.mark.parametrize("setting", HOLDING)
def test_holding_keeps_every_promise(setting):
    for seed in range(60):
        trial = holding(Random(seed), setting)
        held = run(trial, "eager, held", Random(seed))
        assert held.converged and held.missed == 0 and held.processed >= trial.optimal, seed


def test_holding_is_optimal_on_chains_that_promise_the_same():
    for seed in range(60):
        trial = holding(Random(seed), "chain")
        assert run(trial, "eager, held", Random(seed)).processed == trial.optimal, seed


def test_refreshing_at_once_and_the_ratio_rule_cost_more_than_the_optimum():
    """So that the goals are not met by cases in which there is nothing to merge."""
    trials = [holding(Random(seed), "own promises") for seed in range(20)]
    for method in ("eager", "ratio"):
        assert sum(run(each, method, Random(1)).processed for each in trials) > 1.3 * sum(
            each.optimal for each in trials
        )
