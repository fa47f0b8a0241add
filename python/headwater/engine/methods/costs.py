"""What is learned of a view's costs from runs of any method, and what memory saves.

*Outputs in memory* save what reading and writing takes elsewhere ([Li23] §IV). Of each view is known how long a byte
takes to be written, and of each of its sources to be read: in the warehouse, in memory, or both. What nobody measured
yet is foreseen from the speed of both places. Times of a first run are left out, for it takes longer than others will.
Of what runs read of a table is known, too, what they needed of it, in the warehouse and in scans that they shared.
"""

from __future__ import annotations

from attrs import evolve

from headwater.model.costs import Reading, Took
from headwater.model.event import Published
from headwater.model.measure import Moved, Place, Scanned
from headwater.model.state import Run, State, TableRecord, ViewState
from headwater.model.work import FollowsChanges

RUN = 0.25
"""The weight of the newest run in what runs take, mean and variance, so that a warehouse that changed is noticed."""

PACE = 0.25
"""The weight of the newest run in what a byte takes at a place, for the same reason."""

SIZE = 0.5
"""The weight of the newest size, so that a view that grew is noticed soon: its outputs must fit into memory."""


def learn_sizes(state: State, view: ViewState, run: Run, event: Published) -> None:
    """Adds what a run of any method made to what is known of its view, and what it scanned to what is known of that."""
    costs, measured, made = view.costs, event.measured, len(event.made)
    for scanned in measured.scanned:
        learn_scanned(state.tables.setdefault(scanned.table, TableRecord()), scanned)
    costs.estimate = None
    if made and measured.size and not isinstance(run.work, FollowsChanges):  # which writes a part
        costs.size = newer(costs.size, measured.size / made, SIZE)
    if made and measured.held:
        costs.held = newer(costs.held, measured.held / made, SIZE)


def took(before: Took | None, seconds: float) -> Took:
    """Mean and variance after one more run. A single run tells nothing of the spread: its deviation is
    taken to be as large as itself."""
    if before is None:
        return Took(seconds, seconds**2)
    surprise = seconds - before.mean
    return Took(before.mean + RUN * surprise, (1 - RUN) * (before.variance + RUN * surprise**2))


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


def newer(mean: float, newest: float, weight: float) -> float:
    """A mean after one more figure; 0 where nobody knew it."""
    return mean + weight * (newest - mean) if mean else newest


def _blended(before: float | None, newest: float) -> float:
    return newest if before is None else before + PACE * (newest - before)
