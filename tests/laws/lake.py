"""Lake tables, slow and obvious: a log of snapshots, each with all that the table held.

A snapshot says in which partitions rows came or went since the one before it. A look says what changed on the way from
the snapshot on record to the current one, as the adapters of Delta and Iceberg do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import Factory, define, evolve, frozen
from reference import Content

from headwater.model.partition import Region, Slice
from headwater.model.seen import Seen

Stamps = dict[Slice, str]


@frozen(eq=False)
class Snapshot:
    """All that a table held at one time. Nobody changes it.

    Attributes:
        before: the snapshot that it was made of; empty if nobody can tell.
        changed: the partitions whose rows differ from those before. A rearrangement changes none.
        stamps: the write that each partition is of.
        went: how many partitions lost rows. One whose value grows counts as one that rows were added to.
    """

    before: str
    content: Content
    changed: frozenset[Slice]
    stamps: Stamps
    went: int = 0


def plain(snapshot: str) -> str:
    """The name of a snapshot without what a look has yet to tell of it (``Log.publish``)."""
    return snapshot.removesuffix("+")


@define
class Log:
    """The snapshots of one lake table.

    Attributes:
        incarnation: tells a table from its successor of the same name.
        current: the name of the snapshot that readers see.
        untold: the partitions that a look since a publication has to tell although they changed before it; ``None``:
            nobody can say which.
        cleaned: the snapshots that cannot be read any more.
    """

    incarnation: int
    snapshots: dict[str, Snapshot] = Factory(dict)
    current: str = ""
    untold: dict[str, frozenset[Slice] | None] = Factory(dict)
    cleaned: frozenset[str] = frozenset()

    def copy(self) -> Log:
        return evolve(self, snapshots=dict(self.snapshots), untold=dict(self.untold))

    @property
    def now(self) -> Snapshot:
        return self.snapshots[self.current]

    def commit(self, name: str, content: Content, changed: Iterable[Slice], stamps: Stamps) -> None:
        before = self.now.content if self.current else {}
        went = sum(1 for each in changed if each in before and not grew(before[each], content.get(each)))
        self.snapshots[name] = Snapshot(self.current, dict(content), frozenset(changed), dict(stamps), went)
        self.current = name

    def left(self, recorded: str, region: Region) -> frozenset[Slice] | None:
        """Where programs wrote a view since its snapshot on record, if a publication replaces a region: rows that it
        leaves, and those that runs may have read at that snapshot. ``None``: nobody can say."""
        foreign, before = self.foreign(recorded), self.untold.get(recorded, frozenset())
        if foreign is None or before is None:
            return None
        return before | {each for each in foreign if not region.covers(each)}

    def published(self, left: frozenset[Slice] | None) -> str:
        """Names the snapshot of a publication so that a look since then also tells what is ``left``."""
        if left == frozenset():
            return self.current
        name = f"{self.current}+"
        self.untold[name] = left
        return name

    def roll_back(self) -> None:
        """Makes the snapshot before the current one, if it can be read."""
        if self.now.before and self.now.before not in self.cleaned:
            self.current = self.now.before

    def clean(self, told: bool, read: bool) -> None:
        """Forgets what was before now: no look is ``told`` of it any more, or no run can ``read`` it."""
        if told:
            self.snapshots = {name: evolve(each, before="") for name, each in self.snapshots.items()}
        if read:
            self.cleaned = frozenset(self.snapshots) - {self.current}

    def read(self, snapshot: str) -> Content | None:
        """What it held; ``None`` if that cannot be read any more."""
        name = plain(snapshot)
        return dict(self.snapshots[name].content) if name in self.snapshots and name not in self.cleaned else None

    def since(self, snapshot: str) -> frozenset[Slice] | None:
        """The partitions that changed since a snapshot; ``None``: nobody can say which."""
        changed, at = self.untold.get(snapshot, frozenset()), self.current
        while changed is not None and at != plain(snapshot):
            known = self.snapshots[at]
            changed, at = (changed | known.changed, known.before) if known.before else (None, "")
        return changed

    def foreign(self, recorded: str) -> frozenset[Slice] | None:
        """Where programs wrote a view since its snapshot on record; if there is none, all that it holds."""
        return self.since(recorded) if recorded else frozenset(self.now.content)

    def look(self, table: str, since: str) -> Seen:
        seen = Seen(table, incarnation=self.incarnation, snapshot=self.current, pinned=True, since=since)
        changed = self.since(since) if since else None
        if changed is None:
            lost = "its history is not all there" if since else ""
            return evolve(seen, partitions=dict.fromkeys(self.now.content, self.current), lost=lost)
        looked = tuple(sorted(changed, key=str))
        partitions = dict.fromkeys(looked, self.current)
        return evolve(seen, partitions=partitions, looked=looked, churn=len(changed), went=self.went(since))

    def went(self, since: str) -> int:
        """How many partitions lost rows since a snapshot."""
        found, at = 0, self.current
        while at != plain(since) and at:
            found, at = found + self.snapshots[at].went, self.snapshots[at].before
        return found


def grew(before: Any, now: Any) -> bool:
    """Whether a partition of which the value changed has all rows of before."""
    return now is not None and before <= now


@define
class Lake:
    """All lake tables.

    Attributes:
        history: what each snapshot held that ever was. No two tables have one of the same name.
    """

    logs: dict[str, Log] = Factory(dict)
    history: dict[str, Content] = Factory(dict)

    def copy(self) -> Lake:
        return Lake({name: log.copy() for name, log in self.logs.items()}, dict(self.history))

    def __contains__(self, table: str) -> bool:
        return table in self.logs

    def found(self, table: str, incarnation: int, content: Content, stamps: Stamps) -> None:
        """Begins the log of a table, with what it holds."""
        self.logs[table] = Log(incarnation)
        self.commit(table, content, content, stamps)

    def commit(self, table: str, content: Content, changed: Iterable[Slice], stamps: Stamps) -> None:
        """Makes a snapshot of a table, if it is one of these."""
        if table in self.logs:
            log, name = self.logs[table], f"s{len(self.history)}"
            log.commit(name, content, changed, stamps)
            self.history[name] = log.now.content

    def held(self, snapshot: str) -> Content:
        return self.history[plain(snapshot)]
