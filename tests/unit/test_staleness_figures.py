"""The simulator of [Golab11], and the orderings that its figures show."""

from __future__ import annotations

import pytest

from benchmarks.papers.streams.figures import FIGURES, HEADWATER, lateness, mean, scaled
from benchmarks.papers.streams.pick import max_benefit, oldest
from benchmarks.papers.streams.report import chosen, draw, points, report
from benchmarks.papers.streams.simulator import Algorithm, Weather, ideal, simulated
from benchmarks.papers.streams.task import Task

pytestmark = pytest.mark.thorough

STEADY = Weather(jitter=1.0, slowdown=1.0)
"""Nearly: a refresh lasts between once and twice its time."""
EVENTS = 12_000


def of(figure: str, *utilizations: float) -> dict[str, float]:
    """The lateness of each algorithm of a figure, in the mean of some utilizations."""
    [found] = chosen([figure])
    rows = lateness(found, EVENTS, (1, 2))
    names = dict.fromkeys(row["algorithm"] for row in rows)
    told = {
        name: [mean(row) for row in rows if row["algorithm"] == name and row["utilization"] in utilizations]
        for name in names
    }
    return {name: sum(values) / len(values) for name, values in told.items() if None not in values}


def test_a_table_alone_is_as_stale_as_its_period_says():
    """It falls to the time of a refresh, and grows by a period."""
    task = Task("t", period=100, fixed=10, rate=0)
    found = simulated([task], Algorithm("any", max_benefit), 1, Weather(jitter=0.5, slowdown=1.0), 20_000)
    assert found.staleness == pytest.approx(100 / 2 + 10, rel=0.01)


def test_a_chain_adds_the_times_of_its_refreshes():
    tasks = [Task("a", 0.0, 100, 10, 0), Task("b", 1.0, 100, 10, 0, ("a",))]
    found = simulated(tasks, Algorithm("any", max_benefit), 2, Weather(jitter=0.5, slowdown=1.0), 20_000)
    assert found.staleness == pytest.approx(100 / 2 + 20, rel=0.02)


def test_without_contention_all_rules_are_alike():
    tasks = scaled(FIGURES[3].tasks, 30, STEADY, 0.1)
    told = [simulated(tasks, Algorithm("", rule), 30, STEADY, 5_000).staleness for rule in (max_benefit, oldest)]
    assert told[0] == told[1] == ideal(tasks, STEADY, 5_000).staleness


def test_the_same_seed_gives_the_same():
    tasks = scaled(FIGURES[0].tasks, 4, Weather(), 0.9)
    one, two, other = (simulated(tasks, HEADWATER, 4, Weather(), 5_000, seed) for seed in (1, 1, 2))
    assert one == two != other


def test_figure_4_the_slowdown_decides_when_lateness_begins():
    [found] = chosen(["4"])
    rows = {(row["algorithm"], row["utilization"]): mean(row) for row in lateness(found, EVENTS, (1, 2))}
    for gentle, harsh in (("S = 2", "S = 3"), ("S = 3", "S = 5")):
        assert rows[gentle, 0.5] < rows[harsh, 0.5]


def test_figure_5_max_benefit_is_better_at_high_utilization():
    told = of("5", 0.9, 1.0, 1.1)
    assert told["Max Benefit"] < told["EDF-P"]


def test_figure_6_uniform_jobs_need_no_partitions():
    told = of("6", 0.7, 0.8)
    assert told["Proportional"] == pytest.approx(told["Max Benefit"], rel=0.01)
    assert told["Random"] == pytest.approx(told["Max Benefit"], rel=0.05)
    [found] = chosen(["6"])
    fits = {
        row["utilization"]: mean(row) is not None
        for row in lateness(found, 500, (1,))
        if row["algorithm"] == "Partitioned"
    }
    assert fits[0.5] and not fits[1.0], "it wastes what it does not promote"


def test_figure_7_priorities_count():
    told = of("7", 0.8, 0.9, 1.0)
    assert 1.3 * told["Max Benefit"] < min(told["EDF"], told["Random"])


def test_figure_8_sources_inherit_and_max_is_best():
    told = of("8", 0.9, 1.0, 1.1)
    assert 1.5 * told["Max"] < told["none"]
    assert told["Max"] < told["Sum"]


def test_figure_9_short_refreshes_need_tracks_of_their_own():
    told = of("9", 0.8, 0.9)
    assert told["Proportional"] < told["Max Benefit"]


def test_figure_10_aggressive_is_good_where_the_others_are_not():
    told = of("10", 1.0, 1.1)
    assert told["all, aggressive"] < min(told["basic"], told["all"])


def test_figure_11_pieces_keep_lateness_lower():
    told = of("11", 1.0, 1.1)
    assert told["chopped"] < told["whole"]
    assert told["Headwater"] < told["chopped"]


@pytest.mark.parametrize(
    ("figure", "staleness"),
    [("5", 4430.600328743093), ("8", 38227.239526718), ("9", 222270.04023810147), ("11", 33241.82385268134)],
)
def test_a_benefit_that_is_kept_is_the_one_that_would_be_found(figure: str, staleness: float) -> None:
    """The figures are of a simulator that found each benefit anew at each event."""
    [found] = chosen([figure])
    tasks, weather = scaled(found.tasks, found.tracks, found.weather(0), 1.1), found.weather(0)
    assert simulated(tasks, HEADWATER, found.tracks, weather, 5_000).staleness == pytest.approx(staleness, rel=1e-9)


def test_the_report_has_all_points_goals_and_a_picture(tmp_path):
    figures, count = chosen(["8", "9"]), []
    found = report(figures, 300, 1, lambda: count.append(1))
    assert len(found["rows"]) == len(count) == points(figures)
    assert {each["goal"].split(",")[0] for each in found["goals"]} == {"Figure 8", "Figure 9", "The simulator"}
    draw(figures, found["rows"], tmp_path / "figures.png")
    assert (tmp_path / "figures.png").stat().st_size > 10_000
