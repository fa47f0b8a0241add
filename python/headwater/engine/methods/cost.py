"""What a run takes that follows changes: by the last one of its view, or before there was one.

A line foresees it: a fixed part, and seconds for each byte that changed. Example: a refresh of whole partitions takes
4 s and reads 100 MB. By changes, the last run took 1.2 s after a change of 1 MB. After one of 11 MB, a run will take
1.2 s + 10 MB · 2 · 4 s / 100 MB = 2.0 s.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from headwater.model.event import Published
from headwater.model.state import Narrow, Run, State, ViewState
from headwater.model.work import FollowsChanges, Mode

FIXED = {Mode.CHANGES: 1.0, Mode.KEYS: 3.0}
"""Seconds of such a run after a small change, before a warehouse has any. Its core-seconds are taken to be as many. On
two machines, runs after one row took 0.4 to 1.8 s by changes, and 0.8 to 3.6 s by keys (``benchmarks/choices.py``)."""

QUICKER, SLOWER = 0.5, 0.1
"""How far the fixed part by changes goes towards a run that took less, and towards one that took more: a first one, for
which Spark compiles code, takes more."""

LITTLE = 0.05
"""The part of the sources' bytes that a change has at most whose run tells the fixed part."""

SMALL = 4_000_000
"""Bytes of sources. Fewer are read in less time than their changes are found. The seconds of a first refresh say
nothing of that: a cold engine takes several for a table of four rows."""

SLOPE = 2.0
"""A byte that changed takes so many times as long as one that a refresh of whole partitions reads: of a rewritten file,
the rows before and after are read. In these pairs, a change in all files took 0.5 to 1.4 times as long as the line says
by changes, and 0.4 to 3.0 times by keys."""


UNKNOWN = 1e-7
"""Seconds for each byte that changed, where nobody knows what a refresh reads: Iceberg does not tell."""


def lately(view: ViewState) -> float | None:
    """Seconds of the last refresh by keys or by changes, the quicker one if there were both; ``None``: there was none
    or it computed whole partitions after all."""
    found = [each.seconds for each in (view.keyed, view.added) if each is not None and each.seconds is not None]
    return min(found, default=None)


def fixed(state: State, view: ViewState, mode: Mode) -> float:
    """Seconds of a run after a small change. Runs by changes of all views of this format tell those by changes. Views
    differ too much by keys: runs took from 0.8 to 30 s."""
    return state.fixed.get(view.definition.format, FIXED[mode]) if mode is Mode.CHANGES else FIXED[mode]


def read_in_full(view: ViewState, sources: Iterable[str] | None = None) -> float:
    """Bytes that a refresh of whole partitions reads of some sources, or of all; 0 where nobody knows."""
    asked = view.reads.keys() if sources is None else set(sources)
    each = sum(view.reads[source] for source in asked) if asked <= view.reads.keys() else 0
    return max(1, view.partitions or 1) * each


def learned(state: State, view: ViewState, run: Run, work: FollowsChanges, event: Published) -> Narrow:
    """A run of a view by keys or by changes that ended; one by changes also tells the fixed part.

    A first run is slow, as Spark compiles its code, and any run may be slow by chance. So the new point of the line
    is halfway between what was foreseen and what the run took.
    """
    if run.instead:
        return Narrow(None, work.churn)
    if work.mode is Mode.CHANGES and work.churn <= LITTLE * read_in_full(view):
        before = fixed(state, view, work.mode)
        weight = QUICKER if event.seconds < before else SLOWER
        state.fixed[view.definition.format] = before + weight * (event.seconds - before)
    return Narrow(
        _between(run.started.foreseen, event.seconds), work.churn, _between(run.started.foreseen_cores, event.cores)
    )


def foreseen(known: Narrow | None, least: float, churn: int, whole: float | None, read: float) -> float | None:
    """Seconds of a run, or core-seconds if those are given; ``None`` where nobody knows.

    Args:
        known: the last such run of the view.
        least: the seconds after a small change.
        churn: bytes that came and went.
        whole: seconds of a refresh of whole partitions.
        read: bytes that this reads of the changed sources; 0 where nobody knows.
    """
    rate = SLOPE * whole / max(read, SMALL) if whole and read else None
    if known is None:
        return None if rate is None else least + rate * churn
    if known.seconds is None:
        return None
    if churn <= known.churn:
        least = min(least, known.seconds)
        return least + (known.seconds - least) * churn / max(1, known.churn)
    return known.seconds + (UNKNOWN if rate is None else rate) * (churn - known.churn)


def is_cheaper(view: ViewState, known: Narrow, least: float, churn: int, read: float) -> bool:
    """Whether a run after such a change would cost less than whole partitions: core-seconds, or seconds where those are
    not known. The arguments are as for ``foreseen``."""
    if known.seconds is None or view.took is None:
        return False
    whole = view.took.mean
    if known.cores is not None and view.cores is not None:
        known, whole = evolve(known, seconds=known.cores), view.cores
    told = foreseen(known, least, churn, whole, read)
    return told is not None and told < whole


def _between(foreseen: float | None, took: float | None) -> float | None:
    return took if foreseen is None or took is None else (foreseen + took) / 2
