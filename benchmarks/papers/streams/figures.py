"""The experiments of [Golab11] §4: Figures 4 to 11.

The paper leaves open, and these settle:

- Spells: a normal spell lasts 1,000 s. Slow ones last as long as doubles the mean time of a refresh, as §4.1 asks.
- The first data of each stream come at a random time of its first period.
- A utilization is the load of all tasks in the mean weather, for each track. α and β grow alike to reach it.
- Figure 8 has nine chains of three tables, three for each priority. K of max-plus is 2.
- Figure 9 and 10 have as many tasks of each class. k of the clusters compares periods, as the example of §3.2.4 does.
- Figure 11 has fifteen chains of two tables.

The series *Headwater* has the benefit by which the engine orders refreshes (``engine.decide.benefit``). Its tracks and
pieces are for tasks with periods. Those of the engine (``engine.decide.urgency``) go by expected changes, and by
minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean
from time import process_time
from typing import Any

from attrs import evolve, frozen

from benchmarks.papers.streams.chop import periods
from benchmarks.papers.streams.pick import earliest_deadline, max_benefit, prioritised
from benchmarks.papers.streams.priority import greatest, greatest_plus, summed
from benchmarks.papers.streams.simulator import Algorithm, Outcome, Weather, ideal, simulated
from benchmarks.papers.streams.task import Task
from benchmarks.papers.streams.tracks import partitioned, proportional, reserved

Row = dict[str, Any]
TABLE_2 = Weather()
CALM = Weather(slowdown=1.0)
JOBS, TRACKS = 30, 4


@frozen
class Figure:
    """One of the paper's figures.

    Attributes:
        about: what its curves do, in the paper.
        tasks: at a load of 1 or so; they are scaled to each utilization.
        series: the algorithms; the paper's own.
        weathers: of each series; one for all of them if there is one.
        best: the series that the paper finds best.
    """

    name: str
    title: str
    about: str
    tasks: tuple[Task, ...]
    series: tuple[Algorithm, ...]
    best: str
    weathers: tuple[Weather, ...] = (TABLE_2,)
    tracks: int = TRACKS
    utilizations: tuple[float, ...] = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1)

    def weather(self, at: int) -> Weather:
        return self.weathers[at if len(self.weathers) > 1 else 0]


def scaled(tasks: Sequence[Task], tracks: int, weather: Weather, utilization: float) -> list[Task]:
    """The tasks with α and β such that they use so much of the tracks."""
    factor = utilization * tracks / (weather.mean * sum(each.load for each in tasks))
    return [evolve(each, fixed=each.fixed * factor, rate=each.rate * factor) for each in tasks]


def _chains(count: int, depth: int, priority: Callable[[int, int], float]) -> tuple[Task, ...]:
    """Chains of tables; a priority by the number of the chain and the level, which is 0 of the table that is read."""
    return tuple(
        Task(f"t{n}.{level}", priority(n, level), sources=(f"t{n}.{level - 1}",) if level else ())
        for n in range(count)
        for level in range(depth)
    )


def _alike(count: int = JOBS) -> tuple[Task, ...]:
    return tuple(Task(f"t{n}") for n in range(count))


HEADWATER = Algorithm("Headwater", max_benefit, reserved, chop=periods, path=True)
BY_BENEFIT = Algorithm("Max Benefit", max_benefit)
RANDOM = Algorithm("Random", None)
MIXED = tuple(Task(f"t{n}", *((100.0, 100.0) if n % 2 else (1.0, 10000.0))) for n in range(JOBS))
PARTITIONED = Algorithm("Partitioned", max_benefit, partitioned)
BASIC = Algorithm("Proportional", max_benefit, partial(proportional, spread=1.0, everything=False, aggressive=False))

FIGURES = (
    Figure(
        "4",
        "Slowdown",
        "The longer slow spells make refreshes, the sooner lateness grows with utilization.",
        _alike(),
        tuple(Algorithm(f"S = {each}", max_benefit) for each in (2, 3, 5, 10)),
        "S = 2",
        weathers=(
            Weather(slowdown=2.0, normal=0.0),
            *(Weather(slowdown=each, slow=1000 / (each - 2)) for each in (3.0, 5.0, 10.0)),
        ),
    ),
    Figure(
        "5",
        "Max Benefit and EDF-P",
        "EDF-P is better where lateness begins to grow, Max Benefit at higher utilization.",
        tuple(Task(f"t{n}", rate=0.1 if n % 2 else 0.01) for n in range(JOBS)),
        (BY_BENEFIT, Algorithm("EDF-P", prioritised)),
        "Max Benefit",
    ),
    Figure(
        "6",
        "Uniform jobs, no slowdown, five tracks",
        "All are alike up to nearly full utilization, but Partitioned, which is worse than Random.",
        _alike(),
        (BY_BENEFIT, RANDOM, PARTITIONED, BASIC),
        "Max Benefit",
        weathers=(CALM,),
        tracks=5,
        utilizations=(0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1),
    ),
    Figure(
        "7",
        "Priorities",
        "With priorities of 1 and 10, Max Benefit is far less late than EDF and Random.",
        tuple(Task(f"t{n}", 10.0 if n % 2 else 1.0) for n in range(JOBS)),
        (BY_BENEFIT, Algorithm("EDF", earliest_deadline), RANDOM),
        "Max Benefit",
    ),
    Figure(
        "8",
        "Hierarchies",
        "Without inherited priorities lateness is great. Max is best, and Sum worst of those that inherit.",
        _chains(9, 3, lambda n, level: (0.001, 1.0, (1.0, 10.0, 100.0)[n % 3])[level]),
        (
            Algorithm("none", max_benefit),
            Algorithm("Max", max_benefit, inherit=greatest),
            Algorithm("Sum", max_benefit, inherit=summed),
            Algorithm("Max-plus", max_benefit, inherit=greatest_plus),
        ),
        "Max",
    ),
    Figure(
        "9",
        "Heterogeneous jobs",
        "Max Benefit on all tracks is late. Partitioned is better at low utilization, Proportional is best overall.",
        MIXED,
        (BY_BENEFIT, PARTITIONED, BASIC),
        "Proportional",
    ),
    Figure(
        "10",
        "Variants of Proportional",
        "To give all tracks away helps at low utilization. Aggressive as well, it is good everywhere.",
        MIXED,
        (
            evolve(BASIC, name="basic"),
            Algorithm("all", max_benefit, partial(proportional, spread=1.0, everything=True, aggressive=False)),
            Algorithm("all, aggressive", max_benefit, partial(proportional, spread=1.0)),
        ),
        "all, aggressive",
    ),
    Figure(
        "11",
        "Chopping",
        "After slow spells, pieces of at most three periods keep lateness lower.",
        _chains(15, 2, lambda _, level: 10.0 if level else 1.0),
        (
            Algorithm("whole", max_benefit, inherit=greatest),
            Algorithm("chopped", max_benefit, inherit=greatest, chop=lambda tasks, count: 3.0),
        ),
        "chopped",
    ),
)


def lateness(figure: Figure, events: int, seeds: Sequence[int], told: Callable[[], None] = lambda: None) -> list[Row]:
    """The relative lateness of each series of a figure, and of Headwater's default, at each utilization: the mean
    weighted staleness beside that without contention.

    Args:
        events: played for each point and seed.
        told: called after each point.
    """
    found: list[Row] = []
    best: dict[tuple[int, float, int], Outcome] = {}
    for at, algorithm in enumerate((*figure.series, *((HEADWATER,) if len(figure.weathers) == 1 else ()))):
        weather = figure.weather(at)
        for utilization in figure.utilizations:
            tasks = scaled(figure.tasks, figure.tracks, weather, utilization)
            began = process_time()
            played = [simulated(tasks, algorithm, figure.tracks, weather, events, seed) for seed in seeds]
            seconds = process_time() - began
            for seed in seeds:
                key = (at if len(figure.weathers) > 1 else 0, utilization, seed)
                best[key] = best.get(key) or ideal(tasks, weather, events, seed)
            free = [best[at if len(figure.weathers) > 1 else 0, utilization, seed] for seed in seeds]
            told()
            found.append(
                {
                    "figure": figure.name,
                    "algorithm": algorithm.name,
                    "utilization": utilization,
                    "relative_lateness": [
                        None if each is None else each.staleness / beside.staleness
                        for each, beside in zip(played, free, strict=True)
                    ],
                    "events_a_second": round(sum(each.events for each in played if each is not None) / seconds),
                }
            )
    return found


def mean(row: Row) -> float | None:
    """The relative lateness of a point; ``None`` where the tasks do not fit the tracks."""
    values = [each for each in row["relative_lateness"] if each is not None]
    return fmean(values) if values else None
