"""Everything that can happen to the engine. The journal is a list of these; state is their fold.

Times are milliseconds since the epoch. Versions are allocated by the store, above every version
given before, and travel in the event, so that replay gives the same state.
"""

from __future__ import annotations

from typing import Any, cast

from attrs import evolve, frozen

from headwater.model.costs import Estimate
from headwater.model.epoch import Epoch
from headwater.model.extract import Shared
from headwater.model.measure import Measured
from headwater.model.partition import WHOLE, Needs, Slice, Value, Version, simplified
from headwater.model.reason import Code, Reason
from headwater.model.view import Definition, Pairs
from headwater.model.work import LeftTotals, WholeView, Work


@frozen
class Observed:
    """A partition as found: ``fingerprint`` differs when its files do; ``None``: it is not there."""

    slice: Slice
    fingerprint: str | None


@frozen
class Declared:
    """A view was created or redefined; all its partitions are to be computed.

    ``fill`` is false when the view's data is known to be that of its definition (adoption). ``estimate`` is of a new
    view's first refresh, if one was made.
    """

    at: int
    version: int
    definition: Definition
    why: str
    fill: bool = True
    estimate: Estimate | None = None


@frozen
class Dropped:
    at: int
    view: str


@frozen
class Renamed:
    """``version`` counts where ``to`` was the name of a table that other views read."""

    at: int
    version: int
    view: str
    to: str
    definition: Definition


@frozen
class Altered:
    """Properties of a view were set; its query is the same."""

    at: int
    view: str
    properties: Pairs


@frozen
class Changed:
    """A table was found to differ from what was recorded.

    ``schema`` and ``created`` identify the table's incarnation; ``baseline`` marks the first look at
    a table, which is no change for anybody. ``before`` is the version of a run that was about to read the table
    then, if there was one: it reads this change. ``snapshot`` is the source's own value for the state that was found;
    runs read the table at that snapshot if it is ``pinned``. ``churn``: bytes of the files that came and went since the
    snapshot before; ``None`` where nobody knows, or that snapshot cannot be read any more. ``went``: bytes of those
    that went. ``watermark``: of the stream that wrote the table (ms), if one did that has one. ``code``: of the reason
    of a refresh, whose sentence ``verb`` ends.
    """

    at: int
    version: int
    table: str
    partitions: tuple[Observed, ...]
    schema: str
    created: int
    verb: str
    baseline: bool = False
    before: int = 0
    snapshot: str = ""
    pinned: bool = False
    churn: int | None = None
    went: int = 0
    watermark: int | None = None
    code: Code = Code.SOURCE_CHANGED


@frozen
class Advanced:
    """A table has another snapshot with the same rows: its files were rearranged, or its properties changed. Or the
    stream that writes it has a later ``watermark`` (ms)."""

    at: int
    table: str
    snapshot: str
    watermark: int | None = None


Image = tuple[str, tuple[Value, ...], Value]
"""The key of a computed partition column, the values of its inputs, and its value."""


@frozen
class Evaluated:
    """Values of computed partition columns."""

    at: int
    images: tuple[Image, ...]


@frozen
class Requested:
    """Somebody asked to recompute slices of a view, changed or not (``REFRESH … FULL``), and what is made
    from them if ``downstream``; of a base table, only that. It is a marked change then: it reaches the views too
    that ordinary changes do not."""

    at: int
    version: int
    view: str
    slices: tuple[Slice, ...]
    why: str
    downstream: bool = True


@frozen
class Hurried:
    """Somebody waits: what is pending now for these views, or for all (``None``), does not wait for further changes to
    join it."""

    at: int
    version: int
    views: tuple[str, ...] | None = None


@frozen
class Started:
    """A run of one view began.

    Attributes:
        needs: for each pending slice, on behalf of which of its origins it runs: not always all.
        inputs: the highest versions of each source that it may read.
        work: what it computes.
        kept: what it makes is kept in memory for its readers, and brought to the warehouse in the background.
        shared: the scans that it reads, if they can be made, in place of tables.
        engine: the number of the engine that it belongs to.
        snapshots: of each table that is pinned, the view's own among them, the snapshot on record.
        foreseen, foreseen_cores: the seconds and core-seconds that its method takes, as far as past runs tell; ``None``
            where nobody knows.
        watermarks: of each source that a stream writes, its watermark on record (ms).
        let_go: why the rows will not show one state of every table, though the view asks for that; ``None`` if they do,
            or if it does not.
    """

    at: int
    version: int
    view: str
    needs: Needs
    inputs: tuple[tuple[str, int], ...]
    work: Work
    reason: Reason
    kept: bool = False
    shared: tuple[Shared, ...] = ()
    engine: int = 0
    snapshots: Pairs = ()
    foreseen: float | None = None
    foreseen_cores: float | None = None
    watermarks: tuple[tuple[str, int], ...] = ()
    let_go: Reason | None = None

    @property
    def slices(self) -> tuple[Slice, ...]:
        """What is computed: the whole view, or the needed slices without those that others cover."""
        return (WHOLE,) if isinstance(self.work, WholeView) else simplified(each for each, _ in self.needs)


