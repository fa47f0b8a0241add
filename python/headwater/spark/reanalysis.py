"""Analyses views again when a table, an ordinary view or a function that they use changed."""

from __future__ import annotations

import logging
from collections.abc import Callable

from headwater.model.error import AnalysisFailed, DefinitionError, NotNow
from headwater.model.event import Broken, Declared
from headwater.model.partition import WHOLE
from headwater.model.state import Status
from headwater.model.view import Definition
from headwater.runtime.record import Recorder
from headwater.spark.define import Analyst

log = logging.getLogger("headwater")


class Reanalysis:
    """Finds out whether views mean the same as before, for one engine.

    Args:
        first_look: looks at the tables of a definition that nobody looked at before.
    """

    def __init__(self, recorder: Recorder, analyst: Analyst, first_look: Callable[[Definition], object]) -> None:
        self._recorder, self._analyst, self._first_look = recorder, analyst, first_look
        self._undecided: dict[str, str] = {}  # views that Spark could not analyse, each because of a table

    def of_readers(self, table: str) -> None:
        """Analyses the views that read a table, or use it as an ordinary view or a function."""
        with self._recorder.lock:
            views = self._recorder.state.views.items()
            reading = [name for name, view in views if table in (*view.definition.sources, *view.definition.through)]
        for view in reading:
            self.of_view(view, table)

    def retry(self) -> None:
        """Analyses broken views, and those that Spark could not analyse the last time."""
        with self._recorder.lock:
            broken = [name for name, view in self._recorder.state.views.items() if view.status is Status.BROKEN]
        for view in dict.fromkeys((*broken, *self._undecided)):
            self.of_view(view, self._undecided.pop(view, ""))

    def of_view(self, name: str, because: str) -> None:
        """Analyses one view, because a table changed. Another meaning is a redefinition."""
        recorder = self._recorder
        with recorder.lock:
            view = recorder.state.views.get(name)
        if view is None:
            return
        try:
            fresh = self._analyst.analysed(view.definition)
        except NotNow as error:
            self._undecided[name] = because
            log.warning("the next check finds out whether %s means the same: %s", name, error)
            return
        except (AnalysisFailed, DefinitionError) as error:
            self._broken(name, str(error).strip().splitlines()[0])
            return
        recovered = view.status is Status.BROKEN
        if recovered or fresh.fingerprint != view.definition.fingerprint:
            why = "can be computed again" if recovered else f"means something else since {because} changed"
            self._first_look(fresh)
            recorder.change(name, [WHOLE], lambda _, version: Declared(recorder.clock.now(), version, fresh, why))

    def _broken(self, name: str, reason: str) -> None:
        with self._recorder.lock:
            view = self._recorder.state.views[name]
        if view.status is not Status.BROKEN or view.reason != reason:
            self._recorder.record(lambda _s, _v: Broken(self._recorder.clock.now(), name, reason))
            log.warning("%s is broken: %s", name, reason)
