"""What refreshes of a view cost: all that is learned of it from each run, and what is foreseen by that.

*Runs that follow changes* are foreseen by a line: a fixed part, and seconds for each byte that changed. Example: a
refresh of whole partitions takes 4 s and reads 100 MB. By changes, the last run took 1.2 s after a change of 1 MB.
After one of 11 MB, a run will take 1.2 s + 10 MB · 2 · 4 s / 100 MB = 2.0 s.

*Outputs in memory* save what reading and writing takes elsewhere ([Li23] §IV). Of each view is known how long a byte
takes to be written, and of each of its sources to be read: in the warehouse, in memory, or both. What nobody measured
yet is foreseen from the speed of both places. Times of a first run are left out, for it takes longer than others will.
Of what runs read of a table is known, too, what they needed of it, in the warehouse and in scans that they shared.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from headwater.model.costs import Narrow, Reading, Took
from headwater.model.event import Published
from headwater.model.measure import Moved, Place, Scanned
from headwater.model.state import Run, State, TableRecord, ViewState
from headwater.model.work import ByKeys, FollowsChanges, Mode

RUN = 0.25
"""The weight of the newest run in what runs take, mean and variance, so that a warehouse that changed is noticed."""

PACE = 0.25
"""The weight of the newest run in what a byte takes at a place, for the same reason."""

SIZE = 0.5
"""The weight of the newest size, so that a view that grew is noticed soon: its outputs must fit into memory."""

QUICKER, SLOWER = 0.5, 0.1
"""How far the fixed part by changes goes towards a run that took less, and towards one that took more: a first one, for
which Spark compiles code, takes more."""

FIXED = {Mode.CHANGES: 1.0, Mode.KEYS: 3.0}
"""Seconds of such a run after a small change, before a warehouse has any. Its core-seconds are taken to be as many. On
two machines, runs after one row took 0.4 to 1.8 s by changes, and 0.8 to 3.6 s by keys (``benchmarks/choices.py``)."""

LITTLE = 0.05
"""The part of the sources' bytes that a change has at most whose run tells the fixed part."""

SMALL = 4_000_000
"""Bytes of sources. Fewer are read in less time than their changes are found. The seconds of a first refresh say
nothing of that: a cold engine takes several for a table of four rows."""

SLOPE = 2.0
"""A byte that changed takes so many times as long as one that a refresh of whole partitions reads: of a rewritten file,
the rows before and after are read. In these pairs, a change in all files took 0.5 to 1.4 times as long as the line says
by changes, and 0.4 to 3.0 times by keys."""


UNKNOWN = 1e-7
"""Seconds for each byte that changed, where nobody knows what a refresh reads: Iceberg does not tell."""


def learn(state: State, view: ViewState, run: Run, event: Published) -> None:
    """Adds what a run took and measured to what is known of its view, and of the tables that it scanned."""
    costs, measured, made = view.costs, event.measured, len(event.made)
    began = run.started.work  # what it took says nothing of whole partitions, even if it had to compute them
    if isinstance(began, ByKeys):
        costs.keyed = line(state, view, run, began, event)
    elif isinstance(began, FollowsChanges):
        costs.added = line(state, view, run, began, event)
    else:
        learn_pace(view, event)
        if not event.totals:  # a run that leaves some reads its sources before what it moves is measured
            moved = [each for each in measured.moved if each.table != event.view]
            costs.reads = {each.table: each.size / max(1, made) for each in moved}
        costs.took = took(costs.took, event.seconds)
        costs.cores = costs.cores if event.cores is None else _newer(costs.cores or 0.0, event.cores, RUN)
    for scanned in measured.scanned:
        learn_scanned(state.tables.setdefault(scanned.table, TableRecord()), scanned)
    costs.estimate = None
    costs.partitions = _newer(costs.partitions, made + len(event.removed), RUN)
    is_part = isinstance(run.work, FollowsChanges)
    if made and measured.size and not is_part:
        costs.size = _newer(costs.size, measured.size / made, SIZE)
    if made and measured.held:
        costs.held = _newer(costs.held, measured.held / made, SIZE)


def took(before: Took | None, seconds: float) -> Took:
    """Mean and variance after one more run. A single run tells nothing of the spread: its deviation is
    taken to be as large as itself."""
    if before is None:
        return Took(seconds, seconds**2)
    surprise = seconds - before.mean
    return Took(before.mean + RUN * surprise, (1 - RUN) * (before.variance + RUN * surprise**2))


