"""Rules of order and of tracks, by the examples of [Golab11]."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.papers.streams.chop import periods
from benchmarks.papers.streams.pick import earliest_deadline, max_benefit, oldest, prioritised
from benchmarks.papers.streams.priority import STEP, greatest, greatest_plus, own, summed
from benchmarks.papers.streams.task import Task, downstream
from benchmarks.papers.streams.tracks import Shared, partitioned, proportional, reserved

FOUR = [
    Task("J1", period=4, fixed=1, rate=0),
    Task("J2", period=4, fixed=1, rate=0),
    Task("J3", period=8, fixed=2, rate=0),
    Task("J4", period=10, fixed=1.25, rate=0),
]
"""Of §3.2.4."""


def test_max_benefit_takes_the_job_of_section_3_1_first():
    assert max_benefit(1, 10, 3, 0, 10) < max_benefit(1, 5, 2, 0, 5)


def test_each_rule_has_its_order():
    early, late = (1.0, 5.0, 1.0, 0.0, 50.0), (2.0, 5.0, 9.0, 10.0, 20.0)
    assert oldest(*early) < oldest(*late)
    assert earliest_deadline(*late) < earliest_deadline(*early)
    assert prioritised(*late) < prioritised(*early)
    assert prioritised(*(1.0, *late[1:])) < prioritised(*early), "among equals the deadline decides"


def test_partitions_of_the_papers_example():
    found = partitioned(FOUR, 2)
    assert found.homes == ((0,), (0,), (1,), (1,))
    assert found.others == ((), (), (), (0,)), "only J4 can be promoted"
    assert found.spare == ()
    assert partitioned(FOUR, 1) is None


def test_proportions_of_the_papers_example():
    found = proportional(FOUR, 2, spread=2)
    assert [set(each) for each in found.homes] == [{0, 1}, {0, 1}, {0}, {0}]
    assert found.homes[0] == (1, 0), "a track that is shared comes last"


def test_a_track_is_taken_from_others_only_if_they_do_not_need_it_or_if_it_is_aggressive():
    tasks = [Task("short", fixed=0), Task("long", period=10_000, fixed=0)]
    meek, bold = (proportional(tasks, 2, spread=1, aggressive=each) for each in (False, True))
    assert meek.homes == bold.homes == ((1,), (0,)) and meek.others == ((0,), ())
    assert meek.place([0], [0]) == [(0, 0)]
    assert meek.place([0, 1], [0]) == [(1, 0)]
    assert bold.place([0, 1], [0]) == [(0, 0)]


def test_long_tasks_leave_a_track_to_short_ones():
    tasks = [Task("short"), Task("long", period=10_000), Task("longer", period=1_000_000)]
    found = reserved(tasks, 4)
    assert found.homes == ((3, 2, 1, 0), (2, 1, 0), (1, 0))
    assert reserved(tasks, 1).homes == ((0,), (0,), (0,))
    assert found.place([2, 1, 0], [3]) == [(0, 3)]


@given(st.integers(1, 6), st.lists(st.sampled_from([10.0, 100.0, 5_000.0]), min_size=1, max_size=12), st.data())
def test_a_track_has_one_refresh_and_a_refresh_one_track(count, times, data):
    tasks = [Task(f"t{n}", period=each) for n, each in enumerate(times)]
    waiting = data.draw(st.permutations(range(len(tasks))))
    free = data.draw(st.lists(st.sampled_from(range(count)), unique=True))
    ways = (
        Shared(),
        reserved(tasks, count),
        partitioned(tasks, count),
        *(proportional(tasks, count, 2.0, whole, bold) for whole in (False, True) for bold in (False, True)),
    )
    for tracks in ways:
        found = [] if tracks is None else tracks.place(waiting, free)
        assert len({track for _, track in found}) == len({task for task, _ in found}) == len(found)
        assert {track for _, track in found} <= set(free)


def test_tables_inherit_the_priorities_of_those_that_read_them():
    tasks = [
        Task("base", 0.5),
        Task("left", 2, sources=("base",)),
        Task("right", 3, sources=("base",)),
        Task("foot", 10, sources=("left", "right")),
    ]
    assert own(tasks)["base"] == 0.5
    assert set(downstream(tasks)["base"]) == {"base", "left", "right", "foot"}
    assert summed(tasks) == {"base": 15.5, "left": 12, "right": 13, "foot": 10}
    assert set(greatest(tasks).values()) == {10}
    assert greatest_plus(tasks) == {"base": 10 * STEP**2, "left": 10 * STEP, "right": 10 * STEP, "foot": 10}


def test_only_tracks_that_can_catch_up_take_one_period_at_a_time():
    calm, busy = [Task("t")] * 20, [Task("t")] * 35
    assert sum(each.load for each in calm) == pytest.approx(2.2)
    assert periods(calm, 4) == 1 and periods(busy, 4) == float("inf")
