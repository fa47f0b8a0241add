"""Ways to refresh a workload in full, in one Spark application, so that they can take turns.

All overwrite Parquet tables of one catalog on the same storage, and read what was written before from there, unless
they keep it in memory:

- ``sequential``: one view after the other, in topological order;
- ``2 threads``, ``4 threads``: a view starts when what it reads is written, as dbt does;
- ``cache``: sequential; every result is cached, and what was used longest ago is dropped when memory is full;
- ``greedy``: in topological order, each result is kept in Spark's memory if it fits beside those before, written in
  the background, and dropped when its last reader is done and it is written;
- ``li23``: the same with order and results as [Li23] §V plans them, from sizes and times that are measured first;
- ``headwater``: the views are Headwater's.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from benchmarks.parts.baselines import greedy
from benchmarks.parts.peaks import stored, watched
from benchmarks.parts.worker import serve
from benchmarks.parts.workload import BASE, View, sources, workload
from headwater.memory.planning.joint import alternate
from headwater.memory.planning.plan import Plan
from headwater.memory.planning.problem import Problem, Read, Task

METHODS = ("sequential", "2 threads", "4 threads", "cache", "greedy", "li23", "headwater")
SPEED_ROWS, SPEED_BYTES = 400, 100_000
"""The rows by which storage is measured, and the bytes of each."""
PROPERTIES = {"fill": "later", "cutoff": "off"}
"""Of Headwater's views: every one is refreshed, also when what it reads turned out as it was."""


class Refreshing:
    """One workload. Headwater's views are in the user's session; every other method has a session and a database of its
    own, with tables of the same names."""

    def __init__(
        self,
        spark: SparkSession,
        name: str,
        tables: str,
        memory: int,
        volume: str,
        methods: Sequence[str],
        views: int | None,
    ) -> None:
        self._user, self._views = spark, workload(name)[:views]
        self._memory, self._volume = memory, Path(volume)
        self._tables, self._changes = Path(tables.partition(":")[2]), 0
        self._plans: dict[str, Plan] = {}
        spark.sql(f"CREATE DATABASE {BASE}")
        for table in sources(self._views):
            spark.sql(f"CREATE TABLE {BASE}.{table} USING parquet LOCATION '{tables}/{table}'")
            types = spark.table(f"{BASE}.{table}").dtypes
            row = ", ".join(f"CAST(NULL AS {kind}) AS {column}" for column, kind in types)
            spark.sql(f"SELECT {row}").coalesce(1).write.parquet(f"file:{self._tables}/{table}.nulls")
        for view in self._views:
            spark.sql(view.statement(**PROPERTIES))
        spark.sql("REFRESH MATERIALIZED VIEWS").collect()
        others = [method for method in methods if method != "headwater"]
        planned = {"li23", "measured"} if {"greedy", "li23"} & set(others) else set()
        self._sessions = {method: self._session(method) for method in sorted({*others, *planned})}

    def change(self) -> None:
        """Adds a file with a row of nulls, which joins nothing, to every table: all views are to be refreshed. It is
        added past Spark, so that Headwater learns of it when its turn comes, and does not begin before."""
        self._changes += 1
        for table in sources(self._views):
            place = self._tables / table
            nulls = next((self._tables / f"{table}.nulls").glob("*.parquet"))
            shutil.copyfile(nulls, place / f"added-{self._changes}.parquet")
            for session in self._sessions.values():
                session.catalog.refreshTable(f"{BASE}.{table}")

    def refresh(self, method: str) -> dict[str, Any]:
        """Seconds that it took, and the most bytes that were in memory at any moment, resident and kept."""
        with watched(self._user, self._volume) as peak:
            began = time.perf_counter()
            self._way(method)()
            seconds = time.perf_counter() - began
        return {"seconds": seconds, **peak}

    def measure(self) -> dict[str, Any]:
        """Sizes and times for the plans of [Li23], and what follows: which results ``greedy`` and ``li23`` keep."""
        saved: dict[str, int] = {}
        tasks = [self._measured(view, saved) for view in self._views]
        problem = Problem(tuple(tasks), self._memory)
        order = tuple(range(len(tasks)))
        self._plans = {"greedy": Plan(problem, order, greedy(problem, order), "greedy"), "li23": alternate(problem)}
        kept = {name: [tasks[task].name for task in sorted(plan.flagged)] for name, plan in self._plans.items()}
        return {"sizes": {task.name: task.size for task in tasks}, "kept": kept}

    def sums(self, method: str) -> dict[str, list[str]]:
        """Rows of each view and the sum of their hashes, as the last refresh by a method left it."""
        found = {}
        for view in self._views:
            frame = self._user.table(view.name if method == "headwater" else _table(method, view))
            row = frame.selectExpr("xxhash64(*) AS hash").selectExpr("count(*)", "sum(CAST(hash AS DECIMAL(38, 0)))")
            found[view.name] = [str(value) for value in row.collect()[0]]
        return found

    # --- inside

    def _way(self, method: str) -> Callable[[], object]:
        match method:
            case "headwater":
                return lambda: self._user.sql("REFRESH MATERIALIZED VIEWS").collect()
            case "sequential":
                return partial(self._on_threads, method, 1)
            case "2 threads" | "4 threads":
                return partial(self._on_threads, method, int(method[0]))
            case "cache":
                return self._cached
            case _:
                return partial(self._planned, method)

    def _frame(self, method: str, view: View) -> DataFrame:
        return self._sessions[method].sql(view.query)

    def _session(self, method: str) -> SparkSession:
        """A session with empty tables of a method, which in it come before all others of their names."""
        session = self._user.newSession()
        session.sql(f"CREATE DATABASE {_database(method)}")
        session.sql(f"USE {_database(method)}")
        for view in self._views:
            session.sql(f"CREATE TABLE {view.name} ({self._user.table(view.name)._jdf.schema().toDDL()}) USING parquet")
        return session

    def _make(self, method: str, view: View) -> None:
        _write(self._frame(method, view), method, view)

    def _on_threads(self, method: str, threads: int) -> None:
        missing = {view.name: set(view.reads) for view in self._views}
        left, running = list(self._views), dict[Future, View]()
        with ThreadPoolExecutor(threads) as pool:
            while left or running:
                for view in [view for view in left if not missing[view.name]]:
                    left.remove(view)
                    running[pool.submit(self._make, method, view)] = view
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    made = running.pop(done)
                    done.result()
                    for names in missing.values():
                        names.discard(made.name)

    def _cached(self) -> None:
        cached: dict[str, tuple[DataFrame, int]] = {}

        def drop(name: str) -> None:
            cached.pop(name)[0].unpersist(blocking=True)
            self._sessions["cache"].catalog.dropTempView(name)

        for view in self._views:
            frame, before = self._frame("cache", view).persist(StorageLevel.MEMORY_ONLY), stored(self._user)
            _write(frame, "cache", view)
            cached[view.name] = frame, stored(self._user) - before
            frame.createOrReplaceTempView(view.name)
            for used in view.reads:
                if used in cached:
                    cached[used] = cached.pop(used)
            if cached[view.name][1] > self._memory:
                drop(view.name)
            while sum(size for _, size in cached.values()) > self._memory:
                drop(next(iter(cached)))
        for name in list(cached):
            drop(name)

    def _planned(self, method: str) -> None:
        plan = self._plans[method]
        kept: dict[str, tuple[DataFrame, Future]] = {}
        unread = {view.name: sum(view.name in other.reads for other in self._views) for view in self._views}
        with ThreadPoolExecutor(1) as background:
            for task in plan.order:
                view = self._views[task]
                if task in plan.flagged:
                    frame = self._frame(method, view).persist(StorageLevel.MEMORY_ONLY)
                    frame.count()
                    frame.createOrReplaceTempView(view.name)
                    kept[view.name] = frame, background.submit(_write, frame, method, view)
                else:
                    self._make(method, view)
                for name in view.reads:
                    unread[name] -= 1
                for name in [name for name, (_, written) in kept.items() if not unread[name] and written.done()]:
                    self._drop(method, name, *kept.pop(name))
        for name, (frame, written) in kept.items():
            self._drop(method, name, frame, written)

    def _drop(self, method: str, name: str, frame: DataFrame, written: Future) -> None:
        written.result()
        self._sessions[method].catalog.dropTempView(name)
        frame.unpersist()

    def _measured(self, view: View, saved: dict[str, int]) -> Task:
        """What a view takes, in storage and in memory; ``saved`` are the µs that reading each one from memory saves."""
        run = _timed(lambda: self._make("li23", view))
        far = self._sessions["li23"].table(_table("li23", view))
        reading = _timed(lambda: _consume(far))
        before = stored(self._user)
        near = far.persist(StorageLevel.MEMORY_ONLY)
        near.count()
        size = stored(self._user) - before
        write = _timed(lambda: _write(near, "measured", view))
        saved[view.name] = max(0, reading - _timed(lambda: _consume(near)))
        near.unpersist(blocking=True)
        return Task(view.name, size, run, tuple(Read(name, saved[name]) for name in view.reads), write, copy=write)


