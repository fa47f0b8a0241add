"""The parts of every case: sizes, Spark processes to measure in, rounds by turns, and comparisons of rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import Progress

from benchmarks.parts.results import Figure, Report, commit, none
from headwater.engine.tell.refreshes import REFRESHES

console = Console(stderr=True)
Row = dict[str, Any]
Value = TypeVar("Value")
Case = Callable[[Namespace], Report]
"""Measures something. It gets the options of its suite, with the ``size``, and the file of its ``details``, if any."""

MANY_VIEWS = {"spark.sql.codegen.cache.maxEntries": "2000"}
"""Spark keeps the generated code of 100 stages; with more views it would compile their code at each refresh."""


class Size(Enum):
    """How much a case measures."""

    FULL = "full"
    QUICK = "quick"
    SMOKE = "smoke"

    def of(self, full: Value, quick: Value, smoke: Value) -> Value:
        """One of three values, by this size."""
        return {Size.FULL: full, Size.QUICK: quick, Size.SMOKE: smoke}[self]


def grown(
    asked: Namespace,
    keys: Iterable[Row],
    measure: Callable[[Row], Row],
    figures: Callable[[Sequence[Row]], Sequence[Figure]],
) -> Report:
    """Measures what the details of a case do not hold yet, and writes them after each measurement.

    A case that takes hours can be interrupted so.

    Args:
        keys: of each measurement.
        measure: measures one; its figures become a row beside the keys.
        figures: of all rows.

    Raises:
        SystemExit: the details are of another size or commit.
    """
    path, own = asked.details, {"size": asked.size.value, "commit": commit()}
    details = json.loads(path.read_text()) if path and path.exists() else {**own, "rows": []}
    for what, mine in own.items():
        if details.get(what) != mine:
            of = f"of the {what} {details.get(what)}"
            raise SystemExit(f"{path} holds measurements {of}; remove it, or name another directory")
    rows: list[Row] = details["rows"]
    for each in keys:
        if any(each.items() <= row.items() for row in rows):
            continue
        rows.append({**each, **measure(each)})
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(details, indent=1) + "\n")
    return Report(figures(rows), details)


def rotated(names: Iterable[Value], turn: int) -> list[Value]:
    """The same names; another one comes first in each turn."""
    some = list(names)
    shift = turn % len(some)
    return [*some[shift:], *some[:shift]]


def by_turns(
    sides: Mapping[str, Callable[[int], Value]],
    warm: int,
    rounds: int,
    before: Callable[[int], object] = lambda turn: None,
) -> dict[str, list[Value]]:
    """What each side found in each round that counts. Sides take turns, in another order each time.

    Args:
        sides: what each does in a turn.
        warm: rounds before, which do not count.
        before: done at the begin of a turn.
    """
    taken: dict[str, list[Value]] = {name: [] for name in sides}
    with bar("rounds", warm + rounds) as step:
        for turn in range(warm + rounds):
            before(turn)
            for name in rotated(sides, turn):
                found = sides[name](turn)
                taken[name] += [found] if turn >= warm else []
            step()
    return taken


def ratios(values: Iterable[float], base: Iterable[float]) -> list[float]:
    """The ratio round by round, so that a drift of the machine's speed cancels out."""
    return [value / other for value, other in zip(values, base, strict=True)]


def longer(values: Iterable[float], base: Iterable[float]) -> list[float]:
    """By how many percent each value is longer than the one of the same round."""
    return [100 * (each - 1) for each in ratios(values, base)]


class Worker:
    """A Spark process of its own that runs statements on request and times each.

    Args:
        module: adds functions to call.
        python: runs it.
    """

    def __init__(
        self,
        home: Path,
        conf: dict[str, str],
        module: str = "benchmarks.parts.worker",
        python: Path | str = sys.executable,
    ) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        self._process = subprocess.Popen(
            [python, "-m", module, json.dumps(conf)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(home / "log").open("w"),
            text=True,
            env={**os.environ, "BENCHMARK_HOME": str(home)},
        )
        self.started = self._answer()

    @property
    def pid(self) -> int:
        return self._process.pid

    def run(self, *statements: str) -> list[float]:
        """Seconds of each statement, executed one after the other."""
        return self._ask({"run": statements})["seconds"]

    def rows(self, statement: str) -> list[list[Any]]:
        return self._ask({"rows": statement})["rows"]

    def call(self, function: str, *arguments: Any) -> Any:
        """Runs one of the worker's named functions."""
        return self._ask({"call": function, "arguments": arguments})["value"]

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(30)

    def kill(self) -> None:
        """Ends the process at once, and so the Spark application below it."""
        self._process.kill()
        self.wait()

    def wait(self) -> None:
        """Waits until the process is gone."""
        self._process.wait()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"the worker ended; its log is {self.home / 'log'}:\n{(self.home / 'log').read_text()[-2000:]}"
            )
        return json.loads(line)


