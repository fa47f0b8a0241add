"""What refreshes of a view cost lately, as its past runs tell."""

from __future__ import annotations

from attrs import Factory, define, frozen

from headwater.model.extract import Extract
from headwater.model.measure import Place
from headwater.model.work import Mode


@frozen
class Estimate:
    """What is foreseen of a first refresh of a whole view, by Spark's statistics of its query.

    Attributes:
        size: bytes that it makes.
        read: bytes that it reads.
    """

    size: int
    read: int


@frozen
class Took:
    """What runs of a view took lately, in seconds: mean and variance."""

    mean: float
    variance: float


@frozen
class Whole:
    """What runs of a view took lately that compute whole partitions: by partition, or in full.

    Attributes:
        partitions: that one of them was for, in the mean.
        seconds: that they took.
        cores: core-seconds that they took; ``None`` where nobody knows.
        lone: there was one only. It may have been slow because Spark compiled its code.
        since: what refreshes took that followed changes after the last of them, in times of whole partitions.
    """

    partitions: float
    seconds: float
    cores: float | None = None
    lone: bool = False
    since: float = 0.0


@frozen
class Loss:
    """Runs of a view by a method that follows changes which took more than whole partitions would have.

    Attributes:
        churn: bytes of files that had come and gone in the sources, before the smallest of these changes.
        seconds: that the last of them took.
        cores: core-seconds that it took; ``None`` where nobody knows.
        more: what all of them took in vain. The unit is the cost of a refresh of whole partitions.
        since: what other refreshes of the view took after the last of them, in the same unit.
        times: how many there were, after changes of about this size.
        stopped: the last of them had to compute whole partitions after all.
    """

    churn: int
    seconds: float
    cores: float | None
    more: float
    since: float = 0.0
    times: int = 1
    stopped: bool = False


@frozen
class Narrow:
    """What is known of a view's runs by a method that follows changes.

    Attributes:
        seconds: that such a run takes by now; ``None``: none was cheaper than whole partitions.
        churn: bytes of files that had come and gone in its sources before the last run that was cheaper.
        cores: core-seconds that such a run takes; ``None`` where nobody knows.
        lost: the runs that were dearer; ``None``: there was none, or one after a larger change was cheaper since.
    """

    seconds: float | None
    churn: int
    cores: float | None = None
    lost: Loss | None = None


@frozen
class Reading:
    """What runs of a view read of a table lately.

    Attributes:
        extract: what they needed of it, the last time.
        size: bytes of the files.
        share: the part of them that was needed; an estimate.
        micros: µs that reading took them in the warehouse.
        near: µs that reading a shared scan took them; ``None`` if they read none.
    """

    extract: Extract
    size: float
    share: float
    micros: float
    near: float | None = None


@define
class RefreshCosts:
    """What refreshes of a view cost; ``engine/methods/costs.py`` learns it.

    Attributes:
        estimate: what is foreseen of its first refresh, as long as it is as it was created; ``None`` where nobody
            knows.
        took: how long its runs take that compute whole partitions; ``None`` before the first.
        whole: what these take, by partition and in full.
        narrow: what those take that follow changes, by their method.
        reads: bytes of each source that the last of them read for a partition that it made.
        partitions: how many partitions a run makes that computes whole ones, in the mean lately; 0 where nobody knows.
        size: bytes of a partition that they make, in the mean lately; 0 where nobody knows.
        totals: bytes of the last totals that one of them left; 0 where nobody knows.
        held: the same in blocks of Spark's memory; 0 if they never lay there.
        pace: µs for each byte that its runs read of a table, or write of itself, by the place where that lies.
        readings: what they read of each table lately, where it is known what they need of it.
        copying: µs for each byte that is brought to the warehouse; 0 where nobody knows.
        unaided: µs of a run that has nothing in memory, and all slots to itself; 0 where nobody knows.
        share: the part of all slots that it would fill in that time; 0 where nobody knows.
    """

    estimate: Estimate | None = None
    took: Took | None = None
    whole: dict[Mode, Whole] = Factory(dict)
    narrow: dict[Mode, Narrow] = Factory(dict)
    reads: dict[str, float] = Factory(dict)
    partitions: float = 0
    size: float = 0
    totals: int = 0
    held: float = 0
    pace: dict[tuple[str, Place], float] = Factory(dict)
    readings: dict[str, Reading] = Factory(dict)
    copying: float = 0
    unaided: float = 0
    share: float = 0
