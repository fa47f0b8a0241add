"""Views whose table is not there under its name: they were dropped or renamed past Headwater."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from headwater.engine.record import changes
from headwater.engine.record.changes import Standing
from headwater.logger import log
from headwater.model.event import Dropped, Renamed
from headwater.model.seen import Command, TableQuestion
from headwater.model.view import Definition
from headwater.runtime.execute import guarded
from headwater.runtime.recorder import Recorder
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.observing.reanalysis import Reanalysis
from headwater.spark.tables import catalog, hidden
from headwater.spark.tables.registry import Formats
from headwater.spark.tables.view_tables import forget_replaced, is_waiting


class LostViews:
    """Records what became of such views, and removes what a dropped one left.

    The catalog of a view in a lake knows nothing of it after a drop, so its place is noted before.
    """

    def __init__(
        self, recorder: Recorder, shim: Shim, formats: Formats, sessions: Sessions, reanalysis: Reanalysis
    ) -> None:
        self._recorder, self._shim, self._formats = recorder, shim, formats
        self._sessions, self._reanalysis = sessions, reanalysis
        self._places: dict[str, str] = {}

    def found_at(self, view: str, location: str) -> None:
        """A look found the table of a view there."""
        self._places[view] = location

    def note_place(self, view: str) -> None:
        """Notes where the table of a view lies that somebody is about to drop."""
        definition = self._recorder.read(lambda state: state.definition(view))
        if definition is not None and definition.storage.commits:
            self._places[view] = self._formats.of_view(definition).location(definition)

    def record(self, view: str, was: Standing | None, command: Command) -> None:
        """A view's table is not there under its name. What became of it is asked, and asked again if the view moved on
        meanwhile."""
        recorder = self._recorder
        while was is not None and self._is_lost(view, was):
            to, before = self._table_of(was.definition.owner), was
            readers, highest = recorder.read(lambda state: (tuple(state.index.readers.get(view, ())), state.highest))
            event = recorder.record(partial(changes.lost, view=view, was=was, to=to, at=recorder.clock.now()))
            if isinstance(event, Dropped | Renamed):
                self._follow(event, was.definition, command, readers)
                place = self._places.pop(view, "") if was.definition.storage.commits else ""
                if isinstance(event, Dropped) and place:
                    guarded(partial(hidden.remove_old, self._shim, place, highest), f"the totals of {view} stay")
                return
            was = recorder.read(partial(changes.standing, view=view, running=True))
            if was == before:
                return  # another view has taken the name that its table has now

    # --- inside

    def _follow(
        self, event: Dropped | Renamed, definition: Definition, command: Command, readers: Iterable[str]
    ) -> None:
        match event:
            case Renamed(to=to):
                done = f"was renamed to {to}"
                self._reanalysis.of_readers(to)  # of a table that had this name
            case Dropped():
                done = "was dropped"
                release = partial(self._shim.release, definition.root, definition.owner)
                guarded(release, f"the files of {definition.view} stay")
                guarded(
                    partial(forget_replaced, self._sessions.of_table(), self._shim, definition),
                    f"the table {catalog.replacement(definition.view)} stays",
                )
        log.warning("%s %s (%s)", definition.view, done, command.said or "by another program")
        for reader in readers:
            self._reanalysis.of_view(reader, definition.view)

    def _is_lost(self, view: str, was: Standing) -> bool:
        """Whether the table of a view is gone, or another one has its name. A swap that goes on, or was cut off, left
        the filled replacement: then a refresh gives it the view's name. It is asked first, as it is gone afterwards."""
        waiting = is_waiting(self._shim, was.definition)
        [seen] = self._formats.look([TableQuestion(view)])
        if seen.unreadable:
            return False
        if seen.exists:
            return seen.owner != was.definition.owner
        return not waiting

    def _table_of(self, owner: str) -> str | None:
        """The table that belongs to an owner, if no view on record has its name."""
        tables = [each.table for each in self._shim.views() if each.properties.get(catalog.OWNER) == owner]
        known = self._recorder.read(lambda state: {*state.views})
        return next((each for each in tables if each not in known and not catalog.replaced(each)), None)
