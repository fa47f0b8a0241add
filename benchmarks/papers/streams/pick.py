"""Rules that order waiting refreshes: the basic algorithms of [Golab11] §3.1.

A rule gives a refresh a number by five of its figures, and the one with the least number comes first. Example: a
refresh of weight 2 takes 10 s off the staleness of its table and 4 s of work. Its benefit is 5 for each second of work,
and by ``max_benefit`` its number is -5.
"""

from __future__ import annotations

from collections.abc import Callable

Rule = Callable[[float, float, float, float, float], float]
"""By the figures of a refresh: its weight, the seconds ``delta`` that it takes off the staleness, the seconds that it
``takes``, the time ``since`` which its data wait, and the ``period`` of these."""

_FAR = 1e12
"""Above any deadline, so that priority decides first."""


def oldest(weight: float, delta: float, takes: float, since: float, period: float) -> float:
    """First come, first served."""
    return since


def earliest_deadline(weight: float, delta: float, takes: float, since: float, period: float) -> float:
    """By the time at which the next data come: EDF."""
    return since + period


def prioritised(weight: float, delta: float, takes: float, since: float, period: float) -> float:
    """By priority, and by deadline among equals: EDF-P."""
    return since + period - _FAR * weight


def max_benefit(weight: float, delta: float, takes: float, since: float, period: float) -> float:
    """By the benefit of a second of work."""
    return -weight * delta / takes
