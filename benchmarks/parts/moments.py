"""Reads at epochs, in one Spark application: what they cost, and whether the views in them agree."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.parts import worker

READ = "spark.headwater.read"
WAYS = ("latest", "consistent")


def cost(spark: SparkSession, query: str, warm: int, rounds: int) -> dict[str, list[float]]:
    """Seconds of a query by each way to read, which take turns."""
    taken: dict[str, list[float]] = {way: [] for way in WAYS}
    for turn in range(warm + rounds):
        for way in WAYS if turn % 2 else reversed(WAYS):
            spark.conf.set(READ, way)
            began = time.perf_counter()
            spark.sql(query).collect()
            taken[way] += [time.perf_counter() - began] if turn >= warm else []
    return taken


def agree(spark: SparkSession, write: str, query: str, reads: int, every: float) -> dict[str, list[Any]]:
    """Reads two numbers that are equal in each state, by each way in turn, while another session writes every so many
    seconds. The pairs that were read, and the seconds of the reads."""
    done, own = threading.Event(), spark.newSession()
    own.sql(f"USE {spark.catalog.currentDatabase()}")

    def writing() -> None:
        number = 0
        while not done.wait(every):
            number += 1
            own.sql(write.format(number=number)).collect()

    writer = threading.Thread(target=writing)
    writer.start()
    found: dict[str, list[Any]] = {way: [] for way in WAYS}
    try:
        for turn in range(reads):
            way = WAYS[turn % 2]
            spark.conf.set(READ, way)
            [row] = spark.sql(query).collect()
            found[way].append(list(row))
    finally:
        done.set()
        writer.join()
    return found


def calls() -> dict[str, Callable[..., Any]]:
    """The functions that the benchmark calls by name."""
    return {**worker.calls(), "cost": cost, "agree": agree}


if __name__ == "__main__":
    worker.serve(calls())
