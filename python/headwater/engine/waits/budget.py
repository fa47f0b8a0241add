"""How long changes wait so that refreshing stays within a budget: the least staleness for so much work a day.

A feed is the changes of one base table, and the refreshes that they cause. Changes come as a Poisson process, on
average ``g`` seconds apart. A round of refreshes starts ``T`` seconds after the first change that the round before did
not take.

- *Cost.* After a round starts, the next change comes after g on average, however long the round before was held,
  since a Poisson process has no memory. The next round starts T later. So rounds are g + T apart, and cost
  c / (g + T) a second where one costs c.
- *Staleness*, the age of the oldest change that is not reflected, 0 if all are: in such a cycle it is 0
  for g, then rises to T, so its mean is T² / 2 / (g + T). This is what holding adds; the run time comes on top.

Wanted are T_i ≥ 0 with the least Σ w_i T_i² / 2 / (g_i + T_i) so that Σ c_i / (g_i + T_i) ≤ X. With
u_i = g_i + T_i both sums are convex, so the KKT condition is necessary and sufficient. With the
multiplier μ ≥ 0,

    w/2 · (1 - g²/u²) = μ c/u²,    thus    u = sqrt(g² + 2 μ c/w)    and    T = u - g.

A T above what a promised freshness leaves is that instead. What is spent falls with μ, which bisection finds.

Where the budget does not bind, μ = 0 and nothing waits. Without promises any budget can be kept: T grows
without limit as it shrinks. The bounds win: where the feeds that are bounded cost more even if each is held
as long as it may be, they are, others wait for ever, and the plan says that it is over budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, sqrt

from attrs import field, frozen, validators

DAY = 86_400
PRECISION = 1e-9
"""The share of the budget that may be left unspent though it binds."""


@frozen
class Feed:
    """The changes of one base table, and the refreshes that they cause.

    Attributes:
        gap: the mean time between changes (s).
        cost: of one round of refreshes (core-seconds).
        weight: how much its staleness counts.
        longest: how long its changes can wait for its promised freshness (s).
    """

    gap: float = field(validator=validators.gt(0))
    cost: float = field(validator=validators.ge(0))
    weight: float = field(default=1.0, validator=validators.gt(0))
    longest: float = field(default=inf, validator=validators.ge(0))

    def spends(self, hold: float) -> float:
        """The expected cost (core-seconds a day)."""
        return DAY * self.cost / (self.gap + hold)


@frozen
class Allocation:
    """A plan.

    Attributes:
        holds: how long the changes of each feed wait (s); ``inf``: nothing is left of the budget for it.
        spends: what that costs (core-seconds a day).
        over: whether the promises cost more than the budget.
    """

    holds: Mapping[str, float]
    spends: float
    over: bool = False


def allocate(feeds: Mapping[str, Feed], budget: float) -> Allocation:
    """The holding times with the least weighted mean staleness that cost at most ``budget`` core-seconds a day.

    Raises:
        ValueError: the budget is not a positive number.
    """
    if not budget > 0:
        raise ValueError(f"a budget of {budget} core-seconds a day refreshes nothing; give a positive number")
    longest = _held(feeds, inf)
    if _spent(feeds, longest) > budget:
        return Allocation(longest, _spent(feeds, longest), over=True)
    low, high = 0.0, 1.0
    if _spent(feeds, _held(feeds, low)) <= budget:
        high = low
    while _spent(feeds, _held(feeds, high)) > budget:
        low, high = high, 4 * high
    while _spent(feeds, _held(feeds, high)) < budget * (1 - PRECISION) and low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _spent(feeds, _held(feeds, middle)) > budget else (low, middle)
    holds = _held(feeds, high)
    return Allocation(holds, _spent(feeds, holds))


def _held(feeds: Mapping[str, Feed], multiplier: float) -> dict[str, float]:
    return {name: _hold(feed, multiplier) for name, feed in feeds.items()}


def _hold(feed: Feed, multiplier: float) -> float:
    """The holding time at which another second of it costs as much staleness as it saves at this price."""
    if feed.cost == 0:
        return 0.0
    return min(sqrt(feed.gap**2 + 2 * multiplier * feed.cost / feed.weight) - feed.gap, feed.longest)


def _spent(feeds: Mapping[str, Feed], holds: Mapping[str, float]) -> float:
    return sum(feed.spends(holds[name]) for name, feed in feeds.items())
