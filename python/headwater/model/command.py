"""What the kernel wants done, and what it is told of that. All are inert values.

``engine.decide.kernel.decide`` makes commands of what is known; an interpreter carries each out and gives its answer
back (``engine.decide.flight.answered``). ``Record`` is answered by its own event, in the journal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import Factory, frozen

from headwater.model.event import Event, Made
from headwater.model.measure import Edge, Measured, Place
from headwater.model.partition import Slice, Value, Version
from headwater.model.reason import Reason
from headwater.model.state import PartitionRecord, Run
from headwater.model.view import Definition
from headwater.model.work import LeftTotals, Totals

Wanted = frozenset[tuple[str, str, tuple[Value, ...]]]
"""What is to be evaluated: a view, the key of a computed column there, and the values of its inputs."""


@frozen
class Trial:
    """What whole partitions would take in place of the first run of a view by keys.

    Attributes:
        seconds: that they take.
        read, written: bytes.
    """

    seconds: float
    read: int
    written: int


@frozen
class Launch:
    """A run, with what has to be known to compute and publish it.

    Attributes:
        existing: the view's partitions in the run's slices, with the record of each: those that the run does not make
            again have become empty, and one that comes out as its record says is unchanged.
        size: how many bytes it will write, by what was written lately; 0 if nobody knows.
        totals: of the view, as they are on record; ``None`` if there are none.
        unsure: readers may see partitions that are not in ``existing`` (``ViewState.unsure``). Those that the run does
            not make are to be removed, too.
        as_totals: whether the partitions in the run's slices, also those without rows, are of the state of ``totals``.
        edge: of the last refresh of the view; ``None`` if it names no times of events, or there was none.
        trial: what a first run by keys is compared with, once its keys are known; ``None`` if it is no such run.
        doubted: whether rows of the view may be others than those of a publication, or a user doubts them.
        complete: whether nothing of the view is left behind the snapshots that the run reads.
        upon: of a replica, the state of its table that the run found: it is published upon no other. Empty: upon any.
    """

    run: Run
    definition: Definition
    existing: Mapping[Slice, PartitionRecord]
    size: int = 0
    unsure: bool = False
    totals: Totals | None = None
    as_totals: bool = False
    edge: Edge | None = None
    trial: Trial | None = None
    doubted: bool = True
    complete: bool = False
    upon: str = ""


@frozen
class Written:
    """What a run computed, before anybody can see it.

    Attributes:
        handle: the warehouse's own.
        place: where the rows lie.
        totals: those that it left; ``None`` if it left none.
    """

    made: tuple[Made, ...]
    removed: tuple[Slice, ...]
    handle: Any = None
    place: Place = Place.WAREHOUSE
    measured: Measured = Measured()
    totals: LeftTotals | None = None


@frozen
class Replaced:
    """What a publication took the place of.

    Attributes:
        locations: where it lay, for readers that have it open; to be removed after the retention time.
        unchanged: the published partitions that hold the same rows as what they replaced, as far as that
            is known for certain: content sums agree, and what was replaced was as the record says.
        reshaped: whether readers see other columns from now on.
        snapshot: of a lake table the snapshot that the publication made. A look since then also tells where other
            programs wrote after the snapshot on record, if they did so before the publication: the rows that it left,
            and those that other runs may have read.
    """

    locations: Sequence[str] = ()
    unchanged: frozenset[Slice] = frozenset()
    reshaped: bool = False
    snapshot: str = ""


# --- commands


@frozen
class Record:
    """Journal an event, if nothing else is journaled before it.

    Attributes:
        evicting: the engine that the event ends, if that engine's time is still up then.
    """

    event: Event
    evicting: int | None = None


@frozen
class MakePlan:
    """Plan what is pending; the question is the schedule's own."""

    question: Any


@frozen
class Evaluate:
    """Evaluate computed columns; answered by ``Evaluated`` in the journal, and ``Answered``.

    ``version``: the run that waits for it, if one does.
    """

    wanted: Wanted
    version: Version = 0


@frozen
class Look:
    """Look at the base tables that a run is about to read (``before``), or has read."""

    launch: Launch
    before: bool


@frozen
class Compute:
    """Compute a run, where no reader sees it. ``sees`` are the versions of its sources that it is to see."""

    launch: Launch
    sees: Mapping[str, Version]


@frozen
class Bring:
    """Copy what was kept in memory to where it will be published from."""

    launch: Launch
    written: Written


@frozen
class Publish:
    """Make readers see what was written, whole or not at all."""

    launch: Launch
    written: Written


@frozen
class Cancel:
    """Stop what computes a run, if anything does."""

    view: str
    version: Version


@frozen
class Release:
    """Forget what was kept of a run that is over, and that no other run reads or will read."""

    version: Version


Command = Record | MakePlan | Evaluate | Look | Compute | Bring | Publish | Cancel | Release


# --- answers


@frozen
class PlanMade:
    """``plan`` is a plan of ``engine.decide.schedule``."""

    plan: Any


@frozen
class Answered:
    """An evaluation is over; ``refused`` could not be evaluated."""

    refused: Wanted
    version: Version = 0


@frozen
class Looked:
    version: Version
    seconds: float = 0.0


@frozen
class RunComputed:
    version: Version
    written: Written
    seconds: float = 0.0


@frozen
class Unfollowable:
    """A run computed nothing, as it cannot follow the changes of its sources, for the reason ``why``."""

    version: Version
    why: Reason
    seconds: float = 0.0


@frozen
class Brought:
    version: Version
    written: Written
    seconds: float = 0.0


@frozen
class Shown:
    """Readers see a run's output since ``at`` (ms)."""

    version: Version
    replaced: Replaced = Factory(Replaced)
    at: int = 0
    seconds: float = 0.0


@frozen
class Stopped:
    """A step of a run failed, or was ``cancelled``. ``unseen``: no commit was made, so nobody sees its rows."""

    version: Version
    error: Reason
    cancelled: bool = False
    seconds: float = 0.0
    unseen: bool = False


@frozen
class Gone:
    """The warehouse went away under a step of a run; this engine ends."""

    version: Version


RunAnswer = Answered | Looked | RunComputed | Unfollowable | Brought | Shown | Stopped | Gone

Answer = PlanMade | RunAnswer
