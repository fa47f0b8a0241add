"""Finds out the changes of tables: hints and checks in, recorded changes out.

A hint only says where to look. A comparison of the table's own state with the one on record decides, so lost events,
partial ones and writes by other programs are all alike. Nothing here asks Spark while it holds the recorder's lock:
a look comes first, and each event is built under the lock, of the state as it is then.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from functools import partial

from attrs import evolve

from headwater.engine.record import changes
from headwater.engine.record.changes import Standing
from headwater.engine.requests.coverage import upstream
from headwater.model.error import DefinitionError, StoreError
from headwater.model.partition import Slice, Version
from headwater.model.reason import Reason
from headwater.model.seen import TableQuestion
from headwater.model.state import State
from headwater.model.view import Definition
from headwater.runtime.recorder import Recorder
from headwater.spark.defining.analyse import Analyst
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.observing.findings import Findings
from headwater.spark.observing.hints import Hints, Target
from headwater.spark.observing.lost_views import LostViews
from headwater.spark.observing.reanalysis import Reanalysis
from headwater.spark.tables.registry import Formats

TOGETHER = 100
"""So many tables are compared with the record at once, while nobody else reads or writes it."""


class Observer:
    """Compares tables with the record, for one engine.

    Attributes:
        hints: those that wait for a look.
        lost_views: what became of views whose table is gone.
        findings: what is recorded of looks.
    """

    def __init__(self, recorder: Recorder, shim: Shim, formats: Formats, analyst: Analyst, sessions: Sessions) -> None:
        self._recorder, self._formats = recorder, formats
        self._reanalysis = Reanalysis(recorder, analyst, self.first_look, self.catch_up)
        self._looking = threading.RLock()
        self.hints = Hints(self.watched, formats)
        self.lost_views = LostViews(recorder, shim, formats, sessions, self._reanalysis)
        self.findings = Findings(recorder, self.lost_views, self._reanalysis)

    def hinted(self, before: Version = 0) -> None:
        """Looks where the hints point that wait, if any view could care; ``before`` a run that is about to read."""
        with self._looking:
            self.hints.follow(self.look, before)

    def check(self, view: str | None = None) -> None:
        """Looks at everything that a view reads, and at the views themselves; with ``view``, at that one and at all
        that it is made from."""
        try:
            self.look_after_hints(Target(dict.fromkeys(self.watched(view))))
        finally:
            self._reanalysis.retry()

    def watched(self, view: str | None = None) -> list[str]:
        """The tables, paths and functions that matter to any view; or to one, and to those that it is made from."""
        return self._recorder.read(partial(watched, view=view))

    def formats(self, view: str) -> dict[str, str]:
        """The format of each source of a view."""
        sources = self._recorder.read(lambda state: state.views[view].definition.sources)
        return {each: self._formats.of(each).name for each in sources}

    def unstorable(self, definition: Definition) -> str:
        """Why the format of a view cannot store its columns, as far as it says so before a write; else empty."""
        return self._formats.of_view(definition).unstorable(definition)

    def look(self, target: Target) -> None:
        """Observes tables and records how they differ.

        One look at a time: who asked for a check then knows that every earlier one is recorded. A failure is raised
        when all is recorded that can be.
        """
        with self._looking:
            looks, standings = self._asked(target)
            seen = self._formats.look(looks)
            again: dict[str, list[Slice] | None] = {}
            failures: list[Exception] = []
            for first in range(0, len(seen), TOGETHER):
                try:
                    outdated = self.findings.record(seen[first : first + TOGETHER], standings, target)
                    again |= {table: target.tables[table] for table in outdated}
                except StoreError:
                    raise  # nothing else can be recorded either
                except Exception as error:
                    failures.append(error)
            if again:
                self.look(evolve(target, tables=again))
            if failures:
                raise failures[0]

    def baseline(self, definition: Definition) -> None:
        """Looks at all tables that a view about to be declared reads. One that no view reads was not followed, and
        another program may have written to any of them.

        Raises:
            DefinitionError: one of them cannot be looked at.
        """
        for table, why in self._looked_at(definition, needed(definition)).items():
            raise DefinitionError(
                "UNREADABLE", f"{definition.view} reads {table}, which cannot be read: {why}. Create it when it can be"
            )

    def catch_up(self, definition: Definition) -> None:
        """Looks again at all tables that a view reads, once it is on record: a hint of what was written since the
        first look counted for nobody."""
        self._looked_at(definition, needed(definition))

    def reanalyse(self, table: str) -> None:
        """Analyses again the views that read a table with other columns."""
        self._reanalysis.of_readers(table)

    def first_look(self, definition: Definition) -> dict[str, Reason]:
        """Looks at those tables of a definition that nobody follows or could look at; those that nobody can look at,
        with the reason. What is on record of a table that no view reads is as old as the last view that did."""
        return self._looked_at(definition, self._recorder.read(partial(unsure, definition=definition)))

    def look_after_hints(self, target: Target) -> None:
        """Looks where hints point first: a change found by one is on record with the command that made it."""
        with self._looking:
            self.hinted(target.before)
            self.look(target)

    def unreadable(self, tables: Collection[str]) -> dict[str, Reason]:
        """Those of some tables that cannot be looked at now, with the reason."""
        return self._recorder.read(
            lambda state: {each: why for each, why in state.unreadable.items() if each in tables}
        )

    # --- inside

    def _looked_at(self, definition: Definition, tables: Iterable[str]) -> dict[str, Reason]:
        """Looks at tables of a definition; those of all of them that nobody can look at, with the reason."""
        if asked := dict.fromkeys(tables):
            self.look(Target(asked))
        return self.unreadable(needed(definition))

    def _asked(self, target: Target) -> tuple[list[TableQuestion], dict[str, Standing | None]]:
        """The questions of a look, and how the views among the tables stand before it."""

        def ask(state: State) -> tuple[list[TableQuestion], dict[str, Standing | None]]:
            looks = []
            for table, partitions in target.tables.items():
                since = state.tables[table].snapshot if table in state.tables else ""
                if partitions is None:
                    looks.append(TableQuestion(table, since=since, named=tuple(target.named.get(table, ()))))
                else:
                    looks.append(TableQuestion(table, tuple(partitions), since))
            return looks, {table: changes.standing(state, table) for table in target.tables if table in state.views}

        return self._recorder.read(ask)


def watched(state: State, view: str | None = None) -> list[str]:
    """What matters to any view; or to one, and to those that it is made from."""
    tables = {*state.index.readers, *state.views} if view is None else upstream(state, view)
    through = {each for name in tables & state.views.keys() for each in state.views[name].definition.through}
    return sorted(tables | through)


def needed(definition: Definition) -> tuple[str, ...]:
    """All that the rows of a view come from: its sources, and the ordinary views and functions between."""
    return tuple(dict.fromkeys((*definition.sources, *definition.through)))


def unsure(state: State, definition: Definition) -> list[str]:
    """What a view needs that nobody follows, or could look at."""
    followed = set(watched(state)) & state.tables.keys() - state.unreadable.keys()
    return [each for each in needed(definition) if each not in followed]
