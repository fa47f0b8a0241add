"""The benchmarks on Spark, on their smallest input.

Most share the Spark application of the tests: a worker here runs its statements in a session of that one.
"""

from __future__ import annotations

import itertools
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support import SHORT

from benchmarks.parts import worker

HERE = {
    "choices": {"rows", "pairs", "refreshes"},
    "cutoff": {"rows", "copied", "aggregated"},
    "formats": {"rows", "refresh", "merge"},
    "growth": {"rows", "found"},
    "incremental": {"scale", "found"},
    "noticing": {"files", "looks"},
    "one_key": {"rows", "seconds"},
    "one_row": {"rows", "seconds"},
    "overhead": {"writes", "delays", "starts"},
    "partitions": {"finding", "refreshing"},
    "queries": {"scale", "rounds", "found"},
    "refresh": {"rows"},
    "staleness": {"seconds", "capacity", "found"},
    "streams": {"batches", "found"},
    "terms": {"scale", "together", "apart"},
}
"""Benchmarks that measure in workers, and their figures."""
APART = {
    "fixed": {"rows", "bare", "refresh", "statement", "ratio", "calls"},
    "pipelines": {"rows"},
    "rivals": {"rows", "found"},
}
"""Benchmarks in applications of their own, and their figures."""


class Here:
    """Stands for ``harness.Worker``, in the application of the tests; what is made has a database of its own."""

    application: SparkSession
    databases: list[str]
    numbers = itertools.count()

    def __init__(self, home: Path, conf: dict[str, str], module: str = "benchmarks.parts.worker") -> None:
        self._session = self.application.newSession()
        database = f"benchmark_{next(self.numbers)}"
        self.databases.append(database)
        self._session.sql(f"CREATE DATABASE {database}")
        self._session.sql(f"USE {database}")
        self._calls = import_module(module).calls()

    def run(self, *statements: str) -> list[float]:
        return worker.run(self._session, statements)

    def rows(self, statement: str) -> list[list[Any]]:
        return worker.rows(self._session, statement)

    def call(self, function: str, *arguments: Any) -> Any:
        return self._calls[function](self._session, *arguments)

    def close(self) -> None:
        pass


@pytest.fixture
def here(application, monkeypatch) -> type[Here]:
    Here.application, Here.databases = application, []
    for name in HERE:
        monkeypatch.setattr(import_module(f"benchmarks.{name}"), "Worker", Here, raising=False)
    before = {row[0] for row in application.sql("SHOW DATABASES").collect()}
    yield Here
    for name in {row[0] for row in application.sql("SHOW DATABASES").collect()} - before:
        application.sql(f"DROP DATABASE {name} CASCADE")


def report(name: str, tmp_path, monkeypatch) -> dict[str, Any]:
    module, file = import_module(f"benchmarks.{name}"), tmp_path / "figures.json"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "argv", [name, "--smoke", "--json", str(file)])
    module.main(module.run, module.PARSER) if hasattr(module, "run") else module.main()
    return json.loads(file.read_text())


SHORT_ONES = ("cutoff",)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", [*SHORT_ONES, *(pytest.param(each, marks=pytest.mark.long) for each in sorted(HERE.keys() - {*SHORT_ONES}))]
)
def test_a_benchmark_measures(name, here, tmp_path, monkeypatch) -> None:
    found = report(name, tmp_path, monkeypatch)
    assert found.keys() == {"machine", "size", "goals"} | HERE[name]


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(APART))
def test_a_benchmark_measures_in_applications_of_its_own(name, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("JDK_JAVA_OPTIONS", SHORT)
    found = report(name, tmp_path, monkeypatch)
    assert found.keys() == {"machine", "size", "goals"} | APART[name]
