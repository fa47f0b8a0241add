"""Applications with an engine each, on one catalog and one store."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from attrs import frozen

from benchmarks.parts import slow
from benchmarks.parts.harness import MANY_VIEWS, Row, Worker, extension, refreshes
from benchmarks.parts.services import metastore, postgresql

TABLE = "CREATE TABLE events (shop INT, amount BIGINT) USING parquet"
WRITE = "INSERT INTO events VALUES (1, 10)"
VIEW = (
    "CREATE MATERIALIZED VIEW v{number} TBLPROPERTIES ('headwater.fill' = 'later') AS "
    "SELECT shop, sum(amount) + {number} AS amount FROM events GROUP BY shop"
)
DRAIN = "REFRESH MATERIALIZED VIEWS"
SETTINGS = MANY_VIEWS | {"spark.headwater.tracks": "2", "spark.driver.memory": "2g"}


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


@contextmanager
def side(home: Path, kind: str, engines: int, views: int, open_millis: int) -> Iterator[Side]:
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
