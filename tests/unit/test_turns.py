"""Long tests take turns: all of them in as many days as there are turns."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import turns

ROOT = Path(__file__).parents[2]
TESTS = """
import pytest
pytestmark = pytest.mark.long
def test_first(): pass
def test_second(): pass
def test_third(): pass
def test_fourth(): pass
"""


def collected(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-o", "addopts=", "-q", "-p", "no:cacheprovider", "-m", "long", *options]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def long() -> list[str]:
    """All long tests that there are."""
    return [line for line in collected(ROOT, "--collect-only").stdout.splitlines() if "::" in line]


def test_days_in_a_row_run_every_long_test(long) -> None:
    found = turns.turns(long)
    assert len(long) > 50
    for first in range(739_000, 739_010):
        ran = [test for day in range(first, first + turns.TURNS) for test in found[day % turns.TURNS]]
        assert sorted(ran) == sorted(long)


def test_each_turn_fits_twice_beside_the_other_tests(long) -> None:
    for turn in turns.turns(long):
        assert turns.seconds(turn) <= (turns.LIMIT - turns.SHORT) / 2


def test_each_long_test_has_an_expected_time(long) -> None:
    assert {test.partition("::")[0] for test in long} == turns.SECONDS.keys()


def test_tests_that_do_not_fit_are_named(tmp_path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = long\n")
    options = ["-p", "tests.turns", "--turn", "0"]
    ran = collected(tmp_path, *options, "--budget", str(turns.UNKNOWN - 1))
    assert ran.returncode == 1
    assert "NOT RUN for want of time: test_some.py::test_first" in ran.stdout
    ran = collected(tmp_path, *options, "--budget", "1000")
    assert (ran.returncode, "1 passed, 3 deselected" in ran.stdout) == (0, True)


def test_all_tests_can_be_collected_together():
    """pytest refuses two modules of one name, and then runs none."""
    names = [each.name for each in Path(__file__).parents[1].rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
