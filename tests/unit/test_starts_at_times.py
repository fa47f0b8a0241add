"""Views that start at certain times only: ``headwater.schedule`` and ``headwater.gap``."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from attrs import evolve
from cases import A1, A2, change, end, machine, start, view, warehouse, written

from headwater.engine.decide.readiness import ready, starts, wake_at
from headwater.engine.tell.load import load
from headwater.engine.tell.why_it_waits import why_it_waits
from headwater.engine.waits.freshness import slack
from headwater.model.error import StatementError
from headwater.model.event import Hurried, Started
from headwater.model.reason import Code
from headwater.model.timetable import timetable
from headwater.model.view import ZONE

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
BERLIN = ZoneInfo("Europe/Berlin")


def at(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: float = 0) -> int:
    """A moment of Berlin (ms)."""
    whole = datetime(year, month, day, hour, minute, tzinfo=BERLIN).timestamp()
    return round(1000 * (whole + second))


def build(schedule: str = "", gap: str = "", **properties: str):
    """``v`` reads ``s`` and has times, and ``d`` reads both."""
    asked = {key: value for key, value in (("schedule", schedule), ("gap", gap)) if value}
    v = evolve(view("v", "a", "s", format="delta", **asked, **properties), settings=((ZONE, "Europe/Berlin"),))
    return machine({"s": "a"}, v, view("d", "a", "v", "s", format="delta"), lakes=["s"])


def began(made, name: str) -> list[int]:
    return [each.at for each in made.journal if isinstance(each, Started) and each.view == name]


def pass_time(made, until: int) -> None:
    """Lets time pass, and refreshes run when they may."""
    while (wake := wake_at(made.state, made.now)) is not None and wake <= until:
        made.now = wake
        while ready(made.state, made.now) and made.start(0):
            end(made, next(iter(made.flights)))
    made.now = until


def test_a_view_is_refreshed_at_its_time_for_all_changes_until_then():
    made = build("06:00")
    made.now = at(2026, 3, 2, 7)
    before = len(began(made, "v"))
    for hour in (7, 12, 23):
        made.now = at(2026, 3, 2, hour)
        change(made, "s", A1 if hour < 20 else A2, hour)
        pass_time(made, made.now + HOUR // 2)
    assert len(began(made, "v")) == before
    pass_time(made, at(2026, 3, 3, 12))
    assert began(made, "v")[before:] == [at(2026, 3, 3, 6)]
    pass_time(made, at(2026, 3, 9))
    assert len(began(made, "v")) == before + 1, "nothing changed since"
    assert not made.state.origins


def test_a_change_at_the_very_time_is_of_it():
    made = build("06:00")
    made.now = at(2026, 3, 3, 6)
    change(made, "s", A1, 5)
    pass_time(made, made.now + MINUTE)
    assert began(made, "v")[-1] == at(2026, 3, 3, 6, 0, 1), "it settles first"


@pytest.mark.parametrize(
    ("text", "changes", "runs"),
    [
        ("30 2 * * *", at(2026, 3, 28, 12), at(2026, 3, 29, 3, 30)),  # the night that has no half past two
        ("30 2 * * *", at(2026, 10, 24, 12), at(2026, 10, 25, 2, 30)),  # the one that has it twice
        ("0 6 * * MON", at(2026, 3, 26), at(2026, 3, 30, 6)),
        ("0 6 1 1 * UTC", at(2026, 3, 26), at(2027, 1, 1, 7)),
    ],
)
def test_times_are_those_of_the_clocks_of_a_zone(text, changes, runs):
    made = build(text)
    made.now = changes
    change(made, "s", A1, 5)
    pass_time(made, runs + HOUR)
    assert abs(began(made, "v")[-1] - runs) <= HOUR // 2


def test_a_statement_that_waits_does_not_wait_for_the_time():
    made = build("06:00", gap="2 hours")
    made.now = at(2026, 3, 2, 7)
    change(made, "s", A1, 5)
    assert not start(made, "v")
    made.record(lambda version: Hurried(made.now, version, ("v",)))
    assert start(made, "v")


def test_a_view_above_follows_with_it():
    """A change that reaches ``d`` by ``v``, too, waits for ``v``. So ``d`` runs once, for all."""
    made = build("06:00")
    made.now = at(2026, 3, 2, 7)
    before = len(began(made, "d"))
    change(made, "s", A1, 5)
    pass_time(made, at(2026, 3, 3, 5))
    assert len(began(made, "d")) == before
    pass_time(made, at(2026, 3, 3, 7))
    assert len(began(made, "d")) == before + 1 and not made.state.origins


@pytest.mark.parametrize("own", [{"schedule": "06:00"}, {"gap": "2 hours"}])
def test_no_view_waits_long_for_a_source_that_starts_much_later(own):
    """``w`` in files shows a change of ``s`` that ``v`` takes hours later. ``d`` has a change of ``t`` to follow."""
    sources = view("v", "a", "s", format="parquet", **own), view("w", "a", "s", "t", format="parquet")
    d = view("d", "a", "v", "w", format="delta", consistency="strict")
    made = machine({"s": "a", "t": "a"}, *sources, d, lakes=["s", "t"])
    made.now = at(2026, 3, 2, 8)
    change(made, "s", A1, 4)
    pass_time(made, at(2026, 3, 3, 7) + 10_000)
    change(made, "s", A1, 4)
    pass_time(made, made.now + 10_000)
    change(made, "s", A1, 5)
    pass_time(made, made.now + 10_000)
    before = len(began(made, "d"))
    change(made, "t", A2, 6)
    changed = made.now
    pass_time(made, changed + HOUR)
    assert [each - changed for each in began(made, "d")[before:]] == [MINUTE]
    why = [each for each in made.journal if isinstance(each, Started) and each.view == "d"][-1].let_go
    assert why is not None and why.code is Code.CUT_LET_GO


def test_a_gap_lies_between_two_refreshes():
    made = build(gap="15 minutes")
    first = made.now = at(2026, 3, 2, 7)
    before = len(began(made, "v"))
    for number in range(60):  # a change each minute
        made.now = first + number * MINUTE
        change(made, "s", A1, number + 2)
        pass_time(made, made.now + MINUTE - 1)
    runs = began(made, "v")[before:]
    assert runs[0] == first + 1000, "the first one is followed at once"
    assert [(after - one) / MINUTE for one, after in zip(runs, runs[1:], strict=False)] == [15, 15, 15]


def test_a_gap_counts_from_the_change_where_the_clock_was_set_back():
    made = build(gap="15 minutes")
    made.now = at(2026, 3, 2, 7)
    change(made, "s", A1, 5)
    pass_time(made, made.now + MINUTE)
    made.now -= 5 * HOUR
    change(made, "s", A1, 6)
    found = starts(made.state, "v")
    assert found is not None and found.at == made.now + 15 * MINUTE


def test_with_both_the_gap_goes_by_first():
    made = build("*/10 * * * *", gap="15 minutes")
    made.now = at(2026, 3, 2, 7, 1)
    change(made, "s", A1, 5)
    pass_time(made, at(2026, 3, 2, 7, 11))
    change(made, "s", A1, 6)
    pass_time(made, at(2026, 3, 2, 8))
    assert began(made, "v")[-2:] == [at(2026, 3, 2, 7, 10), at(2026, 3, 2, 7, 30)]


def test_a_wait_for_a_time_is_told():
    made = build("0 6 * * MON")
    made.now = at(2026, 3, 7, 6)
    change(made, "s", A1, 5)
    said = why_it_waits(made.state, "v", made.now)
    assert said is not None and said.code is Code.WAIT_SCHEDULE
    assert said.text == "headwater.schedule is '0 6 * * MON' in Europe/Berlin; starts in 172800.0 s"
    made = build(gap="15 minutes")
    made.now = at(2026, 3, 2, 7)
    change(made, "s", A1, 5)
    pass_time(made, made.now + MINUTE)
    change(made, "s", A1, 6)
    said = why_it_waits(made.state, "v", made.now)
    assert said is not None and said.code is Code.WAIT_GAP
    assert said.text == "headwater.gap is 900 s from start to start; starts in 841.0 s"


def test_what_can_be_promised_counts_the_times():
    d = ("v",), {"freshness": "10 minutes"}, 5.0
    for asked, seconds in (({"schedule": "0 * * * * UTC"}, 3610), ({"gap": "15 minutes"}, 910), ({}, 600)):
        state = written(warehouse({"v": (("s",), asked, 5.0), "d": d}), "s", DAY)
        assert load(state, 4).attainable["d"] == seconds


def test_a_change_is_not_held_for_a_promise_where_it_would_miss_a_time():
    d = ("v",), {"freshness": "2 days"}, 5.0
    state = warehouse({"u": (("s",), {}, 5.0), "v": (("u",), {"schedule": "06:00 UTC"}, 5.0), "d": d})
    found = slack(state, "u")
    assert found is not None and found.millis <= 0
    state = warehouse({"v": (("s",), {"gap": "1 hour"}, 5.0), "d": d})
    found = slack(state, "v")
    assert found is not None and 2 * DAY - 2 * HOUR < found.millis <= 2 * DAY - HOUR


def test_the_last_start_survives_a_restart():
    made = build(gap="15 minutes")
    made.now = at(2026, 3, 2, 7)
    change(made, "s", A1, 5)
    pass_time(made, made.now + MINUTE)
    known = made.state.views["v"].began
    assert known is not None and known[1] == at(2026, 3, 2, 7, 0, 1)
    made.crash()
    assert made.state.views["v"].began == known


def test_a_time_that_never_comes_is_refused():
    with pytest.raises(StatementError, match="is not a time"):
        timetable("0 0 31 2 *")


def test_the_longest_time_between_two_is_that_of_the_next_year():
    assert timetable("0 6 * * MON").longest(at(2026, 3, 2), "UTC") == 7 * DAY
    assert timetable("06:00").longest(at(2026, 3, 2), "Europe/Berlin") == 25 * HOUR
    assert timetable("0 0 29 2 *").longest(at(2026, 3, 2), "UTC") >= 4 * 365 * DAY
