"""Least staleness within a budget: against a grid of all holding times, and against Poisson arrivals."""

from __future__ import annotations

from itertools import product
from math import inf
from random import Random

import pytest

from headwater.engine.waits.budget import DAY, Allocation, Feed, allocate


def added(feed: Feed, hold: float) -> float:
    """The mean staleness that holding adds (s)."""
    return inf if hold == inf else hold**2 / 2 / (feed.gap + hold)


def staleness(feeds: dict[str, Feed], found: Allocation) -> float:
    """The weighted mean (s)."""
    total = sum(feed.weight for feed in feeds.values())
    return sum(feed.weight * added(feed, found.holds[name]) for name, feed in feeds.items()) / total


def test_one_wave_is_held_until_it_costs_what_may_be_spent():
    """A change every minute, 30 core-seconds a round: 100 rounds a day are one every 864 s, 804 s after a change."""
    found = allocate({"v": Feed(60, 30)}, budget=3_000)
    assert found.holds["v"] == pytest.approx(804)
    assert found.spends == pytest.approx(3_000)


def test_nothing_waits_while_the_budget_does_not_bind():
    found = allocate({"v": Feed(60, 30), "w": Feed(3_600, 600)}, budget=DAY)
    assert found.holds == {"v": 0, "w": 0}
    assert found.spends == pytest.approx(DAY * (30 / 60 + 600 / 3_600)) and not found.over


def test_what_costs_nothing_does_not_wait():
    assert allocate({"v": Feed(60, 30), "free": Feed(60, 0)}, budget=3_000).holds["free"] == 0


def test_what_matters_more_waits_less():
    feeds = {"v": Feed(60, 30), "w": Feed(60, 30, weight=4)}
    found = allocate(feeds, budget=6_000)
    assert found.holds["w"] < 804 < found.holds["v"]


def test_the_expensive_waits_longer():
    found = allocate({"cheap": Feed(60, 10), "dear": Feed(60, 90)}, budget=6_000)
    assert found.holds["cheap"] < found.holds["dear"]


def test_a_smaller_budget_makes_changes_wait_longer_without_limit():
    holds = [allocate({"v": Feed(60, 30)}, budget).holds["v"] for budget in (3_000, 300, 3, 0.003)]
    assert holds == pytest.approx([804, 8_580, 863_940, 863_999_940])


def test_a_promise_is_kept_and_others_pay_for_it():
    """Held for at most 540 s, v costs 4,320 a day of 5,000; what w may spend is the rest."""
    found = allocate({"v": Feed(60, 30, longest=540), "w": Feed(60, 30)}, budget=5_000)
    assert found.holds["v"] == 540
    assert found.spends == pytest.approx(5_000)
    assert found.holds["w"] == pytest.approx(DAY * 30 / 680 - 60)


def test_promises_that_cost_more_than_the_budget_win_and_are_reported():
    found = allocate({"v": Feed(60, 30, longest=540), "w": Feed(60, 30)}, budget=4_000)
    assert found == Allocation({"v": 540, "w": inf}, DAY * 30 / 600, over=True)


def test_promises_that_cost_nearly_the_budget_leave_others_nearly_nothing():
    found = allocate({"v": Feed(60, 30, longest=540), "w": Feed(60, 30)}, budget=4_321)
    assert not found.over and found.holds["w"] == pytest.approx(DAY * 30 / 1 - 60, rel=1e-3)


@pytest.mark.parametrize("budget", [0, -1, float("nan")])
def test_a_budget_is_a_positive_number(budget: float):
    with pytest.raises(ValueError, match="core-seconds a day"):
        allocate({}, budget)


@pytest.mark.parametrize("wrong", [{"gap": 0}, {"gap": -1}, {"cost": -1}, {"weight": 0}, {"longest": -1}])
def test_a_wave_is_made_of_sensible_numbers(wrong: dict[str, float]):
    with pytest.raises(ValueError):
        Feed(**{"gap": 1, "cost": 1, **wrong})


def test_nothing_to_allocate():
    assert allocate({}, 1) == Allocation({}, 0)


@pytest.mark.parametrize("seed", range(20))
def test_no_other_holding_times_on_a_grid_are_better(seed: int):
    random = Random(seed)
    feeds = {
        name: Feed(
            random.uniform(10, 2_000),
            random.uniform(1, 500),
            random.choice((1, 1, 5)),
            random.choice((inf, random.uniform(10, 3_000))),
        )
        for name in "abc"[: random.randint(1, 3)]
    }
    budget = random.uniform(0.1, 1.2) * sum(feed.spends(0) for feed in feeds.values())
    found = allocate(feeds, budget)
    grid = [[min(feed.longest, 20 * 1.17**step - 20) for step in range(40)] for feed in feeds.values()]
    others = (Allocation(dict(zip(feeds, holds, strict=True)), 0) for holds in product(*grid))
    affordable = [
        staleness(feeds, each)
        for each in others
        if sum(feed.spends(each.holds[name]) for name, feed in feeds.items()) <= budget
    ]
    if found.over:
        assert affordable == []
    else:
        assert found.spends <= budget
        assert all(staleness(feeds, found) <= other * (1 + 1e-9) + 1e-9 for other in affordable)


@pytest.mark.parametrize(("gap", "hold"), [(60, 0), (60, 30), (60, 600), (600, 60)])
def test_cost_and_staleness_are_those_of_random_changes(gap: float, hold: float):
    """Changes one by one: those within the hold of a round's first are taken along."""
    random, now, rounds, stale, first = Random(gap + hold), 0.0, 0, 0.0, None
    for _ in range(150_000):
        now += random.expovariate(1 / gap)
        if first is not None and now > first + hold:
            rounds, stale, first = rounds + 1, stale + hold**2 / 2, None
        if first is None:
            first = now
    feed = Feed(gap, 5)
    assert DAY * 5 * rounds / now == pytest.approx(feed.spends(hold), rel=0.03)
    assert stale / now == pytest.approx(added(feed, hold), rel=0.03)
