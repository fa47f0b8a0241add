"""A warehouse that is slow and obvious, and a machine that runs the engine's core on it.

``World`` is the warehouse port over dicts. What a query yields is not simulated by the maps that the
engine uses but by what it truly reads: every partition's content decides where its rows go, so the
true dependency is often narrower than the map, and it moves when content changes. ``recomputed`` is
the truth that every law of convergence is held against.

``Machine`` drives ``transition`` and ``ready`` without threads, on a virtual clock, one small step at
a time: sources of a run are read one by one, publication and its journal entry are separate steps,
and a crash can fall between any two of them. It keeps everything that ever happened; the functions
below it state the laws over that record, by their definition.
"""

from __future__ import annotations

import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy

from attrs import Factory, define, evolve, field, frozen

from headwater.engine.choose import Choice, ready, skipped, started, unneeded, unspread_images, wake_at
from headwater.engine.coverage import images_of_readers, unknown_images
from headwater.engine.transition import transition
from headwater.ledger.compare import differences, revisited
from headwater.model.action import Action, Clean, Launch
from headwater.model.calendar import Window
from headwater.model.dependency import Computed, Expression, Occurrence, Same, Windowed
from headwater.model.error import LeaseLost, RefreshFailed
from headwater.model.estimate import Estimate
from headwater.model.event import (
    Changed,
    Declared,
    Dropped,
    Evaluated,
    Event,
    Failed,
    Made,
    Prepared,
    Published,
    Renamed,
    Restarted,
    Started,
)
from headwater.model.partition import WHOLE, Slice, Value
from headwater.model.state import State, Status
from headwater.model.view import Definition
from headwater.ports import Replaced, Written
from headwater.store import codec

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
        removed = tuple(each for each in launch.existing if each not in content)
        return Written(made, removed, content)

    # the port

    def compute(self, launch: Launch) -> Written:
        self.pause("compute", launch)
        tables = {}
        for source in read_by(launch.definition):
            tables[source] = self.read(source)
            for made, written in [each for version, each in self.at_hand.items() if version in launch.run.on]:
                if made.run.view == source and made.run.version > self.newest.get(source, 0):
                    tables[source] = self.with_written(made, written, tables[source])
            self.pause("read", launch)
        written = self.written(launch, tables)
        if launch.run.kept or launch.run.on:
            self.at_hand[launch.run.version] = launch, written
        return written

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
                raise LeaseLost(f"version {self.newest[view]} of {view} is already published")
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
            return Replaced([f"{view}/{stamp}" for stamp in left], unchanged)

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
        pass

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


# --- the machine


COPY = 1
"""In how many steps what is kept is copied to where readers see it, when it is published."""


@define
class Flight:
    """A run under way: what it has read so far, what it wrote, and whether other runs or readers see it; and which
    versions of its sources it is to see, as was found before it read any."""

    launch: Launch
    sees: dict[str, int] = Factory(dict)
    read: dict[str, Content] = Factory(dict)
    written: Written | None = None
    told: bool = False
    to_copy: int = COPY
    visible: bool = False
    unchanged: frozenset[Slice] = frozenset()


@frozen
class Recorded:
    """A publication as journaled: what one partition's new version is made of, and for whom."""

    view: str
    partition: Slice
    version: int
    inputs: tuple[tuple[str, int], ...]
    origins: frozenset[int]