@frozen
class Reworked:
    """A run cannot follow the changes of its sources, for the reason ``why``. It goes on with other work."""

    at: int
    version: int
    view: str
    work: Work
    why: Reason


@frozen
class Made:
    """One partition of a view as published.

    ``rows`` is its number of rows. ``content`` is a sum that is equal for equal bags of rows; empty when
    none was taken. ``unchanged`` says that the partition replaced holds the same rows, so that what
    reads it need not follow.
    """

    slice: Slice
    rows: int
    fingerprint: str
    content: str = ""
    unchanged: bool = False


@frozen
class Prepared:
    """What a run makes can be read by other runs of this engine, and by nobody else before it is published."""

    at: int
    version: int
    view: str
    made: tuple[Made, ...]
    removed: tuple[Slice, ...]


@frozen
class Published:
    """A run's partitions are what readers see now; ``removed`` ones have become empty.

    Attributes:
        seconds: what it took in all.
        snapshot: of a view that is pinned, the snapshot that the publication made.
        totals: those that it left; ``None`` if it left none.
    """

    at: int
    version: int
    view: str
    made: tuple[Made, ...]
    removed: tuple[Slice, ...]
    seconds: float
    measured: Measured = Measured()
    snapshot: str = ""
    totals: LeftTotals | None = None

    @property
    def cores(self) -> float | None:
        """The core-seconds that it took; ``None`` where nobody knows."""
        return self.measured.cores(self.seconds)


@frozen
class Failed:
    """A run ended without publishing; what it was for is pending again. ``unsure``: readers may see it all the same."""

    at: int
    version: int
    view: str
    error: Reason
    seconds: float
    cancelled: bool = False
    unsure: bool = False


@frozen
class Skipped:
    """Slices of a view are as they would be after a run, but for the parts that are ``left`` to run: all else
    that these origins were to renew of what the view reads came out unchanged."""

    at: int
    version: int
    view: str
    needs: tuple[tuple[Slice, tuple[int, ...]], ...]
    reason: Reason
    left: tuple[tuple[Slice, tuple[int, ...]], ...] = ()


@frozen
class CancelAsked:
    """Somebody asked to cancel the run of a view, whichever engine it is of; what it was for stays pending."""

    at: int
    view: str


@frozen
class Suspended:
    at: int
    view: str


@frozen
class Resumed:
    at: int
    view: str


@frozen
class Analysed:
    """A view's query was analysed again since the change ``upto`` of a table that it uses."""

    at: int
    view: str
    upto: Version


@frozen
class Broken:
    """A view's query cannot be analysed any more."""

    at: int
    view: str
    reason: Reason


@frozen
class Unreadable:
    """A table cannot be looked at, for this ``reason``; it can be again when there is none."""

    at: int
    table: str
    reason: Reason | None = None


@frozen
class Budgeted:
    """Refreshing may cost so much from now on, or what it takes if ``core_seconds_per_day`` is ``None``. A run
    that takes a second costs ``cores`` core-seconds."""

    at: int
    core_seconds_per_day: float | None
    cores: float = 1.0


@frozen
class EpochMade:
    """The members of a group have versions that show one state of every table."""

    at: int
    group: str
    epoch: Epoch


@frozen
class EpochPublished:
    """It is the time from which on readers of a group see its newest epoch. ``number`` is the moment, counted with the
    epochs."""

    at: int
    group: str
    number: int


@frozen
class Convened:
    """The members of a group have shown no common state for too long. Until its next epoch, they run for states that
    others show."""

    at: int
    group: str


@frozen
class EngineLost:
    """An engine is gone: what it was running is pending again, and nothing that it kept is there."""

    at: int
    engine: int


Event = (
    Declared
    | Dropped
    | Renamed
    | Altered
    | Changed
    | Advanced
    | Evaluated
    | Requested
    | Hurried
    | Started
    | Reworked
    | Prepared
    | Published
    | Failed
    | Skipped
    | CancelAsked
    | Suspended
    | Resumed
    | Analysed
    | Broken
    | Unreadable
    | Budgeted
    | EpochMade
    | EpochPublished
    | Convened
    | EngineLost
)


FRESH: Version = 0
"""The version of an event that the store is to give one as it takes it."""


def numbered(event: Event, version: Version) -> Event:
    """An event as it is taken, with this version if it is to be given one."""
    made: Event = evolve(cast(Any, event), version=version) if getattr(event, "version", None) == FRESH else event
    return made
