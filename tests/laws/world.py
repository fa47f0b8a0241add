"""A warehouse that is slow and obvious: the warehouse port over dicts.

A table is one of files, which is read as it is at that moment, or a lake table, which a run reads at the snapshot that
was on record as the run began.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from itertools import product

from attrs import evolve, frozen
from lake import Lake, Stamps, grew
from reference import Content, Tables, image, read_by, recomputed, restricted

from headwater.model.command import Launch, Replaced, Written
from headwater.model.error import ChangesUnknown, RefreshFailed, TakenOver
from headwater.model.event import Made
from headwater.model.partition import Region, Slice, Value
from headwater.model.reason import Code
from headwater.model.seen import Seen
from headwater.model.view import Definition
from headwater.model.work import ByRows, ByTotals, FollowsChanges, LeftTotals, Whole


@frozen
class Publication:
    """What readers saw of a view before and after. ``anew``: nothing of its table is left, as that has another format
    or, as a lake table, other columns."""

    view: str
    version: int
    before: Content
    after: Content
    anew: bool = False


class World:
    """Base tables and views as readers see them. ``stamps`` are the files' fingerprints; ``sums`` says whether
    the content of what is written is compared with what it replaces.

    Attributes:
        by_keys, by_changes, appended: how many runs went on from states that partitions, or totals, reflect; the last
            ones added rows.
        totals: what each run that left totals read of its sources, and its definition.
        lake: the snapshots of lake tables; ``content`` and ``stamps`` are those of the current ones.
        incarnations: how often each table was made.
        versions: of views in files, what those versions held that are kept, and the writes that their files are of.
        damaged: the files that another program changed: a partition of a view, and the write that it was of.
        foreign: the tables that a program wrote.
    """

    def __init__(self, bases: Mapping[str, Sequence[str]], lakes: Iterable[str] = ()) -> None:
        self.columns = {name: tuple(columns) for name, columns in bases.items()}
        self.content: dict[str, Content] = {name: {} for name in bases}
        self.stamps: dict[str, Stamps] = {name: {} for name in bases}
        self.lake, self.incarnations = Lake(), Counter(bases.keys())
        self.newest: dict[str, int] = {}
        self.versions: dict[str, dict[str, tuple[Content, Stamps]]] = {}
        self.damaged: set[tuple[str, Slice, str]] = set()
        self.foreign: set[str] = set()
        self.publications: list[Publication] = []
        self.kept: dict[int, tuple[Launch, Written]] = {}
        self.evaluates, self.sums, self.by_keys, self.by_changes, self.appended = True, True, 0, 0, 0
        self.totals: dict[int, tuple[Definition, Tables]] = {}
        self.writes = 0
        self.lock = threading.RLock()
        self.pause: Callable[[str, Launch], None] = lambda step, launch: None
        self.note: Callable[[str], None] = lambda step: None
        self.looking: Callable[[Launch, bool], bool] = lambda launch, before: False
        self.unread: Callable[[Iterable[str]], None] = lambda tables: None
        self.stopping: Callable[[str, int], None] = lambda view, version: None
        self.reads: dict[int, dict[str, Content]] = {}
        self.looked: set[int] = set()
        self.scans: dict[tuple[str, int], Content] = {}
        for each in lakes:
            self.lake.found(each, 1, {}, {})

    def __deepcopy__(self, memo) -> World:
        copy = World(self.columns)
        copy.content, copy.stamps = deepcopy(self.content, memo), deepcopy(self.stamps, memo)
        copy.lake, copy.incarnations = self.lake.copy(), self.incarnations.copy()
        copy.versions, copy.damaged = {name: dict(each) for name, each in self.versions.items()}, set(self.damaged)
        copy.foreign = set(self.foreign)
        copy.newest, copy.writes, copy.totals = dict(self.newest), self.writes, dict(self.totals)
        copy.evaluates, copy.sums = self.evaluates, self.sums
        return copy

    # programs

    def write(self, table: str, partition: Slice, value: int | None) -> None:
        """Writes a partition, or deletes it."""
        with self.lock:
            self.writes += 1
            self.foreign.add(table)
            if partition in self.stamps[table]:
                self.damaged.add((table, partition, self.stamps[table][partition]))
            if value is None:
                self.content[table].pop(partition, None)
                self.stamps[table].pop(partition, None)
            else:
                self.content[table][partition] = value
                self.stamps[table][partition] = f"w{self.writes}"
            self.commit(table, (partition,))

    def commit(self, table: str, changed: Iterable[Slice] = ()) -> None:
        """Makes a snapshot of a lake table as it is; it has the same rows as before if nothing ``changed``."""
        self.lake.commit(table, self.content[table], changed, self.stamps[table])

    def roll_back(self, table: str) -> None:
        log = self.lake.logs[table]
        self.foreign.add(table)
        log.roll_back()
        self.content[table], self.stamps[table] = dict(log.now.content), dict(log.now.stamps)

    def make_anew(self, table: str, lake: bool) -> None:
        """Makes a table in the place of another one, with the same rows in other files."""
        self.writes += 1
        self.foreign.add(table)
        self.stamps[table] = dict.fromkeys(self.content[table], f"w{self.writes}")
        self.make(table, lake)

    def make(self, table: str, lake: bool) -> None:
        """Makes a table that holds what one of the same name did, if there was one."""
        self.incarnations[table] += 1
        self.lake.logs.pop(table, None)
        content, stamps = self.content.setdefault(table, {}), self.stamps.setdefault(table, {})
        if lake:
            self.lake.found(table, self.incarnations[table], content, stamps)

    # readers

    def seen(self, table: str, since: str = "") -> Seen:
        """What a look finds."""
        if table not in self.content:
            return Seen(table, exists=False)
        if table in self.lake:
            return self.lake.logs[table].look(table, since)
        return Seen(table, incarnation=self.incarnations[table], partitions=self.found(table), since=since)

    def found(self, table: str) -> dict[Slice, str]:
        with self.lock:
            return dict(self.stamps.get(table, {}))

    def read(self, table: str) -> Content:
        with self.lock:
            return dict(self.content.get(table, {}))

    def written(self, launch: Launch, tables: Tables) -> Written:
        """What a run makes of sources as it read them."""
        content = restricted(recomputed(launch.definition, tables), launch.run.slices)
        made = tuple(Made(each, 1, f"v{launch.run.version}", str(value)) for each, value in content.items())
        there = restricted(self.content.get(launch.run.view, {}), launch.run.slices) if launch.unsure else ()
        removed = tuple(each for each in dict.fromkeys((*launch.existing, *there)) if each not in content)
        return Written(made, removed, content)

    # the ports

    def look_again(self, tables: Iterable[str]) -> None:
        self.unread(tables)

    def reshaped(self, view: str) -> None:
        pass

    def look(self, launch: Launch, before: bool) -> None:
        self.pause("look", launch)
        if self.looking(launch, before) and before:
            self.looked.add(launch.run.version)

    def compute(self, launch: Launch, sees: Mapping[str, int]) -> Written:
        self.pause("compute", launch)
        tables = self.reads[launch.run.version] = {}
        for source in read_by(launch.definition):
            tables[source] = self._scanned(launch, source, sees)
            self.pause("read", launch)
        self._refuse_other_rows(launch, tables)
        written = self._with_totals(launch, tables, self.written(launch, tables))
        if (launch.run.kept or launch.run.on) and not launch.definition.keeps_versions:
            self.kept[launch.run.version] = launch, written
        self.note("wrote")
        return written

    def _refuse_other_rows(self, launch: Launch, tables: Tables) -> None:
        """A run that follows changes, but for one by totals, leaves rows as they are. They must be those of the query
        over the states that it goes on from: each of its partitions is of one of them. What was written past Headwater
        it finds by a look."""
        run, definition, view = launch.run, launch.definition, launch.run.view
        if not isinstance(run.work, FollowsChanges) or isinstance(run.work, ByTotals):
            return
        if self._is_drifted(launch):
            raise ChangesUnknown(Code.VIEW_WRITTEN_OUTSIDE, f"{view} was written past Headwater")
        snapshots = [(source, self.lake.held(snapshot)) for source, snapshot in run.work.since]
        sources = dict.fromkeys(source for source, _ in snapshots)
        known = product(*([content for name, content in snapshots if name == source] for source in sources))
        before = [recomputed(definition, {**tables, **dict(zip(sources, each, strict=True))}) for each in known]
        pinned = dict(run.snapshots).get(view)
        held = self.lake.held(pinned) if pinned else self.content.get(view, {})
        if isinstance(run.work, ByRows):
            [state] = before
            assert restricted(state, run.slices) == restricted(held, run.slices), f"{view} has other rows"
            if not run.work.takes:
                self._refuse_gone_rows(snapshots, tables)
            self.appended += 1
            return
        states, held = [restricted(state, run.slices) for state in before], restricted(held, run.slices)
        for each in dict.fromkeys(partition for content in (held, *states) for partition in content):
            assert any(state.get(each) == held.get(each) for state in states), f"{each} of {view} has other rows"
        self.by_keys += 1

    def _refuse_gone_rows(self, snapshots: Iterable[tuple[str, Content]], tables: Tables) -> None:
        """A run that adds rows can follow no row that went. The rows of a view are no numbers."""
        for source, before in snapshots:
            assert source not in self.columns or all(
                grew(value, tables[source].get(each)) for each, value in before.items()
            ), f"rows of {source} went"

    def _with_totals(self, launch: Launch, tables: Tables, written: Written) -> Written:
        """A run by changes adds to totals what came since the states that it goes on from. These must be the states
        that its totals reflect; of every other source, what it reads itself."""
        run, definition = launch.run, launch.definition
        if isinstance(run.work, ByTotals):
            known, before = self.totals[run.work.before.version]
            assert run.work.before.left.digest == f"t{run.work.before.version}"
            assert known.fingerprint == definition.fingerprint and known.dependencies == definition.dependencies
            since = {source: self.lake.held(snapshot) for source, snapshot in run.work.since}
            for source in definition.sources:
                assert before[source] == since.get(source, tables[source]), f"the totals hold other rows of {source}"
            self.by_changes += 1
        elif not (isinstance(run.work, Whole) and run.work.leaves_totals):
            return written
        self.totals[run.version] = definition, dict(tables)
        return evolve(written, totals=LeftTotals(f"t{run.version}"))

    def _is_drifted(self, launch: Launch) -> bool:
        """Whether a look finds that others wrote the partitions that a run is to leave in part."""
        stamps, region = self.stamps.get(launch.run.view, {}), Region(launch.run.slices)
        if not launch.definition.storage.commits:
            there = {each: stamp for each, stamp in stamps.items() if region.covers(each)}
            return there != {each: known.fingerprint for each, known in launch.existing.items()}
        foreign = self._foreign(launch) if launch.run.view in self.lake else None
        return foreign is None or any(map(region.covers, foreign))

    def _scanned(self, launch: Launch, source: str, sees: Mapping[str, int]) -> Content:
        """What a run reads of a source, or what another one read of it that was to see the same version: all that can
        share. What was not looked at may be newer than the record says, unless it is read at a snapshot."""
        known = launch.run.version in self.looked or source in dict(launch.run.snapshots)
        if source not in sees or not known or not launch.definition.reads_ahead:
            return self._seen(launch, source)
        return self.scans.setdefault((source, sees[source]), self._seen(launch, source))

    def _seen(self, launch: Launch, source: str) -> Content:
        """What a run reads of a source: its snapshot, or what a run that it is on made of it, or what readers see."""
        if (snapshot := dict(launch.run.snapshots).get(source)) is not None:
            return self._pinned(launch, source, snapshot)
        content = self.read(source)
        for made, written in [each for version, each in self.kept.items() if version in launch.run.on]:
            if made.run.view == source and made.run.version > self.newest.get(source, 0):
                return self.with_written(made, written, content)
        return content

    def _pinned(self, launch: Launch, source: str, snapshot: str) -> Content:
        content = self.lake.logs[source].read(snapshot) if source in self.lake else self.kept_version(source, snapshot)
        if content is None:
            tables = [table for table, _ in launch.run.snapshots]
            raise RefreshFailed(
                f"{snapshot} of {source} cannot be read any more", code=Code.SOURCE_SNAPSHOT_EXPIRED, look_at=tables
            )
        return content

    def kept_version(self, view: str, snapshot: str) -> Content | None:
        """What a version of a view in files held; ``None`` if its files are not there any more."""
        content, stamps = self.versions.get(view, {}).get(snapshot, (None, {}))
        return None if any((view, *each) in self.damaged for each in stamps.items()) else content

    def _kept(self, launch: Launch, stay: Stamps) -> str:
        """Keeps the version of a view in files that is published now, if its versions are kept; its name. The
        partitions that ``stay`` must be those of the version on record."""
        view, name = launch.run.view, f"s{len(self.lake.history)}"
        _, stamps = self.versions.get(view, {}).get(_recorded(launch), ({}, {}))
        if not launch.definition.keeps_versions or any(stamps.get(each) != stamp for each, stamp in stay.items()):
            return ""
        self.lake.history[name] = dict(self.content[view])
        self.versions.setdefault(view, {})[name] = self.lake.history[name], dict(self.stamps[view])
        return name

    def bring(self, launch: Launch, written: Written) -> Written:
        self.pause("bring", launch)
        return evolve(written) if launch.run.kept else written

    def release(self, version: int) -> None:
        self.kept.pop(version, None)

    def publish(self, launch: Launch, written: Written) -> Replaced:
        self.pause("publish", launch)
        with self.lock:
            view, version = launch.run.view, launch.run.version
            if self.newest.get(view, 0) > version:
                raise TakenOver(f"version {self.newest[view]} of {view} is already published")
            before = self.content.get(view, {})
            anew, unchanged = self._is_made_anew(launch, before), self._unchanged(launch, written)
            foreign = frozenset() if anew or view not in self.lake else self._left(launch)
            after = dict(written.handle) if anew else self.with_written(launch, written, before)
            stamps = {each: stamp for each, stamp in self.stamps.get(view, {}).items() if each in after}
            stamps = {each: stamp for each, stamp in stamps.items() if each not in written.handle}
            self.newest[view] = version
            self.content[view] = after
            self.stamps[view] = stamps | {each: f"v{version}" for each in written.handle}
            if anew:
                self.make(view, launch.definition.storage.commits)
            self.commit(view, before.keys() ^ after.keys() | written.handle.keys())
            snapshot = self.lake.logs[view].published(foreign) if view in self.lake else self._kept(launch, stamps)
            self.publications.append(Publication(view, version, before, dict(after), anew))
            left = set(self.stamps[view].values()) - {f"v{version}"}
            replaced = Replaced([f"{view}/{stamp}" for stamp in left], unchanged, snapshot=snapshot)
        self.note("published")
        self.pause("published", launch)
        return replaced

    def with_written(self, launch: Launch, written: Written, before: Content) -> Content:
        """A view's partitions with those that a run made in their place. A lake table's are replaced in all that the
        run computed; of files, those that are on record."""
        columns, region = set(launch.definition.partitioned_by), Region(launch.run.slices)
        gone = {*written.removed, *(each for each in before if each.columns != columns)}
        if launch.definition.storage.commits:
            gone.update(each for each in before if region.covers(each))
        return {each: value for each, value in before.items() if each not in gone} | written.handle

    def _is_made_anew(self, launch: Launch, before: Content) -> bool:
        """Whether a publication leaves nothing of a view's table: of a lake table that had other columns, and when its
        format changes. It is refused where the run did not compute all that is there, or was there."""
        view, columns, lake = launch.run.view, set(launch.definition.partitioned_by), launch.definition.storage.commits
        anew = lake != (view in self.lake) or (lake and any(each.columns != columns for each in before))
        last = next((each.after for each in reversed(self.publications) if each.view == view), {})
        known = {**{each: None for each in last if each.columns == columns}, **before}
        if anew and len(restricted(known, launch.run.slices)) < len(known):
            raise RefreshFailed(f"{view} has another shape than it was published in", look_at=[view])
        return anew

    def _unchanged(self, launch: Launch, written: Written) -> frozenset[Slice]:
        """The partitions that come out as the record says they are, where readers see what the record says."""
        known, foreign, view = launch.existing, self._foreign(launch), launch.run.view
        stamps = self.stamps.get(view, {})  # a view that was dropped meanwhile has none
        return frozenset(
            made.slice
            for made in written.made
            if self.sums
            and made.slice in known
            and known[made.slice].content == made.content
            and (view in self.lake or known[made.slice].fingerprint == stamps.get(made.slice))
            and (foreign is not None and made.slice not in foreign)
        )

    def _foreign(self, launch: Launch) -> frozenset[Slice] | None:
        """Where other programs wrote a view since its snapshot on record; ``None``: nobody can say. Of files the
        fingerprints tell."""
        view = launch.run.view
        return self.lake.logs[view].foreign(_recorded(launch)) if view in self.lake else frozenset()

    def _left(self, launch: Launch) -> frozenset[Slice] | None:
        return self.lake.logs[launch.run.view].left(_recorded(launch), Region(launch.run.slices))

    def cancel(self, view: str, version: int) -> None:
        self.stopping(view, version)

    def remove(self, definition: Definition) -> None:
        with self.lock:
            for each in (self.content, self.stamps, self.newest, self.lake.logs, self.versions):
                each.pop(definition.view, None)

    def evaluate(
        self, definition: Definition, sql: str, inputs: Sequence[tuple[Value, ...]], names: Sequence[str]
    ) -> list[Value]:
        if not self.evaluates:
            raise RefreshFailed(f"{sql} cannot be evaluated now")
        return [image(sql, each) for each in inputs]


def _recorded(launch: Launch) -> str:
    """The snapshot of a run's view on record; empty if there is none."""
    return dict(launch.run.snapshots).get(launch.run.view, "")
