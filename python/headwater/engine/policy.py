"""How long things wait, and for whom. All times in milliseconds."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache

from headwater.model.error import StatementError
from headwater.model.state import Status
from headwater.model.view import Definition

LEARNED = "learned"
"""What ``headwater.cadence`` is for a time that is to be found out."""

SETTLE = 1_000
"""After a change, the time in which further changes join its requests."""

PATIENCE = 60_000
"""A request waits for changes to its inputs that come at most this long after its own, unless its view
promises a freshness that says more."""

TRACKS = 4
"""Views that are refreshed at a time, unless told otherwise. Much of a refresh is waiting, for storage and for the
driver, so that two cores are not busy with two."""

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


def back_off(failures: int) -> int:
    """The pause after the ``failures``-th failure in a row: 5 s, doubled each time, at most 5 min."""
    return min(5_000 * 2 ** (failures - 1), 300_000)


def gives_up(failures: int) -> bool:
    return failures >= ATTEMPTS


def follows(definition: Definition, marked: bool = False) -> bool:
    """Whether changes of what it reads reach the view: all, none (one made for a single analysis may stay as it
    is), or only those that somebody ``marked``."""
    propagate = definition.option("propagate", "all").lower()
    return propagate != "none" and (marked or propagate != "marked")


def awaits(definition: Definition, source: Status) -> bool:
    """Whether the view waits for a view that it reads and that is still to be renewed. It goes on past one that
    cannot run, unless it is to hold; one that somebody suspended holds nobody."""
    return source is Status.ACTIVE or (source in STUCK and definition.option("upstream", "release").lower() == "hold")


def cuts_off(definition: Definition) -> bool:
    """Whether the rows of each refresh are compared with those before, so that readers of what came out
    unchanged need not follow."""
    return definition.option("cutoff", "on").lower() != "off"


class Overrun(Enum):
    """What becomes of a change that comes while its view runs: it waits for the next run; it cancels this one;
    or it is left to the next change."""

    QUEUE = "queue"
    PREEMPT = "preempt"
    SKIP = "skip"


def overrun(definition: Definition) -> Overrun:
    """What the view says; a word that was written into the catalog past Headwater counts as not stated."""
    stated = definition.option("overrun").lower()
    return next((each for each in Overrun if each.value == stated), Overrun.QUEUE)


def settle(definition: Definition) -> int:
    """The view's own settling time, or the usual one."""
    own = _stated(definition, "settle")
    return SETTLE if own is None else own


def freshness(definition: Definition) -> int | None:
    """How stale the view may be; ``None`` when it is to be as fresh as possible."""
    return _stated(definition, "freshness")


def cadence(definition: Definition) -> int | None:
    """The time within which changes of the view's sources belong together; ``None`` when none is stated."""
    return _stated(definition, "cadence")


def learns_cadence(definition: Definition) -> bool:
    """Whether the time within which changes of the view's sources belong together is to be learned."""
    return definition.option("cadence").lower() == LEARNED


def _stated(definition: Definition, option: str) -> int | None:
    """A duration among the view's properties. One that was written into the catalog past Headwater may be
    malformed; it counts as not stated, so that one view does not stop all others."""
    text = definition.option(option)
    try:
        return duration(text) if text else None
    except StatementError:
        return None


UNITS = {"millisecond": 1, "second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000, "week": 604_800_000}


@lru_cache(maxsize=4096)
def duration(text: str) -> int:
    """``'10 minutes'`` in milliseconds.

    Raises:
        StatementError: not a positive number and a unit.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+?)s?\s*", text.lower())
    if not match or match[2] not in UNITS or float(match[1]) <= 0:
        raise StatementError(f"'{text}' is not a duration; write a positive number and a unit, such as '10 minutes'")
    return round(float(match[1]) * UNITS[match[2]])
