"""What the engine knows: the fold of its journal."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar

from attrs import Factory, define, evolve, field, fields, frozen

from headwater.model.costs import RefreshCosts
from headwater.model.epoch import Epoch, GroupPublication
from headwater.model.event import Started
from headwater.model.extract import Shared
from headwater.model.index import Index
from headwater.model.measure import Edge, Scanned
from headwater.model.partition import Inputs, Needs, Slice, Value, Version
from headwater.model.reason import Code, Reason
from headwater.model.view import Definition, Pairs
from headwater.model.work import Totals, Work


class Status(Enum):
    """Whether a view is kept fresh. Only ``ACTIVE`` views hold their readers back. A view is ``UNREADABLE`` when it
    waits for a table that cannot be looked at now."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    BROKEN = "broken"
    FAILED = "failed"
    UNREADABLE = "unreadable"


@frozen
class Included:
    """The first and the last change of a table that came with a refresh."""

    table: str
    first: Version
    last: Version


@frozen
class Origin:
    """A recorded change that starts a dependent backfill. Its identity is its version.

    ``wave``: when the oldest of those changes came that are reflected together with this one, so that their
    promises are kept; ``None`` when nothing is promised or nobody knows (see ``engine.waits.freshness``).
    ``marked``: it reaches the views too that only marked changes reach.
    ``asked``: nothing changed, somebody asked for it: a backfill. ``code``: of the reason of a refresh for it.
    ``brings``: of a view that its readers did not wait for, the changes of other tables that came with it.
    """

    version: Version
    at: int
    table: str
    verb: str
    slices: tuple[Slice, ...]
    definition: bool = False
    wave: int | None = None
    marked: bool = False
    asked: bool = False
    code: Code = Code.SOURCE_CHANGED
    brings: tuple[Included, ...] = ()


@frozen
class PartitionRecord:
    """The newest version of a partition; ``fingerprint`` is ``None`` when it no longer exists.

    ``inputs`` are the versions of the sources that a view's partition reflects; ``content`` is a sum of its
    rows, if one was taken.
    """

    version: Version
    fingerprint: str | None
    rows: int | None = None
    inputs: Inputs = ()
    content: str = ""


@frozen
class Past:
    """A state of a pinned table that may still be read: its snapshot, and how many bytes of files came and went in the
    table from the first state on record to this one; ``went``: those that went.

    Of a view, ``holds`` is the newest change of each table that this state reflects, and ``first`` the oldest one of
    each table that came with it."""

    snapshot: str
    churn: int
    went: int = 0
    holds: Inputs = ()
    first: Inputs = ()


@define
class TableRecord:
    """What was last seen of a table.

    Attributes:
        highest: the highest version of any partition.
        changed_at: when its last change was found (ms).
        gap: the mean time between its changes lately (s).
        scanned: what a scan of it that runs shared took lately; ``None`` if there was none.
        snapshot: the source's own value for that state, beside the versions that Headwater gives partitions; empty
            where there is none.
        pinned: whether runs read the table at that snapshot, whatever programs write meanwhile.
        past: states of the table by its versions, the newest ones last. Between each two of them is known which rows
            came and went. None of a table that is not pinned.
        watermark: of the stream that writes it (ms). That state has all rows up to this time but for late ones.
        began: the first version of the history that goes on to this state. Snapshots of older ones may be of another
            table of this name.
    """

    schema: str = ""
    created: int = 0
    highest: Version = 0
    partitions: dict[Slice, PartitionRecord] = Factory(dict)
    changed_at: int | None = None
    gap: float | None = None
    scanned: Scanned | None = None
    snapshot: str = ""
    pinned: bool = False
    past: dict[Version, Past] = Factory(dict)
    watermark: int | None = None
    began: Version = 0


