"""Faults of processes and stores: one clear error with its remedy; the user's statements succeed, nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.spark.jvm.jar import build_jar

DAMAGES = ("garbage", "truncated", "malformed")
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]  # the first test runs the process of all


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> subprocess.CompletedProcess[str]:
    """One Python process that makes applications one after another; see applications.py."""
    folder = tmp_path_factory.mktemp("faults")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "bare")], check=True)
    done = subprocess.run(
        [
            sys.executable,
            str(Path(__file__).with_name("applications.py")),
            str(build_jar()),
            str(folder / "bare/bin/python"),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return done


@pytest.fixture(scope="module")
def seen(run) -> dict[str, object]:
    return dict(json.loads(run.stdout.splitlines()[-1]))


def test_another_application_in_the_same_process(seen) -> None:
    """``spark.stop()``, then a new session: the engine ends, another one finds what was written last."""
    assert seen["engine ends with its application"] is True
    assert seen["second application"] == [100, True]


def test_a_python_without_headwater(seen) -> None:
    assert "spark.headwater.python" in seen["no headwater"]
    assert "has no Headwater" in seen["no headwater"]
    assert "there is no Python at /no/such/python; set spark.headwater.python" in seen["no python"]


def test_writes_go_on_without_an_engine(seen) -> None:
    """Even when they are to wait for views that cannot be refreshed."""
    assert seen["writes go on"] < 10
    assert seen["after all that"] == 100 + 6 * 100


def test_a_store_that_cannot_be_opened(seen) -> None:
    assert "the store /proc/nowhere/store.db cannot be opened" in seen["no store"]
    assert "set spark.headwater.store to a file you can write" in seen["no store"]


def test_an_unknown_setting_names_the_nearest_one(seen) -> None:
    assert (
        "there is no setting 'spark.headwater.storre'; did you mean 'spark.headwater.store'?" in seen["unknown setting"]
    )
    assert "spark.headwater.role is 'repot'; it is one of auto, report, off" in seen["bad value"]


def test_switched_off(seen) -> None:
    assert "spark.headwater.role=off" in seen["off"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store(seen, damage: str) -> None:
    """The error says what to do; done, the views are found in the catalog and refreshed."""
    error, total, views = seen[damage]
    assert "store.db" in error
    assert "move it away" in error
    assert total == 700 + 5 * (DAMAGES.index(damage) + 1)
    assert [(view[1], view[2]) for view in views] == [("everything", "fresh"), ("monthly", "fresh")]


def test_a_store_that_lost_entries(seen) -> None:
    """What is left of the journal makes sense, and the catalog and the tables tell the rest."""
    _, total, views = seen["without_changes"]
    assert total == 700 + 5 * (len(DAMAGES) + 1)
    assert [(view[1], view[2]) for view in views] == [("everything", "fresh"), ("monthly", "fresh")]


def test_a_store_serves_one_catalog(run, seen) -> None:
    """In another catalog every view would seem to have been dropped, and its files would be removed."""
    assert seen["in memory"] == []
    assert all("it ends with this application" in seen[f"made in memory: {each}"][0][0] for each in ("a", "b"))
    assert run.stderr.count("catalog is in memory, so its views end with it") == 1
    assert "holds the views of the catalog derby:" in seen["another catalog"]
    assert "set spark.headwater.store to another file" in seen["another catalog"]
    same, views = seen["untouched"]
    assert same
    assert [(view[1], view[2]) for view in views] == [("everything", "fresh"), ("monthly", "fresh")]


def test_a_statement_that_waits_ends_with_its_application(seen) -> None:
    """Another thread stops the context: the statement says so, and does not wait for an engine that is gone."""
    [answer] = seen["stopped while a statement waits"]
    assert "this application has ended" in answer


def test_the_gateway_is_private(run, seen) -> None:
    """It listens on the loopback interface only, and its secret is neither on a command line nor in a log."""
    secret, addresses, commands = seen["gateway"]
    assert addresses
    assert set(addresses) <= LOOPBACK
    assert len(secret) > 20
    assert commands
    assert not [command for command in commands if secret in command]
    assert secret not in run.stderr


def test_no_stack_traces(run) -> None:
    """A fault that Headwater knows is told in a sentence."""
    headwaters = [
        line for line in run.stderr.splitlines() if "headwater" in line.lower() and line.lstrip().startswith("at ")
    ]
    assert not headwaters
    assert "Traceback" not in run.stderr
