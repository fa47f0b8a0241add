"""The times at which a view starts at all: those of its ``headwater.schedule``, and those after its ``headwater.gap``.

Example: a view with ``0 6 * * MON`` is refreshed each Monday at six, if something changed since. One with a gap of
fifteen minutes follows a change at once, and the next ones when fifteen minutes have gone by since it started.
"""

from __future__ import annotations

from headwater.model.index import Scheduled, Spaced
from headwater.model.policy import Policy
from headwater.model.state import Origin, ViewState
from headwater.model.view import Definition


def opening(view: ViewState, change: Origin) -> Scheduled | Spaced | None:
    """When a view may start for a change; ``None`` if at any time."""
    policy = view.definition.policy
    scheduled, spaced = _scheduled(view.definition, change), _spaced(policy, view, change)
    if scheduled is None or spaced is None:
        return scheduled or spaced
    # Time has to go by first, and then the next of the times that are stated comes.
    later = _scheduled(view.definition, change, spaced.at)
    return later or spaced


def longest(definition: Definition, now: int) -> int:
    """The longest time (ms) between two starts that a view allows itself; 0 if it may start at any time."""
    policy, most = definition.policy, 0
    if policy.schedule is not None:
        most = policy.schedule.longest(now, definition.zone)
    return most + (policy.gap or 0)


# --- inside


def _scheduled(definition: Definition, change: Origin, since: int = 0) -> Scheduled | None:
    """The first of the stated times since a change came."""
    times = definition.policy.schedule
    at = None if times is None else times.following(max(change.at, since) - 1, definition.zone)
    return None if times is None or at is None else Scheduled(at, times.cron, times.zone or definition.zone)


def _spaced(policy: Policy, view: ViewState, change: Origin) -> Spaced | None:
    """When the gap after the last refresh is over. One that began later than a newer change came is of before the
    clock was set back, so the gap counts from the change."""
    if policy.gap is None or view.began is None:
        return None
    version, at = view.began
    return Spaced((min(at, change.at) if change.version > version else at) + policy.gap, policy.gap)
