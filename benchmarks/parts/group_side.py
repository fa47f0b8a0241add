"""One side of `groups lag`, in a Spark application of its own: a table, eight views of it, and a program that appends.

Column ``b`` of the table is the number of the append. Column ``b_s`` of a view is the newest one that it shows.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.parts.worker import serve

VIEWS = 8
SOURCE = "s"
ROWS, GROUPS, APPENDED = 20_000, 100, 200
"""Rows of the table at first, groups of each view, and rows of an append."""
WORK = 2_000_000
"""The first view hashes so many numbers beside its rows, the second one twice as many, and so on."""
PAUSE = 0.02

MANAGED = {"group": "'headwater.group' = 'g', 'headwater.method' = 'full'", "apart": "'headwater.method' = 'full'"}
"""The properties of the views that Headwater keeps, by the side."""


def query(number: int, source: str = SOURCE) -> str:
    work = f"(SELECT sum(pmod(xxhash64(id), 7)) FROM range(0, {WORK * (number + 1)}, 1, 1)) >= 0"
    return f"SELECT k, sum(x) AS x, max(b) AS b_s FROM {source} WHERE {work} GROUP BY k"


class OneByOne:
    """Strictly sequential maintenance of a group ([Garcia98] §4): the views are refreshed one after the other for one
    state of the table, and then for the newest one."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark, self._wanted, self._ends = spark, 0, False
        self.states: list[tuple[int, int]] = []
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def appended(self, version: int) -> None:
        self._wanted = version

    def drain(self) -> None:
        self._ends = True
        self._thread.join()

    def _work(self) -> None:
        done = 0
        while not (self._ends and done == self._wanted):
            if (version := self._wanted) == done:
                time.sleep(PAUSE)
                continue
            refresh_all(self._spark, version)
            done = version
            self.states.append((_now(), version))


def refresh_all(spark: SparkSession, version: int) -> float:
    """Seconds of a refresh of each view for a version of the table."""
    began = time.perf_counter()
    for number in range(VIEWS):
        spark.sql(f"INSERT OVERWRITE v{number} {query(number, f'{SOURCE} VERSION AS OF {version}')}")
    return time.perf_counter() - began


def make(spark: SparkSession, side: str) -> None:
    """Makes the table and the views."""
    spark.sql(f"CREATE TABLE {SOURCE} USING delta AS SELECT id % {GROUPS} AS k, id AS x, 0 AS b FROM range({ROWS})")
    managed = MANAGED.get(side)
    for number in range(VIEWS):
        kind = f"MATERIALIZED VIEW v{number} USING delta TBLPROPERTIES ({managed})" if managed else f"TABLE v{number}"
        spark.sql(f"CREATE {kind} {'' if managed else 'USING delta'} AS {query(number)}")


def play(spark: SparkSession, side: str, first: int, times: Sequence[float], seconds: float) -> dict[str, Any]:
    """Appends at some times, in seconds from the start, and waits until every view has all of them.

    Args:
        first: the number of the first append, which is the version of the table that it makes, too.

    Returns:
        When it began and ended (ms), and the states of all views that were there in between: time (ms) and version.
        Of views that Headwater keeps, its journal has them.
    """
    bare = OneByOne(spark) if side not in MANAGED else None
    began, began_at = time.perf_counter(), _now()
    for number, at in enumerate(times, first):
        time.sleep(max(0.0, began + at - time.perf_counter()))
        rows = f"SELECT id % {GROUPS} AS k, id AS x, {number} AS b FROM range({APPENDED})"
        spark.sql(f"INSERT INTO {SOURCE} {rows}")
        if bare is not None:
            bare.appended(number)
    time.sleep(max(0.0, began + seconds - time.perf_counter()))
    ended = _now()
    if bare is None:
        spark.sql("REFRESH MATERIALIZED VIEWS").collect()
    else:
        bare.drain()
    return {"began": began_at, "ended": ended, "states": [] if bare is None else bare.states}


def places(spark: SparkSession) -> dict[str, str]:
    """Where each table lies."""
    names = [SOURCE, *(f"v{number}" for number in range(VIEWS))]
    found = {name: spark.sql(f"DESCRIBE DETAIL {name}").first().location for name in names}
    return {name: place.removeprefix("file:") for name, place in found.items()}


def calls() -> dict[str, Callable[..., Any]]:
    """The functions that the benchmark calls by name."""
    return {"make": make, "play": play, "places": places, "refresh_all": refresh_all}


def _now() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    serve(calls())
