"""How stale a view was, as a distribution over time ([Golab11] §2.3). Times are milliseconds.

A view's staleness is the time since the oldest recorded change that it does not reflect yet, zero when
there is none. So it is zero for some time, and rises by a millisecond each millisecond for the rest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property

from attrs import Factory, define, frozen

from headwater.engine.requests.coverage import plan, unresolved
from headwater.model.partition import Version
from headwater.model.state import State

Point = tuple[int, int]


@frozen
class Staleness:
    """The exact distribution of one view's staleness, or of several views' put together.

    Attributes:
        fresh: for how long it was zero.
        rises: from where to where it rose, each time.
        promised: for how long a freshness was promised; ``kept``, for how long of that it was kept.
    """

    fresh: int = 0
    rises: tuple[Point, ...] = ()
    promised: int = 0
    kept: int = 0

    @classmethod
    def pooled(cls, parts: Iterable[Staleness]) -> Staleness:
        found = list(parts)
        return cls(
            sum(each.fresh for each in found),
            tuple(rise for each in found for rise in each.rises),
            sum(each.promised for each in found),
            sum(each.kept for each in found),
        )

    @cached_property
    def span(self) -> int:
        """All the time that the distribution is over."""
        return self.fresh + sum(high - low for low, high in self.rises)

    @cached_property
    def curve(self) -> tuple[Point, ...]:
        """Staleness, and for how long it was at most that: between two points, a straight line."""
        turns: dict[int, int] = {0: 0}
        for low, high in self.rises:
            turns[low] = turns.get(low, 0) + 1
            turns[high] = turns.get(high, 0) - 1
        points, slope, before, time = [], 0, 0, self.fresh
        for at in sorted(turns):
            time += slope * (at - before)
            slope, before = slope + turns[at], at
            points.append((at, time))
        return tuple(points)

    def quantile(self, share: float) -> float:
        """The least staleness that was not exceeded for this share of the time."""
        wanted = share * self.span
        times = [time for _, time in self.curve]
        position = min(bisect_left(times, wanted), len(times) - 1)
        at, time = self.curve[position]
        if position == 0:
            return at
        low, before = self.curve[position - 1]
        return low + (at - low) * (wanted - before) / (time - before) if time > before else at

    @property
    def most(self) -> int:
        return max((high for _, high in self.rises), default=0)

    @property
    def mean(self) -> float:
        return sum(high**2 - low**2 for low, high in self.rises) / 2 / self.span if self.span else 0.0

    @property
    def within(self) -> float | None:
        """The share of the time in which the promised freshness was kept; ``None`` without a promise."""
        return self.kept / self.promised if self.promised else None


@frozen
class Stretch:
    """A time in which the oldest missing change stayed the same.

    Attributes:
        since: when that change came; ``None``: none was missing.
        bound: the freshness that was promised meanwhile.
    """

    start: int
    end: int
    since: int | None
    bound: int | None

    @property
    def length(self) -> int:
        return self.end - self.start

    @property
    def rise(self) -> Point:
        """The staleness at the start and at the end."""
        return (0, 0) if self.since is None else (self.start - self.since, self.end - self.since)

    @property
    def kept(self) -> int:
        """For how long of it the promise was kept."""
        low, high = self.rise
        if self.bound is None:
            return 0
        return self.length if high <= self.bound else max(0, self.bound - low)


@define
class Meter:
    """Follows one view's staleness. Each news holds until the next, or the end.

    Attributes:
        end: the time after which nothing counts.
        since: when the oldest missing change came, as last measured.
        stretches: what was measured, in the order of time.
    """

    end: int
    since: int | None = None
    stretches: list[Stretch] = Factory(list)
    _began: int | None = None
    _bound: int | None = None

    def tell(self, now: int, since: int | None, bound: int | None) -> None:
        """From now on the oldest missing change is of the time ``since``, and the promise is ``bound``."""
        if self._began is None or (since, bound) != (self.since, self._bound):
            self.stop(now)
            self._began, self.since, self._bound = min(now, self.end), since, bound

    def stop(self, now: int) -> None:
        """Nothing is known from now on."""
        began, until = self._began, min(now, self.end)
        self._began = None
        if began is not None and until > began:
            self.stretches.append(Stretch(began, until, self.since, self._bound))

    @property
    def staleness(self) -> Staleness:
        fresh = sum(each.length for each in self.stretches if not each.rise[1])
        rises = tuple(each.rise for each in self.stretches if each.rise[1])
        promised = sum(each.length for each in self.stretches if each.bound is not None)
        return Staleness(fresh, rises, promised, sum(each.kept for each in self.stretches))


def missing_since(
    state: State, name: str, released: Collection[str] = (), older: Mapping[Version, int] | None = None
) -> int | None:
    """When the oldest recorded change came that a view does not reflect; ``None`` when it reflects all.

    Args:
        released: views that do not pass on the changes that they lack: all views downstream lack these too.
        older: origins that stand for changes which came before them, and when those came.
    """
    lacking = [name, *(each for each in released if any(step.view == name for step in plan(state, each)))]
    return min((at for each in lacking for at in _times(state, each, older or {})), default=None)


def _times(state: State, name: str, older: Mapping[Version, int]) -> Iterator[int]:
    for origins in unresolved(state, name).values():
        yield state.origins[min(origins)].at  # versions rise with time
        yield from (older[each] for each in older.keys() & origins)
