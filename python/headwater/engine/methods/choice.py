"""The method of a run: the cheapest of those that can renew what is behind, and that the view allows.

Example: 2 of 30 partitions of a view are behind. *By partition* writes these 2, and *in full* writes all 30. Both give
the right rows, so the cheaper one runs.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from headwater.engine.methods.all_methods import methods_of, said
from headwater.engine.methods.basis import only_changed
from headwater.engine.methods.method import Cost, Method, Offer, Slices, count
from headwater.engine.methods.whole_costs import maybe_quicker
from headwater.model.costs import RefreshCosts
from headwater.model.name import anywhere
from headwater.model.partition import Slice, simplified
from headwater.model.reason import Code, Reason
from headwater.model.state import State
from headwater.model.view import Definition
from headwater.model.work import Mode, NoMethod, Whole


@frozen
class Chosen:
    """The method of a run.

    Attributes:
        rejected: the other methods, each with the reason; the method's name is the subject of it.
    """

    method: Method
    offer: Offer
    rejected: tuple[tuple[Method, str], ...] = ()

    @property
    def refused(self) -> Reason | None:
        """Why the run must fail: the view's property allows no method that can renew the slices."""
        return self.offer.work.why if isinstance(self.offer.work, NoMethod) else None

    @property
    def frame(self) -> tuple[Slice, ...]:
        return self.offer.frame

    @property
    def cost(self) -> Cost:
        return self.offer.cost


def choose_method(state: State, view: str, slices: Slices) -> Chosen:
    """The method that renews these slices of a view: of those that its property names, the first that can. Among equals
    the one of the least core-seconds, or of the least seconds where those of one are not known. Where a duration is not
    known, none of this view is, so the order of ``METHODS`` decides."""
    definition, ranks = state.views[view].definition, allowed(state, view, slices)
    methods = [each for each in methods_of(definition) if each.mode in ranks]
    offers = {method: method.offer(state, view, slices) for method in methods}
    if definition.policy.method is None:
        tried = {method: found for method, found in offers.items() if isinstance(found, Offer)}
        offers |= {method: found.untried for method, found in tried.items() if found.untried}
    possible = {method: found for method, found in offers.items() if isinstance(found, Offer)}
    if not possible:
        return _refused(state, view, slices, offers)
    prices = _prices({method: found.cost for method, found in possible.items()})
    best = min(possible, key=lambda method: (ranks[method.mode], prices[method]))
    if definition.policy.method is None:
        best = _checked(state.views[view].costs, best, possible, prices)
    others = [(method, _against(found)) for method, found in offers.items() if method is not best]
    return Chosen(best, possible[best], tuple(others))


def _checked(
    costs: RefreshCosts, best: Method, possible: Mapping[Method, Offer], prices: Mapping[Method, float]
) -> Method:
    """The best method, or whole partitions, if these may take less than the last time. While another method is taken,
    nobody would notice."""
    whole = [method for method in possible if issubclass(method.work, Whole)]
    if not whole or best in whole:
        return best
    second = min(whole, key=prices.__getitem__)
    return second if maybe_quicker(costs, prices[best], prices[second]) else best


def _prices(costs: dict[Method, Cost]) -> dict[Method, float]:
    """What methods cost, all in the same unit."""
    if all(each.cores is not None for each in costs.values()):
        return {method: each.cores or 0.0 for method, each in costs.items()}
    return {method: each.seconds or 0.0 for method, each in costs.items()}


def allowed(state: State, view: str, slices: Slices) -> dict[Mode, int]:
    """The modes that the property of a view allows, with the order in which it names them. All rows are computed as
    whole partitions for other reasons than a changed source, whatever it allows."""
    asked = state.views[view].definition.policy.method
    if asked is None:
        return dict.fromkeys(Mode, 0)
    if Mode.FULL not in asked and not only_changed(state, view, slices):
        asked = (*asked, Mode.FULL)
    ranks = {mode: rank for rank, mode in enumerate(asked)}
    return {**ranks, Mode.PARTITION: ranks[Mode.FULL]} if Mode.FULL in ranks else ranks


def _refused(state: State, view: str, slices: Slices, offers: dict[Method, Offer | Reason]) -> Chosen:
    (method, why), *rest = [(method, why) for method, why in offers.items() if isinstance(why, Reason)]
    frame = simplified(slices)
    others = tuple((other, _against(reason)) for other, reason in rest)
    cost = Cost(count(state, view, frame, slices))
    return Chosen(method, Offer(frame, cost, NoMethod(method.mode, why)), others)


def _against(found: Offer | Reason) -> str:
    """Why a method is not the one."""
    if isinstance(found, Reason):
        return f"is out: {found.coded}"
    cost = found.cost
    return f"would write {cost.partitions} partitions" if cost.seconds is None else f"would take {cost.told}"


def refusal(definition: Definition, mode: Mode, why: Reason) -> Reason:
    """What a run fails with that cannot follow changes, as its view allows nothing else."""
    view = definition.view
    return Reason(
        Code.RUN_METHOD_REFUSED,
        f"{view} cannot be refreshed {said(mode)}: {why}. REFRESH MATERIALIZED VIEW {anywhere(view)} FULL computes all "
        f"its rows. With 'headwater.method' = '{mode.value}, full' a refresh does so by itself",
    )
