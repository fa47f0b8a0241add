"""A scenario is what a simulation plays: the events that come to a warehouse from outside, and how long its runs take.

A recorded scenario is read from the history of a store, and opens with the state before that. A made-up one is the same
value (``benchmarks.papers``). The run times of a view are learned from the runs that there were.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random

from attrs import Factory, define, evolve, field, frozen

from headwater.model.command import Launch
from headwater.model.event import (
    Altered,
    Broken,
    Changed,
    Declared,
    Dropped,
    Evaluated,
    Event,
    Observed,
    Published,
    Renamed,
    Requested,
    Resumed,
    Suspended,
)
from headwater.model.partition import Region, Slice, simplified
from headwater.model.state import State, Status

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
    pairs = (one, one), (many, many), (one, many)
    ones, manies, both = (sum(x * y for x, y in zip(a, b, strict=True)) for a, b in pairs)
    determinant = ones * manies - both**2
    if determinant > 1e-9 * ones * manies:  # runs of different sizes
        fixed = (sum(one) * manies - sum(many) * both) / determinant
        each = (sum(many) * ones - sum(one) * both) / determinant
        if fixed >= 0 and each >= 0:
            return fixed, each
        if fixed < 0 and all(count for count, _ in took):
            return 0.0, sum(many) / manies
    return sum(one) / ones, 0.0


OUTSIDE = (Declared, Dropped, Renamed, Altered, Changed, Evaluated, Requested, Suspended, Resumed, Broken)
"""Events that users and their programs cause. The simulation finds out when runs start, and how they end."""

UNKNOWN = RunTimes(1.0, 0.0)
"""Run times where no view ever ran."""


@frozen
class Scenario:
    """Times are milliseconds.

    Attributes:
        events: from outside, in the order in which they happened.
        begin, end: of the time over which staleness is measured.
        times: of each view's runs; ``usual``, of a view that never ran.
        partitions: of each view, and since when each was there to be made. Runs of whole views need it, since
            a simulation computes no rows.
    """

    events: tuple[Event, ...]
    begin: int
    end: int
    times: Mapping[str, RunTimes]
    usual: RunTimes = UNKNOWN
    partitions: Mapping[str, Mapping[Slice, int]] = Factory(dict)

    @property
    def kinds(self) -> Counter[str]:
        """How many events of each kind there are."""
        return Counter(type(event).__name__ for event in self.events)

    def time(self, view: str) -> RunTimes:
        return self.times.get(view, self.usual)

    def made(self, launch: Launch, now: int) -> tuple[Slice, ...]:
        """The partitions that a run makes: those asked for by name, and those known within the request."""
        columns, asked = frozenset(launch.definition.partitioned_by), Region(launch.run.slices)
        known = self.partitions.get(launch.run.view, {})
        found = [each for each in asked if each.columns >= columns]
        found += [each for each, since in known.items() if since <= now and asked.covers(each)]
        return simplified(each for each in (*found, *launch.existing) if each.columns == columns)


def recorded(journal: Iterable[Event]) -> Scenario:
    """The scenario of a journal.

    Its times are made to rise: where two engines' clocks disagree, the order of the journal counts.
    """
    reader = _Reader()
    for event in journal:
        reader.read(event)
    runs = [run for runs in {id(some): some for some in reader.runs.values()}.values() for run in runs]
    return Scenario(
        tuple(reader.events),
        reader.begin or 0,
        reader.now,
        {view: learned(runs) for view, runs in reader.runs.items() if runs},
        learned(runs) if runs else UNKNOWN,
        reader.partitions,
    )


@define
class _Reader:
    """A renamed view's lists go by both names, since its runs before and after are of one kind."""

    now: int = 0
    begin: int | None = None
    events: list[Event] = Factory(list)
    runs: dict[str, list[tuple[int, float]]] = Factory(dict)
    partitions: dict[str, dict[Slice, int]] = Factory(dict)
    _published: dict[str, int] = field(factory=dict)

    def read(self, event: Event) -> None:
        self.now = max(self.now, event.at)
        if self.begin is None:
            self.begin = self.now
        if isinstance(event, OUTSIDE):
            self.events.append(evolve(event, at=self.now))
        match event:
            case Published(view=view, made=made, removed=removed, seconds=seconds):
                self.runs.setdefault(view, []).append((len(made) + len(removed), seconds))
                # A simulated run may come before the recorded one, but hardly before the one before that.
                since = self._published.get(view, 0)
                for each in made:
                    self.partitions.setdefault(view, {}).setdefault(each.slice, since)
                self._published[view] = self.now
            case Renamed(view=view, to=to):
                self.runs[to] = self.runs.setdefault(view, [])
                self.partitions[to] = self.partitions.setdefault(view, {})
                self._published[to] = self._published.get(view, 0)


def opening(state: State, at: int) -> Iterator[Event]:
    """Events that lead to tables, views and pending requests like these, at once. Of views, partitions are as they
    were seen in the warehouse."""
    bases = [name for name in state.tables if name not in state.views]
    for name in (*bases, *sorted(state.views, key=state.index.order.__getitem__)):
        record, view = state.tables[name], state.views.get(name)
        if view is not None:
            yield Declared(at, record.highest, view.definition, "was there", fill=False)
        seen = tuple(Observed(slice_, known.fingerprint) for slice_, known in record.partitions.items())
        yield Changed(at, record.highest, name, seen, record.schema, record.created, "was there", baseline=True)
    if state.images:
        yield Evaluated(at, tuple((sql, inputs, value) for (sql, inputs), value in state.images.items()))
    for number, (name, view) in enumerate(state.views.items(), state.highest + 1):
        if view.pending or name in state.running:
            run = state.running[name].slices if name in state.running else ()
            yield Requested(at, number, name, (*view.pending, *run), "was pending", downstream=False)
        if view.broken is not None:
            yield Broken(at, name, view.broken)
        if view.status is Status.SUSPENDED:
            yield Suspended(at, name)
