"""The run that starts next, as a value: what it is for, its method, its place among others.

The kernel records the event of a decision, which starts the run. ``EXPLAIN REFRESH`` makes the same value with the same
functions, and only shows it.
"""

from __future__ import annotations

from typing import Any

from attrs import evolve, frozen

from headwater.engine.decide.flight import Flights, Stage
from headwater.engine.decide.readiness import Choice, Ready, ready, ready_of, starts
from headwater.engine.decide.schedule import Schedule
from headwater.engine.decide.urgency import Claim, first, queue
from headwater.engine.methods.all_methods import methods_of
from headwater.engine.methods.basis import basis
from headwater.engine.methods.choice import Chosen, choose_method
from headwater.engine.methods.method import Cost, Offer, count
from headwater.engine.requests.ahead import is_open
from headwater.engine.requests.reasons import reason
from headwater.model.command import MakePlan
from headwater.model.event import FRESH, Started
from headwater.model.index import Apart
from headwater.model.partition import Version, sort_key
from headwater.model.reason import Code, Reason
from headwater.model.state import Run, State
from headwater.model.work import Whole


@frozen
class Capacity:
    """What an engine can do at the same time.

    Attributes:
        tracks: runs that are computed side by side.
        copies: copies to the warehouse side by side.
        schedule: which of the ready runs start, and in which order.
    """

    tracks: int
    schedule: Schedule[Any]
    copies: int = 1


@frozen
class Decision:
    """A run, as it starts.

    Attributes:
        event: what begins it: its requests, its work, and what it reads.
        method: how it renews its slices, and why not otherwise.
        claims: the refreshes that may start now, the most urgent first; empty if this one may not.
    """

    event: Started
    method: Chosen
    claims: tuple[Claim, ...] = ()


def decided(state: State, choice: Choice, version: Version, now: int) -> Decision:
    """The run of what was chosen."""
    chosen, view = choice.ready, state.views[choice.ready.view]
    definition, method = view.definition, choose_method(state, chosen.view, chosen.slices)
    work = method.offer.work
    # A trailing edge cuts what a run reads, and so what it would keep of a scan for others.
    scans = isinstance(work, Whole) and not work.leaves_totals and not definition.policy.trailing_edge
    reads = basis(state, definition)
    event = Started(
        now,
        version,
        chosen.view,
        chosen.needs,
        reads.inputs,
        work,
        reason(state, chosen.origins),
        # Of an unsure view the warehouse tells which partitions a run has to remove.
        kept=choice.kept and not definition.keeps_versions and not view.unsure,
        shared=choice.shared if scans else (),
        snapshots=reads.snapshots,
        foreseen=method.cost.seconds,
        foreseen_cores=method.cost.cores,
        watermarks=reads.watermarks,
        let_go=None if chosen.apart is None else let_go(chosen.view, chosen.apart),
    )
    return Decision(event, method)


def let_go(name: str, split: Apart) -> Reason:
    """Why a run goes on though its rows will not show one state of every table."""
    both = "" if split.ahead == name else f" that {split.ahead} shows"
    return Reason(
        Code.CUT_LET_GO, f"without one state of every table: {split.behind} lacks a change of {split.table}{both}"
    )


def free(mine: Flights, capacity: Capacity) -> int:
    """How many more runs an engine may start: those that wait for a copy or for their turn take no track."""
    return capacity.tracks - sum(not each.told and each.stage is not Stage.GONE for each in mine.flights.values())


def next_start(state: State, mine: Flights, capacity: Capacity, now: int) -> Choice | MakePlan | None:
    """What starts now, or the plan that must be made before; ``None`` if nothing does."""
    tracks = free(mine, capacity)
    if tracks < 1 or mine.planning or not (found := _found(state, mine, now)):
        return None
    question = capacity.schedule.question(state, mine.plan)
    if question is not None:
        return MakePlan(question)
    choices = capacity.schedule.choose(state, found, mine.plan)
    return first(state, choices, now, tracks, capacity.tracks, mine.planned)


def next_run(state: State, name: str, mine: Flights, capacity: Capacity, now: int) -> Decision:
    """The next run of a pending view, if nothing but time passes until it starts. While it waits for more than time,
    it is for all that is pending."""
    choices = capacity.schedule.choose(state, _found(state, mine, now), mine.plan)
    turn = first(state, choices, now, max(1, free(mine, capacity)), capacity.tracks, mine.planned)
    choice = next((each for each in (turn, *choices) if each is not None and each.ready.view == name), None)
    if choice is None:
        return decided(state, Choice(_to_come(state, name)), FRESH, now)
    claims = tuple(queue(state, choices, now, mine.planned))
    return evolve(decided(state, choice, FRESH, now), claims=claims)


def under_way(state: State, run: Run) -> Decision:
    """A run that started, with the work that it goes on with. Why it is not by another method is found as it was then,
    with its requests pending."""
    view, slices = state.views[run.view], tuple(each for each, _ in run.started.needs)
    methods = {each.mode: each for each in methods_of(view.definition)}
    index = evolve(state.index, places={})  # where a group meets is another place for other requests
    before = evolve(state, views={**state.views, run.view: evolve(view, pending=dict(run.needs))}, index=index)
    chosen, began = choose_method(before, run.view, slices), methods[run.started.work.mode]
    rejected = chosen.rejected if chosen.method is began else ()
    if run.instead is not None:
        rejected = ((began, f"is out: {run.instead.coded}"),)
    cost = Cost(count(state, run.view, run.slices, slices), run.started.foreseen, cores=run.started.foreseen_cores)
    return Decision(run.started, Chosen(methods[run.work.mode], Offer(run.slices, cost, run.work), rejected))


def _found(state: State, mine: Flights, now: int) -> list[Ready]:
    """What is ready. An engine leaves out what reads rows that others prepared."""
    found, number = ready(state, now), mine.number
    return [each for each in found if number is None or is_open(state, state.views[each.view].definition, number)]


def _to_come(state: State, name: str) -> Ready:
    start, pending = starts(state, name), state.views[name].pending
    found = None if start is None else ready_of(state, name, start.at)
    return found or Ready(name, tuple((each, tuple(sorted(pending[each]))) for each in sorted(pending, key=sort_key)))
