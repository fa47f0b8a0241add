"""The methods that plan generated runs of refreshes, and what they reach of what no plan can exceed."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

from attrs import evolve

from benchmarks.papers.exact import proven
from benchmarks.parts import baselines
from benchmarks.parts.generated import Setting, generated
from headwater.memory.planning.flag import flags
from headwater.memory.planning.joint import alternate, by_turns
from headwater.memory.planning.order import depth_first
from headwater.memory.planning.plan import Plan
from headwater.memory.planning.problem import Problem

NODES = (25, 50, 75, 100)
MEMORY = (0.016, 0.05, 0.1, 0.2, 0.3)
BINDS = (0.05, 0.1, 0.2, 0.3)
"""Shares of the total at which memory binds."""
SLOW_METHODS_PLAN = 0.02
"""The part of the runs that annealing and separators plan."""
SWEEP = {"ratio": (0.25, 0.5, 2.0, 4.0), "outdegree": (1, 2, 3, 5), "deviation": (0.0, 2.0, 3.0)}
"""What [Li23] varies in §VI-H, here at 50 nodes; the defaults are in ``generated.Setting``."""

SETTINGS = (
    *(Setting(nodes=nodes, memory=memory) for nodes in NODES for memory in MEMORY),
    *(evolve(Setting(nodes=50), **{name: value}) for name, values in SWEEP.items() for value in values),
    *(Setting(nodes=12, memory=memory) for memory in BINDS),
)
FEW = (Setting(nodes=100, memory=0.1), Setting(nodes=12, memory=0.1))

PLANNERS: dict[str, Callable[[Problem], Plan]] = {
    "joint": proven,
    "alternating": alternate,
    "greedy + MA-DFS": partial(by_turns, flag=baselines.greedy, sort=depth_first, method="greedy"),
    "random + MA-DFS": partial(by_turns, flag=baselines.at_random, sort=depth_first, method="random"),
    "ratio + MA-DFS": partial(by_turns, flag=baselines.by_ratio, sort=depth_first, method="ratio"),
}
SLOW = {
    "knapsack + annealing": partial(by_turns, flag=flags, sort=baselines.annealed, method="annealing"),
    "knapsack + separators": partial(by_turns, flag=flags, sort=baselines.separated, method="separators"),
}


def planned(setting: Setting, graphs: int, seed: int) -> dict[str, Any]:
    """Scores of all methods for one run, and seconds of the processor that planning took; none keeps more than one core
    busy."""
    problem = generated(setting, seed)
    named = PLANNERS | (SLOW if seed < SLOW_METHODS_PLAN * graphs else {})
    found: dict[str, Any] = {"scores": {"none": 0, "LRU": baselines.lru(problem)}, "seconds": {}}
    for name, method in named.items():
        began = time.process_time()
        plan = method(problem)
        found["seconds"][name] = time.process_time() - began
        if not plan.fits:
            raise AssertionError(f"{name} needs more memory than there is: {setting}, seed {seed}")
        found["scores"][name] = plan.score
        if name == "joint":
            found["bound"] = -plan.bound
    published = alternate(baselines.without_copies(problem))
    found["published"] = evolve(published, problem=problem).timeline.peak / max(1, problem.memory)
    return found


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """What each method reached over some runs."""
    gaps, seconds, gains = defaultdict(list), defaultdict(list), []
    for each in runs:
        for name, score in each["scores"].items():
            gaps[name].append(1 - score / each["bound"] if each["bound"] else 0.0)
        for name, took in each["seconds"].items():
            seconds[name].append(took)
        if each["scores"]["alternating"]:
            gains.append(each["scores"]["joint"] / each["scores"]["alternating"])
    peaks = [each["published"] for each in runs]
    return {
        "methods": {
            name: {"gap": statistics.mean(values), "graphs": len(values), **_times(seconds[name])}
            for name, values in gaps.items()
        },
        "joint over alternating": {"mean": statistics.mean(gains or [1.0]), "least": min(gains, default=1.0)},
        "proven best": statistics.mean(each["scores"]["joint"] == each["bound"] for each in runs),
        "as published exceeds memory": {"share": statistics.mean(peak > 1 for peak in peaks), "most": max(peaks)},
    }


def _times(seconds: list[float]) -> dict[str, float]:
    return {"seconds": statistics.mean(seconds), "slowest": max(seconds)} if seconds else {}
