"""Which refresh starts first: priorities, promises, statements, tracks, and the views downstream."""

from __future__ import annotations

import pytest
from attrs import evolve
from cases import change, machine, view, warehouse, written
from hypothesis import given
from hypothesis import strategies as st

from headwater.engine.decide.benefit import benefit, best
from headwater.engine.decide.readiness import Choice, ready, starts, wake_at
from headwater.engine.decide.urgency import MANY, PATIENCE, first, queue
from headwater.engine.record.transition import transition
from headwater.engine.requests.limits import AHEAD, LONGEST_BACK_OFF
from headwater.model.costs import Took
from headwater.model.event import Altered, Hurried, Requested
from headwater.model.index import Apart
from headwater.model.partition import WHOLE, Slice
from headwater.model.state import State


def ordered(state: State, now: int, planned: bool = False) -> list[str]:
    return [each.choice.ready.view for each in queue(state, choices(state, now), now, planned)]


def choices(state: State, now: int) -> list[Choice]:
    return [Choice(each) for each in ready(state, now)]


def test_a_second_of_work_goes_where_it_takes_most_off_the_weighted_staleness():
    state = warehouse({"report": (("t",), {"priority": "10"}, 2.0), "archive": (("u",), {}, 30.0)})
    state = written(written(state, "u", 0), "t", 55_000)
    assert ordered(state, 60_000) == ["report", "archive"], "10 * 5 s / 2 s, and 60 s / 30 s"
    state = warehouse({"report": (("t",), {"priority": "10"}, 60.0), "archive": (("u",), {}, 3.0)})
    state = written(written(state, "u", 0), "t", 55_000)
    assert ordered(state, 60_000) == ["archive", "report"]


def test_a_view_is_worth_what_it_lets_run():
    views = {
        "base": (("t",), {}, 1.0),
        "other": (("u",), {"priority": "5"}, 1.0),
        "report": (("base",), {"priority": "100"}, 1.0),
    }
    state = written(written(warehouse(views), "u"), "t")
    assert ordered(state, 10_000) == ["base", "other"]
    views["report"] = (("base",), {"priority": "100"}, 1000.0)
    state = written(written(warehouse(views), "u"), "t")
    assert ordered(state, 10_000) == ["other", "base"], "the report takes too long to be worth it"


def test_a_promise_that_can_still_be_kept_comes_first():
    views = {
        "promised": (("t",), {"freshness": "30 seconds"}, 10.0),
        "weighty": (("u",), {"priority": "1000", "settle": "1 second"}, 1.0),
    }
    state = written(written(warehouse(views), "t", 0), "u", 0)
    assert ordered(state, 20_000) == ["promised", "weighty"]
    assert ordered(state, 25_000) == ["weighty", "promised"], "the promise is broken, so nothing is won by haste"


def test_a_statement_comes_before_all_others():
    state = warehouse({"asked": (("t",), {}, 100.0), "weighty": (("u",), {"priority": "1000"}, 1.0)})
    state = written(written(state, "t"), "u")
    assert ordered(state, 5_000) == ["weighty", "asked"]
    state = transition(state, Hurried(5_000, state.highest, ("asked",)))
    assert ordered(state, 5_000) == ["asked", "weighty"]


def test_nothing_waits_for_ever():
    state = warehouse({"light": (("t",), {"priority": "0.001"}, 100.0), "weighty": (("u",), {"priority": "1000"}, 1.0)})
    state = written(state, "t", 0)
    state = written(state, "u", PATIENCE - 10_000)
    assert ordered(state, PATIENCE - 1) == ["weighty", "light"]
    assert ordered(state, PATIENCE) == ["light", "weighty"]


def test_a_plan_decides_among_views_of_one_priority():
    state = warehouse({each: ((each[0],), {"priority": each[1:]}, 1.0) for each in ("a1", "b1", "c5")})
    for table in "abc":
        state = written(state, table)
    found = choices(state, 5_000)
    told = [each.choice.ready.view for each in queue(state, list(reversed(found)), 5_000, planned=True)]
    assert told == ["c5", "b1", "a1"]


def test_a_long_refresh_leaves_the_last_track_to_short_ones_that_will_come():
    views = {"long": (("u",), {}, 100.0), "short": (("t",), {}, 1.0)}
    state = written(warehouse(views), "u", 0)
    assert first(state, choices(state, 5_000), 5_000, free=1, tracks=2) is not None, "nobody knows when t changes"
    for n in range(1, 4):
        state = written(state, "t", 10_000 * n)
        [run] = [each for each in choices(state, 10_000 * n + 2_000) if each.ready.view == "short"]
        assert first(state, [run], 10_000 * n + 2_000, free=1, tracks=2) is run, "a short one takes the last track"
    found = [each for each in choices(state, 32_000) if each.ready.view == "long"]
    assert first(state, found, 32_000, free=1, tracks=2) is None
    assert first(state, found, 32_000, free=2, tracks=2) is not None
    assert first(state, found, 32_000, free=1, tracks=1) is not None, "there is no other track"
    assert first(state, found, 200_000, free=1, tracks=2) is not None, "t has stopped to change"


