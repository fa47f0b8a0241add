"""What the methods share that start from changed rows: such runs are foreseen by a line, a fixed part and seconds for
each byte that changed.

Example: a refresh of whole partitions takes 4 s and reads 100 MB. By changes, the last run took 1.2 s after a change of
1 MB. After one of 11 MB, a run will take 1.2 s + 10 MB · 2 · 4 s / 100 MB = 2.0 s.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from headwater.engine.methods import losses
from headwater.engine.methods.method import Cost, Offer, Slices, count, existing
from headwater.engine.methods.whole_costs import whole_cost
from headwater.model.costs import Narrow
from headwater.model.event import Published
from headwater.model.partition import WHOLE, simplified
from headwater.model.reason import Code, Reason
from headwater.model.state import Run, State, ViewState
from headwater.model.work import FollowsChanges, Mode

SMALL = 4_000_000
"""Bytes of sources. Fewer are read in less time than their changes are found. The seconds of a first refresh say
nothing of that: a cold engine takes several for a table of four rows."""

SLOPE = 2.0
"""A byte that changed takes so many times as long as one that a refresh of whole partitions reads: of a rewritten file,
the rows before and after are read. In 200 pairs (``benchmarks choices``), a change in all files took 0.5 to 1.4
times as long as the line says by changes, and 0.4 to 3.0 times by keys."""

UNKNOWN = 1e-7
"""Seconds for each byte that changed, where nobody knows what a refresh reads: Iceberg does not tell."""


FAR = 1.5
"""A run that took so many times what was foreseen, or that part of it, corrects the line at once."""


def follow(
    state: State, name: str, slices: Slices, work: FollowsChanges | Reason, least: float, rewritten: int = 0
) -> Offer | Reason:
    """The offer of a method that follows changes. The last such run that was cheaper than whole partitions tells what
    it takes; without one, those of other views do.

    Args:
        work: of the run; or why there can be none.
        least: seconds of a run after a small change.
        rewritten: bytes of the view that the run reads and writes, whatever changed.
    """
    if isinstance(work, Reason):
        return work
    frame, view = simplified(slices), state.views[name]
    known, partitions = view.costs.narrow.get(work.mode), count(state, name, frame, slices)
    whole = whole_cost(view.costs, partitions, existing(state, name))
    seconds, cores = _foreseen(view, known, least, work, whole, rewritten)
    cost = Cost(whole.partitions, seconds=seconds, cores=cores)
    untried = _unknown(view, least, work, whole, seconds) if losses.basis(known, work.churn) is None else None
    if known is not None:
        untried = losses.refused(known, work.churn, whole) or untried
    return Offer(frame, cost, work, untried)


def learn(state: State, view: ViewState, run: Run, event: Published) -> None:
    """A run of a view that ended tells what the next one by its method takes: what it took itself, if that differs much
    from what was foreseen, or else the middle. A run that took more than whole partitions is a loss."""
    started, work = run.started, run.started.work
    assert isinstance(work, FollowsChanges)
    known, whole = view.costs.narrow.get(work.mode), in_whole(state, view, run)
    took = losses.times(event.seconds, event.cores, whole)
    if run.instead or (took is not None and took > 1):
        more = max(0.0, (took or 0.0) - 1, losses.STOPPED if run.instead else 0.0)
        spent = Cost(whole.partitions, event.seconds, cores=event.cores)
        view.costs.narrow[work.mode] = losses.lost(known, work.churn, spent, more, bool(run.instead))
    else:
        seconds = _between(started.foreseen, event.seconds)
        cores = None if event.cores is None else _between(started.foreseen_cores, event.cores)
        view.costs.narrow[work.mode] = losses.won(known, seconds, work.churn, cores)
    pay(view, work.mode, took or 0.0)


def pay(view: ViewState, mode: Mode, refreshes: float) -> None:
    """A refresh ended that took so many times what whole partitions take. It pays for the losses of other methods. If
    it followed changes, it pays for whole partitions that are computed in vain, too."""
    narrow, whole = view.costs.narrow, view.costs.whole
    narrow.update({each: losses.paid(known, refreshes) for each, known in narrow.items() if each is not mode})
    if mode not in (Mode.FULL, Mode.PARTITION):
        whole.update({each: evolve(known, since=known.since + refreshes) for each, known in whole.items()})


def in_whole(state: State, view: ViewState, run: Run) -> Cost:
    """What whole partitions would take where a run made its rows."""
    frame = run.started.slices
    partitions = count(state, run.view, frame, () if WHOLE in frame else frame)
    return whole_cost(view.costs, partitions, existing(state, run.view))


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
        known: a run of the view; its seconds are known.
        least: the seconds after a small change.
        churn: bytes that came and went.
        whole: seconds of a refresh of whole partitions.
        read: bytes that this reads of the changed sources; 0 where nobody knows.
    """
    rate = SLOPE * whole / max(read, SMALL) if whole and read else None
    if known is None or known.seconds is None:
        return None if rate is None else least + rate * churn
    if churn <= known.churn:
        least = min(least, known.seconds)
        return least + (known.seconds - least) * churn / max(1, known.churn)
    return known.seconds + (UNKNOWN if rate is None else rate) * (churn - known.churn)


