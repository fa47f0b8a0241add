"""What whole partitions take, by the runs of the past."""

from __future__ import annotations

import pytest
from cases import A1, A2, change, machine, view
from hypothesis import given
from hypothesis import strategies as st

from headwater.engine.methods.following import read_in_full
from headwater.engine.methods.whole_costs import learn_whole, maybe_quicker, whole_cost
from headwater.engine.requests.limits import SETTLE
from headwater.model.costs import RefreshCosts, Whole
from headwater.model.partition import Slice
from headwater.model.work import Mode

counts, times = st.integers(1, 1000), st.floats(0.1, 1e4)


def learned(*runs: tuple[Mode, int, float, bool]) -> RefreshCosts:
    costs = RefreshCosts()
    for mode, partitions, seconds, totals in runs:
        learn_whole(costs, mode, partitions, seconds, 2 * seconds, totals)
    return costs


def test_runs_by_partition_and_in_full_bound_what_others_take():
    """The example of the module."""
    costs = learned((Mode.FULL, 20, 8.0, False), (Mode.PARTITION, 2, 3.0, False))
    assert [whole_cost(costs, each, 20).seconds for each in (1, 2, 4, 10, 20)] == [3.0, 3.0, 6.0, 8.0, 8.0]
    assert whole_cost(costs, 40, 20).seconds == 8.0, "new ones may come out empty"
    assert whole_cost(costs, 40, 40).seconds == 16.0
    assert whole_cost(costs, 4, 20).cores == 12.0
    assert whole_cost(RefreshCosts(), 4, 4).seconds is None


@given(st.lists(st.tuples(st.sampled_from([Mode.FULL, Mode.PARTITION]), counts, times, st.booleans())), counts, counts)
def test_more_partitions_take_no_less(runs, one, other):
    costs, (few, many) = learned(*runs), sorted((one, other))
    assert not runs or whole_cost(costs, few, many).seconds <= whole_cost(costs, many, many).seconds * (1 + 1e-9)


def test_a_run_that_leaves_totals_tells_only_if_it_was_quicker():
    costs = learned((Mode.FULL, 1, 8.0, False), (Mode.FULL, 1, 10.0, True))
    assert whole_cost(costs, 1, 1).seconds == 8.0 and not costs.whole[Mode.FULL].lone
    learn_whole(costs, Mode.FULL, 1, 6.0, 12.0, True)
    assert whole_cost(costs, 1, 1).seconds == 7.0
    learn_whole(costs, Mode.FULL, 1, 9.0, 18.0, False)
    assert whole_cost(costs, 1, 1).seconds == 7.5, "quicker ones count more"


@pytest.mark.parametrize(("price", "again"), [(23.0, True), (11.0, True), (9.0, False)])
def test_the_only_run_may_have_been_slow(price, again):
    costs = learned((Mode.FULL, 1, 25.0, False))
    assert maybe_quicker(costs, price, 25.0) is again
    learn_whole(costs, Mode.FULL, 1, 25.0, 50.0, False)
    assert not maybe_quicker(costs, price, 25.0)


@given(st.floats(0.4, 0.99), st.floats(0.0, 100.0))
def test_whole_partitions_are_computed_again_when_that_is_paid(price, since):
    costs = RefreshCosts(whole={Mode.FULL: Whole(1, 1.0, since=since)})
    assert maybe_quicker(costs, price, 1.0) is (price > 0.4 and since >= 40 * (1 - price))


def test_partitions_count_for_the_runs_that_compute_whole_ones():
    """Runs by changes write few, which says nothing of what a refresh of whole partitions reads."""
    made = machine({"t": "a"}, view("v", "a", "t"))
    costs = made.state.views["v"].costs
    costs.reads = {"t": 5.0}
    assert costs.partitions == 2 and read_in_full(made.state.views["v"]) == 10.0
    for each in (A1, A2, Slice.of(a="3")):
        change(made, "t", each, 9)
    made.now += 2 * SETTLE
    made.drain()
    assert costs.partitions == 2.25 and set(costs.whole) == {Mode.FULL, Mode.PARTITION}
