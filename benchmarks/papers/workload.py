"""A warehouse made up: views in levels, and changes that come at random. It is a scenario like a recorded one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from math import log
from random import Random

from attrs import frozen

from headwater.model.calendar import MONTH
from headwater.model.dependency import Dependency, Expression, Occurrence, Same, Windowed
from headwater.model.event import Changed, Declared, Event, Observed
from headwater.model.partition import Slice
from headwater.model.view import Definition
from headwater.simulate.scenario import RunTimes, Scenario

FIRST_DAY = date(2024, 1, 1)
HOUR = 3_600_000
BEGIN = (FIRST_DAY - date(1970, 1, 1)).days * 24 * HOUR
DRAWS = 200
"""How many ratios stand for the distribution of a view's run times."""

Change = tuple[int, str, date, str]
"""The time (ms), the table, its day, and the kind of change."""


@frozen
class Workload:
    """The measures of a made-up warehouse. Everything is partitioned by day, but for the monthly views.

    Attributes:
        views: how many, spread over ``levels`` so that a table has ``fan_out`` readers in the next one.
        joins: the share of views that read a second table, of any level above.
        monthly: the share of the last level's views that sum up months.
        hours: how long changes come; ``days``, how many days of data there are before.
        appends, corrections, backfills: changes of each base table, in an hour, with exponential gaps. An
            append is to the newest day; a correction is to one that is ``lateness`` days older, on average.
        backfill_days: how many days in a row one backfill writes, ``backfill_gap`` (s) apart on average.
        seconds, spread: the median run of one partition, and the lognormal deviation of that between views;
            ``noise`` is the lognormal deviation between runs of a view.
        each: the part of a run of one partition that each further one takes again.
    """

    views: int = 30
    levels: int = 3
    fan_out: float = 1.5
    joins: float = 0.5
    monthly: float = 0.3
    hours: float = 24
    days: int = 60
    appends: float = 4
    corrections: float = 1
    backfills: float = 1 / 24
    lateness: float = 3
    backfill_days: int = 14
    backfill_gap: float = 30
    seconds: float = 20
    spread: float = 0.8
    noise: float = 0.3
    each: float = 0.2


def generated(workload: Workload, random: Random) -> Scenario:
    """One warehouse and its changes. All views are filled when it begins."""
    bases, definitions = _graph(workload, random)
    declared = [Declared(BEGIN, 0, each, "was created", fill=False) for each in definitions]
    changes = sorted(change for base in bases for change in _changes(workload, base, random))
    return Scenario(
        (*declared, *map(_changed, changes)),
        BEGIN,
        BEGIN + round(workload.hours * HOUR),
        {each.view: _times(workload, random) for each in definitions},
    )


# --- the graph


def _graph(workload: Workload, random: Random) -> tuple[list[str], list[Definition]]:
    weights = [workload.fan_out**level for level in range(1, workload.levels + 1)]
    bases = [f"base.t{n}" for n in range(1, max(1, round(workload.views / sum(weights))) + 1)]
    definitions: list[Definition] = []
    above, all_above, left = bases, list(bases), workload.views
    for level, weight in enumerate(weights, 1):
        last = level == workload.levels
        count = left if last else min(left, max(1, round(workload.views * weight / sum(weights))))
        left -= count
        here = []
        for n in range(count):
            sources = [above[n % len(above)]]
            if random.random() < workload.joins:
                sources.append(random.choice(all_above))
            monthly = last and random.random() < workload.monthly
            here.append(_view(f"level{level}.v{n + 1}", list(dict.fromkeys(sources)), monthly))
        definitions += here
        above = [each.view for each in here] or above
        all_above += [each.view for each in here]
    return bases, definitions


def _view(name: str, sources: list[str], monthly: bool) -> Definition:
    column: str = "month" if monthly else "day"
    reads: Expression = Windowed("day", MONTH.days(), "string") if monthly else Same("day")
    return Definition(
        name,
        "",
        (),
        (column,),
        dependencies=tuple(Dependency(each, (Occurrence(((column, reads),)),)) for each in sources),
    )


# --- its changes


def _changes(workload: Workload, base: str, random: Random) -> Iterator[Change]:
    end = round(workload.hours * HOUR)
    for at in _poisson(workload.appends, end, random):
        yield at, base, _day(at), "was appended to"
    for at in _poisson(workload.corrections, end, random):
        older = min(workload.days, 1 + round(random.expovariate(1 / workload.lateness)))
        yield at, base, _day(at) - timedelta(older), "was corrected"
    for begun in _poisson(workload.backfills, end, random):
        at, first = begun, _day(begun) - timedelta(random.randint(workload.backfill_days, workload.days))
        for n in range(workload.backfill_days):
            if at < end:
                yield at, base, first + timedelta(n), "was backfilled"
            at += 1 + round(random.expovariate(1 / workload.backfill_gap) * 1000)


def _poisson(rate: float, end: int, random: Random) -> Iterator[int]:
    """Times (ms) before ``end``, on average ``rate`` in an hour."""
    at = 0.0
    while rate and (at := at + random.expovariate(rate / HOUR)) < end:
        yield round(at)


def _changed(change: Change) -> Event:
    at, base, day, verb = change
    seen = Observed(Slice((("day", day.isoformat()),)), f"{base} {at}")
    return Changed(BEGIN + at, 0, base, (seen,), "", 0, verb)


def _day(at: int) -> date:
    return FIRST_DAY + timedelta(at // (24 * HOUR))


def _times(workload: Workload, random: Random) -> RunTimes:
    one = random.lognormvariate(log(workload.seconds), workload.spread)
    ratios = tuple(random.lognormvariate(0, workload.noise) for _ in range(DRAWS))
    return RunTimes(one * (1 - workload.each), one * workload.each, ratios)
