"""Analyses views again when a table, an ordinary view or a function that they use changed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from headwater.algebra import graph
from headwater.logger import log
from headwater.model.error import AnalysisFailed, DefinitionError, HeadwaterError, NotNow, ViewError
from headwater.model.event import FRESH, Analysed, Broken, Declared
from headwater.model.partition import Version
from headwater.model.reason import Code, Reason
from headwater.model.state import State, ViewState
from headwater.model.view import Definition, Query
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
        """Analyses broken views, those that Spark could not analyse the last time, and those whose analysis an engine
        did not come to, be it the first one."""
        for view in dict.fromkeys((*self._recorder.read(_due), *self._undecided)):
            self.of_view(view, self._undecided.pop(view, ""))

    def of_view(self, name: str, because: str) -> None:
        """Analyses one view, because a table changed. Another meaning is a redefinition. A view that is redefined
        meanwhile is analysed again."""
        while (found := self._recorder.read(partial(_known, name=name))) is not None:
            definition, upto = found
            event = self._event(name, definition, because)
            if event is None:
                return
            if self._record(name, definition, event):
                self._recorder.record(partial(self._settled, name=name, upto=upto))
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
        if fresh.fingerprint != definition.fingerprint or self._recorder.read(partial(_is_broken, name=name)):
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

    def _settled(self, state: State, name: str, upto: Version) -> Analysed | None:
        known = state.views.get(name)
        due = known is not None and 0 < known.unanalysed <= upto
        return Analysed(self._recorder.clock.now(), name, upto) if due else None

    def _broken(self, name: str, reason: Reason) -> Build:
        def build(view: ViewState) -> Broken | None:
            return None if view.broken == reason else Broken(self._recorder.clock.now(), name, reason)

        return build

    def _declared(self, name: str, fresh: Definition, because: str) -> Build:
        def build(view: ViewState) -> Declared | None:
            recovered = view.broken is not None
            if not recovered and fresh.fingerprint == view.definition.fingerprint:
                return None
            changed = f"means something else since {because or 'what it reads'} changed"
            why = "can be computed again" if recovered else changed
            return Declared(self._recorder.clock.now(), FRESH, fresh, why)

        return build


def _readers(state: State, table: str) -> list[str]:
    """The views that read a table, or use it as an ordinary view or a function."""
    return [name for name, each in state.definitions.items() if table in (*each.sources, *each.through)]


def _known(state: State, name: str) -> tuple[Definition, Version] | None:
    view = state.views.get(name)
    return None if view is None else (view.definition, view.unanalysed)


def _is_broken(state: State, name: str) -> bool:
    view = state.views.get(name)
    return view is not None and view.broken is not None


def _due(state: State) -> list[str]:
    return [
        name
        for name, view in state.views.items()
        if view.broken is not None or view.unanalysed or _was_never_analysed(view.definition)
    ]


def _was_never_analysed(definition: Definition) -> bool:
    return not definition.fingerprint and isinstance(definition.made_by, Query)


def why_broken(error: HeadwaterError) -> Reason:
    """One line about the fault of a view's query."""
    code = Code.QUERY_NOT_ANALYSED if isinstance(error, AnalysisFailed) else Code.QUERY_REFUSED
    fault = error.fault if isinstance(error, ViewError) else str(error)
    return Reason(code, fault.strip().splitlines()[0])
