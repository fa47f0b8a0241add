"""How good plans of a run are, and how soon they are made, on runs generated as in [Li23] (see ``generated``).

Every method plans the same runs. Its score is compared with what no plan can exceed: the gap is the part of that
bound which it does not save. One core; the two methods for the order that take seconds plan some of the runs.

    python -m benchmarks.planner [--quick] [--graphs 1000] [--nodes 12,25,...] [--memory 0.05,...] [--json FILE]

A setting that is in FILE already is not planned again.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

from attrs import asdict, evolve

from benchmarks.papers.exact import proven
from benchmarks.parts import baselines as methods
from benchmarks.parts.generated import Setting, generated
from benchmarks.parts.harness import Goal, Row, console, grown, parser
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
QUICK = (Setting(nodes=100, memory=0.1), Setting(nodes=12, memory=0.1))

METHODS: dict[str, Callable[[Problem], Plan]] = {
    "joint": proven,
    "alternating": alternate,
    "greedy + MA-DFS": partial(by_turns, flag=methods.greedy, sort=depth_first, method="greedy"),
    "random + MA-DFS": partial(by_turns, flag=methods.at_random, sort=depth_first, method="random"),
    "ratio + MA-DFS": partial(by_turns, flag=methods.by_ratio, sort=depth_first, method="ratio"),
}
SLOW = {
    "knapsack + annealing": partial(by_turns, flag=flags, sort=methods.annealed, method="annealing"),
    "knapsack + separators": partial(by_turns, flag=flags, sort=methods.separated, method="separators"),
}

PARSER = parser(__doc__)
PARSER.add_argument("--graphs", type=int, help="runs of each kind; 1000 unless quick")
PARSER.add_argument(
    "--nodes", type=lambda text: {int(each) for each in text.split(",")}, help="only runs of these sizes"
)
PARSER.add_argument(
    "--memory", type=lambda text: {float(each) for each in text.split(",")}, help="only these shares of memory"
)


def main() -> None:
    told = PARSER.parse_args()
    settings, graphs = told.size.of((SETTINGS, 1000), (QUICK, 20), (QUICK[-1:], 2))
    graphs = told.graphs or graphs
    chosen = [
        each
        for each in settings
        if each.nodes in (told.nodes or {each.nodes}) and each.memory in (told.memory or {each.memory})
    ]
    asked = [asdict(setting) | {"graphs": graphs} for setting in chosen]
    with ProcessPoolExecutor(1) as pool:  # a process of its own, so that what this one prints does not disturb it

        def measure(key: Row) -> Row:
            setting = Setting(**{name: value for name, value in key.items() if name != "graphs"})
            found = _summary(list(pool.map(partial(planned, setting, graphs), range(graphs))))
            shown = {name: round(each["gap"], 3) for name, each in found["methods"].items()}
            console.print(f"{setting.nodes} nodes, memory {setting.memory:.1%}: gaps {shown}")
            return found

        grown(told, asked, measure, _goals)


def planned(setting: Setting, graphs: int, seed: int) -> dict[str, Any]:
    """Scores of all methods for one run, and seconds of the processor that planning took; none keeps more than one core
    busy."""
    problem = generated(setting, seed)
    named = METHODS | (SLOW if seed < SLOW_METHODS_PLAN * graphs else {})
    found: dict[str, Any] = {"scores": {"none": 0, "LRU": methods.lru(problem)}, "seconds": {}}
    for name, method in named.items():
        began = time.process_time()
        plan = method(problem)
        found["seconds"][name] = time.process_time() - began
        if not plan.fits:
            raise AssertionError(f"{name} needs more memory than there is: {setting}, seed {seed}")
        found["scores"][name] = plan.score
        if name == "joint":
            found["bound"] = -plan.bound
    published = alternate(methods.without_copies(problem))
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


def _goals(rows: Sequence[Row]) -> list[Goal]:
    default = Setting()
    plain = [row for row in rows if all(row[name] == getattr(default, name) for name in SWEEP)]
    hundred = [row for row in plain if row["nodes"] == 100]
    few = [row for row in plain if row["nodes"] == 12]
    least = min(row["joint over alternating"]["least"] for row in rows)
    found = [Goal("joint against alternating, the worst of all runs", ">= 1", f"{least:.4f}", least >= 1.0)]
    if hundred:
        found += _goals_at_hundred(hundred)
    if few:
        proven = min(row["proven best"] for row in few)
        found.append(Goal("12 nodes, proven best", "all", f"{proven:.1%}", proven == 1.0))
    return found


def _goals_at_hundred(rows: Sequence[Row]) -> list[Goal]:
    took = statistics.mean(row["methods"]["alternating"]["seconds"] for row in rows)
    slowest = max(row["methods"]["joint"]["slowest"] for row in rows)
    mean = statistics.mean(row["methods"]["joint"]["seconds"] for row in rows)
    times = f"{mean:.2f} s in the mean, {slowest:.2f} s the slowest"
    found = [
        Goal("alternating, 100 nodes, mean over the shares of memory", "<= 0.03 s", f"{took:.3f} s", took <= 0.03),
        Goal("joint, 100 nodes", "<= 1 s", times, slowest <= 1.0),
    ]
    gains = {row["memory"]: row["joint over alternating"]["mean"] for row in rows if row["memory"] in BINDS}
    if gains:
        gain = statistics.mean(gains.values())
        by_memory = ", ".join(f"{memory:.0%}: {each - 1:+.1%}" for memory, each in gains.items())
        text = "joint against alternating, 100 nodes, where memory binds, mean"
        found.append(Goal(text, ">= +10 %", f"{gain - 1:+.1%} ({by_memory})", gain >= 1.1))
    return found


if __name__ == "__main__":
    main()
