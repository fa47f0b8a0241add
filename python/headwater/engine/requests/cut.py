"""Which changes the rows of a view hold.

A version of a view *holds*, for each table, the newest change that some row of it may reflect. As long as no older
change of the same table is pending, the version equals the query over the state after that change: that is its *cut*.

Example: ``s`` changes at 4 and at 9. A view that holds 4 of ``s``, and is pending for 9, is the query over the state 4.
A view that holds 9 in one partition and is pending for 4 in another one has no cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from headwater.engine.requests.ahead import prepared_by
from headwater.engine.requests.reach import Reached
from headwater.model.event import Skipped, Started
from headwater.model.partition import WHOLE, Inputs, Version
from headwater.model.state import Included, Run, State, ViewState

Changes = Mapping[str, Version]
"""One change of each table, by its version."""


def newest(*each: Changes) -> dict[str, Version]:
    """The newer change of each table."""
    found: dict[str, Version] = {}
    for changes in each:
        for table, version in changes.items():
            found[table] = max(version, found.get(table, 0))
    return found


def oldest(*each: Changes) -> dict[str, Version]:
    """The older change of each table."""
    found: dict[str, Version] = {}
    for changes in each:
        for table, version in changes.items():
            found[table] = min(version, found.get(table, version))
    return found


def held(state: State, source: str, version: Version) -> Changes:
    """The newest change of each table that a version of a source holds."""
    view = state.views.get(source)
    if view is None:
        return {source: version}
    run = prepared_by(state, source)
    if run is not None and run.version == version:
        return newest(view.holds, dict(run.holds))
    record = state.tables[source]
    if version == record.highest:
        return view.holds
    return dict(record.past[version].holds) if version in record.past else {}


def shown(state: State, view: ViewState) -> Changes:
    """The newest change of each table that the newest versions of a view's sources hold."""
    known = [each for each in view.definition.sources if each in state.tables]
    return newest(*(held(state, each, state.tables[each].highest) for each in known))


def begun(state: State, event: Started) -> Inputs:
    """What a run that begins will hold. One of all partitions holds all that it reads. One of some partitions holds of
    that what reaches them: a newer change of other partitions, which it reads too, makes no difference to its rows.

    Where a view upstream is followed by changes of its own, nobody knows what reaches which partition by it.
    """
    read = newest(*(held(state, source, version) for source, version in event.inputs))
    needs = carried(state, (origins for _, origins in event.needs), max)
    pending = Reached(state.views[event.view].pending.items())
    reached = {origin for each, origins in event.needs for origin in (*origins, *pending.at(each))}
    known = [state.origins[each] for each in reached if each in state.origins]
    if WHOLE in event.slices or any(each.asked or each.table in state.views for each in known):
        return tuple(newest(read, needs).items())
    seen = {each.version for each in known if each.version <= read.get(each.table, 0)}
    return tuple(newest(needs, carried(state, (seen,), max)).items())


def ended(state: State, run: Run) -> tuple[dict[str, Version], dict[str, Version]]:
    """What a run holds at its end, and the first change of each table that it was for. Changes may have joined it.

    A run that was asked for reads its sources as they are. So it may show changes that its view is still pending for,
    and no version before it is one without these. Its own version stands for them.
    """
    needs = [origins for _, origins in run.needs]
    first = carried(state, needs, min)
    if any(state.origins[each].asked for origins in needs for each in origins if each in state.origins):
        first[run.view] = run.version
    return newest(dict(run.holds), carried(state, needs, max)), first


def brought(state: State, run: Run) -> tuple[Included, ...]:
    """The changes that come with a run: those that it is for, and those that came with a view that it reads. One that
    was asked for, or follows a view by itself, shows all that it reads."""
    needs = [origins for _, origins in run.needs]
    known = [state.origins[each] for origins in needs for each in origins if each in state.origins]
    before = [each for origin in known for each in origin.brings]
    first = oldest(carried(state, needs, min), *({each.table: each.first} for each in before))
    last = newest(carried(state, needs, max), *({each.table: each.last} for each in before))
    if any(each.asked or each.table in state.views for each in known):
        last = newest(last, dict(run.holds))
    return tuple(Included(table, first.get(table, change), change) for table, change in last.items())


def skipped(state: State, view: ViewState, event: Skipped) -> dict[str, Version]:
    """What a view holds after changes that need no run. It is as before one change that came out unchanged. Between
    several that did so together it may have been another, so it holds the newest of them; but not yet if each of them
    is left to some partitions."""
    needs = [origins for _, origins in event.needs]
    done = set().union(*needs).difference(*(origins for _, origins in event.left))
    oldest_ones, newest_ones = carried(state, needs, min), carried(state, needs, max)
    tables = carried(state, [done], max)
    several = {table: newest_ones[table] for table in tables if newest_ones[table] > oldest_ones[table]}
    return newest(view.holds, several)


def passed(state: State, view: ViewState, event: Skipped) -> dict[str, Version]:
    """The newest changes that the sources of a view show already, of the tables of changes that it skips. A source may
    have come out unchanged by several changes at once, and the view be pending for the later ones still."""
    skips = carried(state, (origins for _, origins in event.needs), max)
    shows, left = shown(state, view), frozenset().union(*view.pending.values())
    there = [each for each in left if each <= shows.get(state.origins[each].table, 0)]
    return {
        table: change for table, change in carried(state, [there], max).items() if change > skips.get(table, change)
    }


Of = Callable[[Version, Version], Version]


def carried(state: State, needs: Iterable[Iterable[Version]], of: Of) -> dict[str, Version]:
    """The newest change of each table in some requests, or the oldest. Where rows were asked for, nothing changed."""
    found: dict[str, Version] = {}
    for version in {each for origins in needs for each in origins}:
        if (origin := state.origins.get(version)) is not None and not origin.asked:
            found[origin.table] = of(version, found.get(origin.table, version))
    return found
