"""Whole partitions: all rows of the query in the partitions that are behind, or in all.

Example: 2 of 30 partitions of a view are behind. *By partition* writes these 2, and *in full* writes all 30.
"""

from __future__ import annotations

from attrs import evolve

from headwater.engine.methods.basis import ONE_PARTITION
from headwater.engine.methods.costs import RUN, learn_pace, newer, took
from headwater.engine.methods.following import in_whole, pay
from headwater.engine.methods.losses import times
from headwater.engine.methods.method import Cost, Method, Offer, Slices, count, existing
from headwater.engine.methods.totals import leaves_totals
from headwater.engine.methods.whole_costs import learn_whole, whole_cost
from headwater.model.event import Published
from headwater.model.partition import WHOLE, Slice, simplified
from headwater.model.reason import Code, Reason
from headwater.model.state import Run, State, ViewState
from headwater.model.work import Mode, WholePartitions, WholeView

ALL_BEHIND = Reason(Code.METHOD_ALL_BEHIND, "every partition is behind")


def by_partition(state: State, view: str, slices: Slices) -> Offer | Reason:
    """The query with a condition on the partition columns."""
    definition = state.views[view].definition
    if WHOLE in slices and not definition.earlier:
        return ALL_BEHIND if definition.partitioned_by else ONE_PARTITION
    frame = simplified(slices)
    return Offer(frame, _cost(state, view, frame, slices), WholePartitions(leaves_totals(state, view)))


def in_full(state: State, view: str, slices: Slices) -> Offer | Reason:
    """The query as it is."""
    if state.views[view].definition.earlier:
        one = "the view reads earlier partitions of itself, so a run renews one period at a time"
        return Reason(Code.VIEW_READS_ITSELF, one)
    return Offer((WHOLE,), _cost(state, view, (WHOLE,), slices), WholeView(leaves_totals(state, view)))


def learn(state: State, view: ViewState, run: Run, event: Published) -> None:
    costs = view.costs
    learn_pace(view, event)
    if not event.totals:  # a run that leaves some reads its sources before what it moves is measured
        moved = [each for each in event.measured.moved if each.table != event.view]
        costs.reads = {each.table: each.size / max(1, len(event.made)) for each in moved}
    made = len(event.made) + len(event.removed)
    costs.took = took(costs.took, event.seconds)
    costs.partitions = newer(costs.partitions, made, RUN)
    mode, before = run.started.work.mode, in_whole(state, view, run)
    pay(view, mode, times(event.seconds, event.cores, before) or 0.0)
    asked = made if mode is Mode.FULL else before.partitions
    learn_whole(costs, mode, asked, event.seconds, event.cores, event.totals is not None)


BY_PARTITION = Method(WholePartitions, "by partition", by_partition, learn)
IN_FULL = Method(WholeView, "in full", in_full, learn)


# --- inside


def _cost(state: State, name: str, frame: tuple[Slice, ...], slices: Slices) -> Cost:
    costs, partitions = state.views[name].costs, count(state, name, frame, slices)
    if costs.estimate is not None:
        return Cost(partitions, None, costs.estimate.read, costs.estimate.size)
    whole = whole_cost(costs, partitions, existing(state, name))
    more = max(1.0, partitions / costs.partitions) if costs.partitions else 1.0
    read = sum(each.size * each.share for each in costs.readings.values())
    return evolve(
        whole,
        read=round(more * read) if costs.readings else None,
        written=round(costs.size * partitions) if costs.size else None,
    )
