"""The runs that one engine has under way, step by step. They are lost with the engine; the journal knows only that
they began.

A run is looked at, computed, looked at again, and published. One that is kept in memory for its readers, or that
is made of another one which is not published yet, is *prepared* between: on record, so that readers can run while it
is brought to the warehouse.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from attrs import Factory, define, evolve, frozen

from headwater.engine.decide.schedule import Planned
from headwater.engine.record.runs import launched
from headwater.engine.requests.ahead import leaves_rows
from headwater.model.command import (
    Answer,
    Answered,
    Bring,
    Brought,
    Command,
    Compute,
    Evaluate,
    Gone,
    Launch,
    Look,
    Looked,
    MakePlan,
    PlanMade,
    Publish,
    Release,
    Replaced,
    RunAnswer,
    RunComputed,
    Shown,
    Stopped,
    Unfollowable,
    Wanted,
    Written,
)
from headwater.model.event import EngineLost, Event, Failed, Prepared, Published, Reworked
from headwater.model.partition import Version
from headwater.model.reason import Reason
from headwater.model.state import State


class Stage(Enum):
    """The next step of a run."""

    LOOK = "look at what it will read"
    COMPUTE = "compute"
    REWORK = "go on with other work, or fail, as changes cannot be followed"
    CHECK = "look at what it has read"
    PREPARE = "let other runs read it, if that is needed"
    BRING = "bring it to the warehouse, if it is not there"
    PUBLISH = "publish"
    RECORD = "record that it is published"
    FAIL = "record that it came to nothing"
    GONE = "nothing: the warehouse is gone"


@frozen
class Flight:
    """One run.

    Attributes:
        busy: its next step is being carried out.
        told: it is on record that other runs can read it; it takes no track any more.
        seconds: what its steps took so far.
        unsure: its publication failed after it may have made its commit, so readers may see it all the same.
        error: why a step of it came to nothing; ``None`` as long as none did.
        unfollowed: why it cannot follow changes; ``None`` as long as it can.
        refused: some computed column of its readers cannot be evaluated.
        began: when its time began (ms): as it started, or as the clock was set back to before that.
    """

    launch: Launch
    stage: Stage = Stage.LOOK
    busy: bool = False
    told: bool = False
    written: Written | None = None
    replaced: Replaced = Factory(Replaced)
    shown_at: int = 0
    seconds: float = 0.0
    refused: bool = False
    unsure: bool = False
    error: Reason | None = None
    unfollowed: Reason | None = None
    cancelled: bool = False
    began: int = Factory(lambda self: self.launch.run.started.at, takes_self=True)

    @property
    def version(self) -> Version:
        return self.launch.run.version

    @property
    def output(self) -> Written:
        """What it computed: only steps after that ask for it."""
        assert self.written is not None, f"run {self.version} has computed nothing yet"
        return self.written


@define
class Flights:
    """Everything that one engine knows beside the record.

    Attributes:
        number: of the engine, as the store gave it; ``None`` while it may not act.
        overdue: other engines that have not been heard of for too long; ``known``: all that the store knows, or
            ``None`` while nobody asked.
        flights: its runs, in the order in which they began; those of an engine that it was before end unheard.
        readable: runs that may have left something for other runs.
        stopped: the runs that were asked to stop since the last step.
        refused: computed columns that could not be evaluated for a decision about skipping.
        evaluating, planning: such a command is being carried out.
        plan: the schedule's last plan; ``None`` before the first.
    """

    number: int | None = None
    overdue: tuple[int, ...] = ()
    known: frozenset[int] | None = None
    flights: dict[Version, Flight] = Factory(dict)
    readable: set[Version] = Factory(set)
    stopped: set[Version] = Factory(set)
    refused: Wanted = frozenset()
    evaluating: bool = False
    planning: bool = False
    plan: Planned | None = None

    @property
    def planned(self) -> bool:
        """Whether a plan says what comes first."""
        return self.plan is not None and bool(self.plan.order)

    def is_mine(self, flight: Flight) -> bool:
        return flight.launch.run.engine == self.number


def renumbered(mine: Flights, number: int | None) -> None:
    """The store gave the engine another number, or none: its runs are others' now."""
    if number != mine.number:
        mine.number = number
        mine.flights = {version: flight for version, flight in mine.flights.items() if flight.busy}


def claim(mine: Flights, state: State) -> None:
    """Takes up the runs that are on record as this engine's: also one whose record the store took while its answer
    was lost."""
    for run in state.running.values() if mine.number is not None else ():
        if run.engine == mine.number and run.version not in mine.flights:
            mine.flights[run.version] = Flight(launched(state, run.view))
            if leaves_rows(run):
                mine.readable.add(run.version)


def timed(mine: Flights, now: int) -> None:
    """The time of runs that began later than now begins anew: the clock was set back."""
    for version, flight in mine.flights.items():
        if flight.began > now:
            mine.flights[version] = evolve(flight, began=now)


