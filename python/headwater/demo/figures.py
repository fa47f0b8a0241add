"""The figures of the demo, from statements of every user: SHOW REFRESHES and SHOW PARTITIONS.

The refreshes of a warehouse that refreshes on every change are counted from the demo's own store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from attrs import frozen

from headwater.demo.life import Step
from headwater.demo.views import View
from headwater.engine.naive import immediate
from headwater.model.event import Mode
from headwater.model.partition import Slice
from headwater.store.place import default_store
from headwater.store.replay import restored
from headwater.store.sql import SqlStore

HISTORY = "SHOW REFRESHES LIMIT 1000000"
COLUMNS = (
    *("run_id", "view", "partition", "mode", "reason", "version"),
    *("rows", "started_at", "seconds", "status", "error"),
)


class Session(Protocol):
    """Something that runs a statement and answers with rows of text."""

    def run(self, statement: str) -> list[list[str]]: ...


@frozen
class Refresh:
    """One row of the history: one refresh of one partition."""

    run: str
    view: str
    partition: str
    mode: Mode
    version: str

    @property
    def ran(self) -> bool:
        """Whether the query was computed; a skipped refresh had nothing to do."""
        return self.mode is not Mode.SKIPPED


@frozen
class Snapshot:
    """The warehouse between two steps: its history so far, and the number of partitions of its views."""

    refreshes: frozenset[Refresh]
    partitions: int


@frozen
class StepFigures:
    """One line of the demo's table."""

    day: str
    title: str
    immediate: int
    refreshed: int
    touched: int
    existing: int
    seconds: float


Naive = Callable[[str, Slice], int]
"""Counts the refreshes of one change (a source and the written slice) when every change refreshes at once."""


def snapshot(session: Session, views: Iterable[View]) -> Snapshot:
    history = frozenset(_refresh(row) for row in session.run(HISTORY) if len(row) == len(COLUMNS))
    return Snapshot(history, sum(_partitions(session, view) for view in views))


def step_figures(day: str, step: Step, before: Snapshot, after: Snapshot, seconds: float, naive: Naive) -> StepFigures:
    """The cost of one step: the difference of the snapshots around it."""
    ran = [refresh for refresh in after.refreshes - before.refreshes if refresh.ran]
    return StepFigures(
        day=day,
        title=step.title,
        immediate=immediate_refreshes(step, naive),
        refreshed=len(ran),
        touched=len({(refresh.view, refresh.partition) for refresh in ran}),
        existing=after.partitions,
        seconds=seconds,
    )


def immediate_refreshes(step: Step, naive: Naive) -> int:
    """The refreshes of the step's writes when every change refreshes at once.

    Immediate triggering refreshes whatever reads a table as soon as that table has a new version:
    one refresh for each partition and each path the change arrives by. It knows neither pending
    changes nor the shape of the graph, so it adds up over the writes of a step. Ask it when the
    step's partitions exist, that is, after the drain.
    """
    return sum(naive(write.table, write.changed) for write in step.writes)


def counted_from(warehouse: Path) -> Naive:
    """Counts with the views, maps and partitions that the warehouse's store knows at that moment."""

    def naive(table: str, changed: Slice) -> int:
        store = SqlStore(default_store(warehouse))
        state, _ = restored(store)
        store.close()
        return immediate(state, f"default.{table}", [changed])

    return naive


def _refresh(row: Sequence[str]) -> Refresh:
    cell = dict(zip(COLUMNS, row, strict=True))
    return Refresh(cell["run_id"], cell["view"], cell["partition"], Mode(cell["mode"]), cell["version"])


def _partitions(session: Session, view: View) -> int:
    return len(session.run(f"SHOW PARTITIONS {view.name}")) if view.column else 1
