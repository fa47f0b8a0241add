"""What every benchmark shares: Spark processes to measure in, goals, and the JSON report."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import asdict, frozen
from rich.console import Console

console = Console(stderr=True)
Row = dict[str, Any]


@frozen
class Goal:
    """A figure and whether it is where it should be."""

    goal: str
    target: str
    measured: str
    met: bool


def main(run: Callable[..., dict[str, Any]], description: str, **sizes: int) -> None:
    """``python -m benchmarks.NAME [--quick] [--json FILE]``: runs, prints the goals, writes the figures.

    ``sizes`` become options of the command and arguments of ``run``, with these values unless told otherwise.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="end within a minute; figures are rough")
    parser.add_argument("--json", type=Path, help="write the raw figures and goals to this file")
    for name, size in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=size, help=f"by default {size}")
    arguments = parser.parse_args()
    told = {name: getattr(arguments, name) for name in sizes}
    report = {"machine": machine(), "quick": arguments.quick, **told, **run(arguments.quick, **told)}
    _write(arguments.json, report | {"goals": [asdict(goal) for goal in report["goals"]]})
    show(report["goals"])


def grown(
    path: Path | None,
    asked: Iterable[Row],
    measure: Callable[[Row], Row],
    goals: Callable[[Sequence[Row]], Sequence[Goal]],
    drawn: Callable[[Sequence[Row], Path], None] = lambda rows, path: None,
) -> list[Row]:
    """Measures what a report does not hold yet, and writes it after each: what takes hours can be interrupted.

    Args:
        path: of the report; ``None``: nothing is written, and nothing known.
        asked: what tells each measurement from the others.
        measure: what is found of one; it becomes a row beside what was asked.
        goals: of all rows.
        drawn: called with the rows and the report's path each time it was written.
    """
    rows: list[Row] = json.loads(path.read_text())["rows"] if path and path.exists() else []
    for each in asked:
        if any(each.items() <= row.items() for row in rows):
            continue
        rows.append({**each, **measure(each)})
        _write(path, {"machine": machine(), "rows": rows, "goals": [asdict(goal) for goal in goals(rows)]})
        if path:
            drawn(rows, path)
    return rows


def show(goals: Sequence[Goal]) -> None:
    for goal in goals:
        print(f"{'met ' if goal.met else 'MISSED'}  {goal.goal}: {goal.measured} (goal {goal.target})")


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
    """A Spark process of its own that runs statements on request and says how long each took; ``module`` says what
    else it can be asked."""

    def __init__(self, home: Path, conf: dict[str, str], module: str = "benchmarks.worker") -> None:
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
def scratch(root: Path | None = None):
    with tempfile.TemporaryDirectory(prefix="headwater-benchmark-", dir=root) as place:
        yield Path(place)


def extension() -> dict[str, str]:
    """The settings that turn Headwater on."""
    from headwater.spark.jar import build_jar

    return {
        "spark.jars": str(build_jar()),
        "spark.sql.extensions": "io.headwater.spark.HeadwaterExtensions",
        "spark.headwater.python": sys.executable,
    }
