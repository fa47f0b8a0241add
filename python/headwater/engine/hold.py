"""How long a change may wait for others, within the freshness that is promised ([Xu23] §4.1, §4.2).

The objective is the least expected cost such that every bound is met with a probability of at least
``CONFIDENCE``. A refresh costs the same whenever it runs, and one that waits can only be merged with
more, so the cost never rises with waiting; hence each root of a wave waits as long as the bounds allow:

    hold(v) = min over v and every bounded view d downstream of  bound(d) - sum over the path v … d of
              (mean + QUANTILE · deviation) of the run time

Adding up the quantiles of a path's jobs, not of their sum, errs towards starting early. Views downstream
are not held themselves: they run when their inputs are resolved. So the roots of one wave, changes that
some view downstream is pending for together, start together, when the oldest of them must.
"""

from __future__ import annotations

from math import inf

from attrs import frozen

from headwater.engine.coverage import plan
from headwater.engine.policy import PATIENCE, freshness, settle
from headwater.model.state import State, Status, Took, Version, ViewState

CONFIDENCE = 0.999
QUANTILE = 3.09
"""The standard normal quantile of ``CONFIDENCE``."""

FORGETTING = 0.25
"""The weight of the newest run in mean and variance, so that a warehouse that changed is noticed."""


@frozen
class Hold:
    """A decision: wait ``millis``, because ``path`` of views, of which the last promises ``bound`` (ms),
    takes ``needed`` (ms) at the stated confidence."""

    millis: int
    bound: int
    needed: int
    path: tuple[str, ...]


def learned(before: Took | None, seconds: float) -> Took:
    """Mean and variance after one more run. A single run tells nothing of the spread: its deviation is
    taken to be as large as itself."""
    if before is None:
        return Took(seconds, seconds**2)
    surprise = seconds - before.mean
    return Took(before.mean + FORGETTING * surprise, (1 - FORGETTING) * (before.variance + FORGETTING * surprise**2))


def needed(took: Took | None) -> float:
    """Milliseconds that a run takes with the stated confidence; infinitely many when none was seen."""
    return inf if took is None else 1000 * (took.mean + QUANTILE * took.variance**0.5)


def hold(state: State, name: str) -> Hold | None:
    """How long a change that the view reads itself may wait; ``None`` when the view promises no freshness,
    has not run yet, or has no time to spare beyond settling."""
    definition = state.views[name].definition
    if freshness(definition) is None or state.views[name].took is None:
        return None
    found = _slack(state, name)
    return found if found is not None and found.millis > settle(definition) else None


def patience(state: State, name: str) -> int:
    """How long after a request's oldest change newer ones may still join it, though it could run (ms)."""
    bound, held = freshness(state.views[name].definition), hold(state, name)
    if held is not None:
        return held.millis
    return PATIENCE if bound is None else min(PATIENCE, bound)


def wave_began(state: State, name: str, origin: Version) -> int:
    """When the oldest change came for which something at a view or downstream is pending together with this one."""
    oldest = state.origins[origin].at
    frontier, seen = [name], {name}
    while frontier:
        each = frontier.pop()
        together = [origins for origins in state.views[each].pending.values() if origin in origins]
        if together:
            oldest = min(oldest, *(state.origins[other].at for origins in together for other in origins))
            fresh = [reader for reader in state.readers.get(each, ()) if reader not in seen]
            frontier += fresh
            seen.update(fresh)
    return oldest


def _slack(state: State, name: str) -> Hold | None:
    """The least slack of a view and of what its changes reach; ``None`` when nothing there is bounded."""
    known: dict[str, Hold | None] = {}
    for each in (*reversed([step.view for step in plan(state, name)]), name):
        ends = [found for reader in state.readers.get(each, ()) if (found := known.get(reader)) is not None]
        known[each] = _before(each, state.views[each], ends)
    return known[name]


def _before(name: str, view: ViewState, ends: list[Hold]) -> Hold | None:
    """The slack before a view runs, given that of its readers."""
    if view.status is not Status.ACTIVE:
        return None
    bound, takes = freshness(view.definition), needed(view.took)
    if bound is not None:
        ends = [*ends, Hold(bound, bound, 0, ())]
    if not ends:
        return None
    end = min(ends, key=lambda each: each.millis)
    if takes == inf:
        return Hold(0, end.bound, 0, (name, *end.path))
    return Hold(end.millis - round(takes), end.bound, end.needed + round(takes), (name, *end.path))
