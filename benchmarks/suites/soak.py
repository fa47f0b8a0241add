"""The soak test: three drivers share a store, a metastore and a warehouse; drivers and engines are killed at random.

Each driver has the extension and writes the tables of one format, files, Delta or Iceberg, by batches and by a stream.
A reader in each driver, and one without Headwater, check every read for half, old or vanished data (``soaking.world``
says how). Another one in each driver compares views of a group at one epoch. At the end everything is drained, and
every view must equal its query.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from attrs import Factory, define

from benchmarks.parts import lakes
from benchmarks.parts.harness import Worker, bar, console, scratch
from benchmarks.parts.processes import driver_of, running_engine
from benchmarks.parts.results import Figure, Report, figure, none
from benchmarks.parts.services import metastore, postgresql
from benchmarks.parts.soaking.world import DATABASE
from headwater.demo.session import SETTINGS
from headwater.model.event import Event, Published
from headwater.store.sql_store import SqlStore

PAUSES = (0.0, 12.0)
"""Seconds from the first publication after a kill to the next one: on a slow machine, too, there is work to kill."""
CONF = {**SETTINGS, "spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"}


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=None, help="of the kills and the writes")
    parser.add_argument("--keep", type=Path, help="a directory to work in, which stays: logs and the journal are there")


@define
class Drivers:
    """The drivers, by the format that each writes, and what was done to them."""

    folder: Path
    conf: Mapping[str, str]
    seed: int
    running: dict[str, Worker] = Factory(dict)
    done: Counter[str] = Factory(Counter)
    writes: int = 0
    reads: int = 0
    compared: int = 0
    errors: list[str] = Factory(list)
    violations: list[str] = Factory(list)
    disagreeing: list[str] = Factory(list)
    _numbers: Iterator[int] = Factory(itertools.count)
    _threads: ThreadPoolExecutor = Factory(ThreadPoolExecutor)
    _restarts: list[Future[None]] = Factory(list)

    def start_all(self) -> None:
        self.running.update(zip(lakes.USING, self._threads.map(self._started, lakes.USING), strict=True))
        for namespace in {f"{catalog}.{DATABASE}" for catalog in lakes.CATALOGS.values()}:
            self.any.run(f"CREATE NAMESPACE {namespace}")
        self.all("open")
        self.any.call("declare")
        self.any.call("drain")
        self.all("start")

    def all(self, call: str) -> None:
        """Has every driver do something."""
        list(self._threads.map(lambda worker: worker.call(call), self.running.values()))

    @property
    def any(self) -> Worker:
        return next(iter(self.running.values()))

    def kill_engine(self, chance: random.Random) -> bool:
        """Kills an engine; false if none runs now."""
        engines = [each for each in (running_engine(worker.pid) for worker in self.running.values()) if each]
        if engines:
            os.kill(chance.choice(engines), signal.SIGKILL)
            self.done["engines"] += 1
        return bool(engines)

    def kill_driver(self, chance: random.Random) -> bool:
        """Kills a driver, and has another one go on with its tables; false if it would be the last that runs now."""
        if len(self.running) == 1:
            return False
        format = chance.choice(sorted(self.running))
        worker = self.running.pop(format)
        self._note(worker)
        for pid in (driver_of(worker.pid), worker.pid):
            os.kill(pid, signal.SIGKILL)
        worker.wait()
        self.done["drivers"] += 1
        self._restarts.append(self._threads.submit(self._restart, format))
        return True

    def _restart(self, format: str) -> None:
        worker = self._started(format)
        worker.call("start")
        self.running[format] = worker

    def torment(self, chance: random.Random, seconds: float, published: Callable[[], bool]) -> None:
        """Kills engines and drivers for some time; of three kills in a row, one is of a driver.

        ``published``: whether something was since the last call.
        """
        began, due = time.monotonic(), None
        kills: list[Callable[[random.Random], bool]] = []
        with bar("soak", round(seconds)) as step:
            for second in range(round(seconds)):
                time.sleep(max(0.0, began + second - time.monotonic()))
                step()
                if due is None and published():
                    due = time.monotonic() + chance.uniform(*PAUSES)
                kills = kills or chance.sample((self.kill_engine, self.kill_engine, self.kill_driver), 3)
                if due is not None and time.monotonic() >= due and kills[-1](chance):
                    kills.pop()
                    due = None
                    published()
        for each in self._restarts:
            each.result()

    def stop(self) -> None:
        """Lets all writers end their work."""
        self.all("stop")
        for worker in self.running.values():
            self._note(worker)

    def end(self) -> None:
        self._threads.shutdown()
        for worker in self.running.values():
            worker.kill()

    def _started(self, format: str) -> Worker:
        """Another driver for the tables of a format."""
        number = next(self._numbers)
        worker = Worker(self.folder / f"driver-{number}", dict(self.conf), "benchmarks.parts.soaking.driver")
        worker.call("driver", str(self.folder), format, self.seed + 100 * number)
        return worker

    def _note(self, worker: Worker) -> None:
        figures = worker.call("figures")
        self.writes += figures["writes"]
        self.reads += figures["reads"]
        self.compared += figures["compared"]
        self.disagreeing += figures["disagreeing"]
        self.errors += figures["errors"]
        self.violations += figures["violations"]


@define
class Publications:
    """Asks whether something was published since it was asked before."""

    store: SqlStore
    seq: int

    def __call__(self) -> bool:
        entries = list(self.store.read(self.seq))
        self.seq = entries[-1].seq if entries else self.seq
        return any(isinstance(entry.event, Published) for entry in entries)


def kills(asked: Namespace) -> Report:
    """Half an hour of batches and streams, while drivers and engines are killed."""
    seed = asked.seed if asked.seed is not None else random.randrange(1_000_000)
    seconds = asked.size.of(1800, 180, 20)
    with nullcontext(asked.keep) if asked.keep else scratch() as place, _services(place) as (catalog, store):
        warehouse = place / "warehouse"
        conf = {**CONF, "spark.sql.warehouse.dir": str(warehouse), "spark.hadoop.hive.metastore.uris": catalog}
        ours = {"spark.headwater.store": store, "spark.headwater.check.interval": "20 seconds"}
        drivers = Drivers(place, {**conf, **lakes.settings(warehouse / "lake"), **ours}, seed)
        reader = Worker(
            place / "reader",
            {**conf, **lakes.settings(warehouse / "lake", headwater=False)},
            "benchmarks.parts.soaking.reader",
        )
        try:
            found = _soaked(drivers, reader, SqlStore(store), seed, seconds)
        finally:
            drivers.end()
            reader.kill()
    return Report(_figures(found), {"seed": seed, "seconds": seconds, **found})


def _soaked(drivers: Drivers, reader: Worker, store: SqlStore, seed: int, seconds: float) -> dict[str, Any]:
    console.log(f"starting the drivers; --seed {seed}")
    drivers.start_all()
    before = max(entry.seq for entry in store.read())
    reader.call("start", str(drivers.folder))
    console.log(f"killing drivers and engines for {seconds:,} s")
    drivers.torment(random.Random(seed), seconds, Publications(store, before))
    console.log("draining")
    drivers.stop()
    pending = drivers.any.call("drain")
    seen = reader.call("stop")
    events = _journal(store, before, drivers.folder / "journal")
    return {
        "writes": drivers.writes,
        "errors": drivers.errors,
        "events": len(events),
        "refreshes": sum(isinstance(each, Published) for each in events),
        "kills": {each: drivers.done[each] for each in ("drivers", "engines")},
        "reads": drivers.reads + seen["reads"],
        "reads at epochs": drivers.compared,
        "disagreeing": drivers.disagreeing,
        "violations": drivers.violations + seen["violations"],
        "pending": pending,
        "differences": reader.call("differences"),
    }


def _journal(store: SqlStore, before: int, file: Path) -> list[Event]:
    """The events of the store; all those of its journal are written to a file, which explains what was found."""
    entries = list(store.read())
    file.write_text("".join(f"{entry.seq} {entry.event}\n" for entry in entries))
    return [entry.event for entry in entries if entry.seq > before]


def _figures(found: Mapping[str, Any]) -> list[Figure]:
    done = {each: found[each] for each in ("writes", "events", "refreshes", "reads", "reads at epochs")}
    done |= {f"{each} killed": count for each, count in found["kills"].items()}
    wrong = [name for name, rows in found["differences"].items() if rows]
    return [
        *(figure(name, count) for name, count in done.items()),
        figure("statements that failed, as a kill hit them", len(found["errors"])),
        none("reads at epochs in which views of a group disagree", found["disagreeing"]),
        none("violations: half, old or vanished data in a read", found["violations"]),
        none("views that are not refreshed at the end", map(str, found["pending"] or [])),
        none("views that differ from their queries at the end", wrong),
    ]


@contextmanager
def _services(place: Path) -> Iterator[tuple[str, str]]:
    with metastore(place / "metastore") as catalog, postgresql(place / "postgresql") as store:
        yield catalog, store


CASES = {"kills": kills}
