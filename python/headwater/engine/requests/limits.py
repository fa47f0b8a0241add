"""The engine's rules of waiting and giving up, and their constants. Times are in milliseconds.

A view's own wishes are in ``model.policy``.
"""

from __future__ import annotations

from headwater.model.policy import Policy, Propagate, Upstream
from headwater.model.reason import Code, Reason
from headwater.model.state import Run, State, Status
from headwater.model.view import Definition

SETTLE = Policy().settle
"""After a change, the time in which further changes join its requests, unless the view asks for another."""

PATIENCE = 60_000
"""A request waits for changes to its inputs that come at most this long after its own, unless its view
promises a freshness that says more."""

AGREES_WITHIN = 600_000
"""A change that all sources of its view have waits at most this long until these show one state of each table."""

TRACKS = 4
"""Views that are refreshed at a time, unless told otherwise. Much of a refresh is waiting, for storage and for the
driver. With a local master there are no more than its threads (``spark.jvm.settings``)."""

GRACE = 10_000
"""So long (ms) after its ``headwater.timeout`` a run may take to end. Then it is given up, whatever its tasks do."""

ATTEMPTS = 5
"""Failed runs in a row after which a view no longer holds its readers back."""


STUCK = (Status.FAILED, Status.BROKEN, Status.UNREADABLE)
"""A view in one of these was given up for now, by nobody's wish."""

HALTED = (Status.SUSPENDED, Status.BROKEN, Status.UNREADABLE)
"""A view in one of these does not run."""


PREEMPTED = 3
"""A view's runs are preempted at most this many times in a row, so that one ends at last."""

SKIPPED = 10
"""A change that is left to the next one waits for it at most this many settling times."""


LONGEST_BACK_OFF = 300_000
"""The longest pause (ms) after a failure."""

AHEAD = 60_000
"""A time that is later than now by more ms is of before the clock was set back, and nothing waits for it. The clocks
of engines are to differ by less."""


def back_off(failures: int) -> int:
    """The pause after the ``failures``-th failure in a row: 5 s, doubled each time, at most ``LONGEST_BACK_OFF`` ms."""
    return min(5_000 * int(2 ** (failures - 1)), LONGEST_BACK_OFF)


def gives_up(failures: int) -> bool:
    return failures >= ATTEMPTS


def follows(definition: Definition, marked: bool = False) -> bool:
    """Whether changes of its sources reach the view, or those that somebody ``marked``."""
    match definition.policy.propagate:
        case Propagate.ALL:
            return True
        case Propagate.MARKED:
            return marked
        case Propagate.NONE:
            return False


def awaits(definition: Definition, source: Status) -> bool:
    """Whether the view waits for a source view that is still to be renewed. It goes on past one that cannot run,
    unless it is to hold; a suspended one holds nobody."""
    return source is Status.ACTIVE or (source in STUCK and definition.policy.upstream is Upstream.HOLD)


def latest_end(state: State, run: Run, began: int) -> int | None:
    """When a run is cancelled that ``began`` then and has not ended (ms); ``None``: its view sets no time."""
    view = state.views.get(run.view)
    timeout = None if view is None else view.definition.policy.timeout
    return None if timeout is None else began + timeout


def overdue(state: State, run: Run, began: int, now: int) -> Reason | None:
    """Why a run takes too long that ``began`` then; ``None`` if it does not."""
    until = latest_end(state, run, began)
    if until is None or now < until:
        return None
    took = (until - began) / 1000
    said = f"the refresh of {run.view} took longer than {took:g} s, its headwater.timeout, and was cancelled"
    return Reason(Code.RUN_TIMEOUT, said)
