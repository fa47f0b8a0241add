"""What run times are learned from those that ran."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from headwater.simulate.scenario import learned


def test_runs_on_a_line_give_the_line():
    found = learned([(1, 3.0), (2, 4.0), (10, 12.0)])
    assert (found.fixed, found.each) == (pytest.approx(2), pytest.approx(1))
    assert found.ratios == pytest.approx((1, 1, 1))
    assert found.draw(100, Random(1)) == 102_000
    assert found.expected(3, 13) == pytest.approx(19)


def test_runs_of_one_size_are_drawn_again():
    found = learned([(4, 1.0), (4, 2.0), (4, 5.0)])
    assert {found.draw(4, Random(seed)) for seed in range(40)} == {1000, 2000, 5000}


def test_a_fill_that_was_large_does_not_make_short_runs_long():
    found = learned([(100, 300.0)] + [(1, 4.0)] * 9)
    assert found.draw(1, Random(1)) == 4000 and found.draw(100, Random(1)) == 300_000


def test_more_partitions_never_take_less_time():
    found = learned([(1, 10.0), (50, 2.0)])
    assert found.each == 0
    assert learned([(10, 1.0), (11, 9.0)]).fixed == 0


def test_runs_too_fast_to_tell_take_some_time():
    assert learned([(1, 0.0)]).draw(1, Random(1)) == 1


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 1e4)), min_size=1, max_size=20), st.integers(0, 9))
@examples(100)
def test_whatever_ran_another_run_takes_some_time(runs, seed):
    found = learned(runs)
    assert found.fixed >= 0 and found.each >= 0 and found.fixed + found.each > 0
    assert found.draw(3, Random(seed)) >= 1
    assert all(ratio > 0 for ratio in found.ratios)
