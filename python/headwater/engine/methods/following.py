"""What the methods share that start from changed rows: such runs are foreseen by a line, a fixed part and seconds for
each byte that changed.

Example: a refresh of whole partitions takes 4 s and reads 100 MB. By changes, the last run took 1.2 s after a change of
1 MB. After one of 11 MB, a run will take 1.2 s + 10 MB · 2 · 4 s / 100 MB = 2.0 s.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from headwater.engine.methods.method import Cost, Offer, Slices, count
from headwater.model.costs import Narrow
from headwater.model.event import Published
from headwater.model.partition import simplified
from headwater.model.reason import Code, Reason
from headwater.model.state import Run, State, ViewState
from headwater.model.work import FollowsChanges

SMALL = 4_000_000
"""Bytes of sources. Fewer are read in less time than their changes are found. The seconds of a first refresh say
nothing of that: a cold engine takes several for a table of four rows."""

SLOPE = 2.0
"""A byte that changed takes so many times as long as one that a refresh of whole partitions reads: of a rewritten file,
the rows before and after are read. In 200 pairs (``benchmarks choices``), a change in all files took 0.5 to 1.4
times as long as the line says by changes, and 0.4 to 3.0 times by keys."""

UNKNOWN = 1e-7
"""Seconds for each byte that changed, where nobody knows what a refresh reads: Iceberg does not tell."""


def follow(state: State, name: str, slices: Slices, work: FollowsChanges | Reason, least: float) -> Offer | Reason:
    """The offer of a method that follows changes. The last such run tells what it takes; without one, those of other
    views do.

    Args:
        work: of the run; or why there can be none.
        least: seconds of a run after a small change.
    """
    if isinstance(work, Reason):
        return work
    frame, view = simplified(slices), state.views[name]
    costs, known = view.costs, view.costs.narrow.get(work.mode)
    by_cores = None if known is None else evolve(known, seconds=known.cores)
    whole, read = costs.took.mean if costs.took is not None else None, read_in_full(view, dict(work.since))
    seconds = foreseen(known, least, work.churn, whole, read)
    cores = foreseen(by_cores, least, work.churn, costs.cores, read)
    cost = Cost(count(state, name, frame, slices), seconds=seconds, cores=cores)
    return Offer(frame, cost, work, _untried(known, least, work.churn, whole, read, seconds))


def learn(state: State, view: ViewState, run: Run, event: Published) -> None:
    """A run of a view that ended is the last one by its method.

    A first run is slow, as Spark compiles its code, and any run may be slow by chance. So the new point of the line
    is halfway between what was foreseen and what the run took.
    """
    started, work = run.started, run.started.work
    assert isinstance(work, FollowsChanges)
    seconds, cores = _between(started.foreseen, event.seconds), _between(started.foreseen_cores, event.cores)
    view.costs.narrow[work.mode] = Narrow(None, work.churn) if run.instead else Narrow(seconds, work.churn, cores)


def lately(view: ViewState) -> float | None:
    """Seconds of the last refresh that followed changes, the quickest one of several methods; ``None``: there was none
    or it computed whole partitions after all."""
    return min((each.seconds for each in view.costs.narrow.values() if each.seconds is not None), default=None)


def read_in_full(view: ViewState, sources: Iterable[str] | None = None) -> float:
    """Bytes that a refresh of whole partitions reads of some sources, or of all; 0 where nobody knows."""
    asked = view.costs.reads.keys() if sources is None else set(sources)
    each = sum(view.costs.reads[source] for source in asked) if asked <= view.costs.reads.keys() else 0
    return max(1, view.costs.partitions or 1) * each


def foreseen(known: Narrow | None, least: float, churn: int, whole: float | None, read: float) -> float | None:
    """Seconds of a run, or core-seconds if those are given; ``None`` where nobody knows.

    Args:
        known: the last such run of the view.
        least: the seconds after a small change.
        churn: bytes that came and went.
        whole: seconds of a refresh of whole partitions.
        read: bytes that this reads of the changed sources; 0 where nobody knows.
    """
    rate = SLOPE * whole / max(read, SMALL) if whole and read else None
    if known is None:
        return None if rate is None else least + rate * churn
    if known.seconds is None:
        return None
    if churn <= known.churn:
        least = min(least, known.seconds)
        return least + (known.seconds - least) * churn / max(1, known.churn)
    return known.seconds + (UNKNOWN if rate is None else rate) * (churn - known.churn)


def is_cheaper(view: ViewState, known: Narrow, least: float, churn: int, read: float) -> bool:
    """Whether a run after such a change would cost less than whole partitions: core-seconds, or seconds where those are
    not known. The arguments are as for ``foreseen``."""
    if known.seconds is None or view.costs.took is None:
        return False
    whole = view.costs.took.mean
    if known.cores is not None and view.costs.cores is not None:
        known, whole = evolve(known, seconds=known.cores), view.costs.cores
    told = foreseen(known, least, churn, whole, read)
    return told is not None and told < whole


# --- inside


def _untried(
    known: Narrow | None, least: float, churn: int, whole: float | None, read: float, seconds: float | None
) -> Reason | None:
    """Why a method that follows changes is not tried, as long as no run of the view tells its cost; ``None`` if it is,
    or is known."""
    if known is not None:
        in_vain = known.seconds is None and churn >= known.churn
        return Reason(Code.METHOD_LAST_RUN, "the last one had to compute whole partitions") if in_vain else None
    if whole is None or whole < least:
        return Reason(Code.METHOD_SMALL, f"a refresh takes less than {least:.1f} s")
    if seconds is None or not read:
        return Reason(Code.METHOD_COST_UNKNOWN, "how much a refresh reads is not known yet")
    if read < SMALL:
        return Reason(Code.METHOD_SMALL, f"a refresh reads less than {SMALL / 1e6:.0f} MB")
    return Reason(Code.METHOD_TOO_MUCH_CHANGED, "too much changed") if seconds > whole else None


def _between(foreseen: float | None, took: float | None) -> float | None:
    return took if foreseen is None or took is None else (foreseen + took) / 2
