"""The settings of an application: how many refreshes run side by side where nobody says."""

from __future__ import annotations

import os

import pytest

from headwater.model.error import StatementError
from headwater.spark.jvm.settings import Settings, check_settings


@pytest.mark.parametrize(
    ("master", "tracks"),
    [
        ("local[1]", 2),
        ("local", 2),
        ("local[2]", 2),
        ("local[3,2]", 3),
        ("local[16]", 4),
        ("local[*]", min(4, max(2, os.cpu_count() or 1))),
        ("local-cluster[4,1,1024]", 4),
        ("yarn", 4),
        ("spark://here:7077", 4),
        ("", 4),
    ],
)
def test_a_local_master_has_no_more_tracks_than_threads(master: str, tracks: int) -> None:
    assert Settings.of({"spark.master": master}).tracks == tracks
    assert Settings.of({"spark.master": master, "spark.headwater.tracks": "7"}).tracks == 7


def test_writes_join_a_look_for_as_long_as_somebody_says() -> None:
    assert Settings.of({}).join == 0.5
    assert Settings.of({"spark.headwater.join": "50 milliseconds"}).join == 0.05
    with pytest.raises(StatementError, match=r"spark\.headwater\.join: "):
        Settings.of({"spark.headwater.join": "soon"})


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("wait", "maybe", "is 'maybe'; it is one of true, false"),
        ("wait", "1", "is '1'; it is one of true, false"),
        ("wait.timeout", "soon", "'soon' is not a duration"),
        ("role", "refresh", "it is one of auto, report, off"),
        ("tracks", "many", "a whole number"),
        ("tracks", "0", "a whole number from 1 to 10000"),
        ("tracks", "10001", "a whole number from 1 to 10000"),
        ("tracks", "9" * 5000, "a whole number"),
        ("tracks", "\u00b2", "a whole number"),
        ("budget", "much", "a positive number"),
        ("budget", "9" * 400, "a positive number"),
        ("memory", "some", "a number of bytes"),
        ("memory", "9" * 400, "a number of bytes"),
        ("memory.bandwidth", "9" * 400, "a number of bytes a second"),
        ("check.interval", "\u00b2", "is not a duration"),
        ("wait.timeout", "999999999999 days", "is longer than a thousand years"),
        ("memory.bandwidth", "some", "a number of bytes a second"),
        ("history", "ever", "'ever' is not a duration"),
        ("check.interval", "often", "is not a duration"),
    ],
)
def test_a_value_that_a_setting_does_not_know_is_refused(name: str, value: str, words: str) -> None:
    with pytest.raises(StatementError, match=words) as refused:
        Settings.of({f"spark.headwater.{name}": value})
    assert f"spark.headwater.{name}" in str(refused.value)


def test_a_thread_sleeps_a_year_at_most() -> None:
    found = Settings.of({"spark.headwater.check.interval": "500 weeks", "spark.headwater.history": "500 weeks"})
    assert found.check == 366 * 86_400 and found.history == 500 * 604_800_000


def test_the_mark_of_own_sessions_is_not_offered() -> None:
    assert not check_settings({"spark.headwater.internal": "true"})
    [told] = check_settings({"spark.headwater.interval": "10"})
    assert told == "there is no setting 'spark.headwater.interval'; did you mean 'spark.headwater.check.interval'?"
    [told] = check_settings({"spark.headwater.zzzzzz": "10"})
    assert "spark.headwater.tracks" in told and "internal" not in told


def test_words_of_a_setting_have_no_case() -> None:
    assert Settings.of({"spark.headwater.wait": " TRUE", "spark.headwater.role": "Report"}).role == "report"
