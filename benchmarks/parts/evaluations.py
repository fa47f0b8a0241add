"""How many partition maps a change evaluates, and how much is answered from what is kept.

Counted is what a runtime does with a change: it asks which computed values it needs, then records it. Each
follows the change downstream once. Nothing is counted in the core itself: its functions are wrapped here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from headwater import MONTH
from headwater.algebra import dependency
from headwater.engine.record.transition import transition
from headwater.engine.requests import coverage
from headwater.engine.requests.coverage import unknown_images
from headwater.model.dependency import Computed, Dependency, Expression, Occurrence, Same, Windowed
from headwater.model.event import Changed, Declared, Evaluated, Observed
from headwater.model.partition import Slice
from headwater.model.state import State
from headwater.model.view import Definition

DAY = Same("day")
KIND = Computed("kind(`day`)", ("day",))


def per_change(state: State, changes: list[Changed]) -> dict[str, Any]:
    """For each change on average: steps of the plan that were taken, and hits and misses by what was asked."""
    with _counted(state) as counts:
        for event in changes:
            slices = [each.slice for each in event.partitions]
            wanted = {(key, inputs): None for _, key, inputs in unknown_images(state, event.table, slices)}
            if wanted:
                images = tuple((key, inputs, "k") for key, inputs in wanted)
                state = transition(state, Evaluated(event.at, images))
            state = transition(state, event)
    return {
        "steps": counts["steps"] / len(changes),
        "hits": {each: counts[f"{each} kept"] / len(changes) for each in ("plan", "identity", "image")},
        "misses": {each: counts[f"{each} found"] / len(changes) for each in ("plan", "map", "image")},
    }


def beside_a_cone(views: int) -> State:
    """A table whose readers, by the same day, by month and by a computed column, also read the foot of a cone
    of so many views, which no change of the table covers."""
    state = State()
    named = ["base.u", *(f"cone.v{number}" for number in range(views))]
    for number, name in enumerate(named[1:], 1):
        state = _declared(state, name, "day", {each: DAY for each in named[max(0, number - 3) : number]})
    state = _declared(state, "mart.joined", "day", {"base.t": DAY, named[-1]: DAY})
    state = _declared(state, "mart.monthly", "month", {"mart.joined": Windowed("day", MONTH.days())})
    return _declared(state, "mart.kinds", "kind", {"mart.joined": KIND, named[-1]: KIND})


def days(table: str, count: int, first: int) -> list[Changed]:
    """Changes of one day each, of a year whose days come again and again."""
    named = [f"2024-{1 + number // 28 % 12:02d}-{1 + number % 28:02d}" for number in range(count)]
    return [
        Changed(number, first + number, table, (Observed(Slice.of(day=day), str(number)),), "", 0, "changed")
        for number, day in enumerate(named)
    ]


def _declared(state: State, name: str, column: str, reads: dict[str, Expression]) -> State:
    maps = tuple(Dependency(source, (Occurrence(((column, each),)),)) for source, each in reads.items())
    definition = Definition(name, "", (), (column,), dependencies=maps)
    return transition(state, Declared(0, state.highest + 1, definition, "was created", fill=False))


class _Images(dict):
    """Counts which values of computed columns were known when they were asked for."""

    def __init__(self, known: dict, counts: Counter[str]) -> None:
        super().__init__(known)
        self._counts = counts

    def __contains__(self, asked: object) -> bool:
        known = super().__contains__(asked)
        self._counts["image kept" if known else "image found"] += 1
        return known


@contextmanager
def _counted(state: State) -> Iterator[Counter[str]]:
    """Counts while it lasts: ``kept`` what is answered from what is kept, ``found`` what is not."""
    counts: Counter[str] = Counter()
    hit, is_alike = coverage._hit, coverage._is_alike

    def counted(function: Callable, **changes: int) -> Callable:
        def counting(*arguments, **named):
            counts.update({name.replace("_", " "): change for name, change in changes.items()})
            return function(*arguments, **named)

        return counting

    def counted_hit(reads, changed, *more):
        counts["steps"] += 1
        counts["identity kept"] += sum(1 for each, _ in reads if changed.get(each.source))
        return hit(reads, changed, *more)

    def counted_alike(state, alike, slices):
        found = is_alike(state, alike, slices)
        counts.update(dict.fromkeys(("steps", "identity kept"), len(alike.views) if found else 0))
        return found

    known, state.images = state.images, _Images(state.images, counts)
    with (
        patch.object(coverage, "_route", counted(coverage._route, plan_kept=1)),
        patch.object(coverage, "_steps", counted(coverage._steps, plan_kept=-1, plan_found=1)),
        patch.object(coverage, "_is_alike", counted_alike),
        patch.object(coverage, "_hit", counted_hit),
        patch.object(coverage, "forward_all", counted(coverage.forward_all, identity_kept=-1)),
        patch.object(dependency, "forward", counted(dependency.forward, map_found=1)),
    ):
        yield counts
    state.images = {**known, **state.images}
