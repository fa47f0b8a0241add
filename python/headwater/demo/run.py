"""The demo from end to end: it makes the warehouse, plays the days, counts the cost of each step, and compares."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Protocol, TypeVar

from attrs import asdict, frozen
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from headwater.demo.days import LIFE, SOURCES, LifeStep, View, Write, generate, load_statements, read_views
from headwater.demo.session import DemoFormat, SparkSql
from headwater.engine.tell.refreshes import REFRESHES
from headwater.model.error import HeadwaterError
from headwater.model.state import State
from headwater.model.work import Mode
from headwater.simulate.naive import immediate
from headwater.spark.jvm.jar import build_jar
from headwater.store.dialect import default_store
from headwater.store.recovery import restored
from headwater.store.sql_store import SqlStore

DRAIN, HISTORY = "REFRESH MATERIALIZED VIEWS", "SHOW REFRESHES LIMIT 1000000"
RECOMPUTED = "recomputed"
"""The database of the proof: a view's name means the recomputed table there, and a source's name the source."""

Item = TypeVar("Item")


class StatementRunner(Protocol):
    """Something that runs a statement and answers with rows of text."""

    def run(self, statement: str) -> list[list[str]]: ...


OpenSession = Callable[[Mapping[str, str]], AbstractContextManager[StatementRunner]]
"""Starts a spark-sql process with these settings."""


class Narrator:
    """Shows the progress of the demo within ``showing()``: bars on a terminal, plain lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console, self._began = console, time.monotonic()
        columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=console)

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    def showing(self) -> AbstractContextManager[object]:
        return self._progress if self._console.is_terminal else nullcontext()

    def once(self, title: str, work: Callable[[], Item]) -> Item:
        """Shows one piece of work, and returns its result."""
        return [each() for each in self.through(title, [work])][0]

    def through(self, title: str, items: Sequence[Item]) -> Iterable[Item]:
        """Yields the items one by one, and shows the number of the finished ones."""
        if self._console.is_terminal:
            return self._progress.track(items, description=title)
        self._console.print(f"{self.elapsed:6.1f} s  {title}", highlight=False, soft_wrap=True)
        return items


@frozen
class StepFigures:
    """One line of the demo's table: refreshes if each change triggered at once, refreshes that ran, the partitions that
    they made, and those of all views."""

    day: str
    title: str
    immediate: int
    refreshed: int
    touched: int
    existing: int
    seconds: float


Refreshes = frozenset[tuple[str, ...]]
"""Runs that computed a partition: the view, the partition, its version, and the run."""


def refreshes(session: StatementRunner) -> Refreshes:
    """All on record. A skipped one computed nothing."""
    rows = [dict(zip(REFRESHES, row, strict=True)) for row in session.run(HISTORY) if len(row) == len(REFRESHES)]
    ran = [each for each in rows if each["mode"] != Mode.SKIPPED.value]
    return frozenset(tuple(each[cell] for cell in ("view", "partition", "version", "run_id")) for each in ran)


def step_figures(step: LifeStep, ran: Refreshes, seconds: float, state: State) -> StepFigures:
    """What the writes of a step cost. Triggered at once, each change refreshes a partition once for each path that it
    arrives by. It is counted after the drain, when the partitions exist."""
    known = (each for view in state.views for each in state.tables[view].partitions.values())
    return StepFigures(
        step.day,
        step.title,
        sum(immediate(state, f"default.{write.table}", [write.changed]) for write in step.writes),
        len(ran),
        len({(view, partition) for view, partition, *_ in ran}),
        sum(each.fingerprint is not None for each in known),
        seconds,
    )


def on_record(warehouse: Path) -> State:
    """The state in the store of a warehouse."""
    store = SqlStore(default_store(warehouse))
    try:
        return restored(store)[0]
    finally:
        store.close()


def live(
    life: Iterable[LifeStep],
    opening: Mapping[str, Sequence[str]],
    open_session: OpenSession,
    state: Callable[[], State],
    narrator: Narrator,
) -> list[StepFigures]:
    """Plays each day in a process of its own, the first one after the statements of ``opening`` with their titles.
    A process that drains nothing only reports its writes."""
    figures: list[StepFigures] = []
    before: Refreshes | None = None
    left: list[tuple[LifeStep, float, tuple[Write, ...]]] = []
    for day, together in groupby(life, key=lambda each: each.day):
        todo = [*left, *((step, 0.0, step.writes) for step in together)]
        drains, left = any(step.drains or not writes for step, _, writes in todo), []
        with open_session({} if drains else {"spark.headwater.role": "report"}) as session:
            if before is None:
                for title, statements in opening.items():
                    for statement in narrator.through(title, statements):
                        session.run(statement)
                before = refreshes(session)
            for step, spent, writes in todo:
                began = time.monotonic() - spent
                for write in narrator.through(f"day {day}: {step.title}", writes) if writes else ():
                    session.run(write.statement)
                if writes and not step.drains:
                    left.append((step, time.monotonic() - began, ()))
                    continue
                title = "refresh" if writes else "what was left pending"
                narrator.once(f"day {day}: {title}", partial(session.run, DRAIN))
                seconds, after = time.monotonic() - began, refreshes(session)
                figures.append(step_figures(step, after - before, seconds, state()))
                before = after
    return figures


