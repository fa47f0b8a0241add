"""What keeping outputs in memory saves, learned from the runs themselves ([Li23] §IV).

Of each view is known how long a byte takes to be written, and of each of its sources to be read: in the warehouse,
in memory, or both. What nobody measured yet is foreseen from the speed of both places. Times of a first run are
left out, for it takes longer than others will.

Of what its runs read of a table is known, too, what they needed of it and how long that took them: in the warehouse,
and in scans that they shared with others.
"""

from __future__ import annotations

from attrs import evolve

from headwater.model.event import Published
from headwater.model.measure import Moved, Place, Scanned
from headwater.model.state import Reading, TableRecord, ViewState

FORGETTING = 0.25
"""The weight of the newest run in a mean, so that a warehouse that changed is noticed."""


def learn(view: ViewState, event: Published) -> None:
    """Adds what a run measured to what is known of its view. Call it before ``view.took`` is of this run."""
    if view.took is None:
        return
    measured = event.measured
    for each in measured.moved:
        if each.place is Place.SCAN:
            _learn_shared(view, each)
        elif each.size:
            key = each.table, each.place
            view.pace[key] = _mean(view.pace.get(key), each.micros / each.size)
            _learn_scan(view, each)
    if measured.copying > 0 and measured.size:
        view.copying = _mean(view.copying or None, measured.copying / measured.size)
    saved = sum(_saved(view, each) for each in measured.moved if each.place is not Place.WAREHOUSE)
    saved -= sum(each.micros for each in measured.scanned)
    took = 1e6 * event.seconds - measured.copying
    if measured.effort is not None:
        took = measured.effort.own(took)
        view.share = _mean(view.share or None, measured.effort.share * measured.effort.alone / max(1.0, took))
    if measured.effort is not None or not view.share:  # others ran beside it, so the clock says less than is known
        view.unaided = _mean(view.unaided or None, max(0.0, took + saved))


def learn_scanned(record: TableRecord, scanned: Scanned) -> None:
    """Adds what a shared scan of a table took to what is known of it."""
    known = record.scanned
    before = known.micros if known is not None and known.extract == scanned.extract else None
    micros = round(_mean(before, scanned.micros))
    record.scanned = evolve(scanned, micros=micros)


def _learn_scan(view: ViewState, moved: Moved) -> None:
    if moved.extract is None or moved.place is not Place.WAREHOUSE or view.definition.policy.trailing_edge:
        return  # with each refresh it needs other rows, so it shares no scan
    known = view.readings.get(moved.table)
    view.readings[moved.table] = Reading(
        moved.extract,
        _mean(known.size if known else None, moved.size),
        _mean(known.share if known else None, moved.share),
        _mean(known.micros if known else None, moved.micros),
        known.near if known else None,
    )


def _learn_shared(view: ViewState, moved: Moved) -> None:
    known = view.readings.get(moved.table)
    if known is not None:
        view.readings[moved.table] = evolve(known, near=_mean(known.near, moved.micros))


def saving(view: ViewState, table: str, place: Place, foreseen: float) -> float:
    """µs for each byte of a table that a view's runs read, or of itself that they write, that are saved if that lies
    at a place in memory. It is never more than the byte took in the warehouse.

    Args:
        foreseen: the same, from the speed of both places.
    """
    far, near = view.pace.get((table, Place.WAREHOUSE)), view.pace.get((table, place))
    if far is None:
        return foreseen
    return min(foreseen, far) if near is None else far - near


def _saved(view: ViewState, moved: Moved) -> float:
    if moved.place is Place.SCAN:
        known = view.readings.get(moved.table)
        return max(0.0, known.micros - moved.micros) if known else 0.0
    return max(0.0, saving(view, moved.table, moved.place, 0.0)) * moved.size


def _mean(before: float | None, newest: float) -> float:
    return newest if before is None else before + FORGETTING * (newest - before)
