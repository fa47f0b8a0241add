"""Plays the days against a warehouse and counts the cost of each step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager

from attrs import define, field, frozen

from headwater.demo import compare
from headwater.demo.figures import Naive, Session, Snapshot, StepFigures, snapshot, step_figures
from headwater.demo.life import Day, Step
from headwater.demo.narrator import Narrator
from headwater.demo.views import View

DRAIN = "REFRESH MATERIALIZED VIEWS"

OpenSession = Callable[[Mapping[str, str]], AbstractContextManager[Session]]
"""Starts a spark-sql process with these settings."""


@frozen
class Written:
    """A step whose writes are done, but not yet in the views."""

    day: str
    step: Step
    seconds: float


@define
class Play:
    """One performance: its warehouse is made by ``opening`` in the first day's process."""

    views: Sequence[View]
    opening: Sequence[str]
    naive: Naive
    narrator: Narrator
    figures: list[StepFigures] = field(factory=list)
    _last: Snapshot = Snapshot(frozenset(), 0)

    def live(self, days: Iterable[Day], open_session: OpenSession) -> None:
        """Plays the days, each in a process of its own, and fills ``figures``."""
        waiting: Written | None = None
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

    def _set_the_stage(self, session: Session) -> None:
        for statement in self.narrator.through("load the sources", self.opening):
            session.run(statement)
        for view in self.narrator.through("create and fill the views", self.views):
            session.run(view.statement)
        self._last = snapshot(session, self.views)

    def _write(self, session: Session, day: str, step: Step) -> Written:
        started = time.monotonic()
        for write in self.narrator.through(f"day {day}: {step.title}", step.writes):
            session.run(write.statement)
        return Written(day, step, time.monotonic() - started)

    def _finish(self, session: Session, written: Written, title: str) -> None:
        """Drains, and counts the cost of the writes since the last snapshot."""
        started = time.monotonic()
        self.narrator.once(title, lambda: session.run(DRAIN))
        seconds = written.seconds + time.monotonic() - started
        now = snapshot(session, self.views)
        self.figures.append(step_figures(written.day, written.step, self._last, now, seconds, self.naive))
        self._last = now


def prove(session: Session, views: Sequence[View], sources: Iterable[str], narrator: Narrator) -> dict[str, int]:
    """The number of rows of each view that differ from its query over the sources."""
    for statement in compare.opening_statements(sources):
        session.run(statement)
    differences = {}
    for view in narrator.through("recompute every view from the sources and compare", views):
        session.run(compare.recompute_statement(view))
        differences[view.name] = int(session.run(compare.difference_statement(view))[0][0])
    return differences
