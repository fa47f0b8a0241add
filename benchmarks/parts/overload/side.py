"""One side of the benchmark, in a Spark application of its own: its tables, its writers, and its scheduler."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.parts.overload.schedulers import Cycles, FirstCome
from benchmarks.parts.overload.warehouse import APPENDED, GROUPS, ROWS, View, levels, sources, warehouse
from benchmarks.parts.worker import serve

TRACKS = 4
"""Refreshes at a time where the scheduler does not say; Headwater's default, too."""
PASSES = 3
"""Passes over all tables that measure the capacity; the first one warms up."""


class Side:
    """The tables of one application. Column ``b`` of a source is the number of the append.

    Args:
        counts: how many views each level has.
    """

    def __init__(self, spark: SparkSession, headwater: bool, counts: Sequence[int]) -> None:
        self._spark, self._views = spark, warehouse(counts)
        self._appended = dict.fromkeys(sources(self._views), 0)
        for source in self._appended:
            spark.sql(
                f"CREATE TABLE {source} USING delta AS SELECT id % {GROUPS} AS k, id AS x, 0 AS b FROM range({ROWS})"
            )
        for each in self._views:
            asked = f"TBLPROPERTIES ('headwater.priority' = '{each.priority}')" if headwater else ""
            kind = "MATERIALIZED VIEW" if headwater else "TABLE"
            spark.sql(f"CREATE {kind} {each.name} USING delta {asked} AS {each.query}")

    def pass_seconds(self) -> float:
        """Seconds of an append to each source and a refresh of each view, as many at a time as there are tracks."""
        began = 0.0
        for _ in range(PASSES):
            began = time.perf_counter()
            with ThreadPoolExecutor(TRACKS) as pool:
                list(pool.map(self._append, self._appended))
                for level in levels(self._views):
                    list(pool.map(self._refresh, level))
        return time.perf_counter() - began

    def play(self, scheduler: str, appends: Mapping[str, Sequence[float]], seconds: float) -> dict[str, Any]:
        """Appends at their times and refreshes meanwhile; then waits until every view is renewed.

        Returns:
            When the load began and ended (ms), how late the latest append was (s), how many came, the seconds until
            all was renewed, and the refreshes that failed.
        """
        schedules: dict[str, Callable[[], Any]] = {
            "first come": lambda: FirstCome(self._views, self._refresh, TRACKS),
            "two threads": lambda: Cycles(self._views, self._refresh, 2),
            "four threads": lambda: Cycles(self._views, self._refresh, 4),
        }
        schedule = schedules[scheduler]() if scheduler in schedules else None
        began, began_at, late = time.perf_counter(), time.time_ns() // 1_000_000, [0.0]

        def write(source: str, times: Sequence[float]) -> None:
            for at in times:
                time.sleep(max(0.0, began + at - time.perf_counter()))
                late.append(time.perf_counter() - began - at)
                self._append(source)
                if schedule is not None:
                    schedule.appended(source)

        writers = [threading.Thread(target=write, args=each) for each in appends.items()]
        for each in writers:
            each.start()
        for each in writers:
            each.join()
        time.sleep(max(0.0, began + seconds - time.perf_counter()))
        ended = time.time_ns() // 1_000_000
        if schedule is None:
            self._spark.sql("REFRESH MATERIALIZED VIEWS").collect()
        else:
            schedule.drain()
        return {
            "began": began_at,
            "ended": ended,
            "late": max(late),
            "appends": len(late) - 1,
            "drained": time.time_ns() / 1e9 - ended / 1000,
            "failures": [] if schedule is None else schedule.failures,
        }

    def differing(self) -> list[str]:
        """The views that differ from their queries."""
        return [each.name for each in self._views if not self._equal(each)]

    def places(self) -> dict[str, str]:
        """Where each table lies."""
        names = [*self._appended, *(each.name for each in self._views)]
        found = {name: self._spark.sql(f"DESCRIBE DETAIL {name}").first().location for name in names}
        return {name: place.removeprefix("file:") for name, place in found.items()}

    def _append(self, source: str) -> None:
        number = self._appended[source] = self._appended[source] + 1
        rows = f"SELECT id % {GROUPS} AS k, id AS x, {number} AS b FROM range({APPENDED})"
        self._spark.sql(f"INSERT INTO {source} {rows}")

    def _refresh(self, view: View) -> None:
        self._spark.sql(f"INSERT OVERWRITE {view.name} {view.query}")

    def _equal(self, view: View) -> bool:
        truth, held = self._spark.sql(view.query), self._spark.sql(f"SELECT * FROM {view.name}")
        return truth.exceptAll(held).isEmpty() and held.exceptAll(truth).isEmpty()


def calls() -> dict[str, Callable[..., Any]]:
    """The functions that the benchmark calls by name."""
    sides: dict[int, Side] = {}

    def make(spark: SparkSession, headwater: bool, counts: Sequence[int]) -> None:
        sides[id(spark)] = Side(spark, headwater, counts)

    def of(name: str) -> Callable[..., Any]:
        return lambda spark, *arguments: getattr(sides[id(spark)], name)(*arguments)

    return {"make": make, **{name: of(name) for name in ("pass_seconds", "play", "differing", "places")}}


if __name__ == "__main__":
    serve(calls())
