"""When somebody who waits for a view need wait no longer."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.engine.policy import HALTED, awaits
from headwater.model.state import State
from headwater.model.version import Version


def settled(state: State, name: str, version: Version) -> bool:
    """Whether a view reflects everything recorded up to ``version``, or will not soon."""
    view = state.views.get(name)
    if view is None:
        return True
    run = state.running.get(name)
    if run is not None and any(min(origins, default=0) <= version for _, origins in run.needs):
        return False
    if not any(min(origins) <= version for origins in view.pending.values() if origins):
        return True
    return _stuck(state, name, version)


def failing(state: State, names: Iterable[str], version: Version) -> dict[str, str]:
    """The views whose newest run failed that began after ``version``, each with the reason."""
    known = {name: state.views[name] for name in sorted(names) if name in state.views}
    return {name: view.reason for name, view in known.items() if view.failures and view.failed > version}


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
