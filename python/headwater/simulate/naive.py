"""What triggering on every change would have run: the count that Headwater is measured against.

Immediate triggering refreshes each reader's affected partitions at once for every new version of an
input, and each of those refreshes is a new version for the readers downstream. So a partition is
refreshed once for every path from the change to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from attrs import Factory, define, evolve, field, frozen

from headwater.algebra.dependency import forward
from headwater.engine.requests.coverage import plan
from headwater.model.command import Launch, Written
from headwater.model.dependency import Dependency
from headwater.model.event import Changed, Declared, Event, Made, Requested
from headwater.model.partition import WHOLE, Slice
from headwater.model.state import State, Status
from headwater.simulate.interpreter import Agenda, Interpreter
from headwater.simulate.scenario import Scenario


@frozen
class Triggered:
    """What one view would have done: how many runs, and how many partitions in all of them."""

    runs: int
    partitions: int


def immediate(state: State, table: str, changed: Iterable[Slice]) -> int:
    """How many partition refreshes a change of these slices causes when every change triggers at once.

    A slice with free columns counts as the existing partitions in it (at least one).
    """
    return sum(each.partitions for each in triggered(state, table, changed).values())


def triggered(state: State, table: str, changed: Iterable[Slice], itself: bool = False) -> dict[str, Triggered]:
    """What each view downstream of a table would do when a change of these slices triggers at once; with
    ``itself``, also the table, a view of which they are recomputed.

    Every run of an input counts as a run of each reader that the change reaches through it. A view that
    does not follow what it reads, or is not kept, does nothing.
    """
    arriving: dict[str, Counter[Slice]] = {table: Counter(changed)}
    own = sum(len(_partitions(state, table, each)) for each in arriving[table]) if itself else 0
    found = {table: Triggered(1, own)}
    for step in plan(state, table):
        if state.views[step.view].status is not Status.ACTIVE:
            continue
        runs, partitions = 0, Counter[Slice]()
        for dependency, _ in step.reads:
            hits = _hits(state, step.view, dependency, arriving.get(dependency.source, {}))
            runs += found[dependency.source].runs if hits else 0
            partitions += hits
        if partitions:
            arriving[step.view], found[step.view] = partitions, Triggered(runs, partitions.total())
    if not itself:
        del found[table]
    return found


def _hits(state: State, view: str, dependency: Dependency, arriving: Mapping[Slice, int]) -> Counter[Slice]:
    """How often each partition of a view would be refreshed for what arrives through one dependency."""
    found: Counter[Slice] = Counter()
    for each, count in arriving.items():
        for hit in forward(dependency, each, state.images):
            for partition in _partitions(state, view, hit):
                found[partition] += count
    return found


def _partitions(state: State, view: str, within: Slice) -> list[Slice]:
    columns = set(state.views[view].definition.partitioned_by)
    if within.columns >= columns:
        return [within]
    record = state.tables.get(view)
    existing = (
        [each for each, known in record.partitions.items() if known.fingerprint is not None and within.covers(each)]
        if record
        else []
    )
    return existing or [within]


LATER = 10**15
"""A time (ms) at which nothing waits any more."""


@define
class Triggering:
    """A warehouse in which all that follows an event is done before the next one, in no time, so that the
    partitions that a change reaches are there when they are counted."""

    scenario: Scenario
    runs: Counter[str] = Factory(Counter)
    partitions: Counter[str] = Factory(Counter)
    _engine: Interpreter = field(init=False)
    _now: int = 0

    def __attrs_post_init__(self) -> None:
        self._engine = Interpreter(1_000, self._compute, agenda=Agenda(LATER))

    @property
    def _state(self) -> State:
        return self._engine.state

    @property
    def seconds(self) -> dict[str, float]:
        """What each view's runs would have taken."""
        return {view: self.scenario.time(view).expected(self.runs[view], self.partitions[view]) for view in self.runs}

    def happen(self, event: Event) -> None:
        """Applies the next event, and counts what it sets off."""
        match event:
            case Changed(table=table) if table in self._state.views:
                return
            case Changed() | Declared() | Requested():
                self._engine.record(lambda version: evolve(event, version=version))
            case _:
                self._engine.record(lambda _: event)
        self._settle(event.at)
        match event:
            case Changed(table=table, baseline=False, partitions=seen):
                self._count(table, [each.slice for each in seen], itself=False)
            case Declared(definition=definition, fill=True):
                self._count(definition.view, [WHOLE], itself=True)
            case Requested(view=table, slices=slices):
                self._count(table, slices, itself=table in self._state.views)

    def _count(self, table: str, slices: Iterable[Slice], itself: bool) -> None:
        for view, each in triggered(self._state, table, slices, itself).items():
            self.runs[view] += each.runs
            self.partitions[view] += each.partitions

    def _settle(self, now: int) -> None:
        self._now = now
        self._engine.go_on()
        while self._engine.agenda.next():
            self._engine.go_on()

    def _compute(self, launch: Launch) -> tuple[Written, int]:
        return Written(tuple(Made(part, 1, "") for part in self.scenario.made(launch, self._now)), ()), 0
