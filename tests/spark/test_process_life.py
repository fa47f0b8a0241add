"""However a program ends, its last write reaches the views; the engine ends with it, and never in its way."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from processes import SALES, SLOW, SPIN, Home, Session, engine_of, is_alive, until

from benchmarks.parts.processes import running_engine
from headwater.model.event import EngineLost
from headwater.runtime.loop import ALIVE
from headwater.store.sql_store import SqlStore

pytestmark = pytest.mark.timeout(600)  # a test starts several applications

_numbers = itertools.count(10)


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Home:
    """``sales`` and its views, with ``slow`` among them. Every test leaves these and no others, fresh or to be found
    behind. Its writes are all in March, and each row has a higher number than those before."""
    home = Home(tmp_path_factory.mktemp("life"))
    code, said = home.script(*SALES, SLOW, "INSERT INTO sales VALUES (3, 30, 1, '2024-03')")
    assert code == 0, said
    assert "\tat io.headwater" not in said, said
    return home


def number() -> int:
    """The number of the next row, which is its amount too."""
    return next(_numbers)


def add(number: int, spin: int = 1) -> str:
    return f"INSERT INTO sales VALUES ({number}, {number}, {spin}, '2024-03')"


def fast(number: int) -> str:
    """Puts one row in place of those of March, so that ``slow`` is quick again."""
    return f"INSERT OVERWRITE sales PARTITION (month = '2024-03') VALUES ({number}, {number}, 1)"


def amounts(session: Session) -> int:
    """What ``everything`` shows when it is fresh."""
    return int(session.one("SELECT sum(amount) FROM sales"))


def total(session: Session) -> int:
    return int(session.one("SELECT total FROM everything"))


def newest(session: Session) -> int:
    return int(session.one("SELECT newest FROM slow"))


def is_running(home: Home, view: str) -> bool:
    return view in home.state().running


def acting(home: Home) -> set[int]:
    """The process ids of the engines whose time is not up."""
    store = SqlStore(home.store_path)
    try:
        return {int(each.name.split(":")[1]) for each in store.engines() if each.alive}
    finally:
        store.close()


def kill(session: Session) -> None:
    """``kill -9`` of the driver alone, after which its ``with`` has nothing to close."""
    session.kill_driver()
    session._process.stdin.close()
    session.close = lambda: None


@pytest.mark.thorough
def test_a_write_at_the_end_of_a_script_is_refreshed_by_the_next_session(home: Home) -> None:
    """… which says nothing and asks for nothing."""
    assert home.state().tables["default.everything"].highest > 0
    with home.session() as session:
        until(lambda: total(session) == amounts(session), "refresh in the next session")
        engine = session.await_engine()
    until(lambda: not is_alive(engine), "end of the engine", 30)


@pytest.mark.long
def test_after_the_driver_is_killed_the_engine_ends_and_nothing_is_lost(home: Home) -> None:
    with home.session() as session:
        session.run("SHOW MATERIALIZED VIEWS")
        engine, before = session.await_engine(), amounts(session)
        session.run(add(first := number()))
        kill(session)
    until(lambda: not is_alive(engine), "end of the engine", 30)
    with home.session() as session:
        session.run("REFRESH MATERIALIZED VIEWS")
        assert total(session) == before + first
        # The driver is killed in the middle of a refresh.
        engine = session.await_engine()
        session.run(add(number(), SPIN))
        until(lambda: is_running(home, "default.slow"), "refresh of slow")
        time.sleep(1)
        kill(session)
    until(lambda: not is_alive(engine), "end of the engine", 30)
    assert not acting(home), "the next engine waits for a lease nobody holds"
    events = len(home.events())
    with home.session() as session:
        session.run(fast(last := number()))
        rows = session.run("REFRESH MATERIALIZED VIEWS")
        assert not [each for each in home.events()[events:] if isinstance(each, EngineLost)]
        assert newest(session) == last, rows
        assert total(session) == 30 + last
        failed = [" ".join(row) for row in session.run("SHOW REFRESHES") if "failed" in row]
        assert not failed, "\n".join(failed)


@pytest.mark.long
def test_after_the_engine_is_killed_the_next_statement_starts_another(home: Home) -> None:
    with home.session() as session:
        session.run("REFRESH MATERIALIZED VIEWS")
        first = session.await_engine()
        session.run(add(number(), SPIN))
        until(lambda: is_running(home, "default.slow"), "refresh of slow")
        os.kill(first, signal.SIGKILL)
        until(lambda: not is_alive(first), "end of the engine", 30)
        said, began = len(session.said), time.monotonic()
        shown = session.run("SHOW MATERIALIZED VIEWS")
        assert time.monotonic() - began < ALIVE / 1000, "the statement waited for a lease nobody holds"
        assert first not in acting(home), "a refresh would wait for a lease nobody holds"
        assert [row[1] for row in shown] == ["everything", "monthly", "slow"]
        assert session.await_engine() != first
        assert "ended with status 137" in session.said[said:]
        session.run(fast(last := number()))
        session.run("REFRESH MATERIALIZED VIEWS")
        assert newest(session) == last
        assert total(session) == 30 + last
        # A statement that waits when the engine is killed is carried on by the next one.
        second = session.await_engine()
        session.run(add(last := number(), SPIN))
        until(lambda: is_running(home, "default.slow"), "refresh of slow")
        refreshed = session.begin("REFRESH MATERIALIZED VIEWS")
        time.sleep(1)
        os.kill(second, signal.SIGKILL)
        assert any("default.slow" in line for line in refreshed())
        assert newest(session) == last
        session.run(fast(last := number()))
        session.run("REFRESH MATERIALIZED VIEWS")
        assert total(session) == 30 + last


@pytest.mark.long
def test_headwater_run_once_drains(home: Home) -> None:
    """The last statement of a script was a write; ``headwater run --once`` does the rest, as from cron."""
    code, said = home.script(add(number()))
    assert code == 0, said
    before = home.state().tables["default.everything"].highest
    said = home.headwater(
        "run", "--once", "--conf", f"spark.sql.warehouse.dir={home.warehouse}", "--conf", "spark.ui.enabled=false"
    )
    assert "everything is fresh" in said
    state = home.state()
    assert not any(view.pending for view in state.views.values())
    assert state.tables["default.everything"].highest > before
    # The long-running shape ends when it is told to, and its engine with it.
    with runs(home) as runner:
        engine = until(lambda: engine_of(runner.pid), "an engine")
        assert "keeping views fresh" in runner.stdout.readline()
        assert running_engine(runner.pid) == engine, "benchmarks find the engine, too"
        runner.send_signal(signal.SIGINT)
        assert runner.wait(30) == 0
        assert not is_alive(engine)
        assert "Traceback" not in runner.stderr.read()
    # A script whose last statement waits.
    code, said = home.script(add(number()), "REFRESH MATERIALIZED VIEWS")
    assert code == 0, said
    assert not any(view.pending for view in home.state().views.values())
    assert home.state().tables["default.everything"].highest > state.tables["default.everything"].highest


@pytest.mark.long
def test_waiting_cancelling_and_interrupting(home: Home) -> None:
    with home.session() as session:
        since = len(session.said)
        session.run("REFRESH MATERIALIZED VIEWS")
        before = total(session)

        # A write that waits returns when the views are fresh, or after the time it was given.
        session.run("SET spark.headwater.wait=true")
        session.run(add(waited := number()))
        assert total(session) == before + waited
        assert newest(session) == waited
        session.run("SET spark.headwater.wait.timeout=2 seconds")
        began = time.monotonic()
        session.run(add(number(), 2 * SPIN))
        assert time.monotonic() - began > 2
        assert newest(session) == waited, "it waited for the end of the refresh"
        until(lambda: is_running(home, "default.slow"), "refresh of slow")
        session.run("SET spark.headwater.wait=false")

        # headwater cancel stops the refresh; its changes stay pending.
        store = ("--store", str(home.store_path))
        assert "cancels the refresh" in home.headwater("cancel", "slow", *store)
        until(lambda: not is_running(home, "default.slow"), "end of the refresh")
        assert home.state().views["default.slow"].pending
        [latest, *_] = json.loads(home.headwater("history", "slow", "--json", *store))
        assert latest["status"] in ("cancelled", "running")
        assert latest["status"] == "running" or "SUSPEND keeps it stopped" in latest["error"]

        # Ctrl-C reaches every process of the terminal: the statement ends, the engine goes on.
        engine = session.await_engine()
        abandoned = session.begin("REFRESH MATERIALIZED VIEWS")
        until(lambda: is_running(home, "default.slow"), "another attempt", 30)
        time.sleep(1)
        said = len(session.said)
        os.killpg(session.pid, signal.SIGINT)
        abandoned()
        assert newest(session) == waited, "it ended with the refresh"
        assert "the statement was cancelled" in session.said[said:]
        assert session.one("SELECT 'usable'") == "usable"
        assert session.engine() == engine
        session.run(fast(last := number()))
        session.run("REFRESH MATERIALIZED VIEWS")
        assert newest(session) == last
        # The overwrite took away what the cancelled attempt's successor was reading; that is no failure of the view.
        assert not [row for row in session.run("SHOW REFRESHES FOR slow") if "failed" in row]
        assert "Traceback" not in session.said[since:]
    until(lambda: not is_alive(engine), "end of the engine", 30)


@pytest.mark.long
def test_a_write_waits_for_what_depends_on_it_only(home: Home) -> None:
    with home.session() as session:
        session.run("CREATE TABLE apart (id INT) USING parquet")
        session.run("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM apart")
        try:
            session.run("REFRESH MATERIALIZED VIEWS")
            session.run(add(number(), 3 * SPIN))  # one row is one task, and leaves the second core to ``counted``
            until(lambda: is_running(home, "default.slow"), "refresh of slow")
            session.run("SET spark.headwater.wait=true")
            session.run("INSERT INTO apart VALUES (1)")
            assert is_running(home, "default.slow")
            assert session.one("SELECT n FROM counted") == "1"
            session.run(fast(last := number()))
            assert newest(session) == last
        finally:
            session.run("DROP MATERIALIZED VIEW counted")
            session.run("DROP TABLE apart")


@pytest.mark.long
def test_show_looks_first_after_a_driver_was_killed_that_wrote(home: Home) -> None:
    """Also where it cannot: then it says since when nobody has looked."""
    before = write_unseen(home, add(unseen := number(), SPIN))
    with home.session() as session:
        shown = {row[1]: row for row in session.run("SHOW MATERIALIZED VIEWS")}
        assert shown["slow"][2] in ("behind", "running"), shown
        if "fresh" in (shown["monthly"][2], shown["everything"][2]):
            assert session.one("SELECT sum(total) FROM monthly") == str(before + unseen), shown
        assert not [row for row in shown.values() if "look" in row[-2]], shown
        session.run(fast(overwritten := number()))
        session.run("REFRESH MATERIALIZED VIEWS")
        with held(home.store_path):
            session.run(add(added := number()))
            for row in session.run("SHOW MATERIALIZED VIEWS"):
                assert "the last look at them was" in row[-2] and "ago" in row[-2], row
        session.run("REFRESH MATERIALIZED VIEWS")
        assert total(session) == 30 + overwritten + added
        assert {row[2] for row in session.run("SHOW MATERIALIZED VIEWS")} == {"fresh"}


@pytest.mark.long
def test_an_engine_that_ends_in_a_refresh_leaves_none_that_runs(home: Home) -> None:
    """``status`` and ``history`` need no engine to say so, whether it was told to end or was killed."""
    store = ("--store", str(home.store_path))

    def said() -> tuple[str, str, str]:
        """The state of ``slow`` and why, and how its newest refresh ended."""
        status = json.loads(home.headwater("status", "--json", *store))
        [row] = [row for row in status["views"] if row["view"] == "slow"]
        newest = json.loads(home.headwater("history", "slow", "--json", *store))[0]
        return row["state"], row["reason"], newest["status"]

    write_unseen(home, add(number(), 3 * SPIN))
    for ends in (lambda pid: os.kill(pid, signal.SIGTERM), lambda pid: os.killpg(pid, signal.SIGTERM)):
        with runs(home, "--conf", "spark.ui.enabled=false") as runner:
            until(lambda: is_running(home, "default.slow"), "refresh of slow", 90)
            state, _, latest = said()
            assert state == latest == "running"
            ends(runner.pid)
            _, errors = runner.communicate(timeout=60)
        assert "Traceback" not in errors and runner.returncode == 0, errors
        state, reason, latest = said()
        assert (state, latest) == ("behind", "cancelled"), (state, reason, latest)
        assert not is_running(home, "default.slow")
    with runs(home, "--conf", "spark.ui.enabled=false") as runner:
        until(lambda: is_running(home, "default.slow"), "refresh of slow", 90)
        os.killpg(runner.pid, signal.SIGKILL)
        runner.communicate(timeout=60)
    assert is_running(home, "default.slow"), "nobody records its end before the next engine"
    until(lambda: said()[0] != "running", "end of its time", 40)
    state, reason, latest = said()
    assert (state, latest) == ("behind", "cancelled") and "the engine that refreshed it has ended" in reason
    with home.session() as session:
        session.run(fast(last := number()))
        session.run("REFRESH MATERIALIZED VIEWS")
        assert newest(session) == last


def write_unseen(home: Home, statement: str) -> int:
    """Writes in a driver that is killed before its engine could see that. Returns the sum of all amounts before."""
    with home.session() as session:
        session.run("REFRESH MATERIALIZED VIEWS")
        before = amounts(session)
        engine = session.await_engine()
        os.kill(engine, signal.SIGSTOP)
        try:
            session.run(statement)
            kill(session)
        finally:
            os.kill(engine, signal.SIGCONT)
    until(lambda: not is_alive(engine), "end of the engine", 30)
    assert not any(view.pending for view in home.state().views.values()), "the write was seen"
    return before


@contextmanager
def runs(home: Home, *settings: str) -> Iterator[subprocess.Popen[str]]:
    """``headwater run`` on the warehouse, which ends with the block at the latest."""
    runner = home.start_runner("--conf", f"spark.sql.warehouse.dir={home.warehouse}", *settings)
    try:
        yield runner
    finally:
        if runner.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(runner.pid, signal.SIGKILL)
            runner.wait(60)


@contextmanager
def held(store: Path) -> Iterator[None]:
    """Another program writes a store, and does not come to an end."""
    connection = sqlite3.connect(store, timeout=60, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
    finally:
        connection.close()
