"""Many views in one warehouse: 500 small ones in ten levels, of which half are partitioned.

A view reads one or two views of the level above it, and the first level reads a table. So one write reaches all
views. Measured are the declarations, the start of an engine, and the refreshes after that write.

Headwater's own share of a refresh is everything but Spark's work on the view's query: its analysis (``sql``) and its
execution (``save``). It is measured in an application with one track, where no other refresh holds processors or the
metastore. So it is the time from the first start to the last end, a refresh, without these two calls of Spark. Three
parts of it are shown: the processor time of the engine process, the engine's other calls of the driver, and of these
the calls that use the metastore. A bare ``INSERT OVERWRITE`` uses the metastore too; that is not taken off.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from benchmarks.parts.calls import Call, recorded, traced
from benchmarks.parts.harness import MANY_VIEWS, Worker, bar, extension
from benchmarks.parts.processes import driver_of, engine_of, resident, used
from headwater.model.event import Event, Failed, Published, Started
from headwater.store.dialect import default_store
from headwater.store.sql_store import SqlStore

TABLES = (
    "CREATE TABLE events (shop INT, amount BIGINT, month STRING) USING parquet PARTITIONED BY (month)",
    "CREATE TABLE shops (shop INT, factor BIGINT) USING parquet",
    "INSERT INTO events VALUES (1, 10, '2024-01'), (2, 20, '2024-02'), (3, 30, '2024-03')",
    "INSERT INTO shops VALUES (1, 1), (2, 2), (3, 3)",
)
WRITE = "INSERT INTO events VALUES (2, 5, '2024-02')"
DRAIN = "REFRESH MATERIALIZED VIEWS"
LOOK = 0.2
"""Seconds between two looks at the journal."""
PATIENCE = 120
"""Seconds without the end of a refresh that are an error."""
SPARK = ("JVM object.sql", "JVM object.save")
METASTORE = ("JVM Publication.publish", "JVM Tables.owner", "JVM Tables.observe")
IDLE = "JVM Bridge.poll"


@frozen
class View:
    """A view of the generated warehouse, with the ones that it reads; the first level reads tables."""

    name: str
    partitioned: bool
    reads: tuple[str, ...]

    @property
    def statement(self) -> str:
        by, month = (" PARTITIONED BY (month)", ", month") if self.partitioned else ("", "")
        rows = " UNION ALL ".join(f"SELECT shop, amount{month} FROM {each}" for each in self.reads)
        if self.reads == ("events", "shops"):
            rows = f"SELECT shop, amount * factor AS amount{month} FROM events JOIN shops USING (shop)"
        query = f"SELECT shop, sum(amount) AS amount{month} FROM ({rows}) GROUP BY shop{month}"
        return f"CREATE MATERIALIZED VIEW {self.name}{by} TBLPROPERTIES ('headwater.fill' = 'later') AS {query}"


def warehouse(levels: int, width: int) -> list[View]:
    """Views in topological order. Partitioned ones read such ones only, others read both kinds."""
    views = []
    for level in range(levels):
        for column in range(width):
            partitioned, two = column % 2 == 0, (column // 2 + level) % 2 == 1
            if level == 0:
                reads = ("events", "shops")[: 1 + two]
            else:
                beside = (column + 2) % width if partitioned else column - 1
                reads = tuple(_name(level - 1, each) for each in (column, beside)[: 1 + two])
            views.append(View(_name(level, column), partitioned, reads))
    return views


def _name(level: int, column: int) -> str:
    return f"v{level}_{column}"


def measured(place: Path, views: Sequence[View]) -> dict[str, Any]:
    home, calls = place / "many", place / "calls"
    declared = _declared(home, views)
    settings = extension() | MANY_VIEWS | traced(calls, driver_alone=True)
    worker = Worker(home, settings)
    journal = Journal(_store(worker))
    list(journal.news())
    [pending] = worker.run("SHOW MATERIALIZED VIEWS")
    fill = _refreshed(worker, journal, calls, len(views), "filled")
    _, check = worker.run(DRAIN, DRAIN)
    wave = _refreshed(worker, journal, calls, len(views), "refreshed", WRITE)
    memory = resident(engine_of(worker.pid))
    worker.close()
    worker = Worker(home, settings | {"spark.headwater.tracks": "1"})
    [filled] = worker.run("SHOW MATERIALIZED VIEWS")
    worker.run(DRAIN)
    alone = _refreshed(worker, journal, calls, len(views), "refreshed one after the other", WRITE)
    journal.close()
    worker.close()
    worker = Worker(place / "empty", extension() | MANY_VIEWS)
    [empty] = worker.run("SHOW MATERIALIZED VIEWS")
    worker.close()
    return {
        "declare": declared,
        "start": {"pending": pending, "filled": filled, "empty": empty},
        "fill": fill,
        "check": check,
        "wave": wave,
        "alone": alone,
        "own": _own(alone),
        "resident": memory,
    }


def _declared(home: Path, views: Sequence[View]) -> dict[str, Any]:
    """Seconds of the declarations, in an application that refreshes nothing meanwhile."""
    worker = Worker(home, extension() | MANY_VIEWS | {"spark.headwater.role": "report"})
    worker.run(*TABLES)
    worker.run("SHOW MATERIALIZED VIEWS")
    engine, driver = engine_of(worker.pid), driver_of(worker.pid)
    before = used(engine), used(driver)
    with bar(f"{len(views)} views are declared", len(views)) as step:
        seconds = []
        for view in views:
            seconds += worker.run(view.statement)
            step()
    after = used(engine), used(driver)
    worker.close()
    tenth = max(1, len(seconds) // 10)
    return {
        "seconds": sum(seconds),
        "first": sum(seconds[:tenth]) / tenth,
        "last": sum(seconds[-tenth:]) / tenth,
        "processor": {"engine": after[0] - before[0], "driver": after[1] - before[1]},
    }


class Journal:
    """The journal of a store, read as it grows."""

    def __init__(self, path: Path) -> None:
        self._store, self._seq = SqlStore(path), 0

    def news(self) -> Iterator[Event]:
        for entry in self._store.read(self._seq):
            self._seq = entry.seq
            yield entry.event

    def close(self) -> None:
        self._store.close()


def _store(worker: Worker) -> Path:
    [[_, warehouse]] = worker.rows("SET spark.sql.warehouse.dir")
    return default_store(Path(warehouse.removeprefix("file:")))


def _refreshed(
    worker: Worker, journal: Journal, calls: Path, views: int, verb: str, *statements: str
) -> dict[str, Any]:
    """Seconds from the end of statements to the ends of the refreshes that follow."""
    engine, driver = engine_of(worker.pid), driver_of(worker.pid)
    before = used(engine), used(driver)
    worker.run(*statements)
    since = time.time()
    started, published = _followed(journal, views, verb)
    after = used(engine), used(driver)
    first, last = min(each.at for each in started) / 1000, max(each.at for each in published) / 1000
    made = [each for each in recorded(calls) if first <= each.began and each.ended <= last]
    return {
        "started": first - since,
        "first": min(each.at for each in published) / 1000 - since,
        "last": last - since,
        "often": sorted(set(Counter(each.view for each in published).values())),
        "processor": {"engine": after[0] - before[0], "driver": after[1] - before[1]},
        "elapsed": last - first,
        "refreshes": len(published),
        "calls": _by_name(made, len(published)),
    }


def _followed(journal: Journal, views: int, verb: str) -> tuple[list[Started], list[Published]]:
    """The starts and ends of refreshes, until each view was refreshed.

    Raises:
        RuntimeError: a refresh failed, or none ended for a long time.
    """
    started: list[Started] = []
    published: list[Published] = []
    deadline = time.monotonic() + PATIENCE
    with bar(f"{views} views are {verb}", views) as step:
        while len({each.view for each in published}) < views:
            for event in journal.news():
                match event:
                    case Started():
                        started.append(event)
                    case Published():
                        published.append(event)
                        step()
                        deadline = time.monotonic() + PATIENCE
                    case Failed():
                        raise RuntimeError(f"the refresh of {event.view} failed: {event.error.text}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"{len(published)} of {views} views were {verb} within {PATIENCE} s")
            time.sleep(LOOK)
    return started, published


def _own(alone: dict[str, Any]) -> dict[str, float]:
    """ms of Headwater's own in a refresh, of refreshes one after the other, with their parts."""
    each = 1000 / alone["refreshes"]
    own = [call for call in alone["calls"] if call["name"] not in (*SPARK, IDLE)]
    return {
        "own": each * alone["elapsed"] - _millis(alone["calls"], SPARK),
        "processor": each * alone["processor"]["engine"],
        "calls": sum(call["millis"] for call in own),
        "metastore": _millis(own, METASTORE),
        "times": sum(call["times"] for call in own),
    }


def _millis(calls: Iterable[dict[str, Any]], names: Sequence[str]) -> float:
    return sum(call["millis"] for call in calls if call["name"] in names)


def _by_name(made: Iterable[Call], refreshes: int) -> list[dict[str, Any]]:
    """For each kind of call of the driver, how often a refresh makes it, and the ms that takes."""
    times: Counter[str] = Counter()
    seconds: dict[str, float] = defaultdict(float)
    for each in made:
        times[each.name] += 1
        seconds[each.name] += each.seconds
    found = [
        {"name": name, "times": times[name] / refreshes, "millis": 1000 * seconds[name] / refreshes} for name in times
    ]
    return sorted(found, key=lambda each: each["millis"], reverse=True)