def usual(view: ViewState) -> Cost:
    """What a refresh of as many whole partitions takes as one mostly computes."""
    partitions = max(1, round(view.costs.partitions))
    return whole_cost(view.costs, partitions, partitions)


def is_cheaper(view: ViewState, known: Narrow, least: float, churn: int, read: float) -> bool:
    """Whether a run after such a change would be taken, as it would cost less than whole partitions: core-seconds, or
    seconds where those are not known. The arguments are as for ``foreseen``."""
    whole = usual(view)
    if losses.refused(known, churn, whole):
        return False
    here, of = losses.basis(known, churn), whole.seconds
    by_cores = _by_cores(here)
    if whole.cores is not None and (by_cores is None or by_cores.seconds is not None):
        here, of = by_cores, whole.cores
    told = foreseen(here, least, churn, of, read)
    return told is not None and of is not None and told < of


# --- inside


def _foreseen(
    view: ViewState, known: Narrow | None, least: float, work: FollowsChanges, whole: Cost, rewritten: int
) -> tuple[float | None, float | None]:
    """Seconds and core-seconds of a run."""
    here, read = losses.basis(known, work.churn), read_in_full(view, dict(work.since))
    by_cores = _by_cores(here)
    seconds = foreseen(here, least, work.churn, whole.seconds, read)
    cores = None
    if by_cores is None or by_cores.seconds is not None:
        cores = foreseen(by_cores, least, work.churn, whole.cores, read)
    if here is None:
        part = _part(view, whole, rewritten)
        seconds = None if seconds is None or whole.seconds is None else seconds + part * whole.seconds
        cores = None if cores is None or whole.cores is None else cores + part * whole.cores
    return seconds, cores


def _part(view: ViewState, whole: Cost, rewritten: int) -> float:
    """The part of whole partitions that it takes to read and write some bytes of the view, in so far as all bytes that
    are read and written take as long."""
    moved = read_in_full(view) + view.costs.size * whole.partitions
    return 2 * rewritten / moved if rewritten and moved else 0.0


def _by_cores(known: Narrow | None) -> Narrow | None:
    return None if known is None else evolve(known, seconds=known.cores)


def _unknown(view: ViewState, least: float, work: FollowsChanges, whole: Cost, seconds: float | None) -> Reason | None:
    """Why a method is not tried as long as no run of the view tells its cost; ``None`` if it is."""
    read = read_in_full(view, dict(work.since))
    if whole.seconds is None or whole.seconds < least:
        return Reason(Code.METHOD_SMALL, f"a refresh takes less than {least:.1f} s")
    if seconds is None or not read:
        return Reason(Code.METHOD_COST_UNKNOWN, "how much a refresh reads is not known yet")
    if read < SMALL:
        return Reason(Code.METHOD_SMALL, f"a refresh reads less than {SMALL / 1e6:.0f} MB")
    return Reason(Code.METHOD_TOO_MUCH_CHANGED, "too much changed") if seconds > whole.seconds else None


def _between(foreseen: float | None, took: float) -> float:
    if foreseen is None or not foreseen / FAR < took < foreseen * FAR:
        return took
    return (foreseen + took) / 2
