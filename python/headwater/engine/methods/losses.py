"""When a method that follows changes is out, because it took more than whole partitions, and when it is tried again.

Example: by keys took 9 s after a change of 10 MB, and whole partitions take 6 s. By keys is out after changes of more
than 1 MB. It lost 0.5 refreshes of whole partitions. After 20 such refreshes, this is 2.5 % of what the view took. Then
by keys is tried a second time: the first run may have been slow by chance. If it is too dear again, it stays out until
the change is ten times smaller, or whole partitions take much longer than it did.

So the sum of all refreshes is at most 1.05 times that of the cheapest ones, but for one trial of each method, as long
as a method takes the same for the same change.
"""

from __future__ import annotations

from attrs import evolve

from headwater.engine.methods.method import Cost
from headwater.model.costs import Loss, Narrow
from headwater.model.reason import Code, Reason

SMALLER = 10
"""A method that was too dear is tried again after a change that is so many times smaller."""

PAID = 40.0
"""What was lost is paid when other refreshes took so many times as much. A view has two methods that follow changes, so
they lose a twentieth at most."""

TRIALS = 2
"""So many runs after changes of about the same size tell enough: the first one may have been slow by chance."""

GROWN = 1.2
"""Whole partitions that take so many times what a dear run took are worth a new trial: the sources have grown."""

STOPPED = 0.25
"""A run that had to compute whole partitions has lost at least this part of them."""

DEARER = Reason(Code.METHOD_DEARER, "after such a change, it took more than whole partitions")
IN_VAIN = Reason(Code.METHOD_LAST_RUN, "the last one had to compute whole partitions")


def times(seconds: float, cores: float | None, whole: Cost) -> float | None:
    """What a run took, in times of whole partitions; ``None`` where nobody knows what these take. Core-seconds are
    compared if both are known: other runs beside it change them less."""
    if cores is not None and whole.cores is not None:
        return cores / max(whole.cores, 1e-9)
    return None if whole.seconds is None else seconds / max(whole.seconds, 1e-9)


def lost(known: Narrow | None, churn: int, took: Cost, more: float, stopped: bool) -> Narrow:
    """What is known of a method after a run that took more than whole partitions. That it was cheaper after smaller
    changes stays known.

    Args:
        took: by that run; its seconds are known.
        more: that it took in vain, in times of whole partitions.
        stopped: it had to compute whole partitions after all.
    """
    before = None if known is None else known.lost
    here = Loss(churn, took.seconds or 0.0, took.cores, more, stopped=stopped)
    if before is not None and SMALLER * churn > before.churn:  # of about that size, or larger
        here = evolve(here, churn=min(churn, before.churn), more=before.more + more, times=before.times + 1)
    if known is None or known.seconds is None or churn <= known.churn:
        return Narrow(None, churn, lost=here)
    return evolve(known, lost=here)


def won(known: Narrow | None, seconds: float, churn: int, cores: float | None) -> Narrow:
    """What is known of a method after a run that took no more than whole partitions. That it was dearer after larger
    changes stays known."""
    before = None if known is None else known.lost
    return Narrow(seconds, churn, cores, before if before is not None and before.churn > churn else None)


def paid(known: Narrow, refreshes: float) -> Narrow:
    """The same after another refresh of the view, which took so many times what whole partitions take."""
    return known if known.lost is None else evolve(known, lost=evolve(known.lost, since=known.lost.since + refreshes))


def refused(known: Narrow, churn: int, whole: Cost) -> Reason | None:
    """Why a method is not taken after a change of so many bytes; ``None`` if it may be."""
    loss = known.lost
    if loss is None or SMALLER * churn <= loss.churn:
        return None
    if known.seconds is not None and churn <= known.churn:
        return None  # it was cheaper after a larger change
    if loss.times < TRIALS and loss.since >= PAID * loss.more:
        return None
    now = times(loss.seconds, loss.cores, whole)
    return None if now is not None and GROWN * now <= 1 else IN_VAIN if loss.stopped else DEARER


def basis(known: Narrow | None, churn: int) -> Narrow | None:
    """The run by which one after such a change is foreseen: the last one that was cheaper, or of a much smaller change
    the one that was dearer; ``None``: it is foreseen as if there was none."""
    if known is None or known.seconds is not None or known.lost is None:
        return known
    loss = known.lost
    return Narrow(loss.seconds, loss.churn, loss.cores) if SMALLER * churn <= loss.churn else None
