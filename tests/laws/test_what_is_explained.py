"""``EXPLAIN REFRESH`` shows the run that then starts: the same requests, work and order, at the time that it says."""

from __future__ import annotations

import re

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from machine import TRACKS, Machine, Picked
from strategies import chains, examples, graphs, machine, play, scripts

from headwater.engine.decide.readiness import ready, starts
from headwater.engine.decide.starting import Capacity, Decision, next_run
from headwater.engine.methods import all_methods
from headwater.engine.tell.report import MOST_LINES, explain
from headwater.engine.tell.status import existing
from headwater.engine.tell.why_it_waits import why_it_waits
from headwater.model.event import Started
from headwater.model.partition import WHOLE
from headwater.model.reason import Code
from headwater.model.work import NoMethod

RUNS = 6
"""Runs that are started after each script."""

any_graph = st.one_of(graphs(), graphs(), chains())


def explained(made: Machine, name: str, kept: bool) -> tuple[Decision, list[str]]:
    """The next run of a view, as a value and as lines, by a schedule that would start it and perhaps keep its rows."""
    mine, now = made.loop.mine, made.now
    at = next((n for n, each in enumerate(ready(made.state, now)) if each.view == name), None)
    found = next_run(made.state, name, mine, Capacity(TRACKS, Picked(at, kept)), now)
    return found, explain(made.state, name, now, mine, Capacity(TRACKS, Picked(at, kept)))


def begun(made: Machine, name: str) -> Started:
    """The run of a view that is ready, once it has started."""
    before = len(made.journal)
    which = next(n for n, each in enumerate(ready(made.state, made.now)) if each.view == name)
    assert made.start(which)
    [event] = [each for each in made.journal[before:] if isinstance(each, Started)]
    return event


def shows(made: Machine, event: Started, lines: list[str], count: int) -> None:
    """Each line about a run is of the run as it is."""
    said, work = all_methods.said(event.work.mode), event.work
    [method] = [each for each in lines if each.startswith("  method: ")]
    assert f" refresh {said}" in lines[0]
    if isinstance(work, NoMethod):
        assert method.endswith(f"'headwater.method' allows none; {said} is out: {work.why.coded}")
        return
    assert method.startswith(f"  method: {said}, ")
    written = "everything" if event.slices == (WHOLE,) else " partitions"
    assert written in method
    if all(each.columns == frozenset(made.state.views[event.view].definition.partitioned_by) for each in event.slices):
        number = len(event.slices)
        assert f"{said}, {number} of {max(count, number)} partitions" in method or event.slices == (WHOLE,)
    if event.foreseen is not None:
        assert f"about {event.foreseen:.1f} s" in method
    needed = {("everything" if each == WHOLE else str(each)) for each, _ in event.needs}
    told = {line.strip().partition(": ")[0] for line in lines[1:]}
    assert needed <= told or len(event.needs) > MOST_LINES or any(re.search(r"… and \d+ more", line) for line in lines)


@examples(60)
@given(graph=any_graph, script=scripts(25), which=st.integers(0, 99), later=st.booleans())
def test_the_run_that_starts_is_the_one_that_was_explained(graph, script, which, later):
    made = machine(graph)
    play(made, graph, script)
    for _ in range(RUNS):
        made.step()
        timed = {name: start for name in sorted(made.state.views) if (start := starts(made.state, name)) is not None}
        if not timed:
            break
        name = sorted(timed)[which % len(timed)]
        at = timed[name].at
        count = len(existing(made.state, name))
        if not later:  # else it is explained before its time comes
            made.now = max(made.now, at)
        decisions = {kept: explained(made, name, kept) for kept in (True, False)}
        made.now = max(made.now, at)
        if all(each.view != name for each in ready(made.state, made.now)):
            assert made.state.budget is not None, "the wait ends when it was said to end"
            break  # the budget was divided anew meanwhile
        event = begun(made, name)
        decision, lines = decisions[made.schedule.kept]
        kept = event.kept if later else decision.event.kept  # nobody knows that before
        expected = evolve(decision.event, at=event.at, version=event.version, engine=event.engine, kept=kept)
        assert event == expected
        shows(made, event, lines, count)
        running = explain(made.state, name, made.now)
        assert running[0].endswith(f" running as version {event.version}")
        shows(made, event, running, count)
        made.finish(made.flights[name])


@examples(40)
@given(graph=any_graph, script=scripts(30, without=("budget",)))
def test_a_view_starts_when_its_wait_is_said_to_end(graph, script):
    made = machine(graph)
    play(made, graph, script)
    made.step()
    for name, view in made.state.views.items():
        start = starts(made.state, name) if view.pending else None
        if start is None or start.at <= made.now:
            assert (start is not None) == (name in [each.view for each in ready(made.state, made.now)])
            continue
        why = why_it_waits(made.state, name, start.at - 100)
        assert why is not None and why.code not in (Code.WAIT_TRACK, Code.WAIT_READY, Code.WAIT_UPSTREAM)
        assert "0.1 s" in why.text or why.code is Code.WAIT_RETRY or view.stopped is not None, why
        assert name not in [each.view for each in ready(made.state, start.at - 1)]
        assert name in [each.view for each in ready(made.state, start.at)]
        assert why_it_waits(made.state, name, start.at).code is Code.WAIT_TRACK
