"""The script of one trial of an experiment, and its optimum."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import Factory, frozen

from benchmarks.papers.truth import Graph

SECOND = 1000


@frozen
class Trial:
    """One seed of an experiment.

    Attributes:
        backfills: when (ms) each starts, and at which job.
        optimal: the least cost.
        mean, deviation: of each job's run time (ms); drawn from a normal distribution, at least 1 ms.
        cost: of one update of each job; 1 where it is not given.
        counted: the jobs whose updates count; all of them when empty.
        labels: versions that the user gives the backfills, for the literal rules.
        settle: how long (ms) a job waits after a change for others to join.
        freshness: the bound (ms) that each job promises; none when it is not there.
        paper: the paper's counts, by method.
    """

    graph: Graph
    backfills: tuple[tuple[int, str], ...]
    optimal: int
    naive: int
    mean: Mapping[str, int]
    deviation: Mapping[str, int]
    cost: Mapping[str, int] = Factory(dict)
    counted: frozenset[str] = frozenset()
    labels: tuple[int, ...] = ()
    settle: Mapping[str, int] = Factory(dict)
    freshness: Mapping[str, int] = Factory(dict)
    paper: Mapping[str, object] = Factory(dict)
