"""Several applications on one catalog and one store: all but those that only report refresh, each what it started, and
an engine that is paused loses its runs to the others."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import SALES, SLOW, SPIN, Home, Session, is_alive, until

from benchmarks.parts import services
from headwater.model.event import EngineLost, Event, Published, Started
from headwater.runtime.loop import ALIVE
from headwater.store.sql_store import SqlStore

pytestmark = pytest.mark.long

OTHER = SLOW.replace(" VIEW slow ", " VIEW other ")
"""As ``slow``; an engine with one track leaves one of the two to others."""

MARGIN = 5
"""Seconds that an engine takes to notice that another one's time is up. It starts what that one left when its only
track is free."""


@pytest.fixture(scope="module")
def metastore(tmp_path_factory) -> Iterator[str]:
    with services.metastore(tmp_path_factory.mktemp("shared") / "metastore") as uri:
        yield uri


def numbers(home: Home) -> dict[int, int]:
    """The numbers of the engines that are alive, by their process ids."""
    store = SqlStore(home.store_path)
    try:
        return {int(each.name.split(":")[1]): each.number for each in store.engines() if each.alive}
    finally:
        store.close()


def of(home: Home, kind: type[Event]) -> list:
    return [each for each in home.events() if isinstance(each, kind)]


def both_run(home: Home) -> bool:
    """Whether two engines refresh the two slow views at the same time."""
    running = home.state().running
    found = [running[each].engine for each in ("default.slow", "default.other") if each in running]
    return len(set(found)) == 2


@pytest.mark.timeout(600)
def test_all_act(metastore: str, tmp_path: Path) -> None:
    home = Home(tmp_path)
    shared = {
        "spark.hadoop.hive.metastore.uris": metastore,
        "spark.headwater.store": str(home.store_path),
        "spark.sql.warehouse.dir": str(home.warehouse),
        "spark.headwater.tracks": "1",
    }

    def session(name: str, role: str = "auto"):
        folder = tmp_path / name
        folder.mkdir()
        return Home(folder).session({**shared, "spark.headwater.role": role})

    with session("first") as first, session("second") as second, session("reporter", "report") as reporter:
        for statement in (*SALES, SLOW, OTHER):
            first.run(statement)
        second.run("SHOW MATERIALIZED VIEWS")
        pids = first.await_engine(), second.await_engine()
        until(lambda: numbers(home).keys() == set(pids), "two engines that act")
        who_only_reports_returns_from_its_writes(home, reporter)

        reporter.run(f"INSERT INTO sales VALUES (4, 10, {SPIN}, '2024-03')")
        until(lambda: both_run(home), "refreshes by both engines")
        lost, kept = (home.state().running[each] for each in ("default.slow", "default.other"))
        paused, awake = sorted(pids, key=lambda pid: numbers(home)[pid] != lost.engine)
        assert kept.engine == numbers(home)[awake]
        os.kill(paused, signal.SIGSTOP)
        until(lambda: of(home, EngineLost), "take-over", ALIVE / 1000 + MARGIN)
        until(
            lambda: any(published(home, each.version) for each in again(home, lost.version)), "refresh by the other", 90
        )
        assert [each.engine for each in of(home, EngineLost)] == [lost.engine]
        assert published(home, kept.version), "a run of the other engine was taken over, too"

        os.kill(paused, signal.SIGCONT)
        until(lambda: numbers(home).get(paused, 0) > lost.engine, "another number of the engine that was paused", 10)
        time.sleep(5)  # in which its run would be published
        assert not published(home, lost.version)
        assert reporter.one("SELECT newest FROM slow") == "4"
        assert "Traceback" not in first.said + second.said

        one, other = (first, second) if paused == pids[0] else (second, first)
        other.kill_driver()
        other.close = lambda: None
        reporter.run("INSERT INTO sales VALUES (5, 10, 1, '2024-03')")
        until(lambda: reporter.one("SELECT total FROM everything") == "120", "refresh by the one that was paused", 60)
        assert of(home, Started)[-1].engine == numbers(home)[paused]

        one.close()
        one.close = lambda: None
        reporter.run("INSERT INTO sales VALUES (6, 10, 1, '2024-03')")
        with pytest.raises(Exception, match="only reports writes .* no other application refreshes"):
            reporter.run("REFRESH MATERIALIZED VIEWS")
        assert reporter.one("SELECT total FROM everything") == "120"
        assert "no engine is running" in home.headwater("status", "--store", str(home.store_path))
    once_per_version(home)


def who_only_reports_returns_from_its_writes(home: Home, reporter: Session) -> None:
    """… and an engine of another application refreshes."""
    reporter.run("INSERT INTO sales VALUES (3, 70, 1, '2024-03')")
    reporter.run("REFRESH MATERIALIZED VIEWS")
    assert reporter.one("SELECT total FROM everything") == "100"
    assert is_alive(reporter.engine()) and reporter.engine() not in numbers(home)


def again(home: Home, version: int) -> list[Started]:
    """The runs of the same view that another engine started after that one."""
    [before] = [each for each in of(home, Started) if each.version == version]
    later = [each for each in of(home, Started) if each.view == before.view and each.version > version]
    return [each for each in later if each.engine != before.engine]


def published(home: Home, version: int) -> bool:
    return version in {each.version for each in of(home, Published)}


def once_per_version(home: Home) -> None:
    """No change was refreshed twice: the runs of a view start at inputs that only increase."""
    for view in ("default.monthly", "default.everything", "default.slow", "default.other"):
        events = home.events()
        published = {each.version for each in events if isinstance(each, Published)}
        inputs = [
            each.inputs
            for each in events
            if isinstance(each, Started) and each.view == view and each.version in published
        ]
        assert len(set(inputs)) == len(inputs), view