def line(state: State, view: ViewState, run: Run, work: FollowsChanges, event: Published) -> Narrow:
    """A run of a view by keys or by changes that ended; one by changes also tells the fixed part.

    A first run is slow, as Spark compiles its code, and any run may be slow by chance. So the new point of the line
    is halfway between what was foreseen and what the run took.
    """
    if run.instead:
        return Narrow(None, work.churn)
    if work.mode is Mode.CHANGES and work.churn <= LITTLE * read_in_full(view):
        before = fixed(state, view, work.mode)
        weight = QUICKER if event.seconds < before else SLOWER
        state.fixed[view.definition.format] = before + weight * (event.seconds - before)
    return Narrow(
        _between(run.started.foreseen, event.seconds), work.churn, _between(run.started.foreseen_cores, event.cores)
    )


def learn_pace(view: ViewState, event: Published) -> None:
    """Adds what a run measured to what is known of its places, but for a first run."""
    costs = view.costs
    if costs.took is None:
        return
    measured = event.measured
    for each in measured.moved:
        if each.place is Place.SCAN:
            _learn_shared(view, each)
        elif each.size:
            key = each.table, each.place
            costs.pace[key] = _blended(costs.pace.get(key), each.micros / each.size)
            _learn_scan(view, each)
    if measured.copying > 0 and measured.size:
        costs.copying = _blended(costs.copying or None, measured.copying / measured.size)
    saved = sum(_saved(view, each) for each in measured.moved if each.place is not Place.WAREHOUSE)
    saved -= sum(each.micros for each in measured.scanned)
    took = 1e6 * event.seconds - measured.copying
    if measured.effort is not None:
        took = measured.effort.own(took)
        costs.share = _blended(costs.share or None, measured.effort.share * measured.effort.alone / max(1.0, took))
    if measured.effort is not None or not costs.share:  # others ran beside it, so the clock says less than is known
        costs.unaided = _blended(costs.unaided or None, max(0.0, took + saved))


def learn_scanned(record: TableRecord, scanned: Scanned) -> None:
    """Adds what a shared scan of a table took to what is known of it."""
    known = record.scanned
    before = known.micros if known is not None and known.extract == scanned.extract else None
    micros = round(_blended(before, scanned.micros))
    record.scanned = evolve(scanned, micros=micros)


def _learn_scan(view: ViewState, moved: Moved) -> None:
    if moved.extract is None or moved.place is not Place.WAREHOUSE or view.definition.policy.trailing_edge:
        return  # with each refresh it needs other rows, so it shares no scan
    known = view.costs.readings.get(moved.table)
    view.costs.readings[moved.table] = Reading(
        moved.extract,
        _blended(known.size if known else None, moved.size),
        _blended(known.share if known else None, moved.share),
        _blended(known.micros if known else None, moved.micros),
        known.near if known else None,
    )


def _learn_shared(view: ViewState, moved: Moved) -> None:
    known = view.costs.readings.get(moved.table)
    if known is not None:
        view.costs.readings[moved.table] = evolve(known, near=_blended(known.near, moved.micros))


def saving(view: ViewState, table: str, place: Place, foreseen: float) -> float:
    """µs for each byte of a table that a view's runs read, or of itself that they write, that are saved if that lies
    at a place in memory. It is never more than the byte took in the warehouse.

    Args:
        foreseen: the same, from the speed of both places.
    """
    far, near = view.costs.pace.get((table, Place.WAREHOUSE)), view.costs.pace.get((table, place))
    if far is None:
        return foreseen
    return min(foreseen, far) if near is None else far - near


def _saved(view: ViewState, moved: Moved) -> float:
    if moved.place is Place.SCAN:
        known = view.costs.readings.get(moved.table)
        return max(0.0, known.micros - moved.micros) if known else 0.0
    return max(0.0, saving(view, moved.table, moved.place, 0.0)) * moved.size


def lately(view: ViewState) -> float | None:
    """Seconds of the last refresh by keys or by changes, the quicker one if there were both; ``None``: there was none
    or it computed whole partitions after all."""
    found = [
        each.seconds for each in (view.costs.keyed, view.costs.added) if each is not None and each.seconds is not None
    ]
    return min(found, default=None)


def fixed(state: State, view: ViewState, mode: Mode) -> float:
    """Seconds of a run after a small change. Runs by changes of all views of this format tell those by changes. Views
    differ too much by keys: runs took from 0.8 to 30 s."""
    return state.fixed.get(view.definition.format, FIXED[mode]) if mode is Mode.CHANGES else FIXED[mode]


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


def _between(foreseen: float | None, took: float | None) -> float | None:
    return took if foreseen is None or took is None else (foreseen + took) / 2


def _newer(mean: float, newest: float, weight: float) -> float:
    """A mean after one more figure; 0 where nobody knew it."""
    return mean + weight * (newest - mean) if mean else newest


def _blended(before: float | None, newest: float) -> float:
    return newest if before is None else before + PACE * (newest - before)
