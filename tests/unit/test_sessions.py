"""Which session a run and everything else acts in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve
from cases import view

from headwater.spark.jvm.sessions import FIXED, LOG_TASKS, PARSER, Sessions

V = evolve(view("v", "", "t"), database="shop", settings=(("spark.sql.ansi.enabled", "false"), ("spark.app.name", "x")))


class Session:
    """A session of Spark, for what it is asked when it is made. The application ``has`` this in each setting, but for
    the number of tasks for a log, and eight cores."""

    def __init__(self, has: str = "true") -> None:
        self.sparkContext = SimpleNamespace(defaultParallelism=8)
        self.has, self.set, self.at, self._jsparkSession = has, {}, [], "me"
        access = SimpleNamespace(Access=SimpleNamespace(activate=self.at.append))
        spark = SimpleNamespace(sql=SimpleNamespace(headwater=access))
        self._jvm = SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(spark=spark)))
        self.conf = SimpleNamespace(set=self.set.__setitem__, get=self.get)
        self.catalog = SimpleNamespace(setCurrentCatalog=self.at.append, setCurrentDatabase=self.at.append)

    def newSession(self) -> Session:
        return Session(self.has)

    def get(self, name: str, *default: str | None) -> str | None:
        return self.set.get(name, *default) if default else self.set.get(name, self.has)


ALL = {**FIXED, LOG_TASKS: "8"}
"""The settings of every session."""


@pytest.fixture
def sessions() -> Any:
    return Sessions(Session())


def test_a_session_means_what_the_view_was_declared_in(sessions):
    found = sessions.of(V)
    assert found.set == {"spark.sql.ansi.enabled": "false", **ALL} and found.at[-1] == "`shop`"
    assert sessions.of(evolve(V, view="w")) is found
    assert sessions.of(evolve(V, settings=())) is not found
    assert sessions.fresh(V) is not found


def test_statements_about_a_table_are_read_alike_everywhere(sessions):
    escaped = "spark.sql.parser.escapedStringLiterals"
    found = sessions.of_table((*V.settings, (escaped, "true")))
    assert found.set == {"spark.sql.ansi.enabled": "false", **PARSER, **ALL} and found.at == [
        "me",  # active, before it is asked for a catalog
        "spark_catalog",
        "`default`",
    ]
    assert sessions.of_table(V.settings) is found
    assert sessions.of_table().set == {**PARSER, **ALL}


def test_a_setting_that_the_application_has_is_not_set_again():
    """Some are deprecated, and Spark warns of each that is set."""
    session: Any = Sessions(Session("false")).of_table()
    assert session.set == ALL


def test_what_a_run_found_in_the_catalog_no_other_thread_reads(sessions):
    mine = sessions.of_run(V)
    assert sessions.of_run(V) is mine and sessions.of(V) is not mine
    with ThreadPoolExecutor(1) as other:
        theirs = other.submit(sessions.of_run, V).result()
        assert theirs is not mine and other.submit(sessions.of_run, V).result() is theirs
