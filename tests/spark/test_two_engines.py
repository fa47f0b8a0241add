"""Several applications on one catalog and one store: one acts, the others report and take over when it is gone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import SALES, SLOW, SPIN, Home, is_alive, until

from headwater.demo.session import spark_home
from headwater.model.event import Published, Started
from headwater.store.sql import SqlStore

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def metastore(tmp_path_factory) -> Iterator[str]:
    """A metastore service, which Spark's own jars contain: embedded Derby serves one program only."""
    folder = tmp_path_factory.mktemp("metastore")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/db;create=true",
        "hive.metastore.schema.verification": "false",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.warehouse.dir": f"{folder}/warehouse",
    }
    with (folder / "log").open("wb") as log:
        service = subprocess.Popen(
            [
                "java",
                "-Dhive.async.log.enabled=false",
                f"-Dderby.system.home={folder}",
                *("-cp", f"{spark_home()}/jars/*", "org.apache.hadoop.hive.metastore.HiveMetaStore"),
                *("-p", str(port)),
                *(part for key, value in settings.items() for part in ("--hiveconf", f"{key}={value}")),
            ],
            cwd=folder,
            stdout=log,
            stderr=log,
        )
    try:
        until(lambda: is_open(port), "metastore", 90)
        yield f"thrift://127.0.0.1:{port}"
    finally:
        service.kill()
        service.wait()


def is_open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def holder(home: Home) -> int | None:
    """The engine that leads now."""
    store = SqlStore(home.store_path)
    try:
        alive = [each for each in store.engines() if each.alive]
    finally:
        store.close()
    return int(alive[0].name.split(":")[1]) if alive else None


def test_one_acts(metastore: str, tmp_path: Path) -> None:
    home = Home(tmp_path)
    shared = {"spark.hadoop.hive.metastore.uris": metastore}
    folders = {name: tmp_path / name for name in ("first", "second", "reporter")}
    for folder in folders.values():
        folder.mkdir()
    shared["spark.headwater.store"] = str(home.store_path)
    place = {"spark.sql.warehouse.dir": str(home.warehouse)}

    def session(name: str, **settings: str):
        return Home(folders[name]).session(
            {**shared, **place, **{f"spark.headwater.{key}": value for key, value in settings.items()}}
        )

    with session("first") as first, session("reporter", role="report") as reporter:
        for statement in (*SALES, SLOW):
            first.run(statement)
        one = first.await_engine()
        assert holder(home) == one

        # Who only reports returns from its writes; the other refreshes; both see the result.
        reporter.run("INSERT INTO sales VALUES (3, 70, 1, '2024-03')")
        reporter.run("REFRESH MATERIALIZED VIEWS")
        for each in (reporter, first):
            assert each.one("SELECT total FROM everything") == "100"
        assert holder(home) == one
        assert is_alive(reporter.engine())

        # The acting engine is paused in the middle of a refresh, for longer than its lease.
        reporter.run(f"INSERT INTO sales VALUES (4, 10, {SPIN}, '2024-03')")
        until(lambda: "default.slow" in home.state().running, "refresh of slow")
        paused = home.state().running["default.slow"].version
        os.kill(one, signal.SIGSTOP)
        with session("second") as second:
            second.run("SHOW MATERIALIZED VIEWS")
            two = second.await_engine()
            until(lambda: holder(home) == two, "take-over", 30)
            second.run("REFRESH MATERIALIZED VIEWS")
            assert second.one("SELECT newest FROM slow") == "4"
            os.kill(one, signal.SIGCONT)
            time.sleep(5)
            assert holder(home) == two
            events = home.events()
            assert paused in {each.version for each in events if isinstance(each, Started)}
            assert paused not in {each.version for each in events if isinstance(each, Published)}
            assert first.one("SELECT newest FROM slow") == "4"
            assert "Traceback" not in first.said

            # It works on as one that reports, until the other is gone.
            first.run("INSERT OVERWRITE sales PARTITION (month = '2024-03') VALUES (4, 100, 1)")
            first.run("REFRESH MATERIALIZED VIEWS")
            assert first.one("SELECT total FROM everything") == "130"
            second.kill_driver()
            second.close = lambda: None
        reporter.run("INSERT INTO sales VALUES (5, 10, 1, '2024-03')")
        until(lambda: holder(home) == one, "take-over", 10)
        until(lambda: reporter.one("SELECT total FROM everything") == "140", "refresh by the first", 60)

        first.close()
        first.close = lambda: None
        reporter.run("INSERT INTO sales VALUES (6, 10, 1, '2024-03')")
        with pytest.raises(Exception, match="only reports writes .* no other application refreshes"):
            reporter.run("REFRESH MATERIALIZED VIEWS")
        assert reporter.one("SELECT total FROM everything") == "140"
        assert "no engine is running" in home.headwater("status", "--store", str(home.store_path))
    once_per_version(home)


def once_per_version(home: Home) -> None:
    """No change was refreshed twice: the runs of a view start at inputs that only increase."""
    for view in ("default.monthly", "default.everything"):
        events = home.events()
        published = {each.version for each in events if isinstance(each, Published)}
        inputs = [
            each.inputs
            for each in events
            if isinstance(each, Started) and each.view == view and each.version in published
        ]
        assert len(set(inputs)) == len(inputs), view
