"""Staleness as a distribution over time, by hand and against its definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from headwater.simulate.staleness import Meter, Staleness


def metered(end: int, *told: tuple[int, int | None, int | None]) -> Staleness:
    meter = Meter(end)
    for now, since, bound in told:
        meter.tell(now, since, bound)
    meter.stop(end)
    return meter.staleness


def test_a_case_worked_by_hand():
    """Fresh for 60 of 100; stale from 20 to 50 since 20, so 0 to 30; from 80 to 90 since 75, so 5 to 15."""
    found = metered(100, (0, None, 10), (20, 20, 10), (50, None, 10), (80, 75, 10), (90, None, 10))
    assert (found.span, found.fresh, found.most) == (100, 60, 30)
    assert found.mean == (30 * 15 + 10 * 10) / 100
    assert found.curve == ((0, 60), (5, 65), (15, 85), (30, 100))
    assert [found.quantile(each) for each in (0.5, 0.6, 0.65, 0.75, 0.85, 0.95, 1)] == [0, 0, 5, 10, 15, 25, 30]
    # Of the 30 the promise was kept for 10, of the 10 for 5.
    assert (found.promised, found.kept, found.within) == (100, 75, 0.75)


def test_a_view_that_was_never_stale_and_one_that_always_was():
    fresh = metered(10, (0, None, None))
    assert (fresh.quantile(0.95), fresh.most, fresh.within) == (0, 0, None)
    stale = metered(10, (0, -90, 95))
    assert (stale.quantile(0.5), stale.most, stale.within) == (95, 100, 0.5)
    assert Staleness.pooled((fresh, stale)).quantile(0.75) == 95


def test_nothing_counts_before_the_view_is_there_nor_after_the_end():
    meter = Meter(100)
    meter.tell(40, None, None)
    meter.tell(90, 90, None)
    meter.stop(200)
    meter.tell(210, 90, None)
    meter.stop(220)
    assert meter.staleness == Staleness(50, ((0, 10),))


def test_a_promise_that_changes_counts_from_then_on():
    found = metered(30, (0, 0, None), (10, 0, 15), (20, 0, 50))
    assert (found.promised, found.kept) == (20, 15) and found.rises == ((0, 10), (10, 20), (20, 30))


@given(st.lists(st.tuples(st.integers(0, 60), st.none() | st.integers(0, 60)), min_size=1), st.integers(1, 60))
@examples(100)
def test_quantiles_are_those_of_every_millisecond(told, bound):
    told = sorted(told, key=lambda each: each[0])
    told = [(at, None if ago is None else at - ago, bound) for at, ago in told]
    found = metered(100, *told)
    # The staleness in the middle of each millisecond.
    seen = []
    for n in range(100):
        since = [(at, since) for at, since, _ in told if at <= n]
        if since:
            seen.append(0 if since[-1][1] is None else n + 0.5 - since[-1][1])
    assert found.span == len(seen)
    assert found.mean == pytest.approx(sum(seen) / len(seen))
    assert found.kept == sum(each <= bound for each in seen)
    for n, expected in enumerate(sorted(seen)):
        middle = found.quantile((n + 0.5) / len(seen))
        assert abs(middle - expected) <= 0.5


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_no_time_has_no_staleness(share):
    assert Staleness().quantile(share) == 0 and Staleness().mean == 0
