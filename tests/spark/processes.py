"""Spark programs in processes of their own: a ``spark-sql`` fed by hand, and what of it can be seen from outside."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from headwater.demo.session import SETTINGS, SparkSql, command, spark_home
from headwater.engine.record.transition import transition
from headwater.model.event import Event
from headwater.model.state import State
from headwater.spark.jvm.jar import build_jar
from headwater.store.dialect import default_store
from headwater.store.sql_store import SqlStore

CONF = {**SETTINGS, "spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"}

SALES = (
    "CREATE TABLE sales (id INT, amount INT, spin INT, month STRING) USING parquet PARTITIONED BY (month)",
    "INSERT INTO sales VALUES (1, 10, 1, '2024-01'), (2, 20, 1, '2024-02')",
    "CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS "
    "SELECT month, sum(amount) AS total FROM sales GROUP BY month",
    "CREATE MATERIALIZED VIEW everything AS SELECT sum(total) AS total FROM monthly",
)
"""``sales``, a partitioned view of it and an unpartitioned view of that one; their total is 30."""

SLOW = (
    "CREATE MATERIALIZED VIEW slow AS SELECT max(id) AS newest, sum(pmod(hash(x, y), 7)) AS spun FROM sales "
    "LATERAL VIEW explode(sequence(1, spin)) a AS x LATERAL VIEW explode(sequence(1, 1000)) b AS y"
)
"""Takes about a second for every 20,000 of ``spin`` in ``sales``, and cannot be interrupted for as long."""

SPIN = 100_000


class Home:
    """A directory with a metastore, a warehouse and a store of its own, and the programs that use it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.warehouse = folder / "warehouse"
        self.store_path = default_store(self.warehouse)

    def session(self, settings: Mapping[str, str] | None = None, *, plain: bool = False) -> Session:
        """A spark-sql process; ``plain`` is without the extension. Use it in ``with``."""
        return Session(self.folder, None if plain else build_jar(), {**CONF, **(settings or {})}, timeout=120)

    def script(self, *statements: str, settings: Mapping[str, str] | None = None) -> tuple[int, str]:
        """Runs ``spark-sql -f`` to its end: the exit code, and everything it said."""
        file = self.folder / "script.sql"
        file.write_text(";\n".join(statements) + ";\n")
        done = subprocess.run(
            [*command(self.folder, build_jar(), {**CONF, **(settings or {})}), "-f", str(file)],
            cwd=self.folder,
            env={**os.environ, "SPARK_HOME": str(spark_home()), "PYSPARK_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def python(
        self, program: str, *arguments: str, timeout: float = 180, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a Python program here."""
        return subprocess.run(
            [sys.executable, "-c", program, *arguments],
            cwd=self.folder,
            env=environment and dict(environment),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def headwater(self, *arguments: str, timeout: float = 180) -> str:
        """What the command line prints; it must succeed."""
        done = subprocess.run(
            [str(Path(sys.executable).with_name("headwater")), *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start_runner(self, *arguments: str) -> subprocess.Popen[str]:
        """``headwater run``, running."""
        command = [str(Path(sys.executable).with_name("headwater")), "run", *arguments]
        return subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def events(self) -> list[Event]:
        store = SqlStore(self.store_path)
        try:
            return [entry.event for entry in store.read()]
        finally:
            store.close()

    def state(self) -> State:
        state = State()
        for event in self.events():
            state = transition(state, event)
        return state


class Session(SparkSql):
    """A spark-sql process whose parts can be killed."""

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def said(self) -> str:
        """Everything it wrote to its standard error."""
        return self._log.read_text(errors="replace")

    def one(self, query: str) -> str:
        """The only value of a query."""
        rows = self.run(query)
        assert [len(row) for row in rows] == [1], f"{query} has not one value but {rows}"
        return rows[0][0]

    def begin(self, statement: str) -> Callable[[], list[str]]:
        """Sends a statement and does not wait for it; what is returned waits, and tells what it printed."""
        mark = f"headwater-test-{next(self._marks)}"
        self._send(f"{statement};\n!echo {mark};\n")
        return lambda: self._until(mark)

    def engine(self) -> int | None:
        """The process id of its engine, if there is one."""
        return engine_of(self.pid)

    def await_engine(self) -> int:
        return until(self.engine, "an engine")

    def kill_driver(self) -> None:
        """``kill -9`` of the driver alone."""
        os.kill(self.pid, signal.SIGKILL)
        self._process.wait()


def engine_of(driver: int) -> int | None:
    """The engine process among the descendants of a driver."""
    for pid in descendants(driver):
        line = command_line(pid)
        if "headwater.spark.process.engine_process" in line and not line.startswith("/bin/sh"):
            return pid
    return None


def descendants(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            children = [int(each) for each in (task / "children").read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *descendants(child)]
    return found


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def is_alive(pid: int) -> bool:
    """Whether a process runs (one that only waits to be reaped does not)."""
    try:
        return not re.search(r"^State:\s+[ZX]", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except OSError:
        return False


def until(found: Callable, what: str, seconds: float = 60):
    """Waits for a result that is true."""
    deadline = time.monotonic() + seconds
    while True:
        result = found()
        if result:
            return result
        assert time.monotonic() < deadline, f"no {what} within {seconds:g} s"
        time.sleep(0.05)
