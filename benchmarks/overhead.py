"""What Headwater costs a user who writes: on each write, on the first statements, and until a refresh starts.

Four Spark processes run side by side, idle but for the one that is measured, and take turns: off (no
extension), on (extension, no view on the table), held (a suspended view on it) and live (a view that
is refreshed while the writes go on). Ratios are taken round by round against ``off``.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks.parts.harness import Goal, Size, Worker, console, extension, main, parser, ratio, scratch, spread
from headwater.engine.requests.limits import SETTLE
from headwater.model.event import Started
from headwater.store.address import default_store
from headwater.store.sql_store import SqlStore

TABLE = "CREATE TABLE writes (id INT, amount INT) USING parquet"
VIEW = "CREATE MATERIALIZED VIEW totals AS SELECT count(*) AS n, sum(amount) AS total FROM writes"
INSERT = "INSERT INTO writes VALUES (1, 2)"
SCRIPT = [TABLE, INSERT, *["SELECT count(*) FROM writes"] * 4, INSERT, *["SELECT sum(amount) FROM writes"] * 3]
PATIENCE = 60
"""Seconds after which a refresh that does not begin is an error."""

PARSER = parser(__doc__)


def run(size: Size) -> dict[str, Any]:
    with scratch() as place:
        writes = _writes(
            place,
            **size.of(
                {"rounds": 10, "inserts": 20, "warm": 30, "waits": 10},
                {"rounds": 2, "inserts": 5, "warm": 3, "waits": 3},
                {"rounds": 1, "inserts": 1, "warm": 1, "waits": 1},
            ),
        )
        starts = _starts(place, runs=size.of(12, 1, 1))
    delays = writes.pop("delays")
    goals = [
        _overhead("INSERT with the extension and no view", writes["on"]),
        _overhead("INSERT with a view whose refreshes are held back", writes["held"]),
        Goal("INSERT while refreshes run", "reported", f"{writes['live']['median'] - 1:+.1%}", True),
        _overhead("a ten-statement script, first statement included", starts["ratio"]),
        Goal(
            "end of a write to the start of its refresh, beyond settling",
            "< 1 s",
            f"{delays['median']:.2f} s",
            delays["median"] < 1,
        ),
    ]
    return {"writes": writes, "delays": delays, "starts": starts, "goals": goals}


def _overhead(what: str, measured: dict[str, float]) -> Goal:
    over = measured["median"] - 1
    words = f"{over:+.1%} (rounds {measured['min'] - 1:+.1%} to {measured['max'] - 1:+.1%})"
    return Goal(what, "<= +3 %", words, over <= 0.03)


def _writes(place: Path, rounds: int, inserts: int, warm: int, waits: int) -> dict[str, Any]:
    workers = {"off": Worker(place / "off", {})}
    for name in ("on", "held", "live"):
        workers[name] = Worker(place / name, extension())
    for name, worker in workers.items():
        worker.run(TABLE, *[INSERT] * warm)
        if name in ("held", "live"):
            worker.run(VIEW)
    workers["held"].run("ALTER MATERIALIZED VIEW totals SUSPEND")
    medians: dict[str, list[float]] = {name: [] for name in workers}
    for turn in range(rounds):
        for name in _rotated(list(workers), turn):
            console.log(f"round {turn + 1} of {rounds}: {inserts} INSERTs, {name}")
            medians[name].append(statistics.median(workers[name].run(*[INSERT] * inserts)))
            if name == "live":
                workers[name].run("REFRESH MATERIALIZED VIEWS")
    delays = [_delay(workers["live"]) for _ in range(waits)]
    for worker in workers.values():
        worker.close()
    base = medians["off"]
    return {
        "seconds": medians,
        "delays": spread(delays),
        **{name: ratio(medians[name], base) for name in ("on", "held", "live")},
    }


def _rotated(names: list[str], turn: int) -> list[str]:
    at = turn % len(names)
    return names[at:] + names[:at]


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


def _starts(place: Path, runs: int) -> dict[str, Any]:
    taken: dict[str, list[list[float]]] = {"off": [], "on": []}
    for turn in range(runs):
        for name in ("off", "on") if turn % 2 else ("on", "off"):
            console.log(f"run {turn + 1} of {runs}: ten statements in a new process, {name}")
            worker = Worker(place / f"start-{name}-{turn}", extension() if name == "on" else {})
            taken[name].append(worker.run(*SCRIPT))
            worker.close()
    scripts = {name: [sum(each) for each in found] for name, found in taken.items()}
    typical = {name: [statistics.median(each) for each in zip(*found, strict=True)] for name, found in taken.items()}
    return {
        "statements": taken,
        "typical": typical,
        "ratio": ratio(scripts["on"], scripts["off"]),
        "ratio_of_typical": sum(typical["on"]) / sum(typical["off"]),
    }


if __name__ == "__main__":
    main(run, PARSER)
