"""Runs of refreshes as [Li23] generates them (§VI-A and §VI-H), with everything that the paper leaves open fixed here.

A graph has stages; every edge goes to a later one. What a node does is a chain of operators, which gives its size
from those of its inputs; nodes without inputs read base tables of TPC-DS at 100 GB. Sizes give times by the
bandwidths of the paper's server.
"""

from __future__ import annotations

import random

from attrs import evolve, frozen

from headwater.memory.planning.problem import Problem, Read, Task

# Rows of TPC-DS at scale factor 100 and the mean bytes of a row, from the specification (tables 3-1 and 3-2). Tables
# below 1 MB are left out: nobody keeps a copy of them.
TABLES = {
    "store_sales": 287_997_024 * 164,
    "catalog_sales": 143_997_065 * 226,
    "web_sales": 72_001_237 * 226,
    "inventory": 399_330_000 * 16,
    "store_returns": 28_795_080 * 134,
    "catalog_returns": 14_404_374 * 166,
    "web_returns": 7_197_670 * 162,
    "customer": 2_000_000 * 132,
    "customer_address": 1_000_000 * 110,
    "customer_demographics": 1_920_800 * 42,
    "item": 204_000 * 281,
    "date_dim": 73_049 * 141,
    "time_dim": 86_400 * 59,
    "catalog_page": 20_400 * 139,
}
READ, WRITE, LATENCY = 519.8e6, 358.9e6, 175e-6  # bytes a second, and seconds for an access, of the paper's server
COMPUTE = 1 / 0.85  # seconds of computation for one of reading and writing (§II-C)
FOLLOWS = {
    # What follows an operator, with which weight; "" ends the chain.
    "": {"join": 5, "filter": 3, "aggregate": 2},
    "join": {"join": 3, "filter": 2, "aggregate": 3, "project": 2, "": 2},
    "filter": {"join": 3, "aggregate": 3, "project": 2, "": 2},
    "aggregate": {"filter": 1, "project": 2, "": 5},
    "project": {"join": 1, "aggregate": 1, "": 4},
}
RATIO = {
    # Bytes that come out of an operator for each that goes in: the ends of a range in which each is as likely.
    "join": (0.5, 1.1),
    "filter": (0.2, 0.9),
    "aggregate": (0.05, 0.5),
    "project": (0.4, 0.9),
}


@frozen
class Setting:
    """What is varied in §VI-H. The defaults are ours: the figure that marks the paper's did not survive.

    Attributes:
        nodes: of the graph.
        ratio: stages for each node of a stage; one is as high as wide.
        outdegree: the most edges from a node; their number is uniform from none to this.
        deviation: standard deviation of the nodes of a stage.
        span: the most stages that an edge goes forward.
        memory: bytes that may be kept, as a share of all that the run makes.
    """

    nodes: int = 100
    ratio: float = 1.0
    outdegree: int = 4
    deviation: float = 1.0
    span: int = 2
    memory: float = 0.1


def generated(setting: Setting, seed: int) -> Problem:
    """One run; the same for the same seed."""
    draw = random.Random(seed)
    stages = _stages(setting, draw)
    inputs = _edges(setting, stages, draw)
    sizes: list[int] = []
    tasks: list[Task] = []
    for node, sources in enumerate(inputs):
        source_bytes = [sizes[each] for each in sources] or [draw.choice(list(TABLES.values()))]
        size = _size(source_bytes, draw)
        reading = sum(_seconds(each, READ) for each in source_bytes)
        writing = _seconds(size, WRITE)
        reads = tuple(Read(f"v{each}", _micros(_seconds(sizes[each], READ))) for each in sources)
        run = _micros((reading + writing) * (1 + COMPUTE))
        tasks.append(Task(f"v{node}", size, run, reads, _micros(writing), _micros(writing)))
        sizes.append(size)
    problem = Problem(tuple(tasks), memory=0)
    return evolve(problem, memory=int(setting.memory * sum(sizes)))


def _stages(setting: Setting, draw: random.Random) -> list[range]:
    height = max(1, min(setting.nodes, round((setting.nodes * setting.ratio) ** 0.5)))
    weights = [max(0.5, draw.gauss(setting.nodes / height, setting.deviation)) for _ in range(height)]
    ends, total = [0], 0.0
    for left, weight in zip(range(height - 1, -1, -1), weights, strict=True):
        total += weight
        end = round(setting.nodes * total / sum(weights))
        ends.append(min(max(end, ends[-1] + 1), setting.nodes - left))
    return [range(*pair) for pair in zip(ends, ends[1:], strict=False)]


def _edges(setting: Setting, stages: list[range], draw: random.Random) -> list[list[int]]:
    """For each node those that it reads."""
    inputs: list[set[int]] = [set() for _ in range(setting.nodes)]
    for n, stage in enumerate(stages[:-1]):
        later = [node for after in stages[n + 1 : n + 1 + setting.span] for node in after]
        for node in stage:
            for reader in draw.sample(later, min(draw.randint(0, setting.outdegree), len(later))):
                inputs[reader].add(node)
    return [sorted(each) for each in inputs]


def _size(sources: list[int], draw: random.Random) -> int:
    """Bytes that a chain of operators makes of its inputs; of several, the first operator is a join, by a key of all
    but the largest, so that deep views tend to be small, as the paper finds (§VI-H)."""
    size, operator = float(max(sources)), "join" if len(sources) > 1 else _next("", draw)
    while operator:
        size *= draw.uniform(*RATIO[operator])
        operator = _next(operator, draw)
    return max(1, int(size))


def _next(operator: str, draw: random.Random) -> str:
    [following] = draw.choices(list(FOLLOWS[operator]), list(FOLLOWS[operator].values()))
    return following


def _seconds(size: int, bandwidth: float) -> float:
    return LATENCY + size / bandwidth


def _micros(seconds: float) -> int:
    return round(seconds * 1e6)
