"""The figures of the demo: the refreshes from ``SHOW REFRESHES``, the other counts from the demo's own store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from attrs import frozen

from headwater.demo.life import LifeStep
from headwater.engine.tell.refreshes import REFRESHES
from headwater.model.partition import Slice
from headwater.model.state import State
from headwater.model.work import Mode
from headwater.simulate.naive import immediate
from headwater.store.dialect import default_store
from headwater.store.recovery import restored
from headwater.store.sql_store import SqlStore

HISTORY = "SHOW REFRESHES LIMIT 1000000"


class StatementRunner(Protocol):
    """Something that runs a statement and answers with rows of text."""

    def run(self, statement: str) -> list[list[str]]: ...


@frozen
class Refreshed:
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
class Moment:
    """The warehouse between two steps: its history so far, and the number of partitions of its views."""

    refreshes: frozenset[Refreshed]
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


class Counts(Protocol):
    """Counts of the things on record, at the moment of the call."""

    def immediate(self, table: str, changed: Slice) -> int:
        """The refreshes of one change (a source and the written slice) when every change refreshes at once."""

    def partitions(self) -> int:
        """The partitions of all views."""


def snapshot(session: StatementRunner, record: Counts) -> Moment:
    history = frozenset(_refresh(row) for row in session.run(HISTORY) if len(row) == len(REFRESHES))
    return Moment(history, record.partitions())


def step_figures(
    day: str, step: LifeStep, before: Moment, after: Moment, seconds: float, record: Counts
) -> StepFigures:
    """The cost of one step: the difference of the snapshots around it."""
    ran = [refresh for refresh in after.refreshes - before.refreshes if refresh.ran]
    return StepFigures(
        day=day,
        title=step.title,
        immediate=immediate_refreshes(step, record),
        refreshed=len(ran),
        touched=len({(refresh.view, refresh.partition) for refresh in ran}),
        existing=after.partitions,
        seconds=seconds,
    )


def immediate_refreshes(step: LifeStep, record: Counts) -> int:
    """The refreshes of the step's writes when every change refreshes at once.

    Immediate triggering refreshes whatever reads a table as soon as that table has a new version:
    one refresh for each partition and each path the change arrives by. It knows neither pending
    changes nor the shape of the graph, so it adds up over the writes of a step. Ask it when the
    step's partitions exist, that is, after the drain.
    """
    return sum(record.immediate(write.table, write.changed) for write in step.writes)


@frozen
class Stored:
    """The record in the store of a warehouse."""

    warehouse: Path

    def immediate(self, table: str, changed: Slice) -> int:
        return immediate(self._state(), f"default.{table}", [changed])

    def partitions(self) -> int:
        state = self._state()
        known = (each for view in state.views for each in state.tables[view].partitions.values())
        return sum(each.fingerprint is not None for each in known)

    def _state(self) -> State:
        store = SqlStore(default_store(self.warehouse))
        try:
            return restored(store)[0]
        finally:
            store.close()


def _refresh(row: Sequence[str]) -> Refreshed:
    cell = dict(zip(REFRESHES, row, strict=True))
    return Refreshed(cell["run_id"], cell["view"], cell["partition"], Mode(cell["mode"]), cell["version"])
