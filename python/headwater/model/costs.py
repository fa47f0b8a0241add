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
class Narrow:
    """The last run of a view by a method that follows changes.

    Attributes:
        seconds: that such a run takes by now; ``None`` if it computed whole partitions after all.
        churn: bytes of files that had come and gone in its sources.
        cores: core-seconds that such a run takes; ``None`` where nobody knows.
    """

    seconds: float | None
    churn: int
    cores: float | None = None


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
        cores: core-seconds of these runs, in the mean lately; ``None`` where nobody knows.
        narrow: its last run by each method that follows changes.
        reads: bytes of each source that the last of them read for a partition that it made.
        partitions: how many partitions one of them makes, in the mean lately; 0 where nobody knows.
        size: bytes of a partition that they make, in the mean lately; 0 where nobody knows.
        held: the same in blocks of Spark's memory; 0 if they never lay there.
        pace: µs for each byte that its runs read of a table, or write of itself, by the place where that lies.
        readings: what they read of each table lately, where it is known what they need of it.
        copying: µs for each byte that is brought to the warehouse; 0 where nobody knows.
        unaided: µs of a run that has nothing in memory, and all slots to itself; 0 where nobody knows.
        share: the part of all slots that it would fill in that time; 0 where nobody knows.
    """

    estimate: Estimate | None = None
    took: Took | None = None
    cores: float | None = None
    narrow: dict[Mode, Narrow] = Factory(dict)
    reads: dict[str, float] = Factory(dict)
    partitions: float = 0
    size: float = 0
    held: float = 0
    pace: dict[tuple[str, Place], float] = Factory(dict)
    readings: dict[str, Reading] = Factory(dict)
    copying: float = 0
    unaided: float = 0
    share: float = 0
