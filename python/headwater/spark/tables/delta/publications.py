"""Publications of views in Delta tables: each is one commit, which carries the view's version and its sources."""

from __future__ import annotations

import json
import time

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headwater.model.command import Launch, Replaced, Written
from headwater.model.error import RefreshCancelled, RefreshFailed
from headwater.model.partition import WHOLE, Slice, Version
from headwater.model.reason import Code
from headwater.model.state import Run
from headwater.model.view import Definition
from headwater.spark.jvm import sql
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables import catalog
from headwater.spark.tables.delta.calls import Draft, active
from headwater.spark.tables.delta.layout import Layout
from headwater.spark.tables.delta.log import Cut, Log, Logs, NotDelta
from headwater.spark.tables.delta.log_changes import told_sources
from headwater.spark.tables.delta.looks import DeltaLooks
from headwater.spark.tables.delta.snapshot import Snapshot
from headwater.spark.tables.delta.stage import Files
from headwater.spark.tables.table_format import LastPublished
from headwater.spark.tables.view_tables import (
    filled,
    gone,
    other_files,
    outrun,
    refuse_part,
    replace,
    replaced,
    require_upon,
    resume,
    same,
    taken,
)

TRIES = 10
SHOWN = 1_000
"""A longer predicate is not shown in the history of a table."""


