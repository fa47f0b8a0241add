"""A statement that says how fresh views are looks first, or says since when nobody has."""

from __future__ import annotations

import threading

from headwater.model.error import StoreError
from headwater.model.reason import Code, Reason
from headwater.runtime.wait import SharedLooks

PATIENCE = 20.0


class Clock:
    at = 100_000

    def now(self) -> int:
        return self.at


def test_it_looks_first_and_has_nothing_to_say():
    looked: list[int] = []
    looks = SharedLooks(lambda: looked.append(1), Clock())
    assert looks.first(PATIENCE) is looks.first(PATIENCE) is None
    assert len(looked) == 2, "a look that began before the question is none"


def test_a_look_that_takes_long_is_not_waited_for_and_said():
    going, clock = threading.Event(), Clock()
    looks = SharedLooks(lambda: going.wait(PATIENCE), clock)
    why = "the look at the sources is not over; they were not looked at since this application began"
    assert looks.first(0) == Reason(Code.LOOK_MISSED, why)
    going.set()
    assert looks.first(PATIENCE) is None
    going.clear()
    clock.at += 42_000
    assert str(looks.first(0)) == "the look at the sources is not over; the last look at them was 42 s ago"
    going.set()


def test_a_store_that_does_not_answer_is_named():
    clock, away = Clock(), [StoreError("the store s.db does not answer")]

    def look() -> None:
        if away:
            raise away[0]

    looks = SharedLooks(look, clock)
    assert str(looks.first(PATIENCE)).startswith("the store s.db does not answer; they were not looked")
    error = away.pop()
    assert looks.first(PATIENCE) is None
    clock.at += 5_000
    away.append(error)
    assert str(looks.first(PATIENCE)) == "the store s.db does not answer; the last look at them was 5 s ago"


def test_statements_that_ask_at_the_same_time_share_a_look():
    looked, going, began = [], threading.Event(), threading.Event()

    def look() -> None:
        looked.append(1)
        began.set()
        assert going.wait(PATIENCE)

    looks = SharedLooks(look, Clock())
    looks.first(0)
    assert began.wait(PATIENCE)
    for _ in range(5):
        looks.first(0)
    going.set()
    assert looks.first(PATIENCE) is None
    assert len(looked) <= 3
