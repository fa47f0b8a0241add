"""The suite itself: its names, and the turns of its long tests."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

from pytest_split.algorithms import Algorithms

ROOT = Path(__file__).parents[2]
SHORT = 1000
"""Seconds of all tests that are not long, at most."""


def test_all_tests_can_be_collected_together():
    """pytest refuses two modules of one name, and then runs none."""
    names = [each.name for each in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_each_turn_of_the_long_tests_fits_into_continuous_integration():
    durations = json.loads((ROOT / "tests/durations.json").read_text())
    script = (ROOT / ".ci/run").read_text()
    [turns], [limit] = (re.findall(rf"\b{name}=(\d+)", script) for name in ("turns", "limit"))
    items = [SimpleNamespace(nodeid=each) for each in durations]
    groups = Algorithms["duration_based_chunks"].value(int(turns), items, durations)
    assert sorted(item.nodeid for group in groups for item in group.selected) == sorted(durations)
    assert max(group.duration for group in groups) <= int(limit) - SHORT
