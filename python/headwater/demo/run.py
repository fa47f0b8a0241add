"""The demo from end to end: it makes the warehouse, plays the days, counts the cost of each step, and compares."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from attrs import define, field, frozen
from rich.console import Console

from headwater.demo.data import SOURCES, generate, load_statements
from headwater.demo.demo_formats import PARQUET, DemoFormat
from headwater.demo.figures import Counts, Moment, StatementRunner, StepFigures, Stored, snapshot, step_figures
from headwater.demo.life import DAYS, Day, LifeStep
from headwater.demo.narrator import Narrator
from headwater.demo.proof import prove
from headwater.demo.result import Report, show, write_json
from headwater.demo.session import SparkSql
from headwater.demo.views import View, read_views
from headwater.model.error import HeadwaterError
from headwater.spark.jvm.jar import build_jar

DRAIN = "REFRESH MATERIALIZED VIEWS"

OpenSession = Callable[[Mapping[str, str]], AbstractContextManager[StatementRunner]]
"""Starts a spark-sql process with these settings."""


def run_demo(scale: float, format: DemoFormat, json_path: Path | None, keep: Path | None) -> int:
    """Plays the demo on the terminal. Returns the exit code, 1 when a view is wrong.

    ``keep`` names the directory to work in and to leave behind; without it a temporary one is used.
    """
    console = Console()
    with _stage(keep) as folder:
        report = perform(scale, format, folder, Narrator(console))
    show(report, console)
    if json_path:
        write_json(report, json_path)
    return 0 if report.equal else 1


def perform(scale: float, format: DemoFormat, folder: Path, narrator: Narrator) -> Report:
    """Makes the data and the warehouse in ``folder``, plays the days, and compares."""
    views, raw = read_views(), folder / "tpch"
    session = partial(SparkSql, folder, format=format)

    with narrator.showing():
        jar = narrator.once("build the extension's jar", build_jar)
        narrator.once(f"generate TPC-H at scale {scale:g}", partial(generate, scale, raw))
        play = Play(views, load_statements(raw, format.name), Stored(folder / "warehouse"), narrator, format)
        play.live(DAYS, partial(session, jar))
        with session() as stock:
            differences = prove(stock, views, SOURCES, narrator)
    return Report(scale, format.name, play.figures, differences, narrator.elapsed)


@contextmanager
def _stage(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="headwater-demo-") as folder:
            yield Path(folder).resolve()
        return
    keep.mkdir(parents=True, exist_ok=True)
    if any(keep.iterdir()):
        raise HeadwaterError(f"{keep} is not empty; name a new directory to keep the demo in")
    yield keep.resolve()


@frozen
class WrittenStep:
    """A step whose writes are done, but not yet in the views."""

    day: str
    step: LifeStep
    seconds: float


@define
class Play:
    """One performance: its warehouse is made by ``opening`` in the first day's process."""

    views: Sequence[View]
    opening: Sequence[str]
    record: Counts
    narrator: Narrator
    format: DemoFormat = PARQUET
    figures: list[StepFigures] = field(factory=list)
    _last: Moment = Moment(frozenset(), 0)

    def live(self, days: Iterable[Day], open_session: OpenSession) -> None:
        """Plays the days, each in a process of its own, and fills ``figures``."""
        waiting: WrittenStep | None = None
        for number, day in enumerate(days):
            with open_session(dict(day.settings)) as session:
                if number == 0:
                    self._set_the_stage(session)
                if waiting:
                    self._finish(session, waiting, f"day {day.name}: what was left pending")
                    waiting = None
                for step in day.steps:
                    waiting = self._write(session, day.name, step)
                    if step.drains:
                        self._finish(session, waiting, f"day {day.name}: refresh")
                        waiting = None

    def _set_the_stage(self, session: StatementRunner) -> None:
        for statement in self.narrator.through("load the sources", self.opening):
            session.run(statement)
        for view in self.narrator.through("create and fill the views", self.views):
            session.run(view.statement(self.format.name))
        self._last = snapshot(session, self.record)

    def _write(self, session: StatementRunner, day: str, step: LifeStep) -> WrittenStep:
        started = time.monotonic()
        for write in self.narrator.through(f"day {day}: {step.title}", step.writes):
            session.run(write.statement)
        return WrittenStep(day, step, time.monotonic() - started)

    def _finish(self, session: StatementRunner, written: WrittenStep, title: str) -> None:
        """Drains, and counts the cost of the writes since the last snapshot."""
        started = time.monotonic()
        self.narrator.once(title, lambda: session.run(DRAIN))
        seconds = written.seconds + time.monotonic() - started
        now = snapshot(session, self.record)
        self.figures.append(step_figures(written.day, written.step, self._last, now, seconds, self.record))
        self._last = now
