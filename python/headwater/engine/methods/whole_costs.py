"""What whole partitions take, as past runs tell, for the choice between them and other methods.

Example: a view has 20 partitions. A run in full took 8 s, and one of 2 partitions 3 s. So 1 takes 3 s at most, 4 take
6 s at most, and 10 take 8 s at most.
"""

from __future__ import annotations

from headwater.engine.methods.losses import PAID
from headwater.engine.methods.method import Cost
from headwater.model.costs import RefreshCosts, Whole
from headwater.model.work import Mode

QUICKER, SLOWER = 0.5, 0.25
"""The weight of the newest run, if it took less or more than those before. While another method is cheaper, no such run
would tell that the last one was slow by chance."""

SLOW = 2.5
"""A run takes up to so many times what others take: in the first one Spark compiles the code of the view, and others
ran beside it."""


def whole_cost(costs: RefreshCosts, partitions: int, there: int) -> Cost:
    """What a refresh of so many whole partitions takes at most.

    Args:
        partitions: some of them may be new, and come out empty.
        there: partitions that the view has.
    """
    counts = {Mode.FULL: there, Mode.PARTITION: partitions}
    known = [(each, max(1.0, counts[mode] / max(1.0, each.partitions))) for mode, each in costs.whole.items()]
    cores = [more * each.cores for each, more in known if each.cores is not None]
    seconds = [more * each.seconds for each, more in known]
    return Cost(
        partitions, seconds=min(seconds, default=None), cores=min(cores) if cores and len(cores) == len(known) else None
    )


def learn_whole(
    costs: RefreshCosts, mode: Mode, partitions: int, seconds: float, cores: float | None, totals: bool
) -> None:
    """Adds what a run of whole partitions took to what is known.

    Args:
        partitions: that the run was for.
        totals: the run left totals. What they took beside it is not known.
    """
    before = costs.whole.get(mode)
    if before is None:
        costs.whole[mode] = Whole(partitions, seconds, cores, lone=True)
        return
    took, known = (seconds, before.seconds) if cores is None or before.cores is None else (cores, before.cores)
    weight = QUICKER if took < known else SLOWER
    if before.lone and took < known:
        weight = 1.0
    elif totals and took >= known:
        weight = 0.0
    costs.whole[mode] = Whole(
        _nearer(before.partitions, partitions, weight),
        _nearer(before.seconds, seconds, weight),
        cores if before.cores is None else before.cores if cores is None else _nearer(before.cores, cores, weight),
    )


def maybe_quicker(costs: RefreshCosts, price: float, whole: float) -> bool:
    """Whether whole partitions are computed again, although another method looks cheaper: the last time may have been
    slow by chance. What that may cost in vain is paid for, but for the first time.

    Args:
        price: of the other method.
        whole: of whole partitions, in the same unit.
    """
    if not costs.whole or price <= whole / SLOW:
        return False
    lone = len(costs.whole) == 1 and all(each.lone for each in costs.whole.values())
    return lone or min(each.since for each in costs.whole.values()) >= PAID * (1 - price / whole)


# --- inside


def _nearer(mean: float, newest: float, weight: float) -> float:
    return mean + weight * (newest - mean)