def speed(spark: SparkSession, place: str) -> dict[str, float]:
    """Bytes a second that Parquet files are written and read with, by two tasks side by side. Their rows cost next to
    no computing, and cannot be compressed."""
    for rows in (1, SPEED_ROWS):  # the first time classes are loaded
        frame = spark.range(0, rows, 1, 2).selectExpr(f"randstr({SPEED_BYTES}) AS noise").persist()
        frame.count()
        write = _timed(lambda frame=frame: frame.write.mode("overwrite").parquet(place))
        frame.unpersist()
        read = _timed(lambda: _consume(spark.read.parquet(place)))
    path = Path(place.partition(":")[2])
    size = sum(file.stat().st_size for file in path.glob("*.parquet"))
    shutil.rmtree(path)
    return {"write": 1e6 * size / write, "read": 1e6 * size / read}


def _database(method: str) -> str:
    return f"by_{method.replace(' ', '_')}"


def _table(method: str, view: View) -> str:
    return f"{_database(method)}.{view.name}"


def _write(frame: DataFrame, method: str, view: View) -> None:
    frame.write.insertInto(_table(method, view), overwrite=True)


def _consume(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _timed(work: Callable[[], object]) -> int:
    """µs."""
    began = time.perf_counter()
    work()
    return round(1e6 * (time.perf_counter() - began))


def calls() -> dict[str, Callable[..., Any]]:
    """The functions that the benchmark calls by name."""
    prepared: list[Refreshing] = []
    return {
        "speed": speed,
        "prepare": lambda spark, *arguments: prepared.append(Refreshing(spark, *arguments)),
        "change": lambda spark: prepared[0].change(),
        "refresh": lambda spark, method: prepared[0].refresh(method),
        "measure": lambda spark: prepared[0].measure(),
        "sums": lambda spark, method: prepared[0].sums(method),
    }


if __name__ == "__main__":
    serve(calls())