def held(other: float) -> State:
    """A view that is held for its promise until 60 s, and another one whose refresh takes so many seconds."""
    views = {"promised": (("t",), {"freshness": "70 seconds"}, 10.0), "other": (("u",), {}, other)}
    return written(written(warehouse(views), "t", 0), "u", 0)


def test_what_would_end_after_a_promise_must_start_leaves_the_last_track():
    state = held(other=30.0)
    assert starts(state, "promised").at == wake_at(state, 2_000) == 60_000
    found = choices(state, 31_000)
    assert first(state, found, 29_000, free=1, tracks=2) is not None, "it ends in time"
    assert first(state, found, 31_000, free=1, tracks=2) is None
    assert first(state, found, 31_000, free=2, tracks=2) is not None, "a track is left for the promise"
    assert first(state, found, 31_000, free=1, tracks=1) is not None, "there is no other track, and nobody runs"


def test_a_promise_that_is_expected_counts_too():
    views = {"promised": (("t",), {"freshness": "20 seconds"}, 10.0), "other": (("u",), {}, 45.0)}
    state = warehouse(views)
    for n in range(1, 5):
        state = written(state, "t", 30_000 * n)
    state.views["promised"].pending.clear()
    state = written(state, "u", 121_000)
    found = choices(state, 122_000)
    assert first(state, found, 122_000, free=1, tracks=2) is None, "t changes at 150 s, and may be held for 10 s"
    state.views["other"].costs.took = Took(35.0, 0.0)
    assert first(state, found, 122_000, free=1, tracks=2) is not None


def test_a_backfill_waits_for_promises_on_a_single_track_and_has_none_of_its_own():
    views = {
        "promised": (("t",), {"freshness": "70 seconds"}, 10.0),
        "filled": (("u",), {"freshness": "40 seconds"}, 30.0),
    }
    state = written(warehouse(views), "t", 0)
    state = transition(state, Requested(0, state.highest + 1, "filled", (WHOLE,), "was asked for"))
    [claim] = queue(state, choices(state, 31_000), 31_000)
    assert claim.asked and claim.latest is None
    assert first(state, [claim.choice], 31_000, free=1, tracks=1) is None
    assert first(state, [claim.choice], 29_000, free=1, tracks=1) is not None
    state = written(state, "u", 1_000)
    [claim] = queue(state, choices(state, 12_000), 12_000)
    assert not claim.asked and claim.latest == 11_000, "a change came, too"


def test_a_piece_ends_before_a_promise_must_start():
    made = machine({"t": "a", "u": "a"}, view("v", "a", "t"), view("w", "a", "u"))
    days = [Slice.of(a=f"2024-01-{n:02}") for n in range(1, 11)]
    for each in days:
        change(made, "t", each, 3)
    change(made, "u", days[0], 3)
    state = transition(made.state, Altered(made.now, "w", {"headwater.freshness": "70 seconds"}))
    state.views["v"].costs.took, state.views["v"].costs.partitions = Took(5.0, 0.0), 1
    state.views["w"].costs.took = Took(10.0, 0.0)
    at = starts(state, "w").at
    for left, count in ((55_000, 10), (50_000, 10), (49_000, 9), (21_000, 4), (5_000, 1)):
        [found] = choices(state, at - left)
        piece = first(state, [found], at - left, free=1, tracks=1)
        assert piece.ready.slices == tuple(days[:count]), left
    assert first(state, [found], at - 4_000, free=1, tracks=2) is None, "not even one partition"


def test_many_partitions_run_in_pieces_in_the_order_of_time_while_others_wait():
    made = machine({"t": "a", "u": "a"}, view("v", "a", "t"), view("w", "a", "u"))
    days = [Slice.of(a=f"2024-01-{n:02}") for n in range(1, 11)]
    for each in reversed(days):
        change(made, "t", each, 3)
    made.now += 2_000
    known = made.state.views["v"]
    known.costs.took, known.costs.partitions = Took(30.0, 0.0), 1
    [alone] = choices(made.state, made.now)
    assert first(made.state, [alone], made.now, free=4, tracks=4) is alone, "nothing else waits"
    change(made, "u", days[0], 3)
    made.now += 2_000
    found = [each for each in choices(made.state, made.now) if each.ready.view == "v"]
    other = [each for each in choices(made.state, made.now) if each.ready.view == "w"]
    made.state.views["w"].costs.took = Took(1e6, 0.0)
    piece = first(made.state, [*found, *other], made.now, free=4, tracks=4)
    assert piece.ready.slices == tuple(days[:2]), "300 s of ten partitions, and a minute of two"
    assert set(piece.ready.needs) < set(found[0].ready.needs)
    split = Apart("a", "b", "t", 7)
    apart = [evolve(each, ready=evolve(each.ready, apart=split)) for each in found]
    piece = first(made.state, [*apart, *other], made.now, free=4, tracks=4)
    assert piece.ready.slices == tuple(days[:2]) and piece.ready.apart == split, "it says that it is apart"