@define
class Machine:
    """The engine's core on a world, with a clock of its own.

    Attributes:
        scans: what runs read of a version of a table, for others that are to see the same: all share that can.
    """

    world: World
    now: int = 1_000_000
    state: State = field(factory=State)
    journal: list[Event] = Factory(list)
    flights: dict[str, Flight] = Factory(dict)
    given: int = 0
    looks: bool = True
    scans: dict[tuple[str, int], Content] = Factory(dict)
    record_book: list[Recorded] = Factory(list)
    watch: Callable[[Machine, str], None] = lambda machine, step: None

    # recording

    def record(self, build: Callable[[int], Event]) -> Event:
        version = max(self.now, self.given + 1)
        event = codec.decode(codec.encode(build(version)))
        self.given = version
        self._note(event)
        self.journal.append(event)
        self.state, actions = transition(self.state, event)
        for action in actions:
            self._carry_out(action)
        self.watch(self, f"recorded {codec.kind(event)}")
        return event

    def _note(self, event: Event) -> None:
        if isinstance(event, Published):
            run = self.state.running.get(event.view)
            if run is not None and run.version == event.version:
                for each in (*(made.slice for made in event.made), *event.removed):
                    origins = frozenset().union(*(some for one, some in run.needs if one.covers(each)))
                    self.record_book.append(Recorded(event.view, each, event.version, run.inputs, origins))

    def _carry_out(self, action: Action) -> None:
        match action:
            case Launch(run=run):
                self.flights[run.view] = Flight(action)
            case Clean(definition=definition):
                self.flights.pop(definition.view, None)
                self.world.remove(definition)

    def evaluate(self, table: str, slices: Iterable[Slice]) -> None:
        slices = tuple(slices)
        self._evaluate(lambda: unknown_images(self.state, table, slices))

    def _evaluate(self, unknown: Callable[[], set[tuple[str, str, tuple[Value, ...]]]]) -> None:
        while wanted := unknown():
            if not self.world.evaluates:
                return
            images = tuple((sql, inputs, image(sql, inputs)) for _, sql, inputs in sorted(wanted, key=repr))
            self.record(lambda _, images=images: Evaluated(self.now, images))

    def _evaluate_made(self, view: str, done: Written) -> None:
        made = [*(each.slice for each in done.made), *done.removed]
        self._evaluate(lambda: images_of_readers(self.state, view, made))

    def declare(self, definition: Definition, why: str = "was declared") -> None:
        for source in definition.sources:
            if source not in self.state.tables:
                self.look(source, baseline=True)
        self.world.content.setdefault(definition.view, {})
        self.world.stamps.setdefault(definition.view, {})
        self.evaluate(definition.view, (WHOLE,))
        estimate = Estimate(1, 1) if len(self.journal) % 2 else None  # of which there is one, readers need not wait
        self.record(lambda version: Declared(self.now, version, definition, why, estimate=estimate))

    def drop(self, view: str) -> None:
        self.record(lambda _: Dropped(self.now, view))

    def look(self, table: str, baseline: bool = False, named: tuple[Slice, ...] = (), before: int = 0) -> None:
        """Compares a table with the record and records the difference, as the observer does.

        ``named`` are the partitions that a statement is known to have written, ``before`` a run that is about
        to read the table.
        """
        record = self.state.tables.get(table)
        if table in self.state.running or table in self.state.unreadable or self.unfilled(table):
            return
        found = self.world.found(table)
        changed = differences(record, found) + revisited(record, found, (), named)
        if changed or (baseline and record is None):
            self.evaluate(table, [each.slice for each in changed])
            self.record(
                lambda version: Changed(self.now, version, table, changed, "", 1, "was written", record is None, before)
            )

    def unfilled(self, table: str) -> bool:
        """Whether a table is a view that was never published, as far as is recorded: what it holds is nobody's."""
        record = self.state.tables.get(table)
        return table in self.state.views and (record is None or record.highest == 0)

    def unseen(self, table: str) -> bool:
        """Whether what readers of a table see is not what is recorded of it."""
        return bool(differences(self.state.tables.get(table), self.world.found(table)))

    # runs

    def start(self, which: int = 0) -> bool:
        self.skip()
        choice = ready(self.state, self.now)
        if not choice:
            return False
        chosen, kept = choice[which % len(choice)], (which + len(self.journal)) % 2 > 0
        self.record(lambda version: started(self.state, Choice(chosen, kept), version, self.now))
        return True

    def skip(self) -> None:
        """Completes what need not run."""
        while unneeded(self.state):
            self._evaluate(lambda: unspread_images(self.state))
            found = unneeded(self.state)
            self.record(lambda version, chosen=found[0]: skipped(self.state, chosen, version, self.now))

    def flight(self, which: int, moving: bool = False) -> Flight | None:
        """One of the runs under way that still counts, or of those that wait for no other; one that does not count
        is forgotten."""
        for view, each in list(self.flights.items()):
            run = self.state.running.get(view)
            if run is None or run.version != each.launch.run.version:
                del self.flights[view]
        flying = [self.flights[view] for view in sorted(self.flights)]
        if moving:
            flying = [each for each in flying if not (each.told and self.unpublished(each))]
        return flying[which % len(flying)] if flying else None

    def seen(self, flight: Flight, source: str) -> Content:
        """What a run reads of a source: what readers see, or what a run that it is on made of it."""
        content, made = self.world.read(source), self.flights.get(source)
        if made is None or made.launch.run.version not in flight.launch.run.on or made.visible:
            return content  # what is kept of one that was published is the same
        assert made.written is not None, "a run is on one that made nothing"
        return self.world.with_written(made.launch, made.written, content)

    def scanned(self, flight: Flight, source: str) -> Content:
        """What a run reads of a source, or what another one read of it that was to see the same version."""
        version = flight.sees.get(source)
        if version is None or not flight.launch.definition.reads_ahead:
            return self.seen(flight, source)
        if (source, version) not in self.scans:
            self.scans[source, version] = dict(self.seen(flight, source))
        return self.scans[source, version]

    def unpublished(self, flight: Flight) -> bool:
        """Whether a run is on one that is not on record as published."""
        return any(run.version in flight.launch.run.on for run in self.state.running.values())

    def advance(self, flight: Flight) -> None:
        """One step of a run: reads one source, writes, lets other runs read that, shows readers, or journals; or
        is cancelled, if a change preempted it or a source cannot be read. One that is on others waits for them."""
        launch = flight.launch
        run = self.state.running.get(launch.run.view)
        if run is not None and run.version == launch.run.version and run.preempted and not flight.visible:
            return self.fail(flight, cancelled=True)
        unread = [each for each in read_by(launch.definition) if each not in flight.read]
        if self.state.unreadable.keys() & set(unread):
            return self.fail(flight, cancelled=True)
        if self.looks and not flight.read:
            for each in launch.definition.sources:
                if each not in self.state.views:
                    self.look(each, before=launch.run.version)
            bases = [each for each in launch.definition.sources if each not in self.state.views]
            flight.sees = dict(launch.run.inputs) | {each: self.state.tables[each].highest for each in bases}
        if unread:
            flight.read[unread[0]] = self.scanned(flight, unread[0])
        elif flight.written is None:
            flight.written = self.world.written(launch, flight.read)
            self.watch(self, "wrote")
        elif not flight.told and (launch.run.kept or self.unpublished(flight)):
            flight.told, done = True, flight.written
            self._evaluate_made(launch.run.view, done)
            self.record(lambda _: Prepared(self.now, launch.run.version, launch.run.view, done.made, done.removed))
        elif launch.run.kept and flight.to_copy:
            flight.to_copy -= 1
        elif self.unpublished(flight):
            pass
        elif not flight.visible:
            flight.unchanged = self.world.publish(launch, flight.written).unchanged
            flight.visible = True
            self.watch(self, "published")
        else:
            del self.flights[launch.run.view]
            done = flight.written
            self._evaluate_made(launch.run.view, done)
            made = tuple(evolve(each, unchanged=each.slice in flight.unchanged) for each in done.made)
            self.record(lambda _: Published(self.now, launch.run.version, launch.run.view, made, done.removed, 0.1))
        return None

    def finish(self, flight: Flight) -> None:
        """All that is left of a run, after all that is left of those that it is on."""
        for other in [each for each in self.flights.values() if each.launch.run.version in flight.launch.run.on]:
            self.finish(other)
        while self.flights.get(flight.launch.run.view) is flight:
            self.advance(flight)

    def fail(self, flight: Flight, cancelled: bool = False) -> None:
        if flight.visible:
            return self.finish(flight)
        run = flight.launch.run
        del self.flights[run.view]
        self.record(lambda _: Failed(self.now, run.version, run.view, "no luck", 0.1, cancelled))
        return None

    def crash(self) -> None:
        """Everything but the world and the journal is lost; another engine takes over."""
        self.flights.clear()
        self.scans.clear()
        self.state = replayed(self.journal)
        self.record(lambda _: Restarted(self.now))

    def drain(self, pick: Sequence[int] = (0,)) -> None:
        """Runs until nothing is pending, or what is pending belongs to views that are not kept."""
        for turn in range(5_000):
            choice = pick[turn % len(pick)]
            flight = self.flight(choice, moving=True)
            if flight is not None and (choice % 3 or not ready(self.state, self.now)):
                self.advance(flight)
            elif not self.start(choice):
                wake = wake_at(self.state, self.now)
                if wake is None:
                    return
                assert wake > self.now, "woken for the past"
                self.now = wake
        raise AssertionError("it never drains")

    def settle(self) -> None:
        """Looks at everything until nothing new is found and nothing is pending."""
        for _ in range(20):
            for table in sorted(self.world.content):
                self.look(table)
            self.drain()
            looked_at = self.world.content.keys() - self.state.unreadable.keys()
            if not any(self.unseen(table) for table in looked_at if not self.unfilled(table)):
                return
        raise AssertionError("changes never end")


def replayed(journal: Iterable[Event]) -> State:
    state = State()
    for event in journal:
        state, _ = transition(state, event)
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
    return definition.option("propagate") != "marked"


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
        if status in (Status.FAILED, Status.BROKEN, Status.UNREADABLE) and definition.option("upstream") == "hold":
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
        state, _ = transition(state, event)
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
