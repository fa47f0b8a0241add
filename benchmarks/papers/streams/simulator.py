"""A warehouse of streams on a virtual clock: the simulator of [Golab11] §4.1.

Sources push data at their periods. A refresh takes all data that wait, or some of them, and lasts as long as its line
says, times a random factor. The machine is slow from time to time. The figure is the weighted staleness over time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush, heapreplace
from random import Random

from attrs import define, frozen

from benchmarks.papers.streams.pick import Rule
from benchmarks.papers.streams.priority import Inherit, own
from benchmarks.papers.streams.task import Task
from benchmarks.papers.streams.tracks import Shared, Tracks
from headwater.engine.decide.benefit import best


@frozen
class Weather:
    """How fast the machine is.

    Attributes:
        jitter: a refresh lasts between so many times its expected time, and one more than that: b of the paper.
        slowdown: how many times longer refreshes last in slow spells.
        normal, slow: seconds of the spells, which take turns. Without normal ones, all time is slow.
    """

    jitter: float = 0.5
    slowdown: float = 3.0
    normal: float = 1000.0
    slow: float = 1000.0

    @property
    def mean(self) -> float:
        """How many times longer refreshes last in the mean."""
        return (self.normal + self.slowdown * self.slow) / (self.normal + self.slow)


@frozen
class Algorithm:
    """A way to order refreshes and to give them tracks.

    Attributes:
        rule: ``None``: at random.
        tracks: made of the tasks and the number of tracks; it gives ``None`` where the tasks do not fit.
        chop: a refresh takes the data of so many periods at most, by the tasks and the number of tracks.
        path: refreshes count with those that they let run: ``engine.decide.benefit``.
    """

    name: str
    rule: Rule | None
    tracks: Callable[[Sequence[Task], int], Tracks | None] = lambda tasks, count: Shared()
    inherit: Inherit = own
    chop: Callable[[Sequence[Task], int], float] = lambda tasks, count: float("inf")
    path: bool = False


@frozen
class Outcome:
    """What a simulation measured.

    Attributes:
        staleness: the mean over time of the weighted sum of all tables' staleness.
        events: arrivals of data, and ends of refreshes.
        until: seconds of the virtual clock.
    """

    staleness: float
    events: int
    until: float


def simulated(
    tasks: Sequence[Task], algorithm: Algorithm, count: int, weather: Weather, events: int, seed: int = 1
) -> Outcome | None:
    """Plays so many events; ``None`` if the tasks do not fit the tracks.

    Args:
        count: of the tracks.
    """
    tracks = algorithm.tracks(tasks, count)
    if tracks is None:
        return None
    return _World(tasks, algorithm, tracks, count, weather, Random(seed)).play(events)


def ideal(tasks: Sequence[Task], weather: Weather, events: int, seed: int = 1) -> Outcome:
    """The same where each refresh starts as soon as its data come: there is a track for each table."""
    found = simulated(tasks, Algorithm("ideal", lambda *_: 0.0), len(tasks), weather, events, seed)
    assert found is not None
    return found


@define
class _World:
    tasks: Sequence[Task]
    algorithm: Algorithm
    tracks: Tracks
    count: int
    weather: Weather
    random: Random

    def play(self, events: int) -> Outcome:
        """The hot loop, on lists of numbers: attributes and calls of functions would take most of its time."""
        tasks, draw, weather = self.tasks, self.random.random, self.weather
        numbers = {each.name: n for n, each in enumerate(tasks)}
        sources = [[numbers[one] for one in each.sources] for each in tasks]
        readers: list[list[int]] = [[] for _ in tasks]
        for n, some in enumerate(sources):
            for one in some:
                readers[one].append(n)
        inherited = self.algorithm.inherit(tasks)
        weights, priority = [inherited[each.name] for each in tasks], [each.priority for each in tasks]
        fixed, rate = [each.fixed for each in tasks], [each.rate for each in tasks]
        period = [each.period for each in tasks]
        size = len(tasks)
        fresh, offered, since, seen = [0.0] * size, [0.0] * size, [0.0] * size, [0.0] * size
        loading, running = [0.0] * size, [False] * size
        on = [-1] * self.count
        free, ready = set(range(self.count)), set[int]()
        rule, place = self.algorithm.rule, self.tracks.place
        chop = self.algorithm.chop(tasks, self.count)
        shared = isinstance(self.tracks, Shared)
        path = self.algorithm.path
        # The benefit of a path depends on data, and not on time: it is kept until data of its tables come.
        worth, upwards = [None] * size, _upwards(sources)
        cycle, normal = weather.normal + weather.slow, weather.normal
        jitter, slowdown = weather.jitter, weather.slowdown
        agenda: list[tuple[float, int]] = []
        for n in range(size):
            if not sources[n]:
                heappush(agenda, (draw() * period[n], n))
        area, now = 0.0, 0.0
        for _ in range(events):
            now, what = agenda[0]
            if what < size:
                heapreplace(agenda, (now + period[what], what))
                offered[what], worth[what] = now, None
                if not running[what] and what not in ready:
                    ready.add(what)
                    since[what] = now
            else:
                heappop(agenda)
                track = what - size
                done, on[track] = on[track], -1
                free.add(track)
                running[done] = False
                was = fresh[done]
                area += priority[done] * ((now - was) ** 2 - (seen[done] - was) ** 2) / 2
                seen[done], fresh[done] = now, loading[done]
                if offered[done] > fresh[done]:
                    ready.add(done)
                for each in upwards[done]:
                    worth[each] = None
                for reader in readers[done]:
                    found = min([fresh[one] for one in sources[reader]])
                    if found > offered[reader]:
                        offered[reader], worth[reader] = found, None
                        if not running[reader] and reader not in ready:
                            ready.add(reader)
                            since[reader] = now
            if not free or not ready:
                continue
            if len(ready) == 1:
                order = [*ready]
            elif rule is None:
                order = sorted(ready, key=lambda n: draw())
            elif path:
                for n in ready:
                    if worth[n] is None:
                        worth[n] = -self._benefit(n, offered[n], readers, priority, fresh)
                order = sorted(ready, key=worth.__getitem__)
            else:
                order = sorted(
                    ready,
                    key=lambda n: rule(
                        weights[n],
                        offered[n] - fresh[n],
                        fixed[n] + rate[n] * (offered[n] - fresh[n]),
                        since[n],
                        period[n],
                    ),
                )
            for n, track in zip(order, [*free], strict=False) if shared else place(order, [*free]):
                data = min(offered[n] - fresh[n], chop * period[n])
                loading[n] = fresh[n] + data
                takes = (fixed[n] + rate[n] * data) * (jitter + draw())
                if now % cycle >= normal:
                    takes *= slowdown
                heappush(agenda, (now + takes, size + track))
                running[n], on[track] = True, n
                since[n] = now
                ready.discard(n)
                free.discard(track)
        for n in range(size):
            area += priority[n] * ((now - fresh[n]) ** 2 - (seen[n] - fresh[n]) ** 2) / 2
        return Outcome(area / now, events, now)

    def _benefit(
        self, table: int, until: float, readers: list[list[int]], priority: list[float], fresh: list[float]
    ) -> float:
        """The benefit of a refresh with the best of the tables downstream, all with data until a time."""

        def figures(n: int) -> tuple[float, float]:
            data = until - fresh[n]
            return priority[n] * data, self.tasks[n].takes(data)

        gain, takes = best(table, readers.__getitem__, figures) if readers[table] else figures(table)
        return gain / takes


def _upwards(sources: Sequence[Sequence[int]]) -> list[set[int]]:
    """Each table with those that it reads, directly or not."""
    found = [{n} for n in range(len(sources))]
    for _ in sources:
        for n, some in enumerate(sources):
            found[n].update(*(found[one] for one in some))
    return found
