"""Warehouses that are made up."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from benchmarks.papers.workload import BEGIN, HOUR, Workload, generated
from headwater.model.event import Changed, Declared
from headwater.simulate.scenario import recorded
from headwater.store import codec

seeds = st.integers(0, 1_000)


@given(seeds, st.integers(1, 40), st.integers(1, 4))
@examples(20)
def test_a_generated_history_is_like_a_recorded_one(seed, views, levels):
    workload = Workload(views=views, levels=levels, hours=2)
    scenario = generated(workload, Random(seed))
    assert generated(workload, Random(seed)) == scenario
    assert recorded([codec.decode(codec.encode(event)) for event in scenario.events]).events == scenario.events
    definitions = [event.definition for event in scenario.events if isinstance(event, Declared)]
    assert len(definitions) == views == len({each.view for each in definitions})
    known = {source for each in definitions for source in each.sources if source.startswith("base.")}
    for each in definitions:
        assert known.issuperset(each.sources)
        known.add(each.view)
    assert all(BEGIN <= event.at < BEGIN + 2 * HOUR for event in scenario.events)


def test_changes_come_as_often_as_stated():
    workload = Workload(views=7, hours=500, appends=3, corrections=1, backfills=0.1, backfill_days=5)
    kinds = [event.verb for event in generated(workload, Random(1)).events if isinstance(event, Changed)]
    tables = 1
    for verb, rate in (("was appended to", 3), ("was corrected", 1), ("was backfilled", 0.5)):
        expected = rate * 500 * tables
        assert abs(kinds.count(verb) - expected) < 5 * (5 * expected) ** 0.5
