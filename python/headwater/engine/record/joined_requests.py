"""Requests that a run under way satisfies: it computes what they ask for, and has yet to read what changed.

That is the rejection of [Xu23] §3.4 where it is sure: what a run will read is known, what one did read is not.
"""

from __future__ import annotations

from attrs import evolve

from headwater.engine.record import queue
from headwater.engine.requests.blockers import blockers
from headwater.model.partition import Region
from headwater.model.state import Origin, Run, State
from headwater.model.version import Version


def take_along(state: State, origin: Origin, version: Version) -> None:
    """Lets a run that is about to read the table of a change stand for the requests that this makes of its view.

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
        queue.take_along(state, _reading(run, origin), wanted, origin.version)


def _reading(run: Run, origin: Origin) -> Run:
    inputs = tuple((source, origin.version if source == origin.table else known) for source, known in run.inputs)
    return evolve(run, inputs=inputs)
