"""One application of `groups load`: two groups of four views, two writers, three readers, and an engine that is killed.

The four views of a group count the rows of one table in different ways. So at each epoch they say the same number.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from benchmarks.parts import worker
from benchmarks.parts.processes import running_engine

TABLES = ("s", "t")
READERS = 3
EVERY = 1.5
"""Seconds between two writes of a table."""
KILLS = (15.0, 30.0)
"""Seconds between two kills of the engine."""
SLOW = "(SELECT sum(pmod(xxhash64(id), 7)) FROM range(0, 10000000, 1, 1)) >= 0"
SOURCES = 0.3
"""The part of the reads that count the rows of the table, too."""


def make(spark: SparkSession, using: str, table_using: str) -> None:
    """Makes the tables and the views in the database of the session."""
    for table in TABLES:
        spark.sql(f"CREATE TABLE {table} (id INT, k INT) USING {table_using}")
        spark.sql(f"INSERT INTO {table} VALUES (0, 0)")
        views = {
            "rows": f"SELECT count(*) AS n FROM {table}",
            "slow": f"SELECT count(*) AS n FROM {table} WHERE {SLOW}",
            "parts": f"SELECT count(*) AS n, k FROM {table} GROUP BY k",
            "each": f"SELECT 1 AS n, id FROM {table}",
        }
        for name, query in views.items():
            by = "PARTITIONED BY (k)" if name == "parts" else ""
            spark.sql(
                f"CREATE MATERIALIZED VIEW {name}_of_{table} USING {using} {by} "
                f"TBLPROPERTIES ('headwater.group' = 'group_of_{table}') AS {query}"
            )


def play(spark: SparkSession, reads: int) -> dict[str, Any]:
    """Reads both groups so often, while programs write and engines end. What was read, and the statements that failed
    as an engine ended."""
    here = f"{spark.catalog.currentCatalog()}.{spark.catalog.currentDatabase()}"
    done, lock, found = threading.Event(), threading.Lock(), list[list[int]]()
    failed = {"reads": list[str](), "writes": list[str]()}
    kills = 0

    def session() -> SparkSession:
        own = spark.newSession()
        own.sql(f"USE {here}")
        return own

    def writing(table: str) -> None:
        own, number = session(), 0
        while not done.wait(EVERY):
            number += 1
            write = f"DELETE FROM {table} WHERE id = {number - 2}" if number % 4 == 0 else _insert(table, number)
            try:
                own.sql(write).collect()
            except PySparkException as error:
                failed["writes"].append(str(error)[:300])

    def reading(seed: int) -> None:
        own, chance = session(), random.Random(seed)
        while len(found) < reads:
            table = chance.choice(TABLES)
            sources = chance.random() < SOURCES
            own.conf.set("spark.headwater.read", "consistent, with sources" if sources else "consistent")
            parts = [f"SELECT sum(n) AS n FROM {name}_of_{table}" for name in ("rows", "slow", "parts", "each")]
            parts += [f"SELECT count(*) AS n FROM {table}"] if sources else []
            try:
                numbers = [row.n for row in own.sql(" UNION ALL ".join(parts)).collect()]
            except PySparkException as error:
                failed["reads"].append(str(error)[:300])
                continue
            with lock:
                found.append(numbers)

    def killing() -> None:
        nonlocal kills
        chance = random.Random(0)
        while not done.wait(chance.uniform(*KILLS)):
            if (engine := running_engine(os.getpid())) is not None:
                os.kill(engine, signal.SIGKILL)
                kills += 1

    readers = [threading.Thread(target=reading, args=(seed,)) for seed in range(READERS)]
    others = [threading.Thread(target=writing, args=(table,)) for table in TABLES] + [threading.Thread(target=killing)]
    began = time.perf_counter()
    for each in (*others, *readers):
        each.start()
    for each in readers:
        each.join()
    done.set()
    for each in others:
        each.join()
    return {"found": found, "failed": failed, "kills": kills, "seconds": time.perf_counter() - began}


def _insert(table: str, number: int) -> str:
    return f"INSERT INTO {table} VALUES ({number}, {number % 3})"


def calls() -> dict[str, Callable[..., Any]]:
    """The functions that the benchmark calls by name."""
    return {**worker.calls(), "make": make, "play": play}


if __name__ == "__main__":
    worker.serve(calls())
