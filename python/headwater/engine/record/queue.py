"""The pending requests: put in, taken out, put back. Every change of them goes through here.

An origin is forgotten when no request carries it any more: all that it covered is resolved. So that this
needs no search, ``Index.carried`` counts the slices, pending or running, that carry each origin. Which
views have to be looked at again for what is ready is noted in ``Index.stale``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve

from headwater.engine.record import pinned_states
from headwater.engine.requests import ahead
from headwater.engine.requests.ahead import blockers
from headwater.engine.requests.common_cut import common_cut, compared
from headwater.engine.requests.coverage import downstream, upstream
from headwater.engine.requests.cut import begun, newest, passed, shown, skipped
from headwater.engine.requests.limits import PREEMPTED
from headwater.engine.requests.reach import Changes, Reached
from headwater.engine.waits.freshness import wave
from headwater.model.event import Skipped, Started
from headwater.model.index import Apart
from headwater.model.partition import WHOLE, Region, Slice, Version, simplified
from headwater.model.policy import Overrun
from headwater.model.state import Origin, Run, State, ViewState

NONE: frozenset[Version] = frozenset()


def touch(state: State, *names: str) -> None:
    """Notes that views' requests, runs or conditions changed, which concerns their readers too."""
    readers = state.index.readers
    state.index.stale.update(names, *(readers[name] for name in names if name in readers))
    for each in state.index.lenient.intersection(names):
        # Whether one can wait for it may have changed, which concerns all that is made from it.
        state.index.stale |= downstream(state, each) & state.views.keys()


def reconsider(state: State, name: str) -> None:
    """Notes that what a view promises, or how long it takes, changed: changes of all that it is made from may
    have to wait for another time."""
    touch(state, name)
    if state.index.slack:
        for each in upstream(state, name) & state.index.slack.keys():
            del state.index.slack[each]


def request(state: State, name: str, slices: Iterable[Slice], origins: frozenset[Version]) -> None:
    """Merges requests into what is pending: the union of origins for equal slices.

    A slice that another one covers keeps its own origins: a change is on record for no partition
    that it does not reach. They run together all the same (see ``engine.decide.readiness``).
    """
    _merge(state, name, slices, origins)
    touch(state, name)


def _merge(state: State, name: str, slices: Iterable[Slice], origins: frozenset[Version]) -> None:
    pending, carried = state.views[name].pending, state.index.carried
    added = 0
    for each in slices:
        known = pending.get(each)
        if known is None:
            pending[each] = origins
            added += 1
            continue
        pending[each] = known | origins
        for origin in origins - known:
            carried[origin] += 1
    if added:
        for origin in origins:
            carried[origin] += added


Slices = Mapping[str, Sequence[Slice]]


def originate(state: State, origin: Origin, reached: Slices, news: Slices) -> None:
    """Records an origin with a request for every slice it covers, if there is any.

    ``news`` are those of them that read what is changed already, or must be computed anew in any case;
    whether it changes anything for the others will be told by the views between (see ``tell``).
    """
    if reached:
        began = wave(state, origin, reached) if state.index.promising else None
        state.origins[origin.version] = origin if began is None else evolve(origin, wave=began)
        origins = frozenset((origin.version,))
        _record(state, reached, origin.version, origins)
        for name in reached.keys() & state.running.keys():
            _preempt(state, name, reached[name])
        touch(state, *reached)  # who reads them may wait for them, reached or not
        for name, slices in news.items():
            known = state.views[name].news
            for each in slices:
                known[each] = known[each] | origins if each in known else origins


def _record(state: State, reached: Slices, version: Version, origins: frozenset[Version]) -> None:
    """Merges requests for an origin that nothing carries yet. What it joins is mostly the same for all views that
    it reaches, so each union is made once, and shared."""
    joined: dict[int, tuple[frozenset[Version], frozenset[Version]]] = {}
    for name, slices in reached.items():
        pending = state.views[name].pending
        for each in slices:
            known = pending.get(each)
            if known is None:
                pending[each] = origins
                continue
            if id(known) not in joined:
                joined[id(known)] = known, known | origins
            pending[each] = joined[id(known)][1]
    state.index.carried[version] += sum(len(each) for each in reached.values())


def _preempt(state: State, name: str, slices: Iterable[Slice]) -> None:
    """Notes that a view's run is to be cancelled, if a change of these slices concerns it and the view asks for it."""
    run, view = state.running[name], state.views[name]
    preempts = view.definition.policy.overrun is Overrun.PREEMPT
    if not preempts or run.preempted or run.prepared or view.preempted >= PREEMPTED:
        return
    computed = Reached(run.needs)
    if any(True for each in slices for _ in computed.at(each)):
        state.running[name] = evolve(run, preempted=True)
        view.preempted += 1


def tell(state: State, name: str, reached: Changes) -> None:
    """Notes where origins did change what a view reads, as far as anything is pending for them."""
    view = state.views[name]
    awaited = frozenset().union(*view.pending.values())
    for each, origins in reached:
        new = origins & awaited
        if new:
            view.news[each] = view.news.get(each, NONE) | new
    touch(state, name)


def start(state: State, event: Started) -> Run:
    """Takes what a run is for out of what is pending."""
    pending = state.views[event.view].pending
    run = Run(event, on=ahead.read_by(state, event), holds=begun(state, event))
    for each, carried in run.needs:
        known = pending.pop(each, NONE)
        for origin in carried - known:
            state.index.carried[origin] += 1
        if known - carried:
            pending[each] = known - carried
    state.running[event.view] = run
    state.views[event.view].overran = None
    touch(state, event.view)
    return run


