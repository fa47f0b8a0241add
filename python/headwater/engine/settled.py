"""When somebody who waits for a view need wait no longer."""

from __future__ import annotations

from headwater.engine.policy import awaits
from headwater.model.state import State, Status
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
    return _stuck(state, name)


def _stuck(state: State, name: str) -> bool:
    """Whether a view cannot run now, or waits for one that cannot."""
    view = state.views[name]
    if view.status is not Status.ACTIVE or view.failures:
        return True
    return any(
        _stuck(state, source)
        for source in view.definition.sources
        if source in state.views and awaits(view.definition, state.views[source].status)
    )
