"""Bars for refreshes under way, as a terminal shows them."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest
from attrs import evolve
from rich.console import Console

from headwater.cli import progress_bars as bars
from headwater.cli.progress_bars import said, shown
from headwater.spark.jvm.facts import RunProgress

READING = RunProgress("default.wide", 7, 12, 6, 120_400, 5_242_880, 0, 0, 0, 0)
WRITING = evolve(READING, done=11, rows=1_204, bytes=2_000_000)
COPYING = evolve(READING, copied=20_000_000, size=80_000_000)


@pytest.mark.parametrize(
    ("refresh", "words"),
    [
        (evolve(READING, done=0, rows_read=0, bytes_read=0), "0 of 12 tasks"),
        (READING, "6 of 12 tasks; read 120,400 rows, 5.2 MB"),
        (WRITING, "11 of 12 tasks; read 120,400 rows, 5.2 MB; wrote 1,204 rows, 2.0 MB"),
        (COPYING, "20.0 MB of 80.0 MB copied to the warehouse"),
    ],
)
def test_what_a_refresh_has_done_is_said(refresh: RunProgress, words: str):
    assert said(refresh) == words


@pytest.fixture
def terminal(monkeypatch) -> Console:
    monkeypatch.setattr(bars, "LOOK", 0.01)
    return Console(file=io.StringIO(), force_terminal=True, width=120)


def until(found) -> None:
    ends = time.monotonic() + 10
    while not found() and time.monotonic() < ends:
        time.sleep(0.02)
    assert found()


def test_each_refresh_has_a_bar_while_it_goes_on(terminal: Any):
    now = [READING]
    with shown(lambda: now, terminal):
        until(lambda: "read 120,400 rows" in terminal.file.getvalue())
        now[:] = [evolve(COPYING, view="default.deep", version=8)]
        until(lambda: "default.deep" in terminal.file.getvalue())


def test_the_end_of_spark_ends_the_bars_and_nothing_else(terminal: Console):
    looked = []

    def look():
        looked.append(True)
        raise ConnectionError("the driver is gone")

    with shown(look, terminal):
        until(lambda: looked)
    assert len(looked) == 1


def test_without_a_terminal_nobody_looks():
    with shown(lambda: pytest.fail("looked"), Console(file=io.StringIO())):
        time.sleep(0.05)
