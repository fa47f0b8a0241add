"""The Spark process of the bare tables of TPC-DI: it also computes tables anew in several threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from benchmarks.parts import worker


def on_threads(spark, statements: Mapping[str, str], reads: Mapping[str, Sequence[str]], threads: int) -> float:
    """Seconds of all statements. One starts when those of all tables that it reads have ended.

    Args:
        statements: those that compute each table.
        reads: for each table, the others that its statement reads.
    """
    began, waiting, done = time.perf_counter(), list(statements), set()
    running: dict[Future, str] = {}
    with ThreadPoolExecutor(threads) as pool:
        while waiting or running:
            for name in [name for name in waiting if done.issuperset(reads[name])]:
                waiting.remove(name)
                running[pool.submit(lambda text: spark.sql(text).collect(), statements[name])] = name
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                future.result()
                done.add(running.pop(future))
    return time.perf_counter() - began


def calls() -> dict[str, Callable[..., Any]]:
    return {**worker.calls(), "on_threads": on_threads}


if __name__ == "__main__":
    worker.serve(calls())
