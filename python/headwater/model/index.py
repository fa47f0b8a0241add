"""Facts that follow from a state, and the decisions that are kept with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from attrs import Factory, define, frozen

from headwater.model.dependency import Dependency
from headwater.model.partition import Needs, Version

Reads = tuple[tuple[Dependency, tuple[str, ...] | None], ...]
"""What a view reads, each with the view's partition columns if a partition reaches just the one of the same name."""


@frozen
class Step:
    """A view that changes of some table may reach: what it reads of what is changed; what of that is the table
    itself; and whether the view ``goes_on`` from one of its partitions to later ones."""

    view: str
    reads: Reads
    direct: Reads = ()
    goes_on: bool = False


@frozen
class Alike:
    """Views that a change which binds just these columns reaches in the same partitions, and those of them that
    read the table that changed."""

    names: tuple[str, ...]
    views: tuple[str, ...]
    direct: tuple[str, ...]


@frozen
class Route:
    """The views that changes of some table may reach, in topological order; ``alike``, if all of them are."""

    steps: tuple[Step, ...]
    alike: Alike | None = None


@frozen
class Hold:
    """A decision about a change: wait ``millis``, because ``path`` of views, of which the last promises ``bound`` (ms),
    takes ``needed`` (ms) at the stated confidence."""

    millis: int
    bound: int
    needed: int
    path: tuple[str, ...]


@frozen
class Ration:
    """A decision about a change: wait ``millis``, because changes of its table come every ``gap`` seconds and
    cost ``cost`` core-seconds each, of ``budget`` a day; ``over``: what is promised costs more than that."""

    millis: int
    gap: float
    cost: float
    budget: float
    over: bool


@frozen
class Expectation:
    """A decision about a change: wait ``millis`` for changes of ``missing``, which come with it; with none missing,
    that is how long after it the last of them came."""

    millis: int
    missing: tuple[str, ...]


@frozen
class Scheduled:
    """A decision about a change: its view starts at a time (ms), the next one of a cron text in a zone."""

    at: int
    cron: str
    zone: str


@frozen
class Spaced:
    """A decision about a change: its view starts at a time (ms), ``gap`` ms after its last refresh began."""

    at: int
    gap: int


@frozen
class Apart:
    """Sources of a view without a common cut.

    Attributes:
        ahead: holds a change of a table, and no version without it can be read; the view itself, if its rows show it.
        behind: lacks a change of the table that is not newer.
        change: the oldest one that ``behind`` lacks.
    """

    ahead: str
    behind: str
    table: str
    change: Version


@frozen
class Ripe:
    """Overlapping slices of a view that can run as far as its inputs are concerned.

    Attributes:
        needs: the slices, each with the changes on whose behalf.
        apart: why they wait all the same, for a time; ``None`` if they do not.
        in_vain: nothing that is under way makes an end of that wait.
    """

    needs: Needs
    apart: Apart | None = None
    in_vain: bool = False


@frozen
class StateSpan:
    """The states of tables that a version of a source shows.

    Attributes:
        version: 0 if it is the newest one, and has none.
        holds: the newest change of each table that it holds.
        until: the oldest change of each table that it lacks.
    """

    version: Version = 0
    holds: Mapping[str, Version] = Factory(dict)
    until: Mapping[str, Version] = Factory(dict)


@frozen
class Older:
    """What the versions of a source before its newest one show.

    Attributes:
        highest, past: of the record that this was made from (see ``model.state.TableRecord``).
        spans: the newest first. What they lack leaves out what the newest version does.
        uneven: the tables of which an older one holds more than a newer one.
    """

    highest: Version = 0
    past: Mapping[Version, object] = Factory(dict)
    spans: tuple[StateSpan, ...] = ()
    uneven: frozenset[str] = frozenset()


@frozen
class Rations:
    """The decisions for each base table, and when they were taken (ms)."""

    at: int
    of: Mapping[str, Ration]


@define
class Index:
    """Facts that follow from a state, kept to save searches; ``engine.requests.index`` makes one anew.

    Attributes:
        order, readers: of the graph of views.
        carried: how many slices, pending or running, carry each origin.
        routes: for a table, the views that its changes, or marked ones, may reach (see ``engine.requests.coverage``).
        above: for a table, all that it is made from, and itself (see ``engine.requests.common_cut``).
        shared: for a view, the tables that several of its sources are made from.
        older: the versions of a source before its newest one (see ``engine.requests.spans``).
        promising: the views that promise a freshness.
        lenient: the views whose readers may not be able to wait for them (see ``engine.requests.common_cut``).
        slack: how long changes of a view can wait for the promises there and downstream (``engine.waits.freshness``).
        rations: how long changes wait for the budget's sake; ``learned``: whether something that this depends on was
            learned since (see ``engine.waits.ration``).
        stale, ripe, idle: which views can run as far as their inputs are concerned, which need not because nothing that
            they read changed, and for which that has to be found out anew (see ``engine.decide.readiness``).
        grouped: the members of each group; ``regrouped``: the groups that may have another epoch; ``apart``: those
            whose members showed no common state when they were looked at last.
        places: where the members of a group are to meet (see ``engine.requests.meeting``).
    """

    order: dict[str, int] = Factory(dict)
    readers: dict[str, tuple[str, ...]] = Factory(dict)
    carried: Counter[Version] = Factory(Counter)
    routes: dict[tuple[str, bool], Route] = Factory(dict)
    above: dict[str, frozenset[str]] = Factory(dict)
    shared: dict[str, tuple[str, ...]] = Factory(dict)
    older: dict[str, Older] = Factory(dict)
    promising: set[str] = Factory(set)
    lenient: set[str] = Factory(set)
    slack: dict[str, Hold | None] = Factory(dict)
    rations: Rations | None = None
    learned: bool = False
    stale: set[str] = Factory(set)
    ripe: dict[str, tuple[Ripe, ...]] = Factory(dict)
    idle: dict[str, tuple[Needs, Needs]] = Factory(dict)
    grouped: dict[str, set[str]] = Factory(dict)
    regrouped: set[str] = Factory(set)
    apart: set[str] = Factory(set)
    places: dict[str, StateSpan | None] = Factory(dict)
