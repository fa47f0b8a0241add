"""However a program ends, its last write reaches the views; the engine ends with it, and never in its way."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from processes import SALES, SLOW, SPIN, Home, engine_of, is_alive, until


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Home:
    """``sales`` and its views, with ``slow`` among them. Every test leaves the views fresh, or to be found behind."""
    home = Home(tmp_path_factory.mktemp("life"))
    code, said = home.script(*SALES, SLOW, "INSERT INTO sales VALUES (3, 30, 1, '2024-03')")
    assert code == 0, said
    assert "\tat io.headwater" not in said, said
    return home


def add(amount: int, spin: int = 1) -> str:
    return f"INSERT INTO sales VALUES ({amount}, {amount}, {spin}, '2024-03')"


def is_running(home: Home, view: str) -> bool:
    return view in home.state().running


@pytest.mark.thorough
def test_a_write_at_the_end_of_a_script_is_refreshed_by_the_next_session(home: Home) -> None:
    """… which says nothing and asks for nothing."""
    assert home.state().tables["default.everything"].highest > 0
    with home.session() as session:
        until(lambda: session.one("SELECT total FROM everything") == "60", "refresh in the next session")
        engine = session.await_engine()
    until(lambda: not is_alive(engine), "end of the engine", 30)


@pytest.mark.long
def test_after_the_driver_is_killed_the_engine_ends_and_nothing_is_lost(home: Home) -> None:
    session = home.session().__enter__()
    session.run("SHOW MATERIALIZED VIEWS")
    engine = session.await_engine()
    session.run(add(40))
    session.kill_driver()
    until(lambda: not is_alive(engine), "end of the engine", 30)
    with home.session() as session:
        session.run("REFRESH MATERIALIZED VIEWS")
        assert session.one("SELECT total FROM everything") == "100"
        # The driver is killed in the middle of a refresh.
        engine = session.await_engine()
        session.run(add(50, SPIN))
        until(lambda: is_running(home, "default.slow"), "refresh of slow")
        time.sleep(1)
        session.kill_driver()
        until(lambda: not is_alive(engine), "end of the engine", 30)
        session._process.stdin.close()
        session.close = lambda: None
    began = time.monotonic()
    with home.session() as session:
        session.run(fast(50, 150))
        ready = time.monotonic()
        rows = session.run("REFRESH MATERIALIZED VIEWS")
        assert time.monotonic() - ready < 12, "the next engine waited for a lease nobody holds"
        assert session.one("SELECT newest FROM slow") == "50", rows
        assert session.one("SELECT total FROM everything") == "150"
        failed = [" ".join(row) for row in session.run("SHOW REFRESHES") if "failed" in row]
        assert not failed, "\n".join(failed)
    assert began


@pytest.mark.long
def test_after_the_engine_is_killed_the_next_statement_starts_another(home: Home) -> None:
    with home.session() as session:
        session.run("REFRESH MATERIALIZED VIEWS")
        first = session.await_engine()
        session.run(add(60, SPIN))
        until(lambda: is_running(home, "default.slow"), "refresh of slow")
        os.kill(first, signal.SIGKILL)
        until(lambda: not is_alive(first), "end of the engine", 30)
        began = time.monotonic()
        shown = session.run("SHOW MATERIALIZED VIEWS")
        assert time.monotonic() - began < 8
        assert [row[1] for row in shown] == ["everything", "monthly", "slow"]
        assert session.await_engine() != first
        assert "ended with status 137" in session.said
        session.run(fast(60, 210))
        session.run("REFRESH MATERIALIZED VIEWS")
        assert session.one("SELECT newest FROM slow") == "60"
        assert session.one("SELECT total FROM everything") == "210"
        # A statement that waits when the engine is killed is carried on by the next one.
        second = session.await_engine()
        session.run(add(70, SPIN))
        until(lambda: is_running(home, "default.slow"), "refresh of slow")
        refreshed = session.begin("REFRESH MATERIALIZED VIEWS")
        time.sleep(1)
        os.kill(second, signal.SIGKILL)
        assert any("default.slow" in line for line in refreshed())
        assert session.one("SELECT newest FROM slow") == "70"
        session.run(fast(71, 280))
        session.run("REFRESH MATERIALIZED VIEWS")
        assert session.one("SELECT total FROM everything") == "280"
        session.run(add(80))
        time.sleep(1)


@pytest.mark.long
def test_headwater_run_once_drains(home: Home) -> None:
    """The last statement of the session before was a write; ``headwater run --once`` does the rest, as from cron."""
    before = home.state().tables["default.everything"].highest
    said = home.headwater(
        "run", "--once", "--conf", f"spark.sql.warehouse.dir={home.warehouse}", "--conf", "spark.ui.enabled=false"
    )
    assert "everything is fresh" in said
    state = home.state()
    assert not any(view.pending for view in state.views.values())
    assert state.tables["default.everything"].highest > before
    # The long-running shape ends when it is told to, and its engine with it.
    runner = home.start_runner("--conf", f"spark.sql.warehouse.dir={home.warehouse}")
    engine = until(lambda: engine_of(runner.pid), "an engine")
    assert "keeping views fresh" in runner.stdout.readline()
    runner.send_signal(signal.SIGINT)
    assert runner.wait(30) == 0
    assert not is_alive(engine)
    assert "Traceback" not in runner.stderr.read()
    # A script whose last statement waits.
    code, said = home.script(add(90), "REFRESH MATERIALIZED VIEWS")
    assert code == 0, said
    assert not any(view.pending for view in home.state().views.values())
    assert home.state().tables["default.everything"].highest > state.tables["default.everything"].highest


@pytest.mark.long
def test_waiting_cancelling_and_interrupting(home: Home) -> None:
    with home.session() as session:
        session.run("REFRESH MATERIALIZED VIEWS")
        before = int(session.one("SELECT total FROM everything"))

        # A write that waits returns when the views are fresh, or after the time it was given.
        session.run("SET spark.headwater.wait=true")
        session.run(add(100))
        assert session.one("SELECT total FROM everything") == str(before + 100)
        assert session.one("SELECT newest FROM slow") == "100"
        session.run("SET spark.headwater.wait.timeout=2 seconds")
        began = time.monotonic()
        session.run(add(101, SPIN))
        assert 2 < time.monotonic() - began < 10
        assert is_running(home, "default.slow")
        session.run("SET spark.headwater.wait=false")

        # headwater cancel stops the refresh; its changes stay pending.
        store = ("--store", str(home.store_path))
        assert "cancels the refresh" in home.headwater("cancel", "slow", *store)
        until(lambda: not is_running(home, "default.slow"), "end of the refresh", 30)
        assert home.state().views["default.slow"].pending
        [newest, *_] = json.loads(home.headwater("history", "slow", "--json", *store))
        assert newest["status"] in ("cancelled", "running")
        assert newest["status"] == "running" or "SUSPEND keeps it stopped" in newest["error"]

        # Ctrl-C reaches every process of the terminal: the statement ends, the engine goes on.
        engine = session.await_engine()
        abandoned = session.begin("REFRESH MATERIALIZED VIEWS")
        until(lambda: is_running(home, "default.slow"), "another attempt", 30)
        time.sleep(1)
        began = time.monotonic()
        os.killpg(session.pid, signal.SIGINT)
        abandoned()
        assert time.monotonic() - began < 5
        assert "the statement was cancelled" in session.said
        assert session.one("SELECT 'usable'") == "usable"
        assert session.engine() == engine
        session.run(fast(102, before + 202))
        session.run("REFRESH MATERIALIZED VIEWS")
        assert session.one("SELECT newest FROM slow") == "102"
        # The overwrite took away what the cancelled attempt's successor was reading; that is no failure of the view.
        assert not [row for row in session.run("SHOW REFRESHES FOR slow") if "failed" in row]
        assert "Traceback" not in session.said
    until(lambda: not is_alive(engine), "end of the engine", 30)


@pytest.mark.long
def test_a_write_waits_for_what_depends_on_it_only(home: Home) -> None:
    with home.session() as session:
        session.run("CREATE TABLE apart (id INT) USING parquet")
        session.run("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM apart")
        session.run("REFRESH MATERIALIZED VIEWS")
        session.run(add(103, 3 * SPIN))  # one row is one task, and leaves the second core to the view of ``apart``
        until(lambda: is_running(home, "default.slow"), "refresh of slow")
        session.run("SET spark.headwater.wait=true")
        session.run("INSERT INTO apart VALUES (1)")
        assert is_running(home, "default.slow")
        assert session.one("SELECT n FROM counted") == "1"
        session.run(fast(104, 104))
        assert session.one("SELECT newest FROM slow") == "104"


@pytest.mark.long
def test_show_looks_first_after_a_driver_was_killed_that_wrote(home: Home) -> None:
    """Also where it cannot: then it says since when nobody has looked."""
    before = write_unseen(home, add(110, SPIN))
    with home.session() as session:
        shown = {row[1]: row for row in session.run("SHOW MATERIALIZED VIEWS")}
        assert shown["slow"][2] in ("behind", "running"), shown
        if "fresh" in (shown["monthly"][2], shown["everything"][2]):
            assert session.one("SELECT sum(total) FROM monthly") == str(before + 110), shown
        assert not [row for row in shown.values() if "look" in row[-2]], shown
        session.run(fast(110, before + 110))
        session.run("REFRESH MATERIALIZED VIEWS")
        with held(home.store_path):
            session.run(add(111))
            for row in session.run("SHOW MATERIALIZED VIEWS"):
                assert "the last look at them was" in row[-2] and "ago" in row[-2], row
        session.run("REFRESH MATERIALIZED VIEWS")
        assert session.one("SELECT total FROM everything") == str(before + 221)
        assert {row[2] for row in session.run("SHOW MATERIALIZED VIEWS")} == {"fresh"}


@pytest.mark.long
def test_an_engine_that_ends_in_a_refresh_leaves_none_that_runs(home: Home) -> None:
    """``status`` and ``history`` need no engine to say so, whether it was told to end or was killed."""
    store = ("--store", str(home.store_path))
    settings = ("--conf", f"spark.sql.warehouse.dir={home.warehouse}", "--conf", "spark.ui.enabled=false")

    def said() -> tuple[str, str, str]:
        """The state of ``slow`` and why, and how its newest refresh ended."""
        status = json.loads(home.headwater("status", "--json", *store))
        [row] = [row for row in status["views"] if row["view"] == "slow"]
        newest = json.loads(home.headwater("history", "slow", "--json", *store))[0]
        return row["state"], row["reason"], newest["status"]

    write_unseen(home, add(120, 3 * SPIN))
    for ends in (lambda pid: os.kill(pid, signal.SIGTERM), lambda pid: os.killpg(pid, signal.SIGTERM)):
        runner = home.start_runner(*settings)
        until(lambda: is_running(home, "default.slow"), "refresh of slow", 90)
        assert said()[0] == said()[2] == "running"
        ends(runner.pid)
        _, errors = runner.communicate(timeout=60)
        assert "Traceback" not in errors and runner.returncode == 0, errors
        state, reason, newest = said()
        assert (state, newest) == ("behind", "cancelled"), (state, reason, newest)
        assert not is_running(home, "default.slow")
    runner = home.start_runner(*settings)
    until(lambda: is_running(home, "default.slow"), "refresh of slow", 90)
    os.killpg(runner.pid, signal.SIGKILL)
    runner.communicate(timeout=60)
    assert is_running(home, "default.slow"), "nobody records its end before the next engine"
    until(lambda: said()[0] != "running", "end of its time", 40)
    state, reason, newest = said()
    assert (state, newest) == ("behind", "cancelled") and "the engine that refreshed it has ended" in reason
    with home.session() as session:
        session.run(fast(120, 120))
        session.run("REFRESH MATERIALIZED VIEWS")
        assert session.one("SELECT newest FROM slow") == "120"


def write_unseen(home: Home, statement: str) -> int:
    """Writes in a driver that is killed before its engine could see that. Returns the sum of all amounts before."""
    session = home.session().__enter__()
    session.run("REFRESH MATERIALIZED VIEWS")
    before = int(session.one("SELECT sum(amount) FROM sales"))
    engine = session.await_engine()
    os.kill(engine, signal.SIGSTOP)
    session.run(statement)
    session.kill_driver()
    os.kill(engine, signal.SIGCONT)
    until(lambda: not is_alive(engine), "end of the engine", 30)
    session.close = lambda: None
    assert not any(view.pending for view in home.state().views.values()), "the write was seen"
    return before


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


def fast(newest: int, amount: int) -> str:
    """Puts one row in place of those of March, so that ``slow`` is quick again."""
    return f"INSERT OVERWRITE sales PARTITION (month = '2024-03') VALUES ({newest}, {amount - 30}, 1)"
