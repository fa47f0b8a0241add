"""A reader of the soak test: a program without Headwater, which checks every view that it reads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.parts.soaking.checks import Checks
from benchmarks.parts.soaking.world import VIEWS, View
from benchmarks.parts.worker import serve


def violations(spark: SparkSession, view: View, checks: Checks) -> list[str]:
    """What is wrong with a view as it is read in a session that has cached nothing."""
    try:
        rows = spark.newSession().sql(f"SELECT * FROM {view.key}").collect()
    except Exception as error:  # whatever it is, a reader gets no rows
        return [f"{view.name}: cannot be read: {str(error)[:1000]}"]
    return [f"{view.name}: {each}" for each in checks.violations(view, rows)]


class Reader:
    """Reads one view after the other until it is stopped."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark, self._stop = spark, threading.Event()
        self._checks = Checks(Path(folder))
        self.reads, self.violations = 0, []
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def stop(self) -> dict[str, Any]:
        self._stop.set()
        self._thread.join()
        return {"reads": self.reads, "violations": self.violations}

    def _work(self) -> None:
        while not self._stop.is_set():
            for view in VIEWS:
                self.violations += violations(self._spark, view, self._checks)
                self.reads += 1


def differences(spark: SparkSession) -> dict[str, int]:
    """How many rows of each view differ from those of its query, by multiplicity."""
    found = {}
    for view in VIEWS:
        session = spark.newSession()
        made, asked = session.table(view.key), session.sql(view.query)
        made = made.select(*asked.columns)
        found[view.name] = made.exceptAll(asked).count() + asked.exceptAll(made).count()
    return found


def calls() -> dict[str, Callable[..., Any]]:
    """The functions that the soak test calls by name."""
    made: list[Reader] = []
    return {
        "start": lambda spark, folder: made.append(Reader(spark, folder)),
        "stop": lambda spark: made[0].stop(),
        "differences": differences,
    }


if __name__ == "__main__":
    serve(calls())
