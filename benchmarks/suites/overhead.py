"""What Headwater costs those who write: on each statement, at the start of an application, and in streams.

Spark processes run side by side, idle but for the one that is measured, and take turns. Ratios are taken round by round
against the process without the extension.
"""

from __future__ import annotations

import statistics
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.parts import lakes
from benchmarks.parts.harness import Worker, by_turns, console, extension, longer, ratios, scratch
from benchmarks.parts.results import Figure, Report, figure
from headwater.engine.requests.limits import SETTLE
from headwater.model.event import Started
from headwater.store.dialect import default_store
from headwater.store.sql_store import SqlStore

TABLE = "CREATE TABLE writes (id INT, amount INT) USING parquet"
VIEW = "CREATE MATERIALIZED VIEW totals AS SELECT count(*) AS n, sum(amount) AS total FROM writes"
INSERT = "INSERT INTO writes VALUES (1, 2)"
SCRIPT = [TABLE, INSERT, *["SELECT count(*) FROM writes"] * 4, INSERT, *["SELECT sum(amount) FROM writes"] * 3]
PATIENCE = 60
"""Seconds after which a refresh that does not begin is an error."""
MOST = 3.0
"""Percent by which a statement may take longer."""

MERGED = """CREATE TABLE writes USING delta PARTITIONED BY (part) AS
SELECT id, id % 10 AS part, id % 50 AS amount FROM range({rows}) DISTRIBUTE BY part"""
MERGE = """MERGE INTO writes USING (SELECT 10 * id AS id, 0 AS part, id AS amount FROM range({turn}, {turn} + 100)) new
ON writes.id = new.id AND writes.part = new.part
WHEN MATCHED THEN UPDATE SET amount = new.amount WHEN NOT MATCHED THEN INSERT *"""

KINDS = {"bare": "without Headwater", "extension": "with the extension", "view": "with a view"}
FRESHNESS, WITHIN = 60, 600
"""Seconds that a view of a stream may be old, and those within which a thousand batches should end."""
WARM = 10
"""Batches before the first that counts."""


def writes(asked: Namespace) -> Report:
    """A small ``INSERT``: without a view, with a view that waits, while refreshes run; and when its refresh starts."""
    rounds, inserts, warm, waits = asked.size.of((10, 20, 30, 10), (2, 5, 3, 3), (1, 1, 1, 1))
    with scratch() as place:
        workers = {
            name: Worker(place / name, {} if name == "off" else extension()) for name in ("off", "on", "held", "live")
        }
        for name, worker in workers.items():
            worker.run(TABLE, *[INSERT] * warm, *([VIEW] if name in ("held", "live") else []))
        workers["held"].run("ALTER MATERIALIZED VIEW totals SUSPEND")

        def inserted(name: str) -> float:
            seconds = statistics.median(workers[name].run(*[INSERT] * inserts))
            if name == "live":
                workers[name].run("REFRESH MATERIALIZED VIEWS")
            return seconds

        taken = _each(workers, inserted, rounds)
        delays = [_delay(workers["live"]) for _ in range(waits)]
        _close(workers.values())
    said = "from the end of a write to the start of its refresh, beyond the settling second"
    return Report(
        [
            _longer("a small `INSERT`; no view reads the table", taken, "on", MOST),
            _longer("a small `INSERT`; a view reads the table, and its refreshes wait", taken, "held", MOST),
            _longer("a small `INSERT` while refreshes run on the same cores", taken, "live"),
            figure(said, delays, "s", most=1),
        ],
        {"seconds": taken, "delays": delays},
    )


def _delay(worker: Worker) -> float:
    """Seconds from the end of an INSERT to the start of its refresh, less the settling time."""
    [[_, warehouse]] = worker.rows("SET spark.sql.warehouse.dir")
    store = SqlStore(default_store(Path(warehouse.removeprefix("file:"))))
    before = max((entry.seq for entry in store.read()), default=0)
    worker.run(INSERT)
    ended = time.time()
    while True:
        begun = [entry.event.at for entry in store.read(before) if isinstance(entry.event, Started)]
        if begun:
            break
        if time.time() > ended + PATIENCE:
            raise RuntimeError(f"no refresh began within {PATIENCE} s of a write; the store is {store.name}")
        time.sleep(0.05)
    time.sleep(3)
    store.close()
    return begun[0] / 1000 - ended - SETTLE / 1000


