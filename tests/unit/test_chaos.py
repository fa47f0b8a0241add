"""Engines on one store are killed and paused at random, and programs write all the time: nothing is lost, nothing is
published twice, nothing is torn, and who was taken for gone records nothing any more.

The engines are processes of their own (``shelf``). ``HEADWATER_CHAOS`` says for how many seconds the long form goes on,
on each kind of store.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import shelf
from attrs import Factory, define, evolve, frozen
from cases import view
from reference import Recorded, backward, computed, disordered, recomputed, repeated
from shelf import Shelf

from headwater.engine.record.changes import differences
from headwater.engine.record.transition import transition
from headwater.model.dependency import Dependency, Occurrence
from headwater.model.error import StoreError
from headwater.model.event import (
    FRESH,
    Changed,
    Declared,
    EngineLost,
    Event,
    Failed,
    Hurried,
    Prepared,
    Published,
    Started,
)
from headwater.model.partition import Slice
from headwater.model.state import State
from headwater.runtime.recorder import Recorder, SystemClock

ALIVE = 1_500
"""How long (ms) an engine is taken to be alive here: much happens in little time."""

TEN_MINUTES = 600_000
PATIENCE = 120
"""Seconds in which the engines that are left do everything that is pending."""

BASES = {"t": ("a",), "u": ("a", "b")}
HALF = Dependency("daily", (Occurrence((("a", computed("half", "a")),)),))
VIEWS = (
    view("daily", "a", "t"),
    view("pairs", "ab", "u"),
    view("spread", "b", ("t", "")),
    view("both", "a", "t", ("u", "a")),
    view("joined", "a", "daily", ("pairs", "a")),
    evolve(view("halves", "a"), dependencies=(HALF,)),
    view("all_spread", "", "spread"),
    view("mixed", "a", "both", "t"),
    view("top", "a", "joined", "mixed"),
    view("total", "", "joined"),
    view("odd", "a", "halves", ("all_spread", "")),
    view("last", "ab", "pairs", ("mixed", "a")),
)


@frozen
class Chaos:
    """What happens to the engines.

    Attributes:
        seconds: how long it goes on.
        engines: how many there are at any time.
        between: seconds between two faults, at most.
        pause: seconds of a pause, at most; often less than the lease.
        ahead: how far (ms) the clock of each is ahead of that of the one before.
    """

    seconds: float
    engines: int = 2
    between: float = 1.5
    pause: float = 4.0
    ahead: int = 0


@define
class Engines:
    """The engine processes, and what was done to them."""

    where: str
    folder: Path
    chaos: Chaos
    running: list[subprocess.Popen] = Factory(list)
    done: Counter = Factory(Counter)

    def start(self, place: int) -> subprocess.Popen:
        program = [sys.executable, shelf.__file__, self.where, str(self.folder), str(ALIVE)]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [*program, str(place * self.chaos.ahead)],
                stdin=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )

    def start_all(self) -> None:
        self.running = [self.start(place) for place in range(self.chaos.engines)]

    def torment(self, chance: random.Random, until: float) -> None:
        """Kills and pauses engines until a time."""
        paused: dict[int, float] = {}
        while (now := time.monotonic()) < until:
            for place in [each for each, end in paused.items() if end <= now]:
                self.running[place].send_signal(signal.SIGCONT)
                del paused[place]
            place = chance.randrange(len(self.running))
            if chance.random() < 0.4:
                self.kill(place)
                paused.pop(place, None)
            elif place not in paused:
                self.running[place].send_signal(signal.SIGSTOP)
                paused[place] = now + chance.choice((0.1, 0.5, 1)) * chance.uniform(0, self.chaos.pause)
                self.done["pauses"] += 1
            time.sleep(chance.uniform(0.05, self.chaos.between))
        for place in paused:
            self.running[place].send_signal(signal.SIGCONT)

    def kill(self, place: int) -> None:
        self.running[place].kill()
        self.running[place].wait()
        self.running[place] = self.start(place)
        self.done["kills"] += 1

    def end(self) -> None:
        for each in self.running:
            each.kill()
            each.wait()


@define
class Told:
    """A journal as the laws read it, with a record of each partition that was ever published."""

    journal: list[Event]
    record_book: list[Recorded] = Factory(list)
    after_the_end: list[Published | Prepared | Started] = Factory(list)

    def __attrs_post_init__(self) -> None:
        state, lost, owner = State(), set(), {}
        for event in self.journal:
            match event:
                case EngineLost(engine=engine):
                    lost.add(engine)
                case Started(version=version, engine=engine):
                    owner[version] = engine
                case Published(view=name):
                    run = state.running.get(name)
                    if run is not None and run.version == event.version:
                        self._note(event, run)
            if isinstance(event, Started | Prepared | Published) and owner[event.version] in lost:
                self.after_the_end.append(event)
            state = transition(state, event)

    def _note(self, event: Published, run) -> None:
        for each in (*(made.slice for made in event.made), *event.removed):
            origins = frozenset().union(*(some for one, some in run.needs if one.covers(each)))
            self.record_book.append(Recorded(event.view, each, event.version, run.inputs, origins))


class Driver:
    """The program that declares the views, writes the base tables and reads everything."""

    def __init__(self, store, folder: Path) -> None:
        self.store, self.shelf = store, Shelf(folder, BASES)
        self.recorder = Recorder(store, self.shelf, SystemClock())
        self.began = self.now()

    def now(self) -> int:
        return self.recorder.clock.now()

    def declare(self) -> None:
        for table, columns in BASES.items():
            self.write(table, Slice.of({each: "1" for each in columns}), 1)
        for each in VIEWS:
            self.recorder.record(lambda _, d=each: Declared(self.now(), FRESH, d, "was declared"))

    def write(self, table: str, partition: Slice, value: int | None) -> None:
        self.shelf.write(table, partition, value)
        self.look(table)

    def look(self, table: str) -> None:
        found = self.shelf.found(table)

        def build(state: State) -> Changed | None:
            record = state.tables.get(table)
            changed = differences(record, found)
            baseline = record is None
            return Changed(self.now(), FRESH, table, changed, "", 1, "was written", baseline) if changed else None

        self.recorder.record(build)

    def hurry(self) -> None:
        self.recorder.record(lambda _: Hurried(self.now(), FRESH))

    def work(self, chance: random.Random, until: float) -> None:
        """Writes, and reads what was made of it, until a time."""
        while time.monotonic() < until:
            table = chance.choice(list(BASES))
            partition = Slice.of({each: str(chance.randrange(2000, 2005)) for each in BASES[table]})
            try:
                self.write(table, partition, chance.choice((None, *range(1, 9))))
                if chance.random() < 0.5:
                    self.hurry()
            except StoreError:  # an engine was paused in a transaction of SQLite, and then another one
                pass
            self.shelf.read(chance.choice(VIEWS).view)
            time.sleep(chance.uniform(0, 0.2))

    def drain(self) -> None:
        deadline = time.monotonic() + PATIENCE
        for table in BASES:
            self.look(table)
        self.hurry()
        while self.recorder.state.running or any(each.pending for each in self.recorder.state.views.values()):
            assert time.monotonic() < deadline, "the engines that are left do not do what is pending"
            time.sleep(0.05)
            self.recorder.sync()


@pytest.fixture
def folder(tmp_path) -> Path:
    made = tmp_path / "warehouse"
    made.mkdir()
    return made


@pytest.fixture
def suffered(stores, folder) -> Iterator:
    """Lets chaos happen, drains, and checks the laws."""
    ended: list[Engines] = []

    def suffer(chaos: Chaos) -> None:
        seed = int(os.environ.get("HEADWATER_CHAOS_SEED", random.randrange(1_000_000)))
        print(f"HEADWATER_CHAOS_SEED={seed}")
        driver, engines = Driver(stores(), folder), Engines(str(stores.where), folder, chaos)
        ended.append(engines)
        driver.declare()
        engines.start_all()
        until = time.monotonic() + chaos.seconds
        faults = threading.Thread(target=engines.torment, args=(random.Random(seed), until))
        faults.start()
        driver.work(random.Random(seed + 1), until)
        faults.join()
        driver.drain()
        told = Told([entry.event for entry in driver.store.read()])
        print(dict(engines.done), figures(driver, told))
        holds(driver, told)
        holds_in_the_warehouse(driver, told)
        assert "Traceback" not in (folder / "log").read_text()

    yield suffer
    for each in ended:
        each.end()
        print((folder / "log").read_text()[-20_000:])


def figures(driver: Driver, told: Told) -> dict[str, int]:
    """What happened. Pages ``beyond`` the record are of runs whose engine was killed or given up while readers were
    being shown their output; another run replaces them."""
    counts = Counter(type(event).__name__ for event in told.journal)
    kinds = (Changed, Started, Prepared, Published, Failed, EngineLost)
    pages = sum(len(driver.shelf.pages(each.view)) for each in VIEWS)
    beyond = pages - counts[Published.__name__]
    return {**{each.__name__: counts[each.__name__] for each in kinds}, "pages": pages, "beyond": beyond}


def holds(driver: Driver, told: Told) -> None:
    """The record is lawful, and it was made by engines that were not given up, in the store's time."""
    assert not repeated(told)
    assert not disordered(told)
    assert not backward(told)
    assert not told.after_the_end
    assert not [each for each in told.journal if isinstance(each, Failed) and not each.cancelled]
    times = [event.at for event in told.journal if not isinstance(event, Failed)]
    assert driver.began - 1_000 <= min(times) <= max(times) <= driver.store.now() + 1_000