@frozen
class Run:
    """A refresh under way.

    Attributes:
        started: how it began.
        slices: what it computes.
        needs: for which origins it computes each slice. More than it began for, if it stands for newer changes, too.
        inputs: the versions of the sources that it may read: the newest of these changes.
        work: what it computes: other work than it began with, if it could not follow changes.
        instead: why that is so; ``None`` if it is not.
        on: the runs of which it reads what they made, where they left it. It is published after them, or not at all.
        preempted: it is to be cancelled: a change came for what it computes, and its view wants both in one run.
        cancelled: somebody asked to cancel it.
        prepared: all of it is computed, and other runs may read it before it is published.
        holds: the newest change of each table that its rows will reflect, as far as it was known when it started.
    """

    started: Started
    slices: tuple[Slice, ...] = field(default=Factory(lambda run: run.started.slices, takes_self=True))
    needs: tuple[tuple[Slice, frozenset[Version]], ...] = field(
        default=Factory(lambda run: _sets(run.started.needs), takes_self=True)
    )
    inputs: Inputs = field(default=Factory(lambda run: run.started.inputs, takes_self=True))
    work: Work = field(default=Factory(lambda run: run.started.work, takes_self=True))
    instead: Reason | None = None
    on: frozenset[Version] = frozenset()
    preempted: bool = False
    cancelled: bool = False
    prepared: bool = False
    holds: Inputs = ()

    @property
    def version(self) -> Version:
        return self.started.version

    @property
    def view(self) -> str:
        return self.started.view

    @property
    def engine(self) -> int:
        return self.started.engine

    @property
    def kept(self) -> bool:
        return self.started.kept

    @property
    def shared(self) -> tuple[Shared, ...]:
        return self.started.shared

    @property
    def snapshots(self) -> Pairs:
        return self.started.snapshots


def _sets(needs: Needs) -> tuple[tuple[Slice, frozenset[Version]], ...]:
    return tuple((each, frozenset(origins)) for each, origins in needs)


@define
class ViewState:
    """The condition of one view.

    Attributes:
        pending: slices to recompute, each with the origins on whose behalf.
        news: where, of what is pending, an origin did change something that the view reads. Elsewhere it may
            prove to have changed nothing.
        broken: why its query cannot be analysed; ``None`` if it can be. Its status says so, unless it is suspended.
        unanalysed: the newest change of a table that it uses after which its query may mean something else, if it was
            not analysed since; else 0.
        released: readers were let go past this view while it could not run, so its next
            publication is a change of its own for them.
        failures: consecutive failed runs.
        retry_at: no run before this time.
        failed: the version of the last run that failed; 0 if there was none.
        reason: why it stands still, or its last run failed; ``None`` if neither is so.
        stopped: why the last run was cancelled; ``None`` if it was not.
        costs: what its refreshes cost.
        totals: the newest totals of its aggregate; ``None`` if there are none.
        edge: the times of events that its last refresh found; ``None`` where it names none.
        whole: the versions of the sources that its newest run of all partitions read; ``None`` if none was published
            with this definition. A partition that is on no record had no rows then.
        preempted: how many runs in a row were preempted.
        hurried: somebody waits for all its changes up to this version.
        unsure: slices of runs that came to nothing on record, and may have been published: their engine was lost, their
            publication failed, or the view was redefined meanwhile. Readers may see partitions there that are not on
            record.
        keeps_none: its last refresh, of all partitions, left no version that can be read later, though it was to.
        holds: the newest change of each table that its rows reflect (see ``engine.requests.cut``).
        began: the last run that was published, and when it began (ms); ``None`` before the first.
        overran: the last run that was published, and the highest version at its end: the changes between came
            while it ran. ``None`` once another run started.
    """

    definition: Definition
    status: Status = Status.ACTIVE
    reason: Reason | None = None
    pending: dict[Slice, frozenset[Version]] = Factory(dict)
    news: dict[Slice, frozenset[Version]] = Factory(dict)
    broken: Reason | None = None
    unanalysed: Version = 0
    released: bool = False
    failures: int = 0
    retry_at: int = 0
    failed: Version = 0
    stopped: Reason | None = None
    refreshed_at: int | None = None
    costs: RefreshCosts = Factory(RefreshCosts)
    totals: Totals | None = None
    edge: Edge | None = None
    whole: Inputs | None = None
    preempted: int = 0
    hurried: Version = 0
    unsure: tuple[Slice, ...] = ()
    keeps_none: bool = False
    holds: dict[str, Version] = Factory(dict)
    began: tuple[Version, int] | None = None
    overran: tuple[Version, Version] | None = None