class Publications:
    """Makes the tables of views, and their commits."""

    def __init__(self, logs: Logs, shim: Shim, sessions: Sessions, looks: DeltaLooks) -> None:
        self._logs, self._shim, self._sessions, self._looks = logs, shim, sessions, looks

    def opened(self, definition: Definition, name: str = "") -> Log | None:
        """The log of a view's table, or of its replacement under that ``name``; ``None`` if it has none.

        Raises:
            ViewGone: another table has its name.
        """
        try:
            log = self._logs.open(name or definition.view)
        except NotDelta as error:
            raise taken(definition.view) from error
        if log is not None:
            self._refuse_taken(definition, log)
        return log

    def highest(self, definition: Definition) -> Version:
        try:
            log = self.opened(definition)
        except RefreshCancelled:
            return 0
        return 0 if log is None else _highest(log, definition)

    def newest(self, definition: Definition) -> LastPublished | None:
        """What was published last: the newest commit says it, if it is a publication."""
        try:
            log = self.opened(definition)
        except RefreshCancelled:
            return None
        if log is None:
            return None
        return LastPublished(str(log.head()), _highest(log, definition), told_sources(log.newest(), definition.owner))

    def require(self, definition: Definition) -> None:
        session = self._sessions.of_table(definition.settings)
        try:
            log = self._logs.open(definition.view)
        except NotDelta:
            replace(session, self._shim, definition)
            return
        if log is not None:
            self._refuse_taken(definition, log)
        else:
            resume(self._shim, definition)
            self.require(definition)

    def publish(self, launch: Launch, written: Written) -> Replaced:
        """Replaces the region of a run by its files, or adds these to it, in one commit. A replacement takes the view's
        name then."""
        definition, name = launch.definition, written.handle.table
        session = self._sessions.of_table(definition.settings)
        if name == definition.view:
            return self._published(session, name, launch, written)
        refuse_part(launch.run, written.handle.partly)
        filled(self._shim, definition)
        return replaced(session, self._shim, definition, self._published(session, name, launch, written))

    # --- inside

    def _refuse_taken(self, definition: Definition, log: Log) -> None:
        if log.layout.properties.get(catalog.OWNER) != definition.owner:
            raise taken(definition.view)

    def _published(self, session: SparkSession, name: str, launch: Launch, written: Written) -> Replaced:
        """If another commit came first that may matter, all is done again, on the state that it left."""
        run = launch.run
        for _ in range(TRIES):
            log = self.opened(launch.definition, name)
            if log is None:
                raise gone(launch.run.view)
            before, highest = _on_record(run, log), _highest(log, launch.definition)
            if highest > run.version:
                raise outrun(launch, highest)
            if highest == run.version:
                return Replaced(snapshot=str(_after(log, log.version, before)))
            if name == launch.definition.view:
                require_upon(launch, str(log.head()), highest)
            try:
                with active(self._logs.calls, session):
                    return self._committed(session, log, before, launch, written)
            except Py4JJavaError as error:
                if not self._logs.calls.isConflict(error.java_exception):
                    raise
        raise RefreshFailed(
            f"{TRIES} times another program wrote its table first; the refresh is tried again",
            run.view,
            Code.RUN_TABLE_CHANGED,
        )

    def _committed(
        self, session: SparkSession, log: Log, before: Snapshot | None, launch: Launch, written: Written
    ) -> Replaced:
        run, definition, files = launch.run, launch.definition, written.handle
        if files.table != definition.view and Layout.read(files.staged.metadata()).table != log.layout.table:
            raise taken(definition.view)  # another engine fills another replacement
        self._refuse_deleted(log, launch, files)
        draft = log.opened.draft(definition.owner)
        reshaped = self._reshape(log, draft, run, files)
        removed = self._replaced(session, log, draft, launch, files)
        touched = self._touched(log, before)
        version = draft.commit(
            session._jsparkSession,
            files.staged,
            removed,
            run.version,
            files.appended,
            reshaped,
            *self._operation(launch, files),
        )
        # Else a commit of others may be overwritten only in part.
        settled = None if WHOLE in run.slices and not files.partly else before
        return Replaced(
            unchanged=_unchanged(launch, written, touched),
            reshaped=reshaped,
            snapshot=str(_after(log, version, settled)),
        )

    def _refuse_deleted(self, log: Log, launch: Launch, files: Files) -> None:
        """``VACUUM`` deletes files that no commit names when the table's retention time is over."""
        if not log.opened.areThere(files.staged, int(time.time() * 1000 - files.begun)):
            raise RefreshFailed(
                "VACUUM deleted files of its refresh, which took longer than files are kept; "
                "set delta.deletedFileRetentionDuration to more; the refresh is tried again",
                launch.run.view,
                Code.RUN_FILES_DELETED,
            )

    def _reshape(self, log: Log, draft: Draft, run: Run, files: Files) -> bool:
        """Gives the table the columns that the files have, if it has others."""
        if Layout.read(files.staged.metadata()).digest == log.layout.digest:
            return False
        if WHOLE not in run.slices or files.partly:
            said = "its table got other columns while the refresh ran; it is tried again"
            raise RefreshFailed(said, run.view, Code.RUN_TABLE_CHANGED)
        draft.reshape(files.staged)
        return True

    def _replaced(self, session: SparkSession, log: Log, draft: Draft, launch: Launch, files: Files) -> JavaObject:
        """The actions ``add`` of the files whose place those of a run take.

        Raises:
            FilesReplaced: another commit removed one that the run has read, as a compaction does.
        """
        if files.instead is not None:
            there = log.named(files.instead)
            if there is None:
                raise other_files(launch.run.view)
            return there
        if WHOLE in launch.run.slices:
            return draft.everything(session._jsparkSession)
        return draft.within(session._jsparkSession, _predicate(launch))

    def _touched(self, log: Log, before: Snapshot | None) -> frozenset[Slice] | None:
        """The partitions that others wrote since the state on record; ``None`` where nobody knows."""
        try:
            return None if before is None else self._looks.touched(log, before)
        except Cut:
            return None

    def _operation(self, launch: Launch, files: Files) -> tuple[str | None, str]:
        """What the history of the table shows of a commit: its predicate, and what Headwater tells."""
        run = launch.run
        sources = {table: snapshot for table, snapshot in run.snapshots if table != run.view}
        told = {"version": run.version, "owner": launch.definition.owner, "sources": sources}
        told |= {"complete": True} if launch.complete else {}
        predicate = None if WHOLE in run.slices or files.partly else _predicate(launch)
        if predicate is not None and len(predicate) > SHOWN:
            predicate = f"{len(run.slices)} partitions"
        return predicate, json.dumps({"headwater": told})


def _on_record(run: Run, log: Log) -> Snapshot | None:
    """The state of a view's table on record; ``None`` if that is of another table."""
    found = Snapshot.read(dict(run.snapshots).get(run.view, ""))
    return found if found is not None and found.table == log.layout.table else None


def _highest(log: Log, definition: Definition) -> Version:
    return log.opened.published(definition.owner)


def _after(log: Log, version: int, before: Snapshot | None) -> Snapshot:
    """The state after a commit. Commits that came between that on record and this one are looked at the next time."""
    told = None if before is None or before.known + 1 >= version else before.known
    return Snapshot(version, log.layout.table, log.mark(version), told)


def _unchanged(launch: Launch, written: Written, touched: frozenset[Slice] | None) -> frozenset[Slice]:
    """The partitions that come out as the record says they were, if nobody else wrote them."""
    if touched is None:
        return frozenset()
    made = [each for each in written.made if each.slice not in touched]
    return same(launch, made, written.handle.appended)


def _predicate(launch: Launch) -> str:
    types = {column.name: column.type for column in launch.definition.columns}
    return sql.predicate(launch.run.slices, types)
