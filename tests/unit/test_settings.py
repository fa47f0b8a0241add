"""The settings of an application: how many refreshes run side by side where nobody says."""

from __future__ import annotations

import os

import pytest

from headwater.model.error import StatementError
from headwater.spark.jvm.settings import Settings


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
        ("budget", "much", "a positive number"),
        ("memory", "some", "a number of bytes"),
        ("memory.bandwidth", "some", "a number of bytes a second"),
        ("history", "ever", "'ever' is not a duration"),
        ("check.interval", "often", "is not a duration"),
    ],
)
def test_a_value_that_a_setting_does_not_know_is_refused(name: str, value: str, words: str) -> None:
    with pytest.raises(StatementError, match=words) as refused:
        Settings.of({f"spark.headwater.{name}": value})
    assert f"spark.headwater.{name}" in str(refused.value)


def test_words_of_a_setting_have_no_case() -> None:
    assert Settings.of({"spark.headwater.wait": " TRUE", "spark.headwater.role": "Report"}).role == "report"
