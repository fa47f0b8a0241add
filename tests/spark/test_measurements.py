"""The benchmarks on Spark, on their smallest input.

Most share the Spark application of the tests: a worker here runs its statements in a session of that one.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support import SHORT

from benchmarks.__main__ import main, suite
from benchmarks.parts import worker
from benchmarks.parts.results import Result

SHORT_ONES = ("refresh cutoff",)
HERE = (
    "adler20 batches",
    "adler20 moves",
    "adler20 state",
    "changes groups",
    "changes windows",
    "choices pairs",
    "groups agreement",
    "groups lag",
    "groups load",
    "groups reads",
    "looks named",
    "looks noticing",
    "memory workloads",
    "methods growth",
    "methods terms",
    "methods tpch",
    "overhead merges",
    "overhead starts",
    "overhead streams",
    "overhead writes",
    "queries explained",
    "queries tpch",
    "refresh key",
    "refresh month",
    "refresh partitions",
    "refresh row",
    "staleness load",
)
"""Cases that measure in workers."""
APART = (
    "changes phases",
    "refresh fixed",
    "rivals models",
    "rivals pipelines",
    "versions fixed",
    "versions overhead",
    "versions row",
)
"""Cases in applications of their own."""


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
def here(application, monkeypatch) -> Iterator[None]:
    Here.application, Here.databases = application, []
    for name in {each.partition(" ")[0] for each in (*SHORT_ONES, *HERE)}:
        suite(name)
    for module in [each for name, each in sys.modules.items() if name.startswith("benchmarks.")]:
        monkeypatch.setattr(module, "Worker", Here, raising=False)
    before = {row[0] for row in application.sql("SHOW DATABASES").collect()}
    yield
    for name in {row[0] for row in application.sql("SHOW DATABASES").collect()} - before:
        application.sql(f"DROP DATABASE {name} CASCADE")


def measured(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    main([*name.split(), "--smoke", "--json", str(tmp_path)])
    file = tmp_path / f"{name.replace(' ', '-')}.json"
    figures = Result.read(file).figures
    assert figures and file.with_suffix(".details.json").exists()
    wrong = [each for each in figures if "differ" in each.name and not each.met]
    assert not wrong


@pytest.mark.thorough
@pytest.mark.parametrize("name", [*SHORT_ONES, *(pytest.param(each, marks=pytest.mark.long) for each in HERE)])
def test_a_case_measures(name, here, tmp_path, monkeypatch) -> None:
    measured(name, tmp_path, monkeypatch)


@pytest.mark.long
@pytest.mark.timeout(900)  # some sides of a comparison start an application for each round
@pytest.mark.parametrize("name", APART)
def test_a_case_measures_in_applications_of_its_own(name, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("JDK_JAVA_OPTIONS", SHORT)
    measured(name, tmp_path, monkeypatch)
