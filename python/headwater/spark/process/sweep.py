"""Removes what no reader can need any more: superseded versions after retention, orphans, and totals that were given
up."""

from __future__ import annotations

from functools import partial

from headwater.engine.groups.kept import kept_since
from headwater.logger import log
from headwater.model.error import HeadwaterError
from headwater.model.partition import Version
from headwater.model.state import Run, State
from headwater.model.view import Definition
from headwater.runtime.loop import Loop
from headwater.runtime.recorder import Recorder
from headwater.spark.jvm import paths
from headwater.spark.jvm.shim import SPARK_ERRORS, Shim
from headwater.spark.tables import hidden
from headwater.spark.tables.registry import Formats
from headwater.store.sql_store import SqlStore


class Sweeper:
    """Old versions stay readable for ``headwater.retain`` (an hour by default) after they were replaced."""

    def __init__(self, recorder: Recorder, loop: Loop, store: SqlStore, formats: Formats, shim: Shim) -> None:
        self._recorder, self._loop, self._store = recorder, loop, store
        self._formats, self._shim = formats, shim

    def sweep(self) -> None:
        """Removes superseded locations whose retention is over, and notes orphans for later."""
        if not self._loop.leads:
            return
        now = self._recorder.clock.now()
        for definition in self._recorder.read(lambda state: state.definitions).values():
            try:
                self._sweep(definition, now)
            except Exception as error:  # whatever it is, what is superseded of the other views goes
                if self._shim.is_gone(error):
                    raise
                why = str(error) if isinstance(error, HeadwaterError) else self._shim.failure(error).text
                told = not isinstance(error, (HeadwaterError, *SPARK_ERRORS))
                log.warning("old versions of %s stay until the next check: %s", definition.view, why, exc_info=told)

    def _sweep(self, definition: Definition, now: int) -> None:
        since = self._recorder.read(partial(kept_since, view=definition.view, now=now))
        until = now - definition.policy.retain
        due = self._store.discarded(definition.view, until if since is None else min(until, since))
        orphans = self._orphans(definition, now) if definition.root else []
        tables = self._formats.of_view(definition)
        if self._recorder.read(partial(_writes_for_long, definition=definition, now=now)):
            return
        if tables.expire(definition, due, since):
            self._store.removed(due)
        self._remove_given_up(definition)
        published = tables.published(definition) if orphans else None
        if published is not None:
            self._store.discard(definition.view, [each for each in orphans if paths.plain(each) not in published], now)

    def _remove_given_up(self, definition: Definition) -> None:
        """Deletes the totals of a view that had some and has none now. No run reads them any more."""
        newest = self._recorder.read(partial(_given_up, view=definition.view))
        location = self._formats.of_view(definition).location(definition) if newest else ""
        if location:
            hidden.remove_old(self._shim, location, newest)

    def _orphans(self, definition: Definition, now: int) -> list[str]:
        """Version directories that are neither published nor being written nor noted: a crash left them, or a change of
        format. Those of lake tables are named by the time, as versions are. While a run may fill one, all stay."""
        noted = {path.rstrip("/").removesuffix("/data") for path in self._store.discarded(definition.view, now + 1)}
        found = [name for name in self._shim.names(definition.root) if name.startswith(".v") and name[2:].isdigit()]
        run, live, newest = self._recorder.read(partial(_live, view=definition.view))
        if definition.storage.commits and run is not None:
            return []
        left = [f"{definition.root}/{name}" for name in found if int(name[2:]) not in live and int(name[2:]) < newest]
        return [path for path in left if path not in noted]


def _given_up(state: State, view: str) -> Version:
    """The highest version of which a view's totals are given up; 0: it has some, had none, or a run may leave some."""
    known = state.views.get(view)
    if known is None or known.totals is not None or not known.costs.totals or view in state.running:
        return 0
    return state.highest


def _live(state: State, view: str) -> tuple[Run | None, set[Version], Version]:
    """The run of a view, the versions of the partitions that are published or being written, and the highest one."""
    record, run = state.tables.get(view), state.running.get(view)
    live = {known.version for known in record.partitions.values()} | {record.highest} if record else set()
    return run, live if run is None else {*live, run.version}, state.highest


def _writes_for_long(state: State, definition: Definition, now: int) -> bool:
    """Whether a run of a lake view, of any engine, began so long ago that a clean-up may take its files for left: it
    deletes what no version names when the retention time is over. Half of that leaves time for the clean-up."""
    run = state.running.get(definition.view) if definition.storage.commits else None
    return run is not None and now - run.started.at > definition.policy.retain // 2
