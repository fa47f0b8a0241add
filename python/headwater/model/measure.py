"""What a run measured. It travels whole from the warehouse to the record and to what people see."""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from headwater.model.extract import Extract


class Place(Enum):
    """Where bytes lie: in the warehouse, or kept in a fast volume or in blocks of Spark's memory; there, too,
    in a scan of a table that several runs share."""

    WAREHOUSE = "warehouse"
    VOLUME = "volume"
    BLOCKS = "blocks"
    SCAN = "scan"


@frozen
class Edge:
    """The times of events that a refresh found in the sources of its view ([Golab11] §2.2, §2.3).

    Attributes:
        at: the least of the newest times of the sources (µs since 1970), less ``headwater.lateness``; ``None``: some
            source has no row with a time.
        passed: rows of each source up to ``at``; of a view with a trailing edge only.
        late: rows that came up to the edge of the refresh before, after it: later than ``headwater.lateness`` allows.
    """

    at: int | None
    passed: tuple[tuple[str, int], ...] = ()
    late: int = 0


@frozen
class Moved:
    """Bytes that a run read of a table, or wrote of its own view, and how long it was busy with that.

    Attributes:
        place: where they lay, or were left.
        size: bytes; of blocks, those that they have in files.
        micros: µs, of its own time.
        extract: what of the table it needed; ``None`` where nobody knows.
        share: the part of the table's bytes that should be; an estimate.
    """

    table: str
    place: Place
    size: int
    micros: int
    extract: Extract | None = None
    share: float = 1.0


@frozen
class Scanned:
    """A scan that a run made for itself and for others: how many bytes it takes, and what it took (µs). One that did
    not fit takes more than there is."""

    table: str
    extract: Extract
    size: int
    micros: int


@frozen
class Effort:
    """What the tasks of a run took of the slots that there are for tasks.

    Attributes:
        alone: µs that they would have taken with all slots to themselves.
        active: µs in which there were any of them, whether they ran or waited for others.
        share: the part of all slots that they would have filled then; from 0 to 1.
        work: µs of all of them, one after the other; ``None`` where nobody knows.
    """

    alone: int
    active: int
    share: float
    work: int | None = None

    def own(self, micros: float) -> float:
        """Of the µs that something took beside others, those that it would have taken alone."""
        return max(0.0, micros - self.active) + self.alone

    def cores(self, seconds: float) -> float | None:
        """Core-seconds of something that took so many seconds: those of the tasks, and the seconds without any."""
        return None if self.work is None else (max(0.0, 1e6 * seconds - self.active) + self.work) / 1e6

    def since(self, before: Effort | None) -> Effort:
        """What was added to what had been taken before."""
        if before is None:
            return self
        alone, active = max(0, self.alone - before.alone), max(0, self.active - before.active)
        work = None if self.work is None or before.work is None else max(0, self.work - before.work)
        return Effort(alone, active, self.share, work)


@frozen
class Measured:
    """What a run measured.

    Attributes:
        size: bytes of what it made; 0 where nobody knows.
        moved: what reading and writing took, as far as it was measured.
        copying: µs in which what was kept in memory was brought to the warehouse.
        held: bytes that it took in blocks of Spark's memory; 0 if it lay in none.
        scanned: the scans that it made, for others too.
        effort: what its tasks took; ``None`` where nobody knows.
        edge: the times of events in the sources; ``None`` where its view names none.
        found: its rows were there already, so what it took tells of no other run.
    """

    size: int = 0
    moved: tuple[Moved, ...] = ()
    copying: int = 0
    held: int = 0
    scanned: tuple[Scanned, ...] = ()
    effort: Effort | None = None
    edge: Edge | None = None
    found: bool = False

    def cores(self, seconds: float) -> float | None:
        """The core-seconds of a run that took so many seconds; ``None`` where nobody knows. A copy from memory counts
        as work of one core."""
        return None if self.effort is None else self.effort.cores(seconds)
