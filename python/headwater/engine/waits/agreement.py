"""How long a view waits for a common cut of its sources, if they have none (``engine.requests.common_cut``).

Example: a change of ``s`` reached ``v1``, and not yet ``v2``, which takes 60 s. ``report`` reads both, in files. It
waits three minutes at most. Where ``s`` changes every 10 s they never agree, so a longer wait would be in vain.
"""

from __future__ import annotations

from headwater.engine.requests.common_cut import above
from headwater.engine.requests.limits import AGREES_WITHIN
from headwater.engine.waits.freshness import needed
from headwater.model.index import Apart
from headwater.model.state import State

LEAST = 120_000
"""It waits at least so long (ms). A refresh may take longer for once, or wait for a free track."""
TIMES = 3
"""A view upstream may run when a change comes, runs for it then, and may wait for others once more."""


def agrees_within(state: State, split: Apart) -> int:
    """Milliseconds from a change until a view that is pending for it reads the newest versions all the same: three
    times what the refreshes take that lead to the source which lags behind, and the freshness that these promise. It is
    ten minutes at most, and where nobody knows how long they take or the budget makes them wait."""
    views = [state.views[each] for each in above(state, split.behind) & state.views.keys()]
    if state.budget is not None or not views:
        return AGREES_WITHIN
    promised = max(each.definition.policy.freshness or each.definition.policy.settle for each in views)
    takes = TIMES * sum(needed(each.costs.took) for each in views) + promised
    return round(min(AGREES_WITHIN, max(LEAST, takes)))
