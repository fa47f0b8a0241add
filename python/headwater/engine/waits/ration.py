"""What a budget allots to the changes of each base table: how long they wait (``engine.waits.budget``).

Each base table is a feed. The cost of a round is the time that the runs of all views downstream took lately. The gap
is the mean time between changes of the table lately. Where tables meet downstream, one run may take the changes of
both. The plan does not count on that: it spends less than it could, never more. A view that has not run yet, or cannot
run, counts nothing, and a table that changed just once is not held.

The plan is made anew when something that it depends on was learned, at most once a minute. A plan of before the clock
was set back is as old as can be.
"""

from __future__ import annotations

from headwater.engine.requests.coverage import plan
from headwater.engine.requests.limits import HALTED
from headwater.engine.waits.budget import DAY, Feed, allocate
from headwater.engine.waits.freshness import spare
from headwater.model.index import Ration, Rations
from headwater.model.state import Budget, State, TableRecord

FORGETTING = 0.1
"""The weight of the newest gap in the mean. Random gaps vary much, so it is less than for run times."""

MADE_ANEW = 60_000
"""The shortest time between two plans (ms)."""

LONGEST = DAY
"""How long a change waits at most, however small the budget (s): a budget for a day is for one refresh a day."""


def learn_gap(record: TableRecord, at: int) -> None:
    """Notes that a table changed."""
    if record.changed_at is not None and at > record.changed_at:
        seconds = (at - record.changed_at) / 1000
        record.gap = seconds if record.gap is None else record.gap + FORGETTING * (seconds - record.gap)
    record.changed_at = at


def renew(state: State, now: int) -> None:
    """Brings ``state.index.rations`` up to date, if there is a budget and it is time."""
    known = state.index.rations
    if state.budget is None:
        state.index.rations = None
    elif known is None or (state.index.learned and not known.at <= now < known.at + MADE_ANEW):
        state.index.rations, state.index.learned = _rations(state, state.budget, now), False


def ration(state: State, table: str) -> Ration | None:
    """How long changes of a table wait for the budget's sake; ``None`` without a budget, or when nobody knows
    how often it changes."""
    return None if state.index.rations is None else state.index.rations.of.get(table)


def _rations(state: State, budget: Budget, now: int) -> Rations:
    feeds = {
        table: Feed(record.gap, _cost(state, table, budget), longest=_longest(state, table))
        for table, record in state.tables.items()
        if record.gap is not None and table not in state.views
    }
    found = allocate(feeds, budget.core_seconds)
    return Rations(
        now,
        {
            table: Ration(round(1000 * hold), feeds[table].gap, feeds[table].cost, budget.core_seconds, found.over)
            for table, hold in found.holds.items()
        },
    )


def _cost(state: State, table: str, budget: Budget) -> float:
    """Core-seconds of refreshing all that a change of a table reaches."""
    reached = (state.views[step.view] for step in plan(state, table))
    runs = (view.costs.took for view in reached if view.status not in HALTED)
    return budget.cores * sum(took.mean for took in runs if took is not None)


def _longest(state: State, table: str) -> float:
    bound = spare(state, state.index.readers.get(table, ())) if state.index.promising else None
    return LONGEST if bound is None else min(LONGEST, bound / 1000)
