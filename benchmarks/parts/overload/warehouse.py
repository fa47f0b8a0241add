"""The warehouse: twelve sources, thirty views in three levels, and the times of the appends. Pure."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from attrs import frozen

LEVELS = (12, 10, 8)
"""Views of each level. There are as many sources as views of the first one."""
PERIODS = (2.0, 300.0)
"""Seconds between two appends of the quickest and of the slowest source; the others lie between, by one factor."""
PRIORITIES = (1, 10, 100)
ROWS, GROUPS, APPENDED = 20_000, 100, 200
"""Rows of a source at first, the groups that each view has, and rows of an append. Each group gets some of them."""
JITTER = 0.1
"""An append comes sooner or later by at most this part of its period."""


@frozen
class View:
    """One view.

    Attributes:
        reads: the source or the two views that it reads.
        bases: the sources upstream.
        query: sums by group. Column ``b_s`` is the newest append of the source ``s`` that a row reflects.
    """

    name: str
    priority: int
    reads: tuple[str, ...]
    bases: tuple[str, ...]
    query: str


def warehouse(counts: Sequence[int] = LEVELS, seed: int = 0) -> tuple[View, ...]:
    """The views in topological order. A view of the first level reads one source, the others join two views of lower
    levels, one of them of the level below. Each priority is that of a third of the views."""
    draw, made = random.Random(seed), list[View]()
    priorities = [PRIORITIES[n % len(PRIORITIES)] for n in range(sum(counts))]
    draw.shuffle(priorities)
    below: list[View] = []
    for level, count in enumerate(counts):
        here: list[View] = []
        for n in range(count):
            name, priority = f"v{level + 1}_{n:02}", priorities.pop()
            if level == 0:
                view = _first(name, priority, f"s{n}")
            else:
                one = draw.choice(below)
                view = _join(name, priority, one, draw.choice([each for each in made if each != one]))
            here.append(view)
        made += here
        below = here
    return tuple(made)


def downstream(views: Sequence[View], table: str) -> list[View]:
    """The views that changes of a table reach, in topological order."""
    reached = {table}
    found = []
    for each in views:
        if reached & {*each.reads}:
            reached.add(each.name)
            found.append(each)
    return found


def levels(views: Sequence[View]) -> list[list[View]]:
    """The views by their distance from the sources: those of a level read lower ones only."""
    found: dict[str, int] = {}
    for each in views:
        found[each.name] = 1 + max((found.get(one, -1) for one in each.reads), default=-1)
    return [[each for each in views if found[each.name] == n] for n in range(max(found.values()) + 1)]


def sources(views: Sequence[View]) -> list[str]:
    """The sources that views read, the quickest first."""
    return [each.bases[0] for each in views if each.bases == each.reads]


def periods(views: Sequence[View], factor: float = 1.0) -> dict[str, float]:
    """Seconds between two appends of each source."""
    least, most = PERIODS
    names = sources(views)
    step = (most / least) ** (1 / max(1, len(names) - 1))
    return {name: factor * least * step**n for n, name in enumerate(names)}


def demand(views: Sequence[View]) -> float:
    """Appends and refreshes in a second, if each append refreshed all views downstream at once."""
    return sum((1 + len(downstream(views, source))) / period for source, period in periods(views).items())


def appends(lasting: Mapping[str, float], seconds: float, seed: int) -> dict[str, list[float]]:
    """For each source the times of its appends, in seconds from the start.

    Args:
        lasting: the period of each.
    """
    draw, found = random.Random(seed), dict[str, list[float]]()
    for source, period in lasting.items():
        at, times = draw.uniform(0, period), list[float]()
        while at < seconds:
            times.append(at)
            at += period * draw.uniform(1 - JITTER, 1 + JITTER)
        found[source] = times
    return found


def _first(name: str, priority: int, source: str) -> View:
    query = f"SELECT k, sum(x) AS x, max(b) AS b_{source} FROM {source} GROUP BY k"
    return View(name, priority, (source,), (source,), query)


def _join(name: str, priority: int, one: View, other: View) -> View:
    both = {*one.bases} & {*other.bases}
    reflected = [
        f"least(p.b_{base}, q.b_{base}) AS b_{base}" if base in both else f"b_{base}"
        for base in dict.fromkeys((*one.bases, *other.bases))
    ]
    query = f"SELECT k, p.x + q.x AS x, {', '.join(reflected)} FROM {one.name} p JOIN {other.name} q USING (k)"
    return View(name, priority, (one.name, other.name), tuple(dict.fromkeys((*one.bases, *other.bases))), query)
