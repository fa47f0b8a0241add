"""Two engines on one store beside one: refreshes a second of 200 independent views that change at once.

Both sides have a metastore and a store of their own, and take turns. The storage takes half a second to open a file,
so a refresh mostly waits. Each engine has two tracks. The time of a round is from the start of its first refresh to
the end of its last one. The journal tells whether each view was refreshed once.

    python -m benchmarks.engines [--quick | --smoke] [--store sqlite|postgresql] [--json FILE]
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from attrs import frozen

from benchmarks.parts import slow
from benchmarks.parts.harness import (
    Goal,
    Row,
    Size,
    Worker,
    bar,
    console,
    extension,
    main,
    parser,
    ratio,
    refreshes,
    scratch,
    spread,
)
from benchmarks.parts.services import has_postgresql, metastore, postgresql

TABLE = "CREATE TABLE events (shop INT, amount BIGINT) USING parquet"
WRITE = "INSERT INTO events VALUES (1, 10)"
VIEW = (
    "CREATE MATERIALIZED VIEW v{number} TBLPROPERTIES ('headwater.fill' = 'later') AS "
    "SELECT shop, sum(amount) + {number} AS amount FROM events GROUP BY shop"
)
DRAIN = "REFRESH MATERIALIZED VIEWS"
OPEN_MILLIS = 500
SETTINGS = {"spark.headwater.tracks": "2", "spark.driver.memory": "2g", "spark.sql.codegen.cache.maxEntries": "2000"}
GOAL = 1.7
STORES = ("sqlite", "postgresql")

PARSER = parser(__doc__)
PARSER.add_argument(
    "--store", choices=STORES, default=STORES[has_postgresql()], help="postgresql needs the package pgserver"
)


@frozen
class Side:
    """Applications on one store, of which the first one writes."""

    workers: Sequence[Worker]
    views: int

    def round(self) -> dict[str, Any]:
        """Seconds from the first refresh after a write to the last, and how often views were refreshed."""
        began = time.time()
        first = self.workers[0]
        first.run(WRITE, DRAIN)
        told = refreshes(first.rows("SHOW REFRESHES"))
        runs = [row for row in told if _started(row) >= began and row["status"] == "published"]
        often = Counter(row["view"] for row in runs)
        missing = self.views - len(often)
        return {
            "seconds": max(_started(row) + row["seconds"] for row in runs) - min(_started(row) for row in runs),
            "often": sorted({*often.values(), *([0] if missing else [])}),
        }


def _started(row: Row) -> float:
    """When a refresh started, by its row of ``SHOW REFRESHES``."""
    return datetime.fromisoformat(row["started_at"]).timestamp()


def run(size: Size) -> dict[str, Any]:
    kind = PARSER.parse_args().store
    views, rounds = size.of((200, 5), (20, 1), (2, 1))
    engines = size.of((1, 2), (1, 2), (1,))
    open_millis = size.of(OPEN_MILLIS, OPEN_MILLIS, 10)
    with scratch() as place, ExitStack() as open_sides:
        sides = {
            count: open_sides.enter_context(_side(place / f"engines-{count}", kind, count, views, open_millis))
            for count in engines
        }
        found = _rounds(sides, rounds)
    seconds = {count: [each["seconds"] for each in found[count]] for count in engines}
    rates = {count: spread(views / each for each in seconds[count]) for count in engines}
    often = sorted({times for rounds in found.values() for each in rounds for times in each["often"]})
    gain = ratio(seconds[engines[0]], seconds[engines[-1]])
    goals = [
        Goal("refreshes of each view after a write", "1", ", ".join(map(str, often)), often == [1]),
        Goal(
            f"refreshes a second of {engines[-1]} engines, beside one; the store is {kind}",
            f">= {GOAL}x",
            f"{gain['median']:.2f}x ({gain['min']:.2f} to {gain['max']:.2f}): "
            + " and ".join(f"{rates[count]['median']:.2f}" for count in reversed(engines)),
            gain["median"] >= GOAL,
        ),
    ]
    return {"store": kind, "views": views, "rounds": found, "rates": rates, "ratio": gain, "goals": goals}


def _rounds(sides: dict[int, Side], rounds: int) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {count: [] for count in sides}
    with bar(console, "rounds", rounds * len(sides)) as step:
        for turn in range(rounds):
            for count in sorted(sides, reverse=turn % 2 == 1):
                found[count].append(sides[count].round())
                step()
    return found


@contextmanager
def _side(home: Path, kind: str, engines: int, views: int, open_millis: int) -> Iterator[Side]:
    """Applications with an engine each, on a catalog and a store of their own; all views are filled."""
    with metastore(home / "metastore") as catalog, _store(kind, home) as store:
        settings = {
            **extension(),
            **SETTINGS,
            **slow.settings(open_millis=open_millis),
            "spark.sql.warehouse.dir": f"slow://{home}/warehouse",
            "spark.hadoop.hive.metastore.uris": catalog,
            "spark.headwater.store": store,
        }
        workers = [Worker(home / f"application-{number}", settings) for number in range(engines)]
        workers[0].run(TABLE, WRITE, *(VIEW.format(number=number) for number in range(views)), DRAIN)
        for each in workers:
            each.run("SHOW MATERIALIZED VIEWS")
        try:
            yield Side(workers, views)
        finally:
            for each in workers:
                each.close()


@contextmanager
def _store(kind: str, home: Path) -> Iterator[str]:
    """The value of ``spark.headwater.store``."""
    if kind == "postgresql":
        with postgresql(home / "postgresql") as url:
            yield url
    else:
        yield str(home / "store.db")


if __name__ == "__main__":
    main(run, PARSER)