@contextmanager
def application(
    settings: Callable[[Path], Mapping[str, str]], module: str = "benchmarks.parts.worker"
) -> Iterator[Worker]:
    """A worker in a directory of its own.

    Args:
        settings: of Spark, by that directory.
    """
    with scratch() as place:
        worker = Worker(place / "spark", dict(settings(place)), module)
        yield worker
        worker.close()


def refreshes(rows: Iterable[Sequence[Any]]) -> list[Row]:
    """Rows of ``REFRESH`` or ``SHOW REFRESHES``, by the names of their columns."""
    return [dict(zip(REFRESHES, row, strict=True)) for row in rows]


def refreshed(worker: Worker, view: str) -> Row:
    """The refresh of a suspended view, as its row tells it. All others are suspended, so it runs alone."""
    alter = f"ALTER MATERIALIZED VIEW {view}"
    worker.run(f"{alter} RESUME", f"REFRESH MATERIALIZED VIEW {view}", f"{alter} SUSPEND")
    row = last_refresh(worker, view)
    assert row["status"] == "published", f"{view} was not refreshed: {row}"
    return row


def counted(worker: Worker, view: str) -> Row:
    """The same, with the number of the Spark jobs that ran meanwhile as its ``jobs``."""
    before = worker.call("jobs")
    row = refreshed(worker, view)
    return {**row, "jobs": worker.call("jobs") - before}


def other_ways(rows: Iterable[Row], mode: str) -> Figure:
    """The refreshes of a case that did not go by the method that it measures."""
    return none("refreshes that went another way", [each["mode"] for each in rows if each["mode"] != mode])


def last_refresh(worker: Worker, view: str) -> Row:
    return refreshes(worker.rows(f"SHOW REFRESHES FOR {view} LIMIT 1"))[0]


def held(name: str, query: str, method: str = "", using: str = " USING delta", settle: str = "1 hour") -> str:
    """The statement that creates a view whose refreshes wait until a benchmark asks for one.

    Args:
        using: its format and its partitions.
    """
    properties = {"headwater.settle": settle} | ({"headwater.method": method} if method else {})
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    return f"CREATE MATERIALIZED VIEW {name}{using} TBLPROPERTIES ({listed}) AS {query}"


def same_rows(worker: Worker, one: str, other: str) -> bool:
    """Whether two queries have the same rows, each as often."""
    pairs = ((one, other), (other, one))
    return not any(worker.rows(f"SELECT * FROM (({a}) EXCEPT ALL ({b})) LIMIT 1") for a, b in pairs)


def checksum(worker: Worker, rows: str, columns: str = "*") -> list[list[Any]]:
    """The number of rows, and the sum of their hashes."""
    return worker.rows(f"SELECT count(*), CAST(sum(CAST(xxhash64({columns}) AS DECIMAL(38, 0))) AS STRING) FROM {rows}")


def core_seconds(row: Row) -> float:
    """The core-seconds of a refresh. Where Spark did not tell them, its seconds stand for them."""
    return row["seconds"] if row["core_seconds"] is None else row["core_seconds"]


@contextmanager
def bar(said: str, total: int) -> Iterator[Callable[[], None]]:
    """A progress bar, if a terminal is attached; what it gives is called after each step."""
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(said, total=total)
        yield lambda: progress.advance(task)


@contextmanager
def scratch(root: Path | None = None):
    with tempfile.TemporaryDirectory(prefix="headwater-benchmark-", dir=root) as place:
        yield Path(place)


def extension(place: Path | None = None) -> dict[str, str]:
    """The settings that turn Headwater on."""
    from headwater.spark.jvm.jar import build_jar

    return {
        "spark.jars": str(build_jar()),
        "spark.sql.extensions": "io.headwater.spark.HeadwaterExtensions",
        "spark.headwater.python": sys.executable,
    }
