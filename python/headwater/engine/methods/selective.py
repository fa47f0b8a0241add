"""Whether the first run of a view by keys goes on, once its keys and the files that hold them are known.

Example: a refresh in full reads 100 MB, writes 20 MB, and takes 6 s. Half of all keys changed, and each file of the
view holds some. A run by keys would read 100 MB and the 20 MB of the view, and write these. It would compute half of
the rows. By the sum of all that it looks no cheaper, so whole partitions are computed at once.

Files of the view tell by their statistics which of them hold keys. The sources are taken to be read as a whole: their
files tell only while Spark plans the query.
"""

from __future__ import annotations

from headwater.engine.methods.following import in_whole, read_in_full
from headwater.engine.methods.keys import FIXED
from headwater.model.command import Trial
from headwater.model.reason import Code, Reason
from headwater.model.state import Run, State
from headwater.model.work import ByKeys

MOVING = 0.5
"""The part of a refresh that reading and writing take. The rest grows with the rows that are computed."""


def trial(state: State, run: Run) -> Trial | None:
    """What is known before a run by keys of a view whose runs by keys were never cheaper than others; ``None`` if it is
    no such run, or its view allows no other method."""
    view = state.views[run.view]
    known = view.costs.narrow.get(ByKeys.mode)
    if not isinstance(run.work, ByKeys) or view.definition.policy.method is not None:
        return None
    if known is not None and known.seconds is not None:
        return None
    whole = in_whole(state, view, run)
    if whole.seconds is None:
        return None
    return Trial(whole.seconds, round(read_in_full(view)), round(view.costs.size * whole.partitions))


def unselective(trial: Trial, keys: int, rows: int | None, rewritten: int | None) -> Reason | None:
    """Why whole partitions look cheaper; ``None`` if they do not.

    Args:
        keys: that changes reach.
        rows: of the view in the partitions of the run; ``None`` where nobody knows.
        rewritten: bytes of the files of the view that hold the keys; ``None``: all.
    """
    whole = trial.read + trial.written
    moved = trial.read + 2 * (trial.written if rewritten is None else min(rewritten, trial.written))
    computed = min(1.0, keys / rows) if rows else 0.0
    part = FIXED / max(trial.seconds, 1e-9) + MOVING * (moved / whole if whole else 1.0) + (1 - MOVING) * computed
    if part <= 1:
        return None
    said = f"its {keys:,} keys leave too little out: whole partitions look cheaper"
    return Reason(Code.METHOD_TOO_MUCH_CHANGED, said)
