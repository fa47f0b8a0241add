"""How long a change may wait for others, within the freshness that is promised ([Xu23] §4.1, §4.2).

The objective is the least expected cost such that every bound is met with a probability of at least
``CONFIDENCE``. A refresh costs the same whenever it runs, and one that waits can only be merged with
more; hence each root of a wave waits as long as the bounds allow:

    hold(v) = min over v and every bounded view d downstream of  bound(d) - sum over the path v … d of
              (mean + QUANTILE · deviation) of the run time

Adding up the quantiles of a path's jobs, not of their sum, errs towards starting early. Views downstream
are not held themselves: they run when their inputs are resolved.

Changes that some view downstream is pending for together are one wave, of which each root starts when the
oldest change must. A change belongs to the oldest wave that it can still reach everything in time with, which
is one that began at most hold(v) before it came; nothing of an older one waits for it, or that would be late.

On a chain of views that promise the same, no schedule is cheaper, even one that knows the changes to come:
a run of v serves the changes that came in the hold(v) before it starts, so runs are points that stab the
intervals [t, t + hold(v)], and stabbing each at its end, the earliest end first, takes the fewest points.
A rule that starts any sooner meets a change just after that it would have taken along. On other graphs it
is not the least, and no rule is without foresight: ``python -m benchmarks.papers holding`` measures by how much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from math import inf

from attrs import evolve

from headwater.engine.requests.coverage import plan
from headwater.engine.requests.limits import AHEAD, PATIENCE
from headwater.model.costs import Took
from headwater.model.index import Hold
from headwater.model.partition import Slice, Version
from headwater.model.state import Origin, State, Status, ViewState

CONFIDENCE = 0.999
QUANTILE = 3.09
"""The standard normal quantile of ``CONFIDENCE``."""


def needed(took: Took | None) -> float:
    """Milliseconds that a run takes with the stated confidence; infinitely many when none was seen."""
    return inf if took is None else 1000 * (took.mean + QUANTILE * took.variance**0.5)


def hold(state: State, name: str) -> Hold | None:
    """How long a change that the view reads itself may wait; ``None`` when the view promises no freshness,
    has not run yet, or has no time to spare beyond settling."""
    policy = state.views[name].definition.policy
    if policy.freshness is None or state.views[name].costs.took is None:
        return None
    found = slack(state, name)
    return found if found is not None and found.millis > policy.settle else None


def wave(state: State, origin: Origin, reached: Mapping[str, Sequence[Slice]]) -> int | None:
    """When the wave began that a new change joins, or when the change came, if it begins one.

    It joins the oldest wave that something it reaches is pending for and that it is in time for. It joins none of
    before the clock was set back. ``None`` when nothing that it reaches promises anything, or nobody knows how long
    the runs take.
    """
    left = spare(state, (origin.table,) if origin.table in reached else state.index.readers.get(origin.table, ()))
    if left is None:
        return None
    together: set[Version] = set()
    for name, slices in reached.items():
        pending = state.views[name].pending
        for each in slices:
            together.update(pending.get(each, ()))
    waves = (began for other in together if (began := state.origins[other].wave) is not None)
    return min((each for each in waves if each - AHEAD <= origin.at <= each + left), default=origin.at)


def waits_for(state: State, view: ViewState, origins: Set[Version], awaited: Set[Version]) -> bool:
    """Whether a request waits for changes that an input is still to be renewed for, though it could run for
    its other origins without: for those that came soon after its oldest one, or with a promise at stake, for
    those of the same wave."""
    bound = view.definition.policy.freshness
    oldest = min(state.origins[each].at for each in origins)
    horizon = oldest + (PATIENCE if bound is None else min(PATIENCE, bound))
    began = min(_began(state.origins[each]) for each in origins - awaited)
    return any(
        change.at < horizon if change.wave is None else change.wave <= began and (bound or change.at < horizon)
        for change in (state.origins[each] for each in awaited)
    )


def _began(origin: Origin) -> int:
    return origin.at if origin.wave is None else origin.wave


def spare(state: State, roots: Iterable[str]) -> int | None:
    """How long after another change one that starts from these views may come and be reflected within the
    other's bounds (ms); ``None`` when there are no bounds, or some run time on the way is not known."""
    found = [each for root in roots if (each := slack(state, root)) is not None]
    if not all(state.views[name].costs.took is not None for each in found for name in each.path):
        return None
    return min((max(0, each.millis) for each in found), default=None)


def slack(state: State, name: str) -> Hold | None:
    """The least slack of a view and of what its changes reach; ``None`` when nothing there is bounded.

    Kept until a promise or a run time downstream changes (see ``queue.reconsider``)."""
    if name not in state.index.slack:
        state.index.slack[name] = _least_slack(state, name)
    return state.index.slack[name]


def _least_slack(state: State, name: str) -> Hold | None:
    known: dict[str, Hold | None] = {}
    for each in (*reversed([step.view for step in plan(state, name, marked=True)]), name):
        ends = [found for reader in state.index.readers.get(each, ()) if (found := known.get(reader)) is not None]
        known[each] = _before(each, state.views[each], ends)
    return known[name]


def _before(name: str, view: ViewState, ends: list[Hold]) -> Hold | None:
    """The slack before a view runs, given that of its readers."""
    if view.status is not Status.ACTIVE:
        return None
    policy = view.definition.policy
    bound, takes = policy.freshness, needed(view.costs.took)
    if policy.schedule is not None and ends:
        ends = [evolve(min(ends, key=lambda each: each.millis), millis=0)]  # who comes late misses the next time
    elif policy.gap is not None:
        ends = [evolve(each, millis=each.millis - policy.gap, needed=each.needed + policy.gap) for each in ends]
    if bound is not None:
        ends = [*ends, Hold(bound, bound, 0, ())]
    if not ends:
        return None
    end = min(ends, key=lambda each: each.millis)
    if takes == inf:
        return Hold(0, end.bound, 0, (name, *end.path))
    return Hold(end.millis - round(takes), end.bound, end.needed + round(takes), (name, *end.path))