def test_of_very_many_the_weightiest_are_compared():
    views = {f"v{n}": ((f"t{n}",), {"priority": "2" if n == MANY + 5 else "1"}, 1.0) for n in range(MANY + 10)}
    state = warehouse(views)
    for n in range(MANY + 10):
        state = written(state, f"t{n}", n)
    found = ordered(state, 5_000)
    assert found[0] == f"v{MANY + 5}" and len(found) == MANY


def test_a_long_chain_is_followed_to_its_end():
    views = {f"v{n}": ((f"v{n - 1}" if n else "t",), {}, 1.0) for n in range(1_500)}
    views["v1499"] = (("v1498",), {"priority": "9"}, 1.0)
    state = written(warehouse(views), "t")
    [found] = queue(state, choices(state, 10_000), 10_000)
    assert found.weight == 9 and found.benefit == pytest.approx((1499 + 9) * 10 / 1500)


@st.composite
def trees(draw) -> tuple[dict[int, list[int]], dict[int, float], dict[int, float]]:
    count = draw(st.integers(1, 7))
    readers: dict[int, list[int]] = {n: [] for n in range(count)}
    for n in range(1, count):
        readers[draw(st.integers(0, n - 1))].append(n)
    figures = st.integers(0, 50).map(float)
    return readers, {n: draw(figures) for n in range(count)}, {n: draw(figures) + 1 for n in range(count)}


@given(trees())
def test_the_best_set_downstream_is_the_best_of_all(given_):
    """The reference tries each set that holds, with each table, the one that it reads."""
    readers, gain, takes = given_
    source = {reader: n for n, some in readers.items() for reader in some}
    most = 0.0
    for bits in range(1 << len(readers)):
        chosen = {n for n in readers if bits >> n & 1}
        if 0 in chosen and all(n == 0 or source[n] in chosen for n in chosen):
            most = max(most, sum(gain[n] for n in chosen) / sum(takes[n] for n in chosen))
    assert benefit(0, readers, gain, takes) == pytest.approx(most)
    assert best(0, readers.__getitem__, lambda n: (gain[n], takes[n]))[1] >= takes[0]


def test_a_clock_that_goes_back_stops_no_refresh():
    """Changes seem to come later than now. Nothing is worth less than nothing then, and what could start still can."""
    views = {"promised": (("t",), {"freshness": "30 seconds"}, 10.0), "other": (("u",), {"priority": "10"}, 1.0)}
    state = written(written(warehouse(views), "t", 100_000), "u", 100_000)
    found = choices(state, 130_000)
    for back in (99_000, 1_000, 0):
        claims = queue(state, found, back)
        assert {each.choice.ready.view for each in claims} == {"promised", "other"}
        assert all(each.benefit >= 0 for each in claims)
        assert first(state, found, back, free=2, tracks=2) is not None
        assert first(state, found, back, free=1, tracks=1) is not None


@pytest.mark.parametrize("back", [7_200_000, AHEAD + 1])
def test_a_change_of_before_the_clock_went_back_waits_for_nothing(back):
    """A laptop wakes with a clock that is ahead, and a time server puts that right."""
    views = {"promised": (("t",), {"freshness": "1 day"}, 10.0), "other": (("u",), {}, 1.0)}
    state = written(written(warehouse(views), "t", 8_000_000), "u", 8_000_000)
    for slightly in (0, 5, AHEAD):
        assert [each.view for each in ready(state, 8_000_000 - slightly)] == [], "clocks of engines differ"
    assert [each.view for each in ready(state, 8_000_000 - back)] == ["promised", "other"]
    for pause in (LONGEST_BACK_OFF + AHEAD + 1, LONGEST_BACK_OFF + AHEAD):
        state.views["other"].retry_at = 8_000_000 - back + pause
        found = {each.view for each in ready(state, 8_000_000 - back)}
        assert ("other" in found) == (pause > LONGEST_BACK_OFF + AHEAD), "a failure of before the clock went back"
