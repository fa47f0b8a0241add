"""The kernel: every step of every run is decided here, and nowhere else. Pure.

``transition`` follows what happened, ``decide`` says what is to be done. Whoever asks for the next step asks
``decide``: the Spark engine, the embedded engine, the simulators and the laws. They differ in how commands are
carried out, and by whose clock.

Several engines may act on one store. A run belongs to the engine that started it, and only that engine goes on with
it. What engines do at the same time is ordered by the journal: an event is recorded only where nothing was recorded
since the decision, and otherwise it is decided again.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from headwater.engine.decide.flight import Flight, Flights, Stage, bases, published, seen, unpinned
from headwater.engine.decide.readiness import Choice, regrouped, skipped, unneeded, unspread_images
from headwater.engine.decide.starting import Capacity, decided, next_start
from headwater.engine.groups.epochs import KEEPS, convenes_at, differing, next_epoch, unkept
from headwater.engine.groups.kept import next_publication
from headwater.engine.methods.basis import strict
from headwater.engine.methods.choice import refusal
from headwater.engine.requests.ahead import awaits_publication, prepares, wanted_of
from headwater.engine.requests.coverage import images_of_readers
from headwater.engine.requests.limits import AHEAD, GRACE, overdue
from headwater.model.command import Bring, Cancel, Command, Compute, Evaluate, Look, Publish, Record, Release
from headwater.model.epoch import Epoch
from headwater.model.event import (
    FRESH,
    Convened,
    EngineLost,
    EpochMade,
    EpochPublished,
    Failed,
    Prepared,
    Requested,
    Reworked,
)
from headwater.model.name import anywhere
from headwater.model.partition import WHOLE
from headwater.model.reason import Code, Reason
from headwater.model.state import State
from headwater.model.work import NoMethod, whole


def decide(state: State, mine: Flights, capacity: Capacity, now: int) -> list[Command]:
    """The commands that follow from all that is known, at a time (ms). At most one of them is a ``Record``, the last
    one: afterwards everything is decided again."""
    commands: list[Command] = [*_cancelled(state, mine, now), *_released(state, mine)]
    if mine.number is None:
        return commands
    if (lost := _lost(state, mine)) is not None:
        return [*commands, Record(EngineLost(now, lost), evicting=lost)]
    copies = capacity.copies - sum(each.busy and each.stage is Stage.BRING for each in mine.flights.values())
    last: Command | None = None
    for flight in mine.flights.values():
        step = _given_up(state, flight, now) if flight.busy else _step(state, flight, copies, now)
        if isinstance(step, Record):
            last = last or step
        elif step is not None:
            commands.append(step)
            copies -= isinstance(step, Bring)
    last = last or _skip(state, mine, now) or _publication(state, now) or _epoch(state, now)
    last = last or _start(state, mine, mine.number, capacity, now)
    return commands if last is None else [*commands, last]


def _lost(state: State, mine: Flights) -> int | None:
    """An engine that is gone: one that was not heard of for too long, or one with a run that the store does not know,
    as it is after an older copy of the store took its place."""
    known = mine.known
    strangers = [run.engine for run in state.running.values() if known is not None and run.engine not in known]
    return next(iter((*mine.overdue, *strangers)), None)


# --- runs under way


def _step(state: State, flight: Flight, copies: int, now: int) -> Command | None:
    """The next step of a run, if it need not wait."""
    launch, run = flight.launch, flight.launch.run
    match flight.stage:
        case Stage.GONE:
            return None
        case Stage.FAIL if flight.cancelled and not _refused(state, flight) and (late := _late(state, flight, now)):
            return Record(_failed(flight, late, False, now))
        case Stage.FAIL:
            why = (_refused(state, flight) if flight.cancelled else None) or flight.error
            assert why is not None, f"run {run.version} fails for no reason"
            return Record(_failed(flight, why, flight.cancelled, now))
        case Stage.RECORD:
            return _evaluate(state, flight) or Record(published(flight))
    if (refused := _refused(state, flight)) is not None:
        return Record(_failed(flight, refused, True, now))
    if isinstance(run.work, NoMethod):
        return Record(_failed(flight, refusal(launch.definition, run.work.mode, run.work.why), False, now))
    match flight.stage:
        case Stage.REWORK:
            return Record(_reworked(flight, now))
        case Stage.LOOK if unpinned(state, flight):
            return Look(launch, before=True)
        case Stage.LOOK | Stage.COMPUTE:
            return Compute(launch, seen(state, flight))
        case Stage.CHECK if unpinned(state, flight):
            return Look(launch, before=False)
        case Stage.CHECK | Stage.PREPARE if prepares(state, run, launch.definition):
            written = flight.output
            prepared = Prepared(now, run.version, run.view, written.made, written.removed)
            return _evaluate(state, flight) or Record(prepared)
        case Stage.BRING if run.kept:
            return Bring(launch, flight.output) if copies > 0 else None
        case _:
            return None if awaits_publication(state, run) else Publish(launch, flight.output)


def _given_up(state: State, flight: Flight, now: int) -> Record | None:
    """Ends a run whose step goes on long after it was cancelled. It takes no track any more, and what the step leaves
    is not published."""
    if flight.stage not in (Stage.LOOK, Stage.COMPUTE, Stage.CHECK, Stage.BRING):
        return None
    late = _late(state, flight, now - GRACE)
    if late is None:
        return None
    why = evolve(late, text=f"{late}; its tasks go on, and their rows are never published")
    return Record(_failed(flight, why, False, now))


def _late(state: State, flight: Flight, now: int) -> Reason | None:
    """Why a run takes too long; ``None`` if it does not."""
    return overdue(state, flight.launch.run, flight.began, now)


def _refused(state: State, flight: Flight) -> Reason | None:
    """Why a run is not wanted any more; ``None`` if it is."""
    run = flight.launch.run
    known = state.running.get(run.view)
    if known is None or known.version != run.version:
        return Reason(Code.RUN_UNWANTED, _ended_by(state, flight))
    if known.preempted:
        said = f"a change came for what was computed of {run.view}; both run together now"
        return Reason(Code.RUN_PREEMPTED, said)
    if known.cancelled:
        keeps = f"ALTER MATERIALIZED VIEW {anywhere(run.view)} SUSPEND keeps it stopped"
        return Reason(Code.RUN_CANCELLED, f"the refresh of {run.view} was cancelled, by headwater cancel; {keeps}")
    lost = [each for each in bases(state, flight) if each in state.unreadable]
    if lost and flight.stage in (Stage.COMPUTE, Stage.PREPARE):
        return Reason(Code.SOURCE_UNREADABLE, f"{run.view} reads {', '.join(lost)}, which cannot be read now")
    return None


def _ended_by(state: State, flight: Flight) -> str:
    """What ended a run on record while its engine went on with it."""
    name, view = flight.launch.run.view, state.views.get(flight.launch.run.view)
    if view is None:
        return f"{name} was dropped or renamed while it was refreshed; the rows are not published"
    if view.definition != flight.launch.definition:
        return f"{name} was redefined while it was refreshed; a refresh with the new definition follows"
    return f"a source of {name} that was computed but not published is not published any more; the refresh runs again"


def _evaluate(state: State, flight: Flight) -> Evaluate | None:
    """Readers are told of the partitions that a run made as they see them, by their computed columns."""
    if flight.refused:
        return None
    made = [*(each.slice for each in flight.output.made), *flight.output.removed]
    wanted = images_of_readers(state, flight.launch.run.view, made)
    return Evaluate(frozenset(wanted), flight.version) if wanted else None


def _failed(flight: Flight, error: Reason, cancelled: bool, now: int) -> Failed:
    seconds = round(flight.seconds, 3)
    return Failed(now, flight.version, flight.launch.run.view, error, seconds, cancelled, flight.unsure)


def _reworked(flight: Flight, now: int) -> Reworked | Failed:
    """A run that cannot follow changes computes whole partitions, or fails if its view allows no run that does."""
    run, definition, why = flight.launch.run, flight.launch.definition, flight.unfollowed
    assert why is not None, f"run {run.version} is reworked for no reason"
    if strict(definition):
        return _failed(flight, refusal(definition, run.work.mode, why), False, now)
    return Reworked(now, run.version, run.view, whole(run.work, run.slices), why)


def _cancelled(state: State, mine: Flights, now: int) -> Iterator[Cancel]:
    """Stops what is not wanted any more while it runs, or takes too long, once each time that time goes on: a run
    between two Spark jobs has none to cancel. One that is being published is let go on."""
    for flight in mine.flights.values():
        if flight.busy and flight.stage is not Stage.PUBLISH and flight.version not in mine.stopped:
            run = flight.launch.run
            known = state.running.get(run.view)
            unwanted = known is None or known.version != run.version or known.preempted or known.cancelled
            if unwanted or _late(state, flight, now):
                yield Cancel(run.view, run.version)


def _released(state: State, mine: Flights) -> Iterator[Release]:
    if mine.readable:
        yield from (Release(each) for each in sorted(mine.readable - wanted_of(state) - mine.flights.keys()))


# --- runs to come


def _skip(state: State, mine: Flights, now: int) -> Command | None:
    """Completes what need not run."""
    found = unneeded(state)
    if not found:
        return None
    wanted = unspread_images(state) - mine.refused
    if wanted:
        return None if mine.evaluating else Evaluate(frozenset(wanted))
    return Record(skipped(state, found[0], FRESH, now))


def _publication(state: State, now: int) -> Record | None:
    """Lets readers of a group see its newest epoch, as it is time. What comes at that time comes after it. Where the
    clock was ahead at the last publication, it is time, too."""
    for group in sorted(state.published):
        at = next_publication(state, group)
        if at is not None and (at <= now or state.published[group][-1].since > now + AHEAD):
            return Record(EpochPublished(now, group, state.numbered + 1))
    return None


def _epoch(state: State, now: int) -> Record | None:
    """Makes the next epoch of a group whose members agree on a newer state. A group whose members do not agree for too
    long convenes. A view in files that keeps no version yet is refreshed, so that it has one."""
    groups, apart = regrouped(state), state.index.apart
    for group in sorted(groups):
        if (name := unkept(state, group)) is not None:
            return Record(Requested(now, FRESH, name, (WHOLE,), KEEPS, downstream=False))
        found = next_epoch(state, group, now)
        if isinstance(found, Epoch):
            return Record(EpochMade(now, group, differing(state, group, found)))
        groups.discard(group)
        (apart.add if isinstance(found, Reason) and found.code is Code.GROUP_APART else apart.discard)(group)
    late = [each for each in sorted(apart - state.convened) if now >= convenes_at(state, each)]
    return Record(Convened(now, late[0])) if late else None


def _start(state: State, mine: Flights, number: int, capacity: Capacity, now: int) -> Command | None:
    found = next_start(state, mine, capacity, now)
    if not isinstance(found, Choice):
        return found
    return Record(evolve(decided(state, found, FRESH, now).event, engine=number))
