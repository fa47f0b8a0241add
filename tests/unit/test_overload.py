"""The parts of ``benchmarks staleness load`` without Spark: its warehouse, its schedulers, and staleness from logs."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.parts.overload.commits import Commit, commits, staleness
from benchmarks.parts.overload.schedulers import Cycles, FirstCome
from benchmarks.parts.overload.warehouse import (
    PRIORITIES,
    View,
    appends,
    demand,
    downstream,
    levels,
    periods,
    warehouse,
)

CHAIN = (View("a", 1, ("s",), ("s",), ""), View("b", 1, ("a",), ("s",), ""), View("c", 1, ("t",), ("t",), ""))


def test_the_warehouse() -> None:
    views = warehouse()
    assert views == warehouse() and len(views) == 30
    assert Counter(each.priority for each in views) == dict.fromkeys(PRIORITIES, 10)
    known: set[str] = {*periods(views)}
    for each in views:
        assert {*each.reads} <= known
        known.add(each.name)
        assert all(each in downstream(views, base) for base in each.bases)
    assert [len(each) for each in levels(views)] == [12, 10, 8]
    assert min(periods(views).values()) == 2.0 and round(max(periods(views).values())) == 300
    assert demand(views) > sum(1 / each for each in periods(views).values())


def test_appends_come_once_a_period() -> None:
    times = appends({"s": 2.0, "t": 10.0}, 100.0, seed=1)
    assert 45 <= len(times["s"]) <= 55 and 9 <= len(times["t"]) <= 11
    assert all(0 <= at < 100 for at in times["s"]) and times["s"] == sorted(times["s"])


def test_staleness_begins_with_the_oldest_append_that_a_view_lacks() -> None:
    appended = {
        "s": [Commit(0, {"b": 0}), Commit(1_000, {"b": 1}), Commit(2_000, {"b": 2})],
        "t": [Commit(0, {"b": 0}), Commit(8_000, {"b": 1})],
    }
    first = {"b_s": 0, "b_t": 0}
    refreshed = [Commit(500, first), Commit(4_000, {**first, "b_s": 1}), Commit(7_000, {**first, "b_s": 2})]
    found = staleness(appended, refreshed, 500, 10_000)
    assert found.rises == ((0, 3_000), (2_000, 5_000), (0, 2_000))
    assert found.fresh == 500 + 1_000


def test_a_commit_tells_the_greatest_values_of_its_files(tmp_path: Path) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    added = [{"add": {"stats": json.dumps({"maxValues": {"b": n}})}} for n in (3, 4)]
    actions = [{"commitInfo": {"timestamp": 7}}, *added, {"remove": {}}]
    (log / "00000000000000000001.json").write_text("\n".join(map(json.dumps, actions)))
    (log / "00000000000000000002.json").write_text(json.dumps({"commitInfo": {"timestamp": 9}}))
    assert commits(tmp_path) == [Commit(7, {"b": 4})]


@pytest.mark.parametrize("kind", [FirstCome, Cycles])
def test_a_scheduler_refreshes_all_downstream_after_its_sources(kind: Callable[..., FirstCome | Cycles]) -> None:
    ran, lock = list[str](), threading.Lock()

    def refresh(view: View) -> None:
        time.sleep(0.01)
        with lock:
            ran.append(view.name)

    scheduler = kind(CHAIN, refresh, 2)
    scheduler.appended("s")
    scheduler.drain()
    assert ran == ["a", "b"] and scheduler.failures == []


@pytest.mark.parametrize("kind", [FirstCome, Cycles])
def test_many_appends_are_refreshed_together_and_the_last_one_is_seen(kind: Callable[..., FirstCome | Cycles]) -> None:
    written, seen, lock = {"s": 0, "t": 0}, dict[str, int](), threading.Lock()

    def refresh(view: View) -> None:
        [source] = view.reads
        with lock:
            held = written[source] if source in written else seen[source]
        time.sleep(0.01)
        with lock:
            seen[view.name] = held

    scheduler = kind(CHAIN, refresh, 2)
    for n in range(1, 40):
        with lock:
            written["s" if n % 2 else "t"] = n
        scheduler.appended("s" if n % 2 else "t")
        time.sleep(0.002)
    scheduler.drain()
    assert seen == {"a": 39, "b": 39, "c": 38}


@pytest.mark.parametrize("kind", [FirstCome, Cycles])
def test_a_refresh_that_fails_is_told(kind: Callable[..., FirstCome | Cycles]) -> None:
    def refresh(view: View) -> None:
        raise ValueError("no room")

    scheduler = kind(CHAIN[:1], refresh, 2)
    scheduler.appended("s")
    scheduler.drain()
    assert scheduler.failures == ["a: no room"]