def starts(asked: Namespace) -> Report:
    """A script of ten statements in a new process."""
    with scratch() as place:

        def started(name: str) -> Callable[[int], list[float]]:
            def script(turn: int) -> list[float]:
                worker = Worker(place / f"{name}-{turn}", extension() if name == "on" else {})
                seconds = worker.run(*SCRIPT)
                worker.close()
                return seconds

            return script

        taken = by_turns({name: started(name) for name in ("off", "on")}, 0, asked.size.of(12, 1, 1))
    scripts = {name: [sum(each) for each in found] for name, found in taken.items()}
    typical = {name: sum(map(statistics.median, zip(*found, strict=True))) for name, found in taken.items()}
    return Report(
        [
            _longer("a script of ten statements in a new process", scripts, "on", MOST),
            figure("the same, by the medians of its statements", longer([typical["on"]], [typical["off"]]), "% longer"),
        ],
        taken,
    )


def merges(asked: Namespace) -> Report:
    """A ``MERGE`` into a Delta table: without a view, and with one that waits."""
    rows, rounds, times, warm = asked.size.of((100_000, 10, 10, 15), (10_000, 2, 3, 2), (10, 1, 1, 1))
    names = ("off", "on", "held")
    turns = dict.fromkeys(names, 0)
    with scratch() as place:
        workers = {name: Worker(place / name, lakes.settings(place / name, headwater=name != "off")) for name in names}

        def merge(name: str, times: int = times) -> float:
            first, turns[name] = turns[name], turns[name] + times
            return statistics.median(
                workers[name].run(*(MERGE.format(turn=turn) for turn in range(first, first + times)))
            )

        for name, worker in workers.items():
            worker.run(MERGED.format(rows=rows))
            merge(name, warm)
        workers["held"].run(VIEW, "ALTER MATERIALIZED VIEW totals SUSPEND")
        taken = _each(workers, merge, rounds)
        _close(workers.values())
    return Report(
        [
            _longer("a Delta `MERGE`; no view reads the table", taken, "on", MOST),
            _longer("a Delta `MERGE`; a view reads the table, and its refreshes wait", taken, "held", MOST),
        ],
        taken,
    )


def streams(asked: Namespace) -> Report:
    """A file arrives for each micro-batch, which appends its row to one of three partitions of Delta and Iceberg.

    The view may be a minute old: it should be refreshed as often as that needs, however many batches there are.
    """
    batches, rounds = asked.size.of((50, 20), (50, 4), (2, 1))
    with scratch() as place:
        found = {format: _streamed(place / format, format, batches, rounds) for format in ("delta", "iceberg")}
    return Report([each for format, taken in found.items() for each in _of_stream(format.capitalize(), taken)], found)


def _streamed(place: Path, format: str, batches: int, rounds: int) -> dict[str, Any]:
    """Of each kind, seconds of a batch in each round; and how often the view was refreshed in how many seconds."""
    homes = {kind: str(place / kind / f"arriving-{kind}") for kind in KINDS}
    workers = {
        kind: Worker(place / kind, lakes.settings(place / kind / "lake", kind != "bare"), "benchmarks.parts.streaming")
        for kind in KINDS
    }
    for kind, worker in workers.items():
        worker.call("make", homes[kind], format, FRESHNESS if kind == "view" else None)
        worker.call("stream", homes[kind], min(batches, WARM))
    taken = _each(workers, lambda kind: workers[kind].call("stream", homes[kind], batches), rounds)
    refreshed = workers["view"].call("refreshed", homes["view"])
    _close(workers.values())
    return taken | refreshed


def _of_stream(format: str, found: Mapping[str, Any]) -> list[Figure]:
    name = f"{format}: a thousand batches"
    refreshes = f"refreshes of the view, in {found['seconds']:.0f} s"
    return [
        figure(f"{name} without Headwater", [1000 * each for each in found["bare"]], "s", most=WITHIN),
        *(
            figure(f"{name} {KINDS[kind]}", ratios(found[kind], found["bare"]), "times", most=1.1)
            for kind in ("extension", "view")
        ),
        figure(f"{format}: {refreshes}", found["refreshes"], most=round(2 + found["seconds"] / FRESHNESS * 2)),
        figure(f"{format}: views that differ from their query", int(not found["equal"]), most=0),
    ]


def _each(workers: Mapping[str, Worker], measure: Callable[[str], float], rounds: int) -> dict[str, list[float]]:
    """What each worker measures in each round."""
    console.log(f"{rounds} rounds of {', '.join(workers)}")
    return by_turns({name: lambda _, name=name: measure(name) for name in workers}, 0, rounds)


def _longer(name: str, taken: Mapping[str, list[float]], side: str, most: float | None = None) -> Figure:
    return figure(name, longer(taken[side], taken["off"]), "% longer", most=most)


def _close(workers: Iterable[Worker]) -> None:
    for worker in workers:
        worker.close()


CASES = {"writes": writes, "starts": starts, "merges": merges, "streams": streams}