def holds_in_the_warehouse(driver: Driver, told: Told) -> None:
    """Each view is what its query yields, and only ever went forward, by runs that are on record."""
    tables = {name: driver.shelf.read(name) for name in (*BASES, *(each.view for each in VIEWS))}
    for each in VIEWS:
        assert tables[each.view] == recomputed(each, tables), each.view
        versions = [page.version for page in driver.shelf.pages(each.view)]
        assert versions == sorted(set(versions)), each.view
        began = {event.version for event in told.journal if isinstance(event, Started) and event.view == each.view}
        assert began.issuperset(versions)
        published = [
            event.version for event in told.journal if isinstance(event, Published) and event.view == each.view
        ]
        assert set(versions).issuperset(published) and len(published) == len(set(published))


SHORT = 8.0
LONG = float(os.environ.get("HEADWATER_CHAOS", "300"))


@pytest.mark.thorough
@pytest.mark.timeout(SHORT + 2 * PATIENCE)
def test_engines_are_killed_and_paused(suffered) -> None:
    suffered(Chaos(SHORT))


@pytest.mark.thorough
@pytest.mark.timeout(SHORT + 2 * PATIENCE)
def test_clocks_are_ten_minutes_apart(suffered) -> None:
    suffered(Chaos(SHORT, ahead=TEN_MINUTES))


@pytest.mark.long
@pytest.mark.timeout(LONG + 2 * PATIENCE)
def test_for_five_minutes(suffered) -> None:
    suffered(Chaos(LONG, engines=3, between=6, pause=20))