@frozen
class Budget:
    """What refreshing may cost a day. A run that takes a second costs ``cores`` core-seconds."""

    core_seconds: float
    cores: float


@define
class State:
    """Everything on record; changed only by ``transition``.

    Attributes:
        running: at most one run for each view, until it is published.
        kept: the last run of a view, if its output was kept in memory, once it is published.
        sharing: the last run of a view, if it read scans that others read, too, once it is published.
        origins: the changes that some request is for.
        fixed: seconds of a run by changes after a small change, for each format of views.
        images: values of computed partition columns.
        hurried: somebody waits for all changes of all views up to this version.
        unreadable: the tables that cannot be looked at now, each with the reason.
        budget: what refreshing may cost; ``None``: no limit.
        groups: the epochs of each group that are kept, the newest last.
        published: what readers of a group see, where its members ask for times, or did so.
        numbered: the number of the newest epoch, or publication, of all groups.
        convened: the groups whose members run for states that others show, until their next epoch.
        index: facts that follow from the rest.
    """

    views: dict[str, ViewState] = Factory(dict)
    tables: dict[str, TableRecord] = Factory(dict)
    running: dict[str, Run] = Factory(dict)
    kept: dict[str, Run] = Factory(dict)
    sharing: dict[str, Run] = Factory(dict)
    origins: dict[Version, Origin] = Factory(dict)
    images: dict[tuple[str, tuple[Value, ...]], Value] = Factory(dict)
    fixed: dict[str, float] = Factory(dict)
    hurried: Version = 0
    highest: Version = 0
    unreadable: dict[str, Reason] = Factory(dict)
    budget: Budget | None = None
    groups: dict[str, tuple[Epoch, ...]] = Factory(dict)
    published: dict[str, tuple[GroupPublication, ...]] = Factory(dict)
    numbered: int = 0
    convened: set[str] = Factory(set)
    index: Index = field(factory=Index, eq=False)

    def definition(self, view: str) -> Definition | None:
        """The definition of a view; ``None`` if there is no view of this name."""
        known = self.views.get(view)
        return None if known is None else known.definition

    def sources(self, table: str) -> tuple[str, ...]:
        """What a view reads; nothing of a table that is none."""
        known = self.views.get(table)
        return () if known is None else known.definition.sources

    @property
    def definitions(self) -> dict[str, Definition]:
        return {name: view.definition for name, view in self.views.items()}


Changing = TypeVar("Changing", ViewState, TableRecord, RefreshCosts)
"""Values that change, with dictionaries that do."""


def copied(state: State) -> State:
    """A copy of what is recorded that stays as it is. It takes milliseconds, as all values within are frozen."""
    held = {each.name: _own(getattr(state, each.name)) for each in fields(State) if each.eq}
    held["views"] = {name: copied_view(view) for name, view in state.views.items()}
    held["tables"] = {name: copied_record(table) for name, table in state.tables.items()}
    return State(**held)


def copied_view(view: ViewState) -> ViewState:
    return evolve(copied_record(view), costs=copied_record(view.costs))


def copied_record(record: Changing) -> Changing:
    held = {each.name: getattr(record, each.name) for each in fields(type(record))}
    return evolve(record, **{name: _own(value) for name, value in held.items() if isinstance(value, dict)})


def _own(value: Any) -> Any:
    return value.copy() if isinstance(value, dict | set) else value
