"""Analyses views again when a table, an ordinary view or a function that they use changed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from headwater.algebra import graph
from headwater.logger import log
from headwater.model.error import AnalysisFailed, DefinitionError, HeadwaterError, NotNow, ViewError
from headwater.model.event import FRESH, Broken, Declared
from headwater.model.reason import Code, Reason
from headwater.model.state import State, Status, ViewState
from headwater.model.view import Definition
from headwater.runtime.recorder import Recorder
from headwater.spark.defining.analyse import Analyst

Build = Callable[[ViewState], "Broken | Declared | None"]
"""Makes an event of a view as it is when the event is recorded."""


class Reanalysis:
    """Finds out whether views mean the same as before, for one engine.

    Args:
        first_look: looks at the tables of a definition that nobody follows.
        catch_up: looks again at all of them, when the definition is on record.
    """

    def __init__(
        self,
        recorder: Recorder,
        analyst: Analyst,
        first_look: Callable[[Definition], object],
        catch_up: Callable[[Definition], object],
    ) -> None:
        self._recorder, self._analyst = recorder, analyst
        self._first_look, self._catch_up = first_look, catch_up
        self._undecided: dict[str, str] = {}  # views that Spark could not analyse, each because of a table

    def of_readers(self, table: str) -> None:
        """Analyses the views that read a table, or use it as an ordinary view or a function."""
        for view in self._recorder.read(partial(_readers, table=table)):
            self.of_view(view, table)

    def retry(self) -> None:
        """Analyses broken views, and those that Spark could not analyse the last time."""
        for view in dict.fromkeys((*self._recorder.read(_broken), *self._undecided)):
            self.of_view(view, self._undecided.pop(view, ""))

    def of_view(self, name: str, because: str) -> None:
        """Analyses one view, because a table changed. Another meaning is a redefinition. A view that is redefined
        meanwhile is analysed again."""
        while (definition := self._recorder.read(lambda state: state.definition(name))) is not None:
            event = self._event(name, definition, because)
            if event is None or self._record(name, definition, event):
                return

    # --- inside

    def _event(self, name: str, definition: Definition, because: str) -> Build | None:
        """The builder of the event that follows from Spark's analysis; ``None``: Spark could not analyse it now."""
        try:
            fresh = self._analyst.analysed(definition)
            self._recorder.read(lambda state: graph.refuse_cycle(state.sources, name, fresh.sources))
        except NotNow as error:
            self._undecided[name] = because
            log.warning("the next check finds out whether %s means the same: %s", name, error)
            return None
        except (AnalysisFailed, DefinitionError) as error:
            return self._broken(name, why_broken(error))
        if fresh.fingerprint != definition.fingerprint or name in self._recorder.read(_broken):
            self._first_look(fresh)
        return self._declared(name, fresh, because)

    def _record(self, name: str, definition: Definition, build: Build) -> bool:
        """Records an event of a view, if it still has this definition; whether it has."""
        same = True

        def checked(state: State) -> Broken | Declared | None:
            nonlocal same
            view = state.views.get(name)
            same = view is not None and view.definition == definition
            return build(view) if view is not None and same else None

        match self._recorder.record(checked):
            case Declared() as event:
                if set(event.definition.sources) - set(definition.sources):
                    self._catch_up(event.definition)
            case Broken(reason=reason):
                log.warning("%s is broken: %s", name, reason)
        return same

    def _broken(self, name: str, reason: Reason) -> Build:
        def build(view: ViewState) -> Broken | None:
            known = view.status is Status.BROKEN and view.reason == reason
            return None if known else Broken(self._recorder.clock.now(), name, reason)

        return build

    def _declared(self, name: str, fresh: Definition, because: str) -> Build:
        def build(view: ViewState) -> Declared | None:
            recovered = view.status is Status.BROKEN
            if not recovered and fresh.fingerprint == view.definition.fingerprint:
                return None
            why = "can be computed again" if recovered else f"means something else since {because} changed"
            return Declared(self._recorder.clock.now(), FRESH, fresh, why)

        return build


def _readers(state: State, table: str) -> list[str]:
    """The views that read a table, or use it as an ordinary view or a function."""
    return [name for name, each in state.definitions.items() if table in (*each.sources, *each.through)]


def _broken(state: State) -> list[str]:
    return [name for name, view in state.views.items() if view.status is Status.BROKEN]


def why_broken(error: HeadwaterError) -> Reason:
    """One line about the fault of a view's query."""
    code = Code.QUERY_NOT_ANALYSED if isinstance(error, AnalysisFailed) else Code.QUERY_REFUSED
    fault = error.fault if isinstance(error, ViewError) else str(error)
    return Reason(code, fault.strip().splitlines()[0])
