"""The paper's synthetic experiments ([Xu23] §4.1, §7.2): graphs, scripts, and the optimum.

Each function gives the trial of one seed. The optimum is computed from the script alone.
"""

from __future__ import annotations

from random import Random

from benchmarks.papers.holding import HOLDING, holding
from benchmarks.papers.script import SECOND, Trial
from benchmarks.papers.truth import naive, reached


def uniform_like(low: int, high: int) -> tuple[int, int]:
    """Mean and deviation of the uniform distribution between two run times."""
    return (low + high) // 2, round((high - low) / 12**0.5)


def binomial(random: Random, setting: int, levels: int = 50) -> Trial:
    """§7.2.1, Table 10: ``setting`` distinct jobs of a binomial tree are backfilled at once.

    Job (i, j) feeds (i+1, j) and (i+1, j+1). Each run takes 20 s to 1 min.
    """
    graph = {
        f"{i}_{j}": tuple(f"{i - 1}_{k}" for k in (j - 1, j) if i and 0 <= k <= i - 1)
        for i in range(levels)
        for j in range(i + 1)
    }
    chosen = random.sample(sorted(graph), setting)
    mean, deviation = uniform_like(20 * SECOND, 60 * SECOND)
    paper = {10: (1094, 1089, 1089), 20: (1172, 1169, 1169), 50: (1254, 1253, 1253)}.get(setting)
    return Trial(
        graph,
        tuple((0, job) for job in chosen),
        len(reached(graph, chosen)),
        naive(graph, chosen),
        dict.fromkeys(graph, mean),
        dict.fromkeys(graph, deviation),
        paper=dict(zip(("lazy", "group", "eager"), paper, strict=True)) if paper else {},
    )


LIFETIME = {
    "every 8 days": ((6, 14, 22), 60, 28),
    "every 4 days": (tuple(range(3, 28, 4)), 147, 35),
    "every 2 days": (tuple(range(2, 29, 2)), 280, 43),
}


def lifetime(_random: Random, setting: str, days: int = 30) -> Trial:
    """§7.2.2, Table 12: a[t] is computed from a[t-1] and i[t]; i is backfilled on some of 30 days.

    Which days is our reading: with these the optimum is the paper's.
    """
    chosen, paper_naive, paper = LIFETIME[setting]
    graph = {f"i{t}": () for t in range(1, days + 1)}
    graph |= {f"a{t}": (f"i{t}", *([f"a{t - 1}"] if t > 1 else [])) for t in range(1, days + 1)}
    jobs = [f"i{t}" for t in chosen]
    mean, deviation = uniform_like(20 * SECOND, 60 * SECOND)
    return Trial(
        graph,
        tuple((0, job) for job in jobs),
        len(jobs) + days - min(chosen) + 1,
        naive(graph, jobs),
        dict.fromkeys(graph, mean),
        dict.fromkeys(graph, deviation),
        paper={"naive": paper_naive, "lazy": paper, "group": paper, "eager": paper},
    )


PIPELINE_BOUND = 600 * SECOND
PIPELINE = {
    "ascending": {"eager": 14, "eager, held": 7, "lazy": 18, "lazy, held": 7},
    "random": {"eager": 10, "eager, held": 7, "lazy": 14, "lazy, held": 8},
    "descending": {"eager": 7, "eager, held": 7, "lazy": 7, "lazy, held": 7},
}


def pipeline(random: Random, setting: str) -> Trial:
    """§7.2.3, Table 13: ten backfills of three ingestion jobs, 1 to 30 s apart; one transformation, three
    outputs that promise 10 minutes. ``setting`` orders the versions that the backfills are labelled with.
    """
    ingestions, outputs = ("in1", "in2", "in3"), ("out1", "out2", "out3")
    graph = {**dict.fromkeys(ingestions, ()), "transform": ingestions, **dict.fromkeys(outputs, ("transform",))}
    at, backfills = 0, []
    for _ in range(10):
        backfills.append((at, random.choice(ingestions)))
        at += random.randint(1, 30) * SECOND
    labels = list(range(1, 11))
    if setting == "random":
        random.shuffle(labels)
    elif setting == "descending":
        labels.reverse()
    mean, deviation = uniform_like(20 * SECOND, 60 * SECOND)
    return Trial(
        graph,
        tuple(backfills),
        4 + len({job for _, job in backfills}),
        naive(graph, [job for _, job in backfills]),
        dict.fromkeys(graph, mean),
        dict.fromkeys(graph, deviation),
        labels=tuple(labels),
        freshness=dict.fromkeys(graph, PIPELINE_BOUND),
        paper=PIPELINE[setting],
    )


ROLLUP = {
    "no waiting": (0, 24),
    "1 deviation": (100, 4),
    "2 deviations": (200, 2),
    "3 deviations": (300, 2),
    "one range": (None, 1),
}


def rollup(random: Random, setting: str) -> Trial:
    """§4.1, Table 6: 24 hours of a day are backfilled, each in N(300 s, 100 s); how often is the day?

    Without knowledge of the range, each hour is a change that comes when its run ends, and the daily job
    waits for a time after the first. The paper does not say how long the daily job takes: here 1 ms. With
    ``one range``, the hours are backfilled by one request, and the day waits for all of them.
    """
    waits, paper = ROLLUP[setting]
    hours = [f"hour{h}" for h in range(24)]
    graph = {**dict.fromkeys(hours, ()), "day": tuple(hours)}
    apart = waits is not None
    ends = [max(1, round(random.gauss(300, 100) * SECOND)) if apart else 0 for _ in hours]
    return Trial(
        graph,
        tuple(sorted(zip(ends, hours, strict=True))),
        1,
        24,
        {**dict.fromkeys(hours, 1 if apart else 300 * SECOND), "day": 1},
        {**dict.fromkeys(hours, 0 if apart else 100 * SECOND), "day": 0},
        counted=frozenset(("day",)),
        settle={"day": max(1, (waits or 0) * SECOND)},
        paper={"eager": paper},
    )


EXPERIMENTS = {
    "binomial": (binomial, (10, 20, 50)),
    "lifetime": (lifetime, tuple(LIFETIME)),
    "pipeline": (pipeline, tuple(PIPELINE)),
    "rollup": (rollup, tuple(ROLLUP)),
    "holding": (holding, HOLDING),
}
