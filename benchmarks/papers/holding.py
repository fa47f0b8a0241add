"""Small random warehouses to compare rules of holding with the optimum (``python -m benchmarks.papers holding``)."""

from __future__ import annotations

from itertools import accumulate
from random import Random

from benchmarks.papers.optimum import Case, least_cost
from benchmarks.papers.script import SECOND, Trial
from benchmarks.papers.truth import Graph, naive

HOLDING = ("chain", "one promise", "own promises")


def holding(random: Random, setting: str, most: int = 12) -> Trial:
    """Up to 12 changes of up to 8 views, and the least cost (s of run time) that keeps every promise, by enumeration.

    The optimum knows the changes to come; ``ratio`` ([Xu23] §4.2) and ``held``, the product's rule, do not.
    ``eager`` is the product without a promise: it refreshes at once. Changes come at random times, run times
    are fixed. Promises leave time for the longest path and the longest run, or no rule without foresight
    can keep them. All views promise the same in a ``chain`` and with ``one promise``.
    """
    graph = _chain(random) if setting == "chain" else _graph(random)
    takes = {job: random.randint(5, 60) * SECOND for job in graph}
    path = _paths(graph, takes)
    longest = max(takes.values())
    bounds = {job: path[job] + round(longest * random.uniform(1, 6)) for job in graph}
    if setting != "own promises":
        bounds = dict.fromkeys(graph, max(path.values()) + round(longest * random.uniform(1, 6)))
    roots = [job for job, inputs in graph.items() if not inputs]
    mean = random.uniform(5, 60) * SECOND
    gaps = [1 + round(random.expovariate(1 / mean)) for _ in range(random.randint(4, most))]
    changes = tuple((at, random.choice(roots)) for at in accumulate(gaps))
    cost = {job: each // SECOND for job, each in takes.items()}
    optimal = least_cost(Case(graph, changes, takes, bounds, cost))
    return Trial(
        graph,
        changes,
        optimal,
        naive(graph, [job for _, job in changes], cost),
        takes,
        dict.fromkeys(graph, 0),
        cost=cost,
        freshness=bounds,
    )


def _chain(random: Random) -> Graph:
    length = random.randint(1, 8)
    return {f"v{position}": (f"v{position - 1}",) if position else () for position in range(length)}


def _graph(random: Random) -> Graph:
    """One to three views read base tables, the next one all of these, so that it is one wave."""
    roots = random.randint(1, 3)
    names = [f"v{position}" for position in range(random.randint(roots + 1, 8))]
    graph = dict.fromkeys(names[:roots], ())
    graph[names[roots]] = tuple(names[:roots])
    for position in range(roots + 1, len(names)):
        graph[names[position]] = tuple(sorted(random.sample(names[:position], random.randint(1, min(3, position)))))
    return graph


def _paths(graph: Graph, takes: dict[str, int]) -> dict[str, int]:
    """The longest path of runs to each job, its own included (ms)."""
    path: dict[str, int] = {}
    for job, inputs in graph.items():
        path[job] = takes[job] + max((path[each] for each in inputs), default=0)
    return path
