"""Carries out Headwater's statements. Each runs in a thread of its own and may wait."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Collection, Sequence
from functools import partial

from attrs import evolve
from pyspark.errors import PySparkException

from headwater.engine.requests.coverage import depending
from headwater.engine.tell import report
from headwater.engine.tell.columns import LINES
from headwater.engine.tell.group_rows import GROUPS, STATES
from headwater.engine.tell.refreshes import REFRESHES, refreshes
from headwater.engine.tell.waiting import cannot_run, failing
from headwater.model.error import StatementError, StoreError
from headwater.model.event import Dropped, Resumed, Suspended
from headwater.model.name import anywhere, loosely, spelled
from headwater.model.policy import duration
from headwater.model.state import State
from headwater.model.view import Definition
from headwater.runtime.execute import guarded
from headwater.runtime.loop import Loop
from headwater.runtime.recorder import Recorder
from headwater.runtime.wait import SharedLooks, Waiting
from headwater.spark.defining.analyse import Analyst
from headwater.spark.defining.jobs import Jobs, messages
from headwater.spark.jvm.failures import first_line
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.settings import check_settings
from headwater.spark.jvm.shim import SPARK_ERRORS, Shim
from headwater.spark.jvm.wire import (
    AnswerRows,
    Create,
    Dropping,
    Pinning,
    Question,
    Row,
    Session,
    Statement,
    Wait,
    encode,
)
from headwater.spark.observing.hints import Target
from headwater.spark.observing.observer import Observer
from headwater.spark.refreshing.group_commits import GroupCommits
from headwater.spark.statements import syntax
from headwater.spark.statements.alter import Alterations
from headwater.spark.statements.create import Declarations
from headwater.spark.statements.group_statements import Groups, Pins
from headwater.spark.statements.recompute import COMPARISON, Recomputing, Verifier
from headwater.spark.statements.view_names import Names
from headwater.spark.tables import catalog
from headwater.spark.tables.view_tables import forget_replaced
from headwater.store.sql_store import SqlStore

LOOK = 5.0
"""So long (s) `SHOW MATERIALIZED VIEWS` waits for a look at the sources."""


class Statements:
    """What a user can say to one engine."""

    def __init__(
        self,
        recorder: Recorder,
        loop: Loop,
        store: SqlStore,
        observer: Observer,
        analyst: Analyst,
        sessions: Sessions,
        shim: Shim,
        verifier: Verifier,
        pins: Pins,
        commits: GroupCommits,
        jobs: Jobs | None = None,
    ) -> None:
        self._jobs = jobs or Jobs()
        self._recorder, self._loop, self._store, self._observer = recorder, loop, store, observer
        self._analyst, self._sessions, self._shim = analyst, sessions, shim
        self.waiting = Waiting(recorder, loop, store)
        self._names, self.looks = Names(recorder, shim.owner), SharedLooks(self._look, recorder.clock)
        self._groups = Groups(recorder, observer, self.waiting, self._names, pins, commits)
        self._recomputing = Recomputing(recorder, observer, self.waiting, verifier)
        self._alterations = Alterations(recorder, observer, analyst, sessions, shim, commits)
        self._declarations = Declarations(recorder, observer, analyst, sessions, shim, self.waiting, commits)

    def answer(self, message: Question) -> AnswerRows:
        """The rows that a question asks for, with their columns.

        Raises:
            HeadwaterError: the statement is refused, in words for the user.
        """
        for problem in check_settings(message.session.settings):
            raise StatementError(problem)
        try:
            match message:
                case Create():
                    return AnswerRows.of(LINES, self._declarations.create(message))
                case Wait():
                    return AnswerRows.of(LINES, self._wait_for_hints(message))
                case Dropping(table=table):
                    return AnswerRows.of(LINES, self._refused(table))
                case Pinning():
                    return AnswerRows.of(LINES, [[encode(self._groups.read(message))]])
                case Statement(kind=kind, text=text):
                    return self._say(syntax.parse(kind, text), message)
        except PySparkException as error:
            raise StatementError(first_line(error)) from error

    def declare_jobs(self, module: str) -> None:
        """Declares what the jobs of a module make, and leaves them to be filled.

        Raises:
            HeadwaterError: the module cannot be imported, or a job is refused.
        """
        session = evolve(self._shim.facts(self._sessions.of_table()), settings={})
        for job in self._jobs.of_module(module):
            for message in messages(job, session):
                self._declarations.create(message, later=True)

    # --- statements

    def _say(self, statement: syntax.Statement, message: Statement) -> AnswerRows:
        match statement:
            case syntax.Drain():
                return AnswerRows.of(REFRESHES, self._drain(message))
            case syntax.RefreshStatement():
                view = self._names.known(statement.name, message.session)
                return AnswerRows.of(REFRESHES, self._recomputing.refresh(view, statement, message.id))
            case syntax.Verify():
                view = self._names.known(statement.name, message.session)
                return AnswerRows.of(COMPARISON, self._recomputing.verify(view, statement, message.id))
            case syntax.ShowViews(database, pattern):
                return AnswerRows.of(report.VIEWS, self._show_views(database, pattern, message.session))
            case syntax.ShowRefreshes(name, limit):
                only = self._names.known(name, message.session) if name else None
                entries = self._store.history(only, None if limit is None else 3 * limit + 20)
                shown = refreshes((entry.event for entry in entries), limit, self._alive())
                return AnswerRows.of(REFRESHES, [each.row for each in shown])
            case syntax.Describe(name, extended):
                view = self._names.known(name, message.session)
                formats = self._observer.formats(view) if extended else {}
                rows = self._recorder.read(lambda state: report.describe(state, view, extended, self._now(), formats))
                return AnswerRows.of(report.DESCRIPTION, rows)
            case syntax.ShowGroups():
                return AnswerRows.of(GROUPS, self._groups.shown())
            case syntax.DescribeGroup(group, epoch):
                return AnswerRows.of(STATES, self._groups.described(group, message.session, epoch))
            case syntax.RefreshGroup(group):
                return AnswerRows.of(GROUPS, self._groups.refresh(group, message.id))
            case syntax.Explain(name):
                view = self._names.known(name, message.session)
                self._observer.check(view)
                return AnswerRows.of(report.PLAN, [[line] for line in self._loop.explained(view)])
            case syntax.Drop():
                return AnswerRows.of(LINES, self._drop(statement, message))
            case _:
                return AnswerRows.of(LINES, self._alter(statement, message))

    def _drain(self, message: Statement) -> Sequence[Row]:
        since = self._recorder.seq
        self._observer.check()
        everything = self.waiting.hurry()
        ran = self.waiting.until_fresh(lambda state: set(state.views), everything, since=since, token=message.id)
        if failing := self._failing(lambda state: set(state.views), everything):
            raise StatementError(failing)
        return [each.row for each in ran]

    def _failing(self, views: Callable[[State], Collection[str]], version: int) -> str:
        """The views, of some, that could not be refreshed although somebody waits since ``version``."""
        found = self._recorder.read(lambda state: failing(state, views(state), version))
        if not found:
            return ""
        return (
            f"{'; '.join(found.values())}. Every other view that can run is refreshed. Headwater tries again. "
            "SHOW REFRESHES shows each attempt; ALTER MATERIALIZED VIEW … SUSPEND leaves a view out"
        )

    def _show_views(self, database: syntax.Name | None, pattern: str | None, session: Session) -> Sequence[Row]:
        missed = self.looks.first(LOOK)
        now, within = self._now(), loosely(spelled(self._names.namespace(database, session))) if database else None
        known = self._recorder.read(lambda state: report.statuses(state, now, self._loop.capacity.tracks))
        wanted = re.compile("|".join(fnmatch.translate(loosely(each.strip())) for each in (pattern or "*").split("|")))
        alive = self._alive()
        return [
            each.row(now, alive, missed)
            for each in known
            if (within is None or loosely(each.database) == within) and wanted.fullmatch(loosely(each.short))
        ]

    def _look(self) -> None:
        self._loop.step()  # which hears the store, also where no source changed
        self._observer.check()

    def _alive(self) -> Collection[int] | None:
        """The numbers of the engines that are; ``None`` while the store does not answer."""
        try:
            return {each.number for each in self._store.engines() if each.alive}
        except StoreError:
            return None

    def _drop(self, statement: syntax.Drop, message: Statement) -> Sequence[Row]:
        view = self._names.find(statement.name, message.session)
        if view is None:
            if statement.if_exists:
                return [["there is no such materialized view; nothing was done"]]
            raise StatementError(self._names.unknown(statement.name))
        self._require_reachable(view)
        if refused := self._holding(view):
            raise StatementError(refused)
        dropped: list[Definition] = []

        def drop(state: State) -> Dropped | None:
            if view not in state.views:
                return None  # somebody else was faster
            if refused := _read(state, view):
                raise StatementError(refused)
            dropped[:] = [state.views[view].definition]
            return Dropped(self._now(), view)

        self._recorder.record(drop)
        self._loop.step()  # which stops a run of it
        for definition in dropped:
            if self._shim.owner(view) == definition.owner:
                catalog.drop(self._sessions.of_table(), self._shim, view)
                forget_replaced(self._sessions.of_table(), self._shim, definition)
            guarded(partial(self._shim.release, definition.root, definition.owner), f"the files of {view} stay")
        return [[f"{view} dropped"]]

    def _refused(self, view: str) -> Sequence[Row]:
        """Why the table of a view must not be dropped, if so. Else its place is noted, as it cannot be asked later."""
        if refused := self._recorder.read(partial(_read, view=view)) or self._holding(view):
            return [[refused]]
        self._observer.lost_views.note_place(view)
        return []

    def _holding(self, view: str) -> str:
        """Why the drop of a view would delete other tables; empty if it would not."""
        inner = self._shim.within(view)
        them = "it" if len(inner) == 1 else "them"
        return (
            f"its catalog deletes {', '.join(f'{view}.{each}' for each in inner)} with {view}; drop {them} first"
            if inner
            else ""
        )

    def _require_reachable(self, view: str) -> None:
        """A view is not dropped while nobody can drop its table: the next check would find that and adopt it."""
        try:
            self._shim.owner(view)
        except SPARK_ERRORS as error:
            raise StatementError(
                f"{view} cannot be dropped now: {self._shim.failure(error).text}; drop it when its table can be read, "
                f"or drop its table with DROP TABLE {anywhere(view)}"
            ) from error

    def _alter(self, statement: syntax.Alteration, message: Statement) -> Sequence[Row]:
        self._recorder.sync()  # another program may have redefined it
        view = self._names.known(statement.name, message.session)
        self._observer.look(Target({view: None}))  # its table may have been dropped
        view = self._names.known(statement.name, message.session)
        definition = self._recorder.read(lambda state: state.views[view].definition)
        match statement:
            case syntax.Suspend():
                self._recorder.record(lambda _: Suspended(self._now(), view))
                return [[f"{view} is suspended; what changes meanwhile stays pending"]]
            case syntax.Resume():
                self._recorder.record(lambda _: Resumed(self._now(), view))
                self._loop.step()
                ill = self._recorder.read(
                    lambda state: cannot_run(view, state.views[view]) if view in state.views else ""
                )
                return [[f"{view} is no longer suspended. {ill}" if ill else f"{view} is resumed"]]
            case syntax.SetProperties(_, changed):
                return self._alterations.set(definition, dict(changed))
            case syntax.UnsetProperties(_, keys, if_exists):
                return self._alterations.unset(definition, keys, if_exists)
            case syntax.Rename(_, to):
                target = self._names.beside(definition.view, to, message.session)
                return self._alterations.rename(definition, target)
        raise AssertionError(f"not a statement: {statement}")

    def _wait_for_hints(self, message: Wait) -> Sequence[Row]:
        since, written = self._recorder.seq, self._observer.hints.pointed_at(message.hints)
        for hint in message.hints:
            self._observer.hints.notice(hint)
        self._observer.hinted()
        limit = duration(message.session.settings.get("spark.headwater.wait.timeout", "1 hour"))
        if not written:
            return []
        version = self.waiting.hurry(lambda state: depending(state, written))
        self.waiting.until_fresh(
            lambda state: depending(state, written), version, since=since, token=message.id, timeout=limit / 1000
        )
        failed = self._failing(lambda state: depending(state, written), version)
        return [[failed]] if failed else []

    def _now(self) -> int:
        return self._recorder.clock.now()


def _read(state: State, view: str) -> str:
    """Why a view must not be dropped; empty if no other one reads it."""
    readers = report.reading(state, view)
    them = "it" if len(readers) == 1 else "them"
    return f"{view} is read by {', '.join(readers)}; drop {them} first" if readers else ""
