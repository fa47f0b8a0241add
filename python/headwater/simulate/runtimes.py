"""How long the runs of a view take, learned from those that ran."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from random import Random

from attrs import frozen

LEAST = 0.001
"""Seconds; a run that was faster than the journal can show took this long."""


@frozen
class RunTimes:
    """A run of ``n`` partitions takes (``fixed`` + ``n`` · ``each``) seconds, times one of ``ratios``."""

    fixed: float
    each: float
    ratios: tuple[float, ...] = (1.0,)

    def draw(self, partitions: int, random: Random) -> int:
        """One run's time (ms), at least 1."""
        return max(1, round(1000 * (self.fixed + partitions * self.each) * random.choice(self.ratios)))

    def expected(self, runs: int, partitions: int) -> float:
        """The mean duration in seconds of this number of runs, of this number of partitions in all."""
        return (self.fixed * runs + self.each * partitions) * statistics.fmean(self.ratios)


def learned(runs: Sequence[tuple[int, float]]) -> RunTimes:
    """From partitions and seconds of at least one run: the line of least squared relative errors, with
    neither part negative, and how far each run was off it."""
    took = [(count, max(LEAST, seconds)) for count, seconds in runs]
    fixed, each = _line(took)
    return RunTimes(fixed, each, tuple(seconds / (fixed + count * each) for count, seconds in took))


def _line(took: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """Minimises the sum of ((fixed + count · each) / seconds - 1)², which weighs short runs as long ones."""
    one = [1 / seconds for _, seconds in took]
    many = [count / seconds for count, seconds in took]
    ones, manies, both = (sum(x * y for x, y in zip(a, b, strict=True)) for a, b in _pairs(one, many))
    determinant = ones * manies - both**2
    if determinant > 1e-9 * ones * manies:  # runs of different sizes
        fixed = (sum(one) * manies - sum(many) * both) / determinant
        each = (sum(many) * ones - sum(one) * both) / determinant
        if fixed >= 0 and each >= 0:
            return fixed, each
        if fixed < 0 and all(count for count, _ in took):
            return 0.0, sum(many) / manies
    return sum(one) / ones, 0.0


def _pairs(one: list[float], many: list[float]) -> tuple[tuple[list[float], list[float]], ...]:
    return (one, one), (many, many), (one, many)
