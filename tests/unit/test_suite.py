"""The suite itself: its names, and the turns of its long tests."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

from pytest_split.algorithms import Algorithms
from support import Journal

from headwater.model.event import Hurried, Suspended
from headwater.store.dialect import default_store
from headwater.store.sql_store import SqlStore

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


def test_a_test_sees_no_event_of_the_tables_of_another_one(tmp_path: Path):
    default_store(tmp_path).parent.mkdir(parents=True)
    store = SqlStore(default_store(tmp_path))
    for last, view in enumerate(("d0000000a.v", "d0000000b.v", "lake.d0000000b.v", "maps12.v")):
        store.append(lambda _, view=view: Suspended(0, view), last)
    store.append(lambda version: Hurried(0, version), 4)
    store.close()
    found = Journal(tmp_path, "d0000000a")
    found._seq = 0
    assert [getattr(each, "view", "") for each in found.events()] == ["d0000000a.v", "maps12.v", ""]
