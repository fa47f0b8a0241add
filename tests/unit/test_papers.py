"""The virtual clock, the paper's experiments on it, and what they have to show."""

from __future__ import annotations

import json
from random import Random

import pytest
from click.testing import CliRunner

from benchmarks.papers import truth
from benchmarks.papers.__main__ import main
from benchmarks.papers.experiments import EXPERIMENTS, binomial, lifetime, pipeline
from benchmarks.papers.goals import report
from benchmarks.papers.trial import EXACT, methods, play, plays, run, summary
from benchmarks.papers.world import World
from headwater.simulate.interpreter import Agenda

pytestmark = pytest.mark.thorough

DIAMOND = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}


def test_things_happen_in_the_order_of_their_times_and_of_their_noting():
    agenda, seen = Agenda(), []
    for time, name in ((5, "late"), (1, "first"), (1, "second")):
        agenda.at(time, lambda name=name: seen.append(name))
    agenda.at(1, lambda: agenda.at(1, lambda: seen.append("of the same time")))
    while agenda.next():
        seen.append(agenda.now)
    assert seen == ["first", "second", "of the same time", 1, "late", 5]


def test_naive_counts_paths_and_the_optimum_counts_jobs():
    assert truth.naive(DIAMOND, ["a"]) == 5
    assert truth.naive(DIAMOND, ["a", "b"]) == 7
    assert truth.naive(DIAMOND, ["a"], {"a": 1, "b": 2, "c": 3, "d": 10}) == 26
    assert truth.reached(DIAMOND, ["b"]) == {"b", "d"}


def test_converged_means_that_everything_downstream_reflects_each_backfill():
    found = truth.Truth(DIAMOND)
    found.ask("a", 1, 10)
    for at, job in enumerate("abcd", 20):
        assert not found.converged()
        found.publish(job, found.read(job), at)
    assert found.converged() and found.slowest() == 13


def test_a_run_reflects_what_its_inputs_did_when_it_started():
    found = truth.Truth(DIAMOND)
    found.ask("a", 1, 0)
    read = found.read("b")
    found.publish("a", found.read("a"), 1)
    found.publish("b", read, 2)
    assert found.reflects["b"] == frozenset() and found.read("b") == {1}


def test_a_backfill_is_reflected_only_by_all_paths():
    found = truth.Truth(DIAMOND)
    found.ask("a", 1, 0)
    for job in "abd":
        found.publish(job, found.read(job), 1)
    assert found.reflects["b"] == {1} and found.reflects["d"] == frozenset()


def test_the_graphs_are_the_papers():
    tree = binomial(Random(1), 10).graph
    assert len(tree) == 1275
    assert sum("3_1" in inputs for inputs in tree.values()) == 2 and tree["4_2"] == ("3_1", "3_2")
    assert tree["0_0"] == () and tree["4_0"] == ("3_0",) and tree["4_4"] == ("3_3",)
    assert [lifetime(Random(1), each).optimal for each in EXPERIMENTS["lifetime"][1]] == [28, 35, 43]
    assert len(pipeline(Random(1), "random").graph) == 7


@pytest.mark.parametrize("levels", [3, 6, 9])
@pytest.mark.parametrize("method", ["lazy", "group", "eager"])
def test_exact_methods_are_optimal_on_small_trees(method, levels):
    for seed in range(10):
        trial = binomial(Random(seed), 3, levels)
        outcome = run(trial, method, Random(seed))
        assert outcome.converged and outcome.processed == trial.optimal


def test_merged_requests_are_counted_by_kind_and_by_the_relation_of_their_origins():
    graph = {"a": (), "b": ("a",), "c": ("a",), "z": (), "d": ("b", "c", "z")}
    world = World(graph, lambda job: 10)
    for at, job in enumerate(("b", "b", "c", "z")):
        world.backfill(at, job)
    world.run()
    # b's second backfill meets requests for b and d, those of c and z meet the one for d
    assert world.duplicates == {"both pending": 4, "same origin": 2, "same ancestor": 1, "independent origins": 1}


@pytest.mark.parametrize("experiment", ["holding", "lifetime", "pipeline", "rollup"])
def test_every_goal_is_met(experiment):
    seeds = 15
    rows = [summary(*each, play(experiment, *each, seeds, lambda: None)) for each in plays(experiment)]
    found = report(experiment, rows, seeds)
    assert [goal for goal in found["goals"] if not goal["met"]] == []
    assert {row["method"] for row in found["rows"]} == set(methods(experiment))


def test_without_holding_the_default_costs_more_than_the_optimum():
    """So that the held rows do not hold by accident."""
    rows = {(s, m): summary(s, m, play("pipeline", s, m, 10, lambda: None)) for s, m in [("random", "eager")]}
    assert rows["random", "eager"]["unneeded"]["least"] > 0


def test_the_literal_rules_lose_changes_and_get_stuck():
    """What docs/decisions/0003-origin-sets.md says of them, at the size of the experiments."""
    played = play("binomial", 20, "literal", 2, lambda: None)
    assert not any(outcome.converged for _, outcome in played)
    assert "literal" not in EXACT


def test_the_command_draws_a_picture(tmp_path):
    file = tmp_path / "lifetime.png"
    ran = CliRunner().invoke(main, ["lifetime", "--seeds", "2", "--plot", str(file)])
    assert ran.exit_code == 0 and file.read_bytes().startswith(b"\x89PNG")


def test_the_command_prints_the_report():
    ran = CliRunner().invoke(main, ["rollup", "--seeds", "8"])
    assert ran.exit_code == 0 and "met    updates of the day, one range: 1 to 1" in ran.stdout
    ran = CliRunner().invoke(main, ["lifetime", "--seeds", "2", "--json"])
    found = json.loads(ran.stdout)
    assert found.keys() >= {"experiment", "seeds", "rows", "goals"}
    assert found["rows"][0].keys() >= {
        "setting", "method", "naive", "processed", "optimal", "unneeded", "converged", "duplicates", "paper"
    }  # fmt: skip
