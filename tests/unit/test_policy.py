"""How long things wait."""

from __future__ import annotations

import pytest

from headwater.engine.policy import ATTEMPTS, SETTLE, back_off, duration, freshness, gives_up, settle
from headwater.model.error import StatementError
from headwater.model.view import Definition


def having(**properties: str) -> Definition:
    return Definition("v", "q", (), properties={f"headwater.{key}": value for key, value in properties.items()})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10 minutes", 600_000),
        ("1 minute", 60_000),
        ("1.5 hours", 5_400_000),
        (" 2   Seconds ", 2_000),
        ("250 milliseconds", 250),
        ("1 day", 86_400_000),
        ("2 weeks", 1_209_600_000),
        ("3second", 3_000),
    ],
)
def test_durations(text, expected):
    assert duration(text) == expected


@pytest.mark.parametrize("text", ["", "10", "minutes", "0 seconds", "-1 hour", "1 fortnight", "1 minute 3", "٣ x"])
def test_what_is_no_duration_is_refused_with_an_example(text):
    with pytest.raises(StatementError, match="such as '10 minutes'"):
        duration(text)


def test_the_pause_doubles_up_to_five_minutes():
    assert [back_off(n) for n in (1, 2, 3, 6, 7, 1000)] == [5_000, 10_000, 20_000, 160_000, 300_000, 300_000]


def test_a_view_holds_its_readers_until_its_fifth_failure():
    assert [gives_up(n) for n in range(ATTEMPTS + 1)] == [False] * ATTEMPTS + [True]


def test_freshness_is_promised_or_not():
    assert freshness(having()) is None
    assert freshness(having(freshness="10 minutes")) == 600_000


def test_a_view_may_settle_for_a_time_of_its_own():
    assert settle(having()) == SETTLE
    assert settle(having(settle="5 seconds")) == 5_000


def test_a_malformed_duration_in_the_catalog_counts_as_not_stated():
    """It was refused where it is stated; the engine's loop must not stop for all views because of one."""
    assert freshness(having(freshness="soon")) is None and settle(having(settle="-1")) == SETTLE
