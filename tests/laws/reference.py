"""A warehouse that is slow and obvious, and the laws by their definition.

``World`` is the warehouse port over dicts. What a query yields is not simulated by the maps that the
engine uses but by what it truly reads: every partition's content decides where its rows go, so the
true dependency is often narrower than the map, and it moves when content changes. ``recomputed`` is
the truth that every law of convergence is held against. The laws are stated over the record that ``machine.Machine``
keeps of everything that ever happened.
"""

from __future__ import annotations

import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from headwater.engine.transition import transition
from headwater.model.calendar import Window
from headwater.model.command import Launch, Replaced, Written
from headwater.model.dependency import Computed, Expression, Occurrence, Same, Windowed
from headwater.model.error import RefreshFailed, TakenOver
from headwater.model.event import Declared, Event, Made, Renamed, Started
from headwater.model.partition import WHOLE, Slice, Value
from headwater.model.state import State, Status
from headwater.model.view import Definition

if TYPE_CHECKING:
    from machine import Machine

Content = dict[Slice, int]
Tables = Mapping[str, Content]

SPREAD: tuple[tuple[Value, ...], ...] = (("2000",), ("2001",), ("2000", "2001"), (None,), ("2002",))
"""Values of a free column that a source partition's content can send rows to."""

IMAGES: dict[str, Callable[..., Value]] = {
    "half": lambda value: None if value is None else str(int(value) // 2),
    "flag": lambda value: "2000" if value in (None, "2000") else "2001",
    "sum": lambda left, right: str(int(left or 0) + int(right or 0)),
    "none": lambda value: None,
}


def computed(function: str, *inputs: str) -> Computed:
    return Computed(f"{function}({', '.join(f'`{each}`' for each in inputs)})", inputs)


def image(sql: str, inputs: Sequence[Value]) -> Value:
    return IMAGES[sql.split("(", 1)[0]](*inputs)


# --- what a query yields


def recomputed(definition: Definition, tables: Tables) -> Content:
    """The view's partitions as its query over these tables yields them. What it reads of earlier partitions of
    itself adds to those that the other tables make."""
    found: dict[Slice, list] = {} if definition.partitioned_by else {WHOLE: []}
    for dependency in definition.dependencies:
        for place, occurrence in enumerate(dependency.occurrences):
            known = dict(occurrence.columns)
            for source, content in tables.get(dependency.source, {}).items():
                if (content + place) % 7 == 0:
                    continue  # a filter keeps nothing of it
                for target in _targets(definition.partitioned_by, known, source, content):
                    found.setdefault(target, []).append((dependency.source, place, str(source), content))
    for place, occurrence in enumerate(definition.earlier):
        for target, rows in found.items():
            for earlier, content in tables.get(definition.view, {}).items():
                if is_earlier(occurrence, earlier, target):
                    rows.append(("itself", place, str(earlier), content))
    return {each: zlib.crc32(repr((definition.fingerprint, sorted(rows))).encode()) for each, rows in found.items()}


def _targets(columns: Sequence[str], known: Mapping[str, Expression], source: Slice, content: int) -> list[Slice]:
    targets = [WHOLE]
    for position, column in enumerate(columns):
        match known.get(column):
            case Same(name):
                values: tuple[Value, ...] = (source.value(name),)
            case Computed(sql, inputs):
                values = (image(sql, [source.value(each) for each in inputs]),)
            case Windowed(name, window):
                values = _years(source.value(name), window)
            case None:
                values = SPREAD[(content >> position) % len(SPREAD)]
        targets = [Slice((*each.bound, (column, value))) for each in targets for value in values]
    return targets


def _years(value: Value, window: Window) -> tuple[Value, ...]:
    """The years whose window, a shift, holds a year; rows of no year are of no window."""
    [shift], year = window.steps, _year(value)
    years = () if year is None else range(year - shift.last, year - shift.first + 1)
    return tuple(f"{each:04d}" for each in years)


def _year(value: Value) -> int | None:
    return int(value) if value is not None and len(value) == 4 else None


def is_earlier(occurrence: Occurrence, earlier: Slice, target: Slice) -> bool:
    """Whether a view's partition is one of those that ``target`` reads there."""
    for column, expression in occurrence.columns:
        before, now = earlier.value(column), target.value(column)
        if isinstance(expression, Same) and before != now:
            return False
        if isinstance(expression, Windowed):
            [shift], read, at = expression.window.steps, _year(before), _year(now)
            if read is None or at is None or read > at + shift.last:
                return False
            if shift.first is not None and read < at + shift.first:
                return False
    return True


def read_by(definition: Definition) -> tuple[str, ...]:
    return (*definition.sources, definition.view) if definition.earlier else definition.sources


def restricted(content: Content, slices: Iterable[Slice]) -> Content:
    asked = tuple(slices)
    return {each: value for each, value in content.items() if any(one.covers(each) for one in asked)}


# --- the warehouse


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


# --- the record


@frozen
class Recorded:
    """A publication as journaled: what one partition's new version is made of, and for whom."""

    view: str
    partition: Slice
    version: int
    inputs: tuple[tuple[str, int], ...]
    origins: frozenset[int]


def replayed(journal: Iterable[Event]) -> State:
    state = State()
    for event in journal:
        state = transition(state, event)
    return state


# --- the laws, by definition


def lost(machine: Machine) -> list[str]:
    """Law 4: partitions that differ from their query over what readers see, and that nobody will renew.

    What the engine could not know yet does not count: sources whose last write is not recorded.
    """
    found = []
    for name, view in machine.state.views.items():
        if (
            not follows(view.definition)
            or machine.unseen(name)
            or any(machine.unseen(source) for source in view.definition.sources)
        ):
            continue
        truth, seen = recomputed(view.definition, machine.world.content), machine.world.content.get(name, {})
        run = machine.state.running.get(name)
        awaited = [*view.pending, *(run.slices if run else ())]
        found += [
            f"{name} {each}"
            for each in {*truth, *seen}
            if truth.get(each) != seen.get(each) and not any(one.overlaps(each) for one in awaited)
        ]
    return found


def follows(definition: Definition) -> bool:
    return dict(definition.properties).get("headwater.propagate") != "marked"


def wrong(machine: Machine, marked: bool = False) -> list[str]:
    """Law 5: active views that are not what their query over the current tables yields; ``marked`` when all
    changes were marked."""
    return [
        name
        for name, view in machine.state.views.items()
        if view.status is Status.ACTIVE
        and (marked or follows(view.definition))
        and not (view.pending and held(machine.state, name))
        and machine.world.content.get(name, {}) != recomputed(view.definition, machine.world.content)
    ]


def held(state: State, name: str) -> bool:
    """Whether a view waits, by its own property or that of one upstream, for one that cannot run."""
    definition = state.views[name].definition
    for source in definition.sources:
        status = state.views[source].status if source in state.views else Status.SUSPENDED
        if status is Status.ACTIVE and held(state, source):
            return True
        holds = dict(definition.properties).get("headwater.upstream") == "hold"
        if holds and status in (Status.FAILED, Status.BROKEN, Status.UNREADABLE):
            return True
    return False


def disordered(machine: Machine) -> list[Recorded]:
    """Law 1: versions of a partition that are not above the one before."""
    newest: dict[tuple[str, Slice], int] = {}
    found = []
    for each in machine.record_book:
        key = (each.view, each.partition)
        if each.version <= newest.get(key, 0):
            found.append(each)
        newest[key] = each.version
    return found


def backward(machine: Machine) -> list[tuple[Recorded, str]]:
    """Law 2: versions made of an older input than the version before."""
    newest: dict[tuple[str, Slice], dict[str, int]] = {}
    found = []
    for each in machine.record_book:
        known = newest.setdefault((each.view, each.partition), {})
        for source, version in each.inputs:
            if version < known.get(source, 0):
                found.append((each, source))
            known[source] = version
    return found


def repeated(machine: Machine) -> list[tuple[str, Slice, int]]:
    """Law 3: partitions published more than once on behalf of one origin.

    A definition starts anew: a view that was redefined, and everything downstream of it, is another
    job from then on, and a run that began before is one of the old job.
    """
    generation: Counter[str] = Counter()
    began: dict[int, int] = {}
    state = State()
    for event in machine.journal:
        state = transition(state, event)
        if isinstance(event, Declared):
            generation.update(_downstream(state, event.definition.view))
        elif isinstance(event, Renamed):
            generation[event.to] = max(generation[event.to], generation[event.view]) + 1
        elif isinstance(event, Started):
            began[event.version] = generation[event.view]
    counts = Counter(
        (each.view, each.partition, origin, began[each.version])
        for each in machine.record_book
        for origin in each.origins
    )
    return [key[:3] for key, count in counts.items() if count > 1]


def _downstream(state: State, view: str) -> set[str]:
    found, frontier = {view}, [view]
    while frontier:
        for reader in state.index.readers.get(frontier.pop(), ()):
            if reader not in found:
                found.add(reader)
                frontier.append(reader)
    return found
