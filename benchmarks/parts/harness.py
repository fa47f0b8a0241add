"""The parts of every benchmark: sizes and options, Spark processes to measure in, goals, and the JSON report."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from attrs import asdict, frozen
from rich.console import Console
from rich.progress import Progress

from headwater.engine.tell.refreshes import REFRESHES

console = Console(stderr=True)
Row = dict[str, Any]
Value = TypeVar("Value")


@frozen
class Goal:
    """A figure and whether it is where it should be."""

    goal: str
    target: str
    measured: str
    met: bool


class Size(Enum):
    """How much a benchmark measures."""

    FULL = "full"
    QUICK = "quick"
    SMOKE = "smoke"

    def of(self, full: Value, quick: Value, smoke: Value) -> Value:
        """One of three values, by this size."""
        return {Size.FULL: full, Size.QUICK: quick, Size.SMOKE: smoke}[self]


def parser(description: str | None) -> argparse.ArgumentParser:
    """``python -m benchmarks.NAME [--quick | --smoke] [--json FILE]``; a benchmark adds options of its own."""
    made = argparse.ArgumentParser(description=(description or "").split("\n")[0])
    sizes = made.add_mutually_exclusive_group()
    sizes.add_argument(
        "--quick",
        dest="size",
        action="store_const",
        const=Size.QUICK,
        default=Size.FULL,
        help="end within a minute; figures are rough",
    )
    sizes.add_argument(
        "--smoke",
        dest="size",
        action="store_const",
        const=Size.SMOKE,
        help="end within seconds, on the smallest input; figures mean nothing",
    )
    made.add_argument("--json", type=Path, help="write figures and goals to this file")
    return made


def main(run: Callable[[Size], dict[str, Any]], parser: argparse.ArgumentParser) -> None:
    """Runs a benchmark, writes its figures and prints its goals."""
    told = parser.parse_args()
    report = {"machine": machine(), "size": told.size.value, **run(told.size)}
    _write(told.json, report | {"goals": [asdict(goal) for goal in report["goals"]]})
    show(report["goals"], told.size)


def grown(
    told: argparse.Namespace,
    asked: Iterable[Row],
    measure: Callable[[Row], Row],
    goals: Callable[[Sequence[Row]], Sequence[Goal]],
    drawn: Callable[[Sequence[Row], Path], None] = lambda rows, path: None,
) -> None:
    """Measures what a report does not hold yet, writes it after each measurement, and prints the goals.

    A benchmark that takes hours can be interrupted so.

    Args:
        told: the size, and the report's file (``None``: it is not written).
        asked: the keys of each measurement.
        measure: measures one; its figures become a row beside the keys.
        goals: of all rows.
        drawn: called with the rows and the report's path after each time it is written.

    Raises:
        SystemExit: the report holds measurements of another size.
    """
    path, size = told.json, told.size
    report = json.loads(path.read_text()) if path and path.exists() else {"size": size.value, "rows": []}
    if report["size"] != size.value:
        raise SystemExit(f"{path} holds measurements of the size {report['size']}; name another file")
    rows: list[Row] = report["rows"]
    for each in asked:
        if any(each.items() <= row.items() for row in rows):
            continue
        rows.append({**each, **measure(each)})
        found = {"machine": machine(), "size": size.value, "rows": rows}
        _write(path, found | {"goals": [asdict(goal) for goal in goals(rows)]})
        if path:
            drawn(rows, path)
    show(goals(rows), size)


def show(goals: Sequence[Goal], size: Size) -> None:
    """Prints each goal with its figure. The smallest size judges none."""
    for goal in goals:
        verdict = "not judged" if size is Size.SMOKE else "met " if goal.met else "MISSED"
        print(f"{verdict}  {goal.goal}: {goal.measured} (goal {goal.target})")


def _write(path: Path | None, report: Mapping[str, Any]) -> None:
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report, indent=2) + "\n")


def machine() -> dict[str, Any]:
    return {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}


def spread(values: Iterable[float]) -> dict[str, float]:
    """Median, minimum and maximum."""
    found = sorted(values)
    return {"median": statistics.median(found), "min": found[0], "max": found[-1], "runs": len(found)}


def ratio(values: Sequence[float], base: Sequence[float]) -> dict[str, float]:
    """The ratio round by round, so that a drift of the machine's speed cancels out."""
    return spread(value / other for value, other in zip(values, base, strict=True))


class Worker:
    """A Spark process of its own that runs statements on request and times each. ``module`` adds functions to call."""

    def __init__(self, home: Path, conf: dict[str, str], module: str = "benchmarks.parts.worker") -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, json.dumps(conf)],
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


def refreshes(rows: Iterable[Sequence[Any]]) -> list[Row]:
    """Rows of ``REFRESH`` or ``SHOW REFRESHES``, by the names of their columns."""
    return [dict(zip(REFRESHES, row, strict=True)) for row in rows]


def refreshed(worker: Worker, view: str) -> Row:
    """The refresh of a suspended view, as its row tells it. All others are suspended, so it runs alone."""
    alter = f"ALTER MATERIALIZED VIEW {view}"
    worker.run(f"{alter} RESUME", f"REFRESH MATERIALIZED VIEW {view}", f"{alter} SUSPEND")
    [row] = refreshes(worker.rows(f"SHOW REFRESHES FOR {view} LIMIT 1"))
    assert row["status"] == "published", f"{view} was not refreshed: {row}"
    return row


def core_seconds(row: Row) -> float:
    """The core-seconds of a refresh. Where Spark did not tell them, its seconds stand for them."""
    return row["seconds"] if row["core_seconds"] is None else row["core_seconds"]


@contextmanager
def bar(console: Console, said: str, total: int) -> Iterator[Callable[[], None]]:
    """A progress bar, if a terminal is attached; what it gives is called after each step."""
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(said, total=total)
        yield lambda: progress.advance(task)


@contextmanager
def scratch(root: Path | None = None):
    with tempfile.TemporaryDirectory(prefix="headwater-benchmark-", dir=root) as place:
        yield Path(place)


def extension() -> dict[str, str]:
    """The settings that turn Headwater on."""
    from headwater.spark.jvm.jar import build_jar

    return {
        "spark.jars": str(build_jar()),
        "spark.sql.extensions": "io.headwater.spark.HeadwaterExtensions",
        "spark.headwater.python": sys.executable,
    }
