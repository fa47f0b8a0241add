"""The engine that users run, on a world and a store of its own, with a clock of its own, one small step at a time.

``Machine`` runs the real ``Loop`` and ``Recorder``. Their threads are replaced by coroutines: a run stops wherever the
world pauses it (before it looks, after each source that it reads, before and after readers see its output), and other
things happen meanwhile. A crash can fall between any two steps. The machine keeps everything that ever happened.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Condition
from typing import Any

import looks
from attrs import Factory, define, evolve, frozen
from greenlet import GreenletExit, getcurrent, greenlet
from reference import Content, Recorded
from world import World

from headwater.engine.decide.flight import Flight, Stage
from headwater.engine.decide.readiness import Choice, Ready, ready, wake_at
from headwater.engine.groups.kept import next_publication
from headwater.engine.record.changes import Finding
from headwater.engine.requests.coverage import unknown_images, upstream
from headwater.engine.requests.limits import STUCK
from headwater.model.command import Bring, Compute, Launch, Look, Publish
from headwater.model.command import Command as KernelCommand
from headwater.model.costs import Estimate
from headwater.model.error import HeadwaterError, RefreshCancelled, RefreshFailed, TakenOver
from headwater.model.event import FRESH, Declared, Dropped, Event, Published, Started
from headwater.model.partition import Slice
from headwater.model.state import State
from headwater.model.view import Definition
from headwater.runtime.loop import Loop
from headwater.runtime.recorder import Recorder
from headwater.store import codec
from headwater.store.journal import Stale
from headwater.store.journal_end import JournalEnd
from headwater.store.members import Beat

TRACKS = 1_000
MANY = 20
"""Failures in a row after which a refresh is not tried in vain any more."""
ENDLESS = 10_000
"""Entries of one step that nobody needs."""
TAKES = 100
"""What a run takes (ms)."""


@frozen
class Entry:
    seq: int
    event: Event

    @property
    def end(self) -> JournalEnd:
        return JournalEnd(self.seq)


@define
class MemoryStore:
    """The store port over a list; what goes in is what the codec would bring back. ``entering`` is called with each
    event before anybody applies it."""

    clock: Callable[[], int]
    entering: Callable[[Event], None]
    journal: list[Event]
    given: int
    engines: dict[str, int] = Factory(dict)
    gone: set[str] = Factory(set)
    _numbers: int = 0

    def bury(self, numbers: set[int]) -> None:
        """Engines that acted on the journal before, and are gone."""
        self.engines = {f"before {number}": number for number in numbers}
        self.gone = set(self.engines)
        self._numbers = max(numbers, default=0)

    def now(self) -> int:
        return self.clock()

    def append(self, build, after: JournalEnd, by: int | None = None, evicting: int | None = None) -> Entry:
        if by is not None and by not in self.engines.values():
            raise TakenOver("it was evicted")
        [entry] = self.append_all([build], after)
        if evicting is not None:
            self.engines = {name: number for name, number in self.engines.items() if number != evicting}
        return entry

    def append_all(self, builds, after: JournalEnd) -> list[Entry]:
        if after.seq != len(self.journal):
            raise Stale
        entries = []
        for build in builds:
            version = max(self.now(), self.given + 1)
            event = build(version)
            if event is not None:
                event = codec.decode(codec.encode(event))
                self.given = version
                self.entering(event)
                self.journal.append(event)
                entries.append(Entry(len(self.journal), event))
        return entries

    def read(self, after: JournalEnd) -> list[Entry]:
        return [Entry(after.seq + n + 1, event) for n, event in enumerate(self.journal[after.seq :])]

    def snapshot(self) -> None:
        return None

    def newest(self) -> None:
        return None

    def beat(self, name: str, lasting: int) -> Beat:
        if name not in self.engines:
            self._numbers += 1
            self.engines[name] = self._numbers
        overdue = tuple(number for each, number in self.engines.items() if each in self.gone)
        known = frozenset(self.engines.values())
        return Beat(self.engines[name], self.now(), len(self.journal), overdue, False, known)

    def discard(self, view: str, paths: Iterable[str], now: int) -> None:
        pass


@define
class Picked:
    """A schedule that starts what the script picks, and nothing else."""

    which: int | None = None
    kept: bool = False

    def question(self, state: State, plan: object) -> None:
        return None

    def solve(self, question: object) -> None:
        return None

    def choose(self, state: State, ready: Sequence[Ready], plan: object) -> list[Choice]:
        which, self.which = self.which, None
        return [] if which is None else [Choice(ready[which % len(ready)], self.kept)]


@frozen
class Flying:
    """A run under way, as the laws look at it."""

    machine: Machine
    known: Flight

    @property
    def version(self) -> int:
        return self.known.version

    @property
    def launch(self) -> Launch:
        return self.known.launch

    @property
    def told(self) -> bool:
        """Whether it is on record that other runs can read it."""
        now = self.machine.loop.mine.flights.get(self.version)
        return now is not None and now.told

    @property
    def visible(self) -> bool:
        """Whether readers see its output."""
        return any(each.version == self.version for each in self.machine.world.publications)

    @property
    def read(self) -> dict[str, Content]:
        return self.machine.world.reads[self.version]


class Machine:
    """One engine, and others after it if it crashes.

    Attributes:
        looks: whether a run looks at base tables before and after it reads them.
        record_book: every partition that was ever published, as journaled.
        glances: looks of other engines, of which nothing is recorded yet.
        watch: called after each step of a run, and each entry of the journal.
    """

    def __init__(self, world: World, now: int = 1_000_000, journal: Sequence[Event] = (), given: int = 0) -> None:
        self.world, self.now, self.looks = world, now, True
        self.record_book: list[Recorded] = []
        self.glances: list[Finding] = []
        self.watch: Callable[[Machine, str], None] = lambda machine, step: None
        self.store = MemoryStore(lambda: self.now, self._note, list(journal), given)
        self.store.bury({event.engine for event in journal if isinstance(event, Started)})
        self._tasks: dict[int, greenlet] = {}
        self._due: deque[Callable[[], None]] = deque()
        self._unlucky: dict[int, HeadwaterError] = {}
        self._unchecked: set[str] = set()
        self._broken: BaseException | None = None
        self._main, self._engines, self._told, self._began = getcurrent(), 0, len(journal), 0
        world.pause, world.looking, world.stopping, world.unread = self._pause, self._look_for, self._stop, self._unread
        world.note = self._noted
        self._start_engine()

    def _start_engine(self) -> None:
        self._engines += 1
        self._tasks.clear()
        self._due.clear()
        self.recorder = Recorder(self.store, self.world, self.store)
        self.recorder.changed = _Watched(self)
        self.schedule = Picked()
        name = f"engine {self._engines}"
        world = _Frank(self)
        self.loop = Loop(self.recorder, world, world, name, tracks=TRACKS, schedule=self.schedule, submit=self._submit)
        self.step()

    @property
    def state(self) -> State:
        return self.recorder.state

    @property
    def journal(self) -> list[Event]:
        return self.store.journal

    @property
    def given(self) -> int:
        return self.store.given

    @property
    def flights(self) -> dict[str, Flying]:
        return {each.launch.run.view: Flying(self, each) for each in self.loop.mine.flights.values()}

    # recording

    def record(self, build: Callable[[int], Event]) -> Event:
        """Records an event; a run that it begins is this engine's."""
        number = self.loop.mine.number

        def owned(_: State) -> Event:
            event = build(FRESH)
            return evolve(event, engine=number) if isinstance(event, Started) else event

        event = self.recorder.record(owned)
        if isinstance(event, Started):
            self.step()
        return event

    def _note(self, event: Event) -> None:
        assert len(self.journal) - self._began < ENDLESS, "an engine records without an end"
        if isinstance(event, Published):
            run = self.state.running.get(event.view)
            if run is not None and run.version == event.version:
                for each in (*(made.slice for made in event.made), *event.removed):
                    origins = frozenset().union(*(some for one, some in run.needs if one.covers(each)))
                    self.record_book.append(Recorded(event.view, each, event.version, run.inputs, origins))

    def heard(self) -> None:
        """Whoever waits for the record was told of something new."""
        news, self._told = self.journal[self._told :], len(self.journal)
        with self.frank():
            for event in news:
                self.watch(self, f"recorded {codec.kind(event)}")

    @contextmanager
    def frank(self) -> Iterator[None]:
        """Keeps an error that is no failure of a run, such as a law that does not hold: the engine goes on after it."""
        try:
            yield
        except (HeadwaterError, GreenletExit):
            raise
        except BaseException as error:
            self._broken = self._broken or error
            raise

    def evaluate(self, table: str, slices: Iterable[Slice]) -> None:
        slices, refused = tuple(slices), frozenset()
        while wanted := frozenset(unknown_images(self.state, table, slices)) - refused:
            refused |= self.recorder.evaluate(wanted)

    def declare(self, definition: Definition, why: str = "was declared") -> None:
        for source in definition.sources:
            if source not in self.state.tables:
                self.look(source)
        if definition.view not in self.world.content:
            self.world.make(definition.view, definition.storage.commits)
        estimate = Estimate(1, 1) if len(self.journal) % 2 else None  # of which there is one, readers need not wait
        self.recorder.record(lambda _: Declared(self.now, FRESH, definition, why, estimate=estimate))

    def drop(self, view: str) -> None:
        definition = self.state.views[view].definition
        self.record(lambda _: Dropped(self.now, view))
        self.world.remove(definition)

    def look(self, table: str, named: tuple[Slice, ...] = (), before: int = 0) -> None:
        """Compares a table with the record and records the event that follows, as the observer does.

        ``named`` are the partitions that a statement is known to have written, ``before`` a run that is about
        to read the table.
        """
        if table not in self.state.unreadable:
            looks.record(self, looks.glance(self, table, named, before))

    def unfilled(self, table: str) -> bool:
        """Whether a table is a view that was never published, as far as is recorded: what it holds is nobody's."""
        record = self.state.tables.get(table)
        return table in self.state.views and (record is None or record.highest == 0)

    def unseen(self, table: str) -> bool:
        """Whether what readers of a table see is not what is recorded of it."""
        return looks.is_unseen(self, table)

    # runs

    def step(self) -> None:
        self._began = len(self.journal)
        self.loop.step()
        self._pump()

    def start(self, which: int = 0) -> bool:
        """Starts one of the ready runs; false if there is none."""
        self.step()
        if not ready(self.state, self.now):
            return False
        self.schedule.which, self.schedule.kept = which, (which + len(self.journal)) % 2 > 0
        self.step()
        self.schedule.which = None
        return True

    def flight(self, which: int, moving: bool = False) -> Flying | None:
        """One of the runs under way that still counts, or of those that wait for no other."""
        flying = [each for _, each in sorted(self.flights.items()) if self._counts(each)]
        if moving:
            flying = [each for each in flying if each.version in self._tasks]
        return flying[which % len(flying)] if flying else None

    def _counts(self, flying: Flying) -> bool:
        run = self.state.running.get(flying.launch.run.view)
        return run is not None and run.version == flying.version

    def advance(self, flying: Flying, brief: bool = False) -> None:
        """One step of a run: it reads one source, writes, lets other runs read that, shows readers, or journals. A look
        is a step of its own only if ``brief``. One that is on others waits for them."""
        run = self.state.running.get(flying.launch.run.view)
        if run is None or run.version != flying.version or run.preempted:
            self.step()  # what is not wanted any more is stopped as time goes on
        while (task := self._tasks.get(flying.version)) is not None:
            stage = self._stage(flying)
            task.switch()
            self._pump()
            if brief or self._stage(flying) is stage or self._stage(flying) not in (Stage.COMPUTE, Stage.CHECK):
                return

    def _stage(self, flying: Flying) -> Stage | None:
        known = self.loop.mine.flights.get(flying.version)
        return known and known.stage

    def finish(self, flying: Flying) -> None:
        """All that is left of a run, after all that is left of those that it is on."""
        for other in [each for each in self.flights.values() if each.version in flying.launch.run.on]:
            self.finish(other)
        for _ in range(100):
            if flying.version not in self.loop.mine.flights or flying.version not in self._tasks:
                return
            self.advance(flying)
        raise AssertionError("it never ends")

    def fail(self, flying: Flying, cancelled: bool = False) -> None:
        if flying.visible:
            return self.finish(flying)
        self._unlucky[flying.version] = RefreshCancelled("no luck") if cancelled else RefreshFailed("no luck")
        return self.advance(flying)

    def crash(self) -> None:
        """Everything but the world and the journal is lost; another engine takes over."""
        self.store.gone.add(self.loop.engine)
        self.world.kept.clear()
        self.world.scans.clear()
        self._unlucky.clear()
        self._start_engine()

    def drain(self, pick: Sequence[int] = (0,)) -> None:
        """Runs until nothing is pending, or what is pending belongs to views that are not kept."""
        for turn in range(5_000):
            choice = pick[turn % len(pick)]
            flight = self.flight(choice, moving=True)
            if flight is not None and (choice % 3 or not ready(self.state, self.now)):
                self.advance(flight)
            elif not self.start(choice):
                wake = wake_at(self.state, self.now)
                if unwanted := [each for version, each in self.loop.mine.flights.items() if version in self._tasks]:
                    self.advance(Flying(self, unwanted[0]))  # its view may run again already
                elif wake is None or self._is_stuck(wake) or self._awaits_publications_alone(wake):
                    return
                else:
                    assert wake > self.now, "woken for the past"
                    self.now = wake
                    self._check()
        raise AssertionError("it never drains")

    def _awaits_publications_alone(self, wake: int) -> bool:
        """Whether nothing is left but to let readers of a group see newer rows, again and again."""
        busy = self.state.running or any(each.pending for each in self.state.views.values())
        return not busy and wake in {next_publication(self.state, each) for each in self.state.published}

    def _is_stuck(self, at: int) -> bool:
        """Whether all that starts next keeps failing, and it may be for want of a table that nobody can look at, or of
        a view upstream that does not run: a view's table of another shape is replaced as a whole, or not at all."""
        names = [each.view for each in ready(self.state, at)]
        views = [self.state.views[each] for each in names]
        above = set[str]().union(*(upstream(self.state, each) - {each} for each in names))
        halted = any(each in self.state.views and self.state.views[each].status in STUCK for each in above)
        lacking = bool(self.state.unreadable) or halted
        return lacking and bool(views) and all(each.failures > MANY for each in views)

    def settle(self) -> None:
        """Looks at everything until nothing new is found and nothing is pending."""
        while self.glances:
            looks.record(self, self.glances.pop())
        for _ in range(20):
            for table in sorted(self.world.content):
                self.look(table)
            self.drain()
            looked_at = self.world.content.keys() - self.state.unreadable.keys()
            if not any(self.unseen(table) for table in looked_at if not self.unfilled(table)):
                return
        raise AssertionError("changes never end")

    # --- inside

    def _submit(self, command: KernelCommand, work: Callable[[], None]) -> None:
        """A step of a run is a coroutine that waits for its turn; all else is done when the decision is over."""
        if not isinstance(command, Look | Compute | Bring | Publish):
            self._due.append(work)
            return
        version = command.launch.run.version

        def run() -> None:
            del self._tasks[version]
            work()

        self._tasks[version] = greenlet(run, self._main)

    def _pump(self) -> None:
        while self._due:
            self._due.popleft()()
        if self._broken is not None:
            raise self._broken

    def _pause(self, step: str, launch: Launch) -> None:
        version = launch.run.version
        if getcurrent() is not self._main and step not in ("look", "compute"):  # there a run waits before it begins
            lock: Any = self.recorder.lock
            assert not lock._is_owned(), f"{step} holds everybody up"
            self._tasks[version] = getcurrent()
            self._main.switch()
            self._tasks.pop(version, None)
        if step != "published" and (error := self._unlucky.pop(version, None)) is not None:
            raise error

    def _noted(self, step: str) -> None:
        self.now += TAKES if step == "wrote" else 0
        self.watch(self, step)

    def _look_for(self, launch: Launch, before: bool) -> bool:
        if self.looks:
            for each in launch.definition.sources:
                if each not in self.state.views:
                    self.look(each, before=launch.run.version if before else 0)
        return self.looks

    def _unread(self, tables: Iterable[str]) -> None:
        """A run could not read a snapshot. A look finds a newer one; of the run's own view, when that runs no more."""
        self._unchecked.update(tables)
        for each in tables:
            self._look_again(each)

    def _check(self) -> None:
        """Looks where a run could not read, as engines look at everything from time to time."""
        while self._unchecked:
            self._look_again(self._unchecked.pop())

    def _look_again(self, table: str) -> None:
        if table in self.state.tables:  # no view that was dropped meanwhile
            self.look(table)

    def _stop(self, view: str, version: int) -> None:
        self._unlucky[version] = RefreshCancelled("it is not wanted any more")


class _Frank:
    """The world, as the engine asks it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def __getattr__(self, name: str) -> Callable:
        def asked(*arguments):
            with self._machine.frank():
                return getattr(self._machine.world, name)(*arguments)

        return asked


class _Watched(Condition):
    """Tells the machine when those who wait are told."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine.recorder.lock)
        self._machine = machine

    def notify_all(self) -> None:
        super().notify_all()
        self._machine.heard()
