"""What keeping outputs close at hand saves, learned from the runs themselves ([Li23] §IV).

Of each view is known how long a byte takes to be written, and of each of its sources to be read: in the warehouse,
close at hand, or both. What nobody measured yet is foreseen from the speed of both places. Times of a first run are
left out, for it takes longer than others will.
"""

from __future__ import annotations

from headwater.model.event import Moved, Place, Published
from headwater.model.state import ViewState

FORGETTING = 0.25
"""The weight of the newest run in a mean, so that a warehouse that changed is noticed."""


def learn(view: ViewState, event: Published) -> None:
    """Adds what a run measured to what is known of its view. Call it before ``view.took`` is of this run."""
    if view.took is None:
        return
    for each in event.moved:
        if each.size:
            key = each.table, each.place
            view.pace[key] = _mean(view.pace.get(key), each.micros / each.size)
    if event.copying and event.size:
        view.copying = _mean(view.copying or None, event.copying / event.size)
    saved = sum(_saved(view, each) for each in event.moved if each.place is not Place.WAREHOUSE)
    view.unaided = _mean(view.unaided or None, 1e6 * event.seconds - event.copying + saved)


def saving(view: ViewState, table: str, place: Place, foreseen: float) -> float:
    """µs for each byte of a table that a view's runs read, or of itself that they write, that are saved if that lies
    at a place close at hand. It is never more than the byte took in the warehouse.

    Args:
        foreseen: the same, from the speed of both places.
    """
    far, near = view.pace.get((table, Place.WAREHOUSE)), view.pace.get((table, place))
    if far is None:
        return foreseen
    return min(foreseen, far) if near is None else far - near


def _saved(view: ViewState, moved: Moved) -> float:
    return max(0.0, saving(view, moved.table, moved.place, 0.0)) * moved.size


def _mean(before: float | None, newest: float) -> float:
    return newest if before is None else before + FORGETTING * (newest - before)
