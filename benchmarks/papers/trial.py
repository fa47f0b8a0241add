"""Runs the trials of an experiment by each method and sums them up."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from attrs import frozen

from benchmarks.papers.experiments import EXPERIMENTS
from benchmarks.papers.ratio import Ratio
from benchmarks.papers.script import Trial
from benchmarks.papers.small import Lazy, Literal, Small
from benchmarks.papers.world import World
from headwater.engine.waits.freshness import QUANTILE
from headwater.model.costs import Took

EXACT = ("lazy", "group", "ratio", "eager", "lazy, held", "eager, held")
"""Methods that must converge; ``eager`` is the product's core, which is its default."""


@frozen
class Outcome:
    """One trial by one method.

    Attributes:
        processed: the cost of the updates, which is their number where each costs 1.
        slowest: the longest time a backfill took to reach everything (ms).
        missed: the backfills that something promised reflected too late.
    """

    processed: int
    converged: bool
    slowest: int
    missed: int
    duplicates: Counter[str]


def methods(experiment: str) -> tuple[str, ...]:
    """The methods an experiment compares."""
    match experiment:
        case "pipeline":
            return ("literal", "literal, held", "lazy", "lazy, held", "eager", "eager, held")
        case "rollup":
            return ("eager",)
        case "holding":
            return ("eager", "ratio", "eager, held")
        case _:
            return ("literal", "lazy", "group", "eager")


def run(trial: Trial, method: str, random: Random) -> Outcome:
    """Plays one trial; ``random`` draws the run times."""

    def duration(job: str) -> int:
        return max(1, round(random.gauss(trial.mean[job], trial.deviation[job])))

    kind, _, held = method.partition(", ")
    world: Any = _core(trial, duration, bool(held)) if kind == "eager" else _small(trial, duration, kind, bool(held))
    labels = trial.labels or (None,) * len(trial.backfills)
    for (at, job), label in zip(trial.backfills, labels, strict=True):
        if kind == "literal":
            world.backfill(at, job, label)
        else:
            world.backfill(at, job)
    world.run()
    counted = {job: count for job, count in world.runs.items() if not trial.counted or job in trial.counted}
    processed = sum(count * trial.cost.get(job, 1) for job, count in counted.items())
    truth = world.truth
    return Outcome(processed, truth.converged(), truth.slowest(), truth.missed(trial.freshness), world.duplicates)


def plays(experiment: str) -> list[tuple[Any, str]]:
    """The settings and methods of an experiment, each played with every seed."""
    return [(setting, method) for setting in EXPERIMENTS[experiment][1] for method in methods(experiment)]


def play(
    experiment: str, setting: Any, method: str, seeds: int, done: Callable[[], object]
) -> list[tuple[Trial, Outcome]]:
    """Trial and outcome of each seed; ``done`` is called after each."""
    played = []
    for seed in range(seeds):
        trial = EXPERIMENTS[experiment][0](Random(seed), setting)
        played.append((trial, run(trial, method, Random(f"{seed} {method}"))))
        done()
    return played


def summary(setting: Any, method: str, played: list[tuple[Trial, Outcome]]) -> dict[str, Any]:
    """One row of the report: means and worst cases over the seeds."""
    unneeded = [outcome.processed - trial.optimal for trial, outcome in played]
    duplicates: Counter[str] = sum((outcome.duplicates for _, outcome in played), Counter())
    trial = played[0][0]
    return {
        "setting": str(setting),
        "method": method,
        "naive": _spread([trial.naive for trial, _ in played]),
        "processed": _spread([outcome.processed for _, outcome in played]),
        "optimal": _spread([trial.optimal for trial, _ in played]),
        "unneeded": _spread(unneeded),
        "gap": _spread([outcome.processed / trial.optimal - 1 for trial, outcome in played]),
        "optimal_seeds": sum(each == 0 for each in unneeded),
        "converged": all(outcome.converged for _, outcome in played),
        "converged_seeds": sum(outcome.converged for _, outcome in played),
        "missed": sum(outcome.missed for _, outcome in played),
        "slowest_seconds": max(outcome.slowest for _, outcome in played) / 1000,
        "duplicates": {kind: count / len(played) for kind, count in sorted(duplicates.items())},
        "paper": {key: value for key, value in trial.paper.items() if key in (method, "naive")},
    }


def _spread(values: list[float]) -> dict[str, float]:
    return {"mean": statistics.fmean(values), "least": min(values), "most": max(values)}


def _core(trial: Trial, duration: Callable[[str], int], held: bool) -> World:
    properties = {job: {"settle": f"{trial.settle.get(job, 1)} milliseconds"} for job in trial.graph}
    took = {}
    if held:
        for job in trial.graph:
            properties[job]["freshness"] = f"{trial.freshness[job]} milliseconds"
            took[job] = Took(trial.mean[job] / 1000, (trial.deviation[job] / 1000) ** 2)
    return World(trial.graph, duration, took, properties)


def _small(trial: Trial, duration: Callable[[str], int], kind: str, held: bool) -> Small:
    if kind == "ratio":
        return Ratio(trial.graph, duration, takes=trial.mean, bounds=trial.freshness)
    hold = min(trial.freshness.values()) - _critical(trial) if held else 0
    expects = Counter(job for _, job in trial.backfills) if kind == "group" else Counter()
    return (Literal if kind == "literal" else Lazy)(trial.graph, duration, hold, expects)


def _critical(trial: Trial) -> int:
    """The longest path's run times (ms), each at the confidence that the product keeps."""
    ends: dict[str, float] = {}
    for job, inputs in trial.graph.items():
        takes = trial.mean[job] + QUANTILE * trial.deviation[job]
        ends[job] = takes + max((ends[each] for each in inputs), default=0)
    return round(max(ends.values()))
