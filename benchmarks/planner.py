"""How good plans of a run are, and how soon they are made, on runs generated as in [Li23] (see ``generated``).

Every method plans the same runs. Its score is compared with what no plan can exceed: the gap is the part of that
bound which it does not save. One core; the two methods for the order that take seconds plan some of the runs.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

from attrs import asdict, evolve

from benchmarks import methods
from benchmarks.generated import Setting, generated
from benchmarks.harness import Goal, console, main
from headwater.plan.alternate import alternate, by_turns
from headwater.plan.flag import flags
from headwater.plan.joint import joint
from headwater.plan.order import depth_first
from headwater.plan.plan import Plan
from headwater.plan.problem import Problem, without_copies

NODES = (25, 50, 75, 100)
MEMORY = (0.016, 0.05, 0.1, 0.2, 0.3)
BINDS = (0.05, 0.1, 0.2, 0.3)
"""Shares of the total at which memory binds."""
SLOW_METHODS_PLAN = 0.02
"""The part of the runs that annealing and separators plan."""
SWEEP = {"ratio": (0.25, 0.5, 2.0, 4.0), "outdegree": (1, 2, 3, 5), "deviation": (0.0, 2.0, 3.0)}
"""What [Li23] varies in §VI-H, here at 50 nodes; the defaults are in ``generated.Setting``."""

METHODS: dict[str, Callable[[Problem], Plan]] = {
    "joint": joint,
    "alternating": alternate,
    "greedy + MA-DFS": partial(by_turns, flag=methods.greedy, sort=depth_first, method="greedy"),
    "random + MA-DFS": partial(by_turns, flag=methods.at_random, sort=depth_first, method="random"),
    "ratio + MA-DFS": partial(by_turns, flag=methods.by_ratio, sort=depth_first, method="ratio"),
}
SLOW = {
    "knapsack + annealing": partial(by_turns, flag=flags, sort=methods.annealed, method="annealing"),
    "knapsack + separators": partial(by_turns, flag=flags, sort=methods.separated, method="separators"),
}


def run(quick: bool, graphs: int) -> dict[str, Any]:
    graphs = 3 if quick else graphs
    settings = [Setting(nodes=nodes, memory=memory) for nodes in NODES for memory in MEMORY]
    settings += [evolve(Setting(nodes=50), **{name: value}) for name, values in SWEEP.items() for value in values]
    settings += [Setting(nodes=12, memory=memory) for memory in BINDS]
    rows = []
    with ProcessPoolExecutor(1) as pool:  # a process of its own, so that what this one prints does not disturb it
        for setting in settings:
            runs = list(pool.map(partial(planned, setting, graphs), range(graphs)))
            rows.append({**asdict(setting), "graphs": graphs, **_summary(runs)})
            shown = {name: round(each["gap"], 3) for name, each in rows[-1]["methods"].items()}
            console.print(f"{setting.nodes} nodes, memory {setting.memory:.1%}: gaps {shown}")
    return {"graphs": graphs, "rows": rows, "goals": _goals(rows)}


def planned(setting: Setting, graphs: int, seed: int) -> dict[str, Any]:
    """Scores and planning times (s) of all methods for one run."""
    problem = generated(setting, seed)
    named = METHODS | (SLOW if seed < SLOW_METHODS_PLAN * graphs else {})
    found: dict[str, Any] = {"scores": {"none": 0, "LRU": methods.lru(problem)}, "seconds": {}}
    for name, method in named.items():
        began = time.perf_counter()
        plan = method(problem)
        found["seconds"][name] = time.perf_counter() - began
        if not plan.fits:
            raise AssertionError(f"{name} needs more memory than there is: {setting}, seed {seed}")
        found["scores"][name] = plan.score
        if name == "joint":
            found["bound"] = -plan.bound
    published = alternate(without_copies(problem))
    found["published"] = evolve(published, problem=problem).timeline.peak / max(1, problem.memory)
    return found


def _summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
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


def _goals(rows: list[dict[str, Any]]) -> list[Goal]:
    default = Setting()
    plain = [row for row in rows if all(row[name] == getattr(default, name) for name in SWEEP)]
    hundred = [row for row in plain if row["nodes"] == 100]
    few = [row for row in plain if row["nodes"] == 12]
    took = [row["methods"]["alternating"]["seconds"] for row in hundred]
    slowest = max(row["methods"]["joint"]["slowest"] for row in hundred)
    mean = statistics.mean(row["methods"]["joint"]["seconds"] for row in hundred)
    gains = {row["memory"]: row["joint over alternating"]["mean"] for row in hundred if row["memory"] in BINDS}
    gain = statistics.mean(gains.values())
    least = min(row["joint over alternating"]["least"] for row in rows)
    proven = min(row["proven best"] for row in few)
    by_memory = ", ".join(f"{memory:.0%}: {each - 1:+.1%}" for memory, each in gains.items())
    return [
        Goal(
            "alternating, 100 nodes, mean over the shares of memory",
            "<= 0.03 s",
            f"{statistics.mean(took):.3f} s",
            statistics.mean(took) <= 0.03,
        ),
        Goal("joint, 100 nodes", "<= 1 s", f"{mean:.2f} s in the mean, {slowest:.2f} s the slowest", slowest <= 1.0),
        Goal("joint against alternating, the worst of all runs", ">= 1", f"{least:.4f}", least >= 1.0),
        Goal(
            "joint against alternating, 100 nodes, where memory binds, mean",
            ">= +10 %",
            f"{gain - 1:+.1%} ({by_memory})",
            gain >= 1.1,
        ),
        Goal("12 nodes, proven best", "all", f"{proven:.1%}", proven == 1.0),
    ]


if __name__ == "__main__":
    main(run, __doc__, graphs=1000)
