"""The settings of an application: how many refreshes run side by side where nobody says."""

from __future__ import annotations

import os

import pytest

from headwater.model.error import StatementError
from headwater.spark.settings import Settings


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
