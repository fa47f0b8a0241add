"""When somebody who waits for a view need wait no longer."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.engine.requests.limits import HALTED, awaits
from headwater.model.name import anywhere
from headwater.model.partition import Version
from headwater.model.state import State, Status, ViewState


def settled(state: State, name: str, version: Version) -> bool:
    """Whether a view reflects everything recorded up to ``version``, or will not soon."""
    view = state.views.get(name)
    if view is None:
        return True
    run = state.running.get(name)
    if run is not None and any(min(origins, default=0) <= version for _, origins in run.needs):
        return False
    if not lacks(state, name, version):
        return True
    return _stuck(state, name, version)


def lacks(state: State, name: str, version: Version) -> bool:
    """Whether a view has a request for a change up to ``version``."""
    pending = state.views[name].pending if name in state.views else {}
    return any(min(origins) <= version for origins in pending.values() if origins)


def failing(state: State, names: Iterable[str], version: Version) -> dict[str, str]:
    """What somebody who waits since ``version`` hears of each view that is given up: its newest run failed and began
    after that, or it cannot run. A view that its owner suspended is none of them."""
    known = {name: state.views[name] for name in sorted(names) if name in state.views}
    said = {name: _given_up(name, view, version) for name, view in known.items()}
    return {name: words for name, words in said.items() if words}


def cannot_run(name: str, view: ViewState) -> str:
    """Why a view cannot run, by nobody's wish, and the remedy; empty if it can."""
    match view.status:
        case Status.BROKEN:
            other = f"CREATE OR REPLACE MATERIALIZED VIEW {anywhere(name)} gives it another query"
            return f"{name} is broken: {_clause(view)}; {other}"
        case Status.UNREADABLE:
            return f"{name} cannot be refreshed now: {_clause(view)}"
        case _:
            return ""


def _given_up(name: str, view: ViewState, version: Version) -> str:
    if view.status in HALTED:
        return cannot_run(name, view)
    failed = view.failures and view.failed > version
    return f"{name} could not be refreshed: {_clause(view)}" if failed else ""


def _clause(view: ViewState) -> str:
    """The reason within a sentence, which has a full stop of its own."""
    return str(view.reason).strip().removesuffix(".")


def _stuck(state: State, name: str, version: Version) -> bool:
    """Whether a view cannot run now, failed in an attempt that began after ``version``, or waits for such a view."""
    view = state.views[name]
    if view.status in HALTED or (view.failures and view.failed > version):
        return True
    return any(
        _stuck(state, source, version)
        for source in view.definition.sources
        if source in state.views and awaits(view.definition, state.views[source].status)
    )
