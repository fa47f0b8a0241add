"""The means of an engine for its plans: memory, tracks, and the time that a byte takes; also as text in the store."""

from __future__ import annotations

import json

from attrs import asdict, frozen

from headwater.model.measure import Place


@frozen
class Costs:
    """What a byte costs, in µs of a run's own time, by the speed of this warehouse and of memory ([Li23] §IV).

    Attributes:
        written: that writing it to memory takes less than to the warehouse.
        read: that reading it from memory takes less than from the warehouse.
        copied: that its copy takes.
        moved: that its copy takes from what runs beside.
    """

    written: float
    read: float
    copied: float
    moved: float = 0.0


@frozen
class Means:
    """What an engine has for the runs that it plans.

    Attributes:
        costs: what a byte takes.
        memory: bytes that may be kept.
        tracks: how many runs go on side by side.
        place: where they are kept.
    """

    costs: Costs
    memory: int
    tracks: int
    place: Place = Place.VOLUME

    @property
    def pays(self) -> bool:
        """Whether keeping anything could save time; if not, runs are not planned."""
        return self.memory > 0 and (self.costs.written > self.costs.moved or self.costs.read > 0)


def encode_means(means: Means | None) -> str:
    """As what an engine leaves in its store for those who ask what it would do."""
    told = None if means is None else {**asdict(means), "place": means.place.value}
    return json.dumps(told)


def decode_means(text: str) -> Means | None:
    """What was left so; ``None`` also for what another version of Headwater left in its own way."""
    try:
        told = json.loads(text)
        return told and Means(Costs(**told["costs"]), told["memory"], told["tracks"], Place(told["place"]))
    except (TypeError, KeyError, ValueError):
        return None
