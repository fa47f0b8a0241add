"""A warehouse that is slow and obvious: the warehouse port over dicts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy

from attrs import evolve, frozen
from reference import Content, Tables, image, read_by, recomputed, restricted

from headwater.model.command import Launch, Replaced, Written
from headwater.model.error import RefreshFailed, TakenOver
from headwater.model.event import Made
from headwater.model.partition import Slice, Value
from headwater.model.view import Definition


@frozen
class Publication:
    view: str
    version: int
    before: Content
    after: Content


class World:
    """Base tables and views as readers see them. ``stamps`` are the files' fingerprints; ``sums`` says whether
    the content of what is written is compared with what it replaces."""

    def __init__(self, bases: Mapping[str, Sequence[str]]) -> None:
        self.columns = {name: tuple(columns) for name, columns in bases.items()}
        self.content: dict[str, Content] = {name: {} for name in bases}
        self.stamps: dict[str, dict[Slice, str]] = {name: {} for name in bases}
        self.newest: dict[str, int] = {}
        self.publications: list[Publication] = []
        self.at_hand: dict[int, tuple[Launch, Written]] = {}
        self.evaluates, self.sums = True, True
        self.writes = 0
        self.lock = threading.RLock()
        self.pause: Callable[[str, Launch], None] = lambda step, launch: None
        self.note: Callable[[str], None] = lambda step: None
        self.looking: Callable[[Launch, bool], bool] = lambda launch, before: False
        self.stopping: Callable[[str, int], None] = lambda view, version: None
        self.reads: dict[int, dict[str, Content]] = {}
        self.looked: set[int] = set()
        self.scans: dict[tuple[str, int], Content] = {}

    def __deepcopy__(self, memo) -> World:
        copy = World(self.columns)
        copy.content, copy.stamps = deepcopy(self.content, memo), deepcopy(self.stamps, memo)
        copy.newest, copy.writes = dict(self.newest), self.writes
        copy.evaluates, copy.sums = self.evaluates, self.sums
        return copy

    def write(self, table: str, partition: Slice, value: int | None) -> None:
        """Writes a partition, or deletes it."""
        with self.lock:
            self.writes += 1
            if value is None:
                self.content[table].pop(partition, None)
                self.stamps[table].pop(partition, None)
            else:
                self.content[table][partition] = value
                self.stamps[table][partition] = f"w{self.writes}"

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

    # the port

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
        written = self.written(launch, tables)
        if launch.run.kept or launch.run.on:
            self.at_hand[launch.run.version] = launch, written
        self.note("wrote")
        return written

    def _scanned(self, launch: Launch, source: str, sees: Mapping[str, int]) -> Content:
        """What a run reads of a source, or what another one read of it that was to see the same version: all that can
        share. What was not looked at may be newer than the record says."""
        if source not in sees or launch.run.version not in self.looked or not launch.definition.reads_ahead:
            return self._seen(launch, source)
        return self.scans.setdefault((source, sees[source]), self._seen(launch, source))

    def _seen(self, launch: Launch, source: str) -> Content:
        """What a run reads of a source: what readers see, or what a run that it is on made of it."""
        content = self.read(source)
        for made, written in [each for version, each in self.at_hand.items() if version in launch.run.on]:
            if made.run.view == source and made.run.version > self.newest.get(source, 0):
                return self.with_written(made, written, content)
        return content

    def bring(self, launch: Launch, written: Written) -> Written:
        self.pause("bring", launch)
        return evolve(written) if launch.run.kept else written

    def release(self, version: int) -> None:
        self.at_hand.pop(version, None)

    def publish(self, launch: Launch, written: Written) -> Replaced:
        self.pause("publish", launch)
        with self.lock:
            view, version = launch.run.view, launch.run.version
            if self.newest.get(view, 0) > version:
                raise TakenOver(f"version {self.newest[view]} of {view} is already published")
            before = self.content.get(view, {})
            after = self.with_written(launch, written, before)
            gone = before.keys() - after.keys()
            unchanged = self._unchanged(launch, written)
            stamps = {each: stamp for each, stamp in self.stamps.get(view, {}).items() if each not in gone}
            self.newest[view] = version
            self.content[view] = after
            self.stamps[view] = stamps | {each: f"v{version}" for each in written.handle}
            self.publications.append(Publication(view, version, before, after))
            left = set(self.stamps[view].values()) - {f"v{version}"}
            replaced = Replaced([f"{view}/{stamp}" for stamp in left], unchanged)
        self.note("published")
        self.pause("published", launch)
        return replaced

    def with_written(self, launch: Launch, written: Written, before: Content) -> Content:
        """A view's partitions with those that a run made in their place."""
        columns = set(launch.definition.partitioned_by)
        gone = {*written.removed, *(each for each in before if each.columns != columns)}
        return {each: value for each, value in before.items() if each not in gone} | written.handle

    def _unchanged(self, launch: Launch, written: Written) -> frozenset[Slice]:
        """The partitions that come out as the record says they are, where readers see what the record says."""
        view = launch.run.view
        return frozenset(
            made.slice
            for made in written.made
            if self.sums
            and (known := launch.existing.get(made.slice)) is not None
            and known.content == made.content
            and known.fingerprint == self.stamps[view].get(made.slice)
        )

    def cancel(self, view: str, version: int) -> None:
        self.stopping(view, version)

    def remove(self, definition: Definition) -> None:
        with self.lock:
            for each in (self.content, self.stamps, self.newest):
                each.pop(definition.view, None)

    def evaluate(
        self, definition: Definition, sql: str, inputs: Sequence[tuple[Value, ...]], names: Sequence[str]
    ) -> list[Value]:
        if not self.evaluates:
            raise RefreshFailed(f"{sql} cannot be evaluated now")
        return [image(sql, each) for each in inputs]