def prove(session: StatementRunner, views: Sequence[View], narrator: Narrator) -> dict[str, int]:
    """The number of rows of each view that differ from its query over the sources, as bags of rows. A Spark without
    Headwater recomputes each view once, upstream first, by its query as it is written."""
    session.run(f"CREATE DATABASE {RECOMPUTED}")
    for source in SOURCES:
        session.run(f"CREATE VIEW {RECOMPUTED}.{source} AS SELECT * FROM default.{source}")
    session.run(f"USE {RECOMPUTED}")
    differences = {}
    for view in narrator.through("recompute every view from the sources and compare", views):
        session.run(f"CREATE TABLE {view.name} USING parquet AS {view.query}")
        differences[view.name] = int(session.run(_difference(view))[0][0])
    return differences


def _difference(view: View) -> str:
    """A query with one row: the number of rows, with their multiplicity, in only one of the two bags."""
    columns = f"* EXCEPT ({view.column}), {view.column}" if view.column else "*"
    return f"""SELECT coalesce(sum(abs(surplus)), 0) FROM (
        SELECT * EXCEPT (side), sum(side) AS surplus FROM (
            SELECT {columns}, 1 AS side FROM default.{view.name}
            UNION ALL
            SELECT {columns}, -1 AS side FROM {RECOMPUTED}.{view.name})
        GROUP BY ALL HAVING surplus <> 0)"""


@frozen
class Report:
    """The results of the demo. ``differences`` counts the wrong rows of each view."""

    scale: float
    format: str
    steps: Sequence[StepFigures]
    differences: Mapping[str, int]
    seconds: float

    @property
    def equal(self) -> bool:
        return not any(self.differences.values())

    @property
    def figures(self) -> dict[str, object]:
        """All of it, for programs."""
        more = {"total": self.total, "views": len(self.differences), "equal": self.equal}
        known = {**asdict(self), **more}
        order = ("scale", "format", "steps", "total", "views", "differences", "equal", "seconds")
        return {name: known[name] for name in order}

    @property
    def total(self) -> dict[str, float]:
        names = ("immediate", "refreshed", "touched", "seconds")
        return {name: sum(getattr(step, name) for step in self.steps) for name in names}

    def show(self, console: Console) -> None:
        total = {name: f"{figure:.1f}" if name == "seconds" else f"{figure:,}" for name, figure in self.total.items()}
        table = Table(title=f"Three days of TPC-H at scale {self.scale:g}: refreshes", show_footer=True)
        table.add_column("day", "all", no_wrap=True)
        table.add_column("step")
        titles = {"immediate": "immediate", "refreshed": "Headwater", "touched": "partitions", "seconds": "seconds"}
        for name, title in titles.items():
            table.add_column(title, total[name], justify="right", no_wrap=True)
        for step in self.steps:
            partitions = f"{step.touched:,} of {step.existing:,}"
            counts = (f"{step.immediate:,}", f"{step.refreshed:,}", partitions, f"{step.seconds:.1f}")
            table.add_row(step.day, step.title, *counts)
        console.print(table)
        wrong = ", ".join(f"{view} ({rows} rows)" for view, rows in self.differences.items() if rows)
        verdict = f"Every view equals its query: {len(self.differences)} views recomputed and compared."
        verdict = f"Not every view equals its query: {wrong}." if wrong else verdict
        console.print(Text(verdict, style="bold red" if wrong else "bold green"))


def run_demo(scale: float, format: DemoFormat, json_path: Path | None, keep: Path | None) -> int:
    """Plays the demo on the terminal. Returns the exit code, 1 when a view is wrong.

    ``keep`` names the directory to work in and to leave behind; without it a temporary one is used.
    """
    console = Console()
    with _stage(keep) as folder:
        report = perform(scale, format, folder, Narrator(console))
    report.show(console)
    if json_path:
        json_path.write_text(json.dumps(report.figures, indent=2) + "\n")
    return 0 if report.equal else 1


def perform(scale: float, format: DemoFormat, folder: Path, narrator: Narrator) -> Report:
    """Makes the data and the warehouse in ``folder``, plays the days, and compares."""
    views, raw, session = read_views(), folder / "tpch", partial(SparkSql, folder, format=format)
    with narrator.showing():
        jar = narrator.once("build the extension's jar", build_jar)
        narrator.once(f"generate TPC-H at scale {scale:g}", partial(generate, scale, raw))
        opening = {
            "load the sources": load_statements(raw, format.name),
            "create and fill the views": [view.statement(format.name) for view in views],
        }
        figures = live(LIFE, opening, partial(session, jar), partial(on_record, folder / "warehouse"), narrator)
        with session() as stock:
            differences = prove(stock, views, narrator)
    return Report(scale, format.name, figures, differences, narrator.elapsed)


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