def recorded(mine: Flights, event: Event) -> None:
    """Follows an event of the engine's own that is on record."""
    match event:
        case Reworked(version=version, work=work, why=why) if version in mine.flights:
            flight = mine.flights[version]
            launch = evolve(flight.launch, run=evolve(flight.launch.run, work=work, instead=why))
            mine.flights[version] = evolve(flight, launch=launch, stage=Stage.COMPUTE, unfollowed=None)
        case Prepared(version=version) if version in mine.flights:
            mine.flights[version] = evolve(mine.flights[version], stage=Stage.BRING, told=True)
        case Published(version=version) | Failed(version=version) if version in mine.flights:
            del mine.flights[version]
            mine.refused = frozenset()
        case EngineLost(engine=engine):
            mine.overdue = tuple(each for each in mine.overdue if each != engine)


def issued(mine: Flights, command: Command) -> None:
    """A command is being carried out."""
    match command:
        case MakePlan():
            mine.planning = True
        case Evaluate(version=0):
            mine.evaluating = True
        case Evaluate(version=version):
            mine.flights[version] = evolve(mine.flights[version], busy=True)
        case Release(version=version):
            mine.readable.discard(version)
        case Look(launch=launch, before=before):
            _take_step(mine, launch, Stage.LOOK if before else Stage.CHECK)
        case Compute(launch=launch):
            _take_step(mine, launch, Stage.COMPUTE)
        case Bring(launch=launch):
            _take_step(mine, launch, Stage.BRING)
        case Publish(launch=launch):
            _take_step(mine, launch, Stage.PUBLISH)


def _take_step(mine: Flights, launch: Launch, stage: Stage) -> None:
    version = launch.run.version
    mine.flights[version] = evolve(mine.flights[version], busy=True, stage=stage)


def answered(mine: Flights, answer: Answer) -> None:
    """A command was carried out."""
    match answer:
        case PlanMade(plan=plan):
            mine.planning, mine.plan = False, plan
            return
        case Answered(version=0, refused=refused):
            mine.evaluating, mine.refused = False, mine.refused | refused
            return
    flight = mine.flights.get(answer.version)
    if flight is None:  # it was given up meanwhile
        mine.readable.add(answer.version)  # what it left in memory is released
        return
    mine.flights[answer.version] = evolve(_advanced(flight, answer), busy=False)
    if not mine.is_mine(flight):
        del mine.flights[answer.version]


def _advanced(flight: Flight, answer: RunAnswer) -> Flight:
    if isinstance(answer, Gone):
        return evolve(flight, stage=Stage.GONE)
    if isinstance(answer, Answered):
        return evolve(flight, refused=bool(answer.refused))
    flight = evolve(flight, seconds=flight.seconds + answer.seconds)
    match answer:
        case Looked():
            return evolve(flight, stage=Stage.PREPARE if flight.stage is Stage.CHECK else Stage.COMPUTE)
        case RunComputed(written=written):
            return evolve(flight, stage=Stage.CHECK, written=written)
        case Unfollowable(why=why):
            return evolve(flight, stage=Stage.REWORK, unfollowed=why)
        case Brought(written=written, seconds=seconds):
            if written is not flight.written:
                written = evolve(written, measured=evolve(written.measured, copying=round(1e6 * seconds)))
            return evolve(flight, stage=Stage.PUBLISH, written=written)
        case Shown(replaced=replaced, at=at):
            return evolve(flight, stage=Stage.RECORD, replaced=replaced, shown_at=at)
        case Stopped(error=error, cancelled=cancelled, unseen=unseen):
            unsure = flight.stage is Stage.PUBLISH and not unseen
            return evolve(flight, stage=Stage.FAIL, error=error, cancelled=cancelled, unsure=unsure)


def published(flight: Flight) -> Published:
    """The event that ends a run whose output readers see."""
    run, written = flight.launch.run, flight.output
    made = tuple(evolve(each, unchanged=each.slice in flight.replaced.unchanged) for each in written.made)
    return Published(
        flight.shown_at,
        run.version,
        run.view,
        made,
        written.removed,
        round(flight.seconds, 3),  # the clock has whole milliseconds, and people see their sum
        written.measured,
        flight.replaced.snapshot,
        written.totals,
    )


def bases(state: State, flight: Flight) -> list[str]:
    """The tables that a run reads and that are no views: programs write them at any time."""
    return [each for each in flight.launch.definition.sources if each not in state.views]


def unpinned(state: State, flight: Flight) -> list[str]:
    """Those of them that the run reads as they are at that moment, so that looks tell what it read."""
    pinned = dict(flight.launch.run.snapshots)
    return [each for each in bases(state, flight) if each not in pinned]


def seen(state: State, flight: Flight) -> Mapping[str, Version]:
    """The versions of its sources that a run sees which starts to read now."""
    known = [each for each in unpinned(state, flight) if each in state.tables]
    return {**dict(flight.launch.run.inputs), **{each: state.tables[each].highest for each in known}}