def take_along(state: State, origin: Origin, version: Version) -> None:
    """Lets a run that is about to read the table of a change stand for the requests that this makes of its view.

    That is the rejection of [Xu23] §3.4 where it is sure: what a run will read is known, what one did read is not.
    Not if the change reaches the view through another one too, which has yet to be renewed, nor if the run
    computes only some of what it reaches: a partition would be computed twice for one change. Nor in a view that
    reads itself, where it may wait for an earlier partition.
    """
    run = next((each for each in state.running.values() if each.version == version), None)
    if run is None:
        return
    view, asked = state.views[run.view], Region(run.slices)
    if origin.table not in view.definition.sources or view.definition.earlier:
        return
    wanted = tuple(each for each, origins in view.pending.items() if origin.version in origins)
    blocking = blockers(state, view)
    if wanted and all(asked.covers(each) and origin.version not in blocking.at(each) for each in wanted):
        inputs = tuple((source, origin.version if source == origin.table else known) for source, known in run.inputs)
        _take(state, evolve(run, inputs=inputs), wanted, origin.version)


def _take(state: State, run: Run, taken: Sequence[Slice], origin: Version) -> None:
    """A run that is under way is for these slices that are pending for an origin, too."""
    view, mine = state.views[run.view], frozenset((origin,))
    for each in taken:
        others = view.pending.pop(each) - mine
        if others:
            view.pending[each] = others
    if run.preempted and not view.pending:
        run, view.preempted = evolve(run, preempted=False), view.preempted - 1
    state.running[run.view] = evolve(run, needs=(*run.needs, *((each, mine) for each in taken)))
    touch(state, run.view)


def forget_engine(state: State, engine: int) -> None:
    """An engine is gone, with its runs and all that it kept."""
    ahead.forget_engine(state, engine)
    while lost := next((run for run in state.running.values() if run.engine == engine), None):
        put_back(state, lost, unsure=True)


def prepare(state: State, run: Run) -> None:
    """What a run makes can be read by other runs."""
    state.running[run.view] = evolve(run, prepared=True)
    touch(state, run.view)


def end(state: State, run: Run) -> None:
    """A run is over and what it was for is done."""
    del state.running[run.view]
    ahead.remember(state, run)
    for _, origins in run.needs:
        _drop(state, origins)
    _forget_news(state.views[run.view])
    touch(state, run.view)


def skip(state: State, event: Skipped) -> None:
    """What was pending for these origins is done without a run, but for what is left."""
    view = state.views[event.view]
    # Sources without a common cut may have passed states in which the view was another: it may hold all that they show.
    agreed = common_cut(state, event.view)
    if isinstance(agreed, Apart):
        ahead_of = shown(state, view)
    else:
        # A common cut tells of the tables in which it compares the sources. Of all others nothing else tells.
        agreeing = compared(state, event.view)
        there = {} if agreed.meets else passed(state, view, event)
        ahead_of = {table: change for table, change in there.items() if table not in agreeing}
    for each, origins in event.left:
        request(state, event.view, (each,), frozenset(origins))
    view.holds = newest(skipped(state, view, event), ahead_of)
    pinned_states.hold(state.tables[event.view], view.holds)
    for each, carried in event.needs:
        known = view.pending.pop(each, NONE)
        others = known.difference(carried)
        if others:
            view.pending[each] = others
        _drop(state, known - others)
    _forget_news(view)
    touch(state, event.view)


def put_back(state: State, run: Run, unsure: bool = False) -> None:
    """A run came to nothing; what it was for is pending again. So did those that read what it made. ``unsure``: it may
    have been published all the same."""
    if unsure and run.view in state.views:
        view = state.views[run.view]
        view.unsure = simplified((*view.unsure, *run.slices))
    del state.running[run.view]
    for reader in ahead.readers_of(state, run):
        put_back(state, reader)
    for each, origins in run.needs if run.view in state.views else ():
        request(state, run.view, (each,), origins)
    for _, origins in run.needs:
        _drop(state, origins)
    touch(state, run.view)


def widen(state: State, name: str) -> None:
    """Makes one request for the whole view of all that are pending."""
    pending = state.views[name].pending
    if pending:
        request(state, name, (WHOLE,), frozenset().union(*pending.values()))
        for each in [each for each in pending if each != WHOLE]:
            _drop(state, pending.pop(each))
        told = frozenset().union(*state.views[name].news.values())
        state.views[name].news = {WHOLE: told} if told else {}


def forget(state: State, name: str) -> None:
    """Drops all requests of a view that is no more, and its run."""
    run = state.running.get(name)
    if run is not None:
        end(state, run)
        for reader in ahead.readers_of(state, run):
            put_back(state, reader)
    ahead.forget(state, name)
    pending = state.views[name].pending
    while pending:
        _drop(state, pending.popitem()[1])
    touch(state, name)


def _forget_news(view: ViewState) -> None:
    """Keeps no news of origins that nothing is pending for."""
    if not view.pending:
        view.news.clear()
    elif len(view.news) > 2 * len(view.pending):
        awaited = frozenset().union(*view.pending.values())
        view.news = {each: origins & awaited for each, origins in view.news.items() if origins & awaited}


def _drop(state: State, origins: frozenset[Version]) -> None:
    for origin in origins:
        state.index.carried[origin] -= 1
        if not state.index.carried[origin]:
            del state.index.carried[origin]
            state.origins.pop(origin, None)
