"""An engine is killed at each step of a publication, in each format: readers see whole states, and nothing is left.

See crashing.py for the steps.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import crashing
import pytest
from crashing import (
    AFTER_CLEANING,
    AFTER_COMMIT,
    AFTER_FILES,
    AFTER_SWAP,
    ALL_AT_ONCE,
    BEFORE_CLEANING,
    BEFORE_COMMIT,
    BEFORE_FILES,
    BEFORE_SWAP,
)
from processes import Home, Session, is_alive, until
from test_missing_formats import settings

from headwater.demo.session import SparkSqlError
from headwater.model.event import Published

pytestmark = pytest.mark.long

VIEWS = {"parquet": "in_files", "delta": "in_delta", "iceberg": "lake.db.in_iceberg"}
PUBLICATION = (BEFORE_FILES, AFTER_FILES, BEFORE_COMMIT, AFTER_COMMIT)
SWAP = (BEFORE_SWAP, AFTER_SWAP)
"""The further steps of a publication of files with other columns: another table takes the view's name."""

RESHAPING = [*((each, step) for each in VIEWS for step in PUBLICATION[2:]), *(("parquet", each) for each in SWAP)]

numbers = count(1)


class Shop:
    """A session, a table ``sales`` and a view of it in each format; its engines die when they are told to."""

    def __init__(self, home: Home, session: Session) -> None:
        self.home, self.session, self._order = home, session, home.folder / "crash"
        self.columns = dict.fromkeys(VIEWS, "count(*) AS n, sum(x) AS s")

    def query(self, format: str) -> str:
        return f"SELECT {self.columns[format]}, day FROM sales GROUP BY day"

    def define(self, format: str) -> None:
        self.session.run(
            f"CREATE OR REPLACE MATERIALIZED VIEW {VIEWS[format]} USING {format} PARTITIONED BY (day) "
            f"TBLPROPERTIES ('headwater.retain' = '1 second') AS {self.query(format)}"
        )

    def appended(self) -> str:
        """A view to which rows are added, and a table of their sources."""
        self.session.run("CREATE TABLE IF NOT EXISTS events (x INT) USING delta")
        self.session.run(
            "CREATE MATERIALIZED VIEW IF NOT EXISTS copied USING delta "
            "TBLPROPERTIES ('headwater.method' = 'incremental, full') AS SELECT x + 1 AS y FROM events"
        )
        return "copied"

    def rows(self, format: str) -> list[list[str]]:
        """What a reader sees."""
        return self.session.run(f"SELECT * FROM {VIEWS[format]} ORDER BY day")

    def asked(self, format: str) -> list[list[str]]:
        return self.session.run(f"{self.query(format)} ORDER BY day")

    def write(self) -> None:
        """Changes one day of four, and empties another one now and then."""
        number = next(numbers)
        self.session.run(f"INSERT INTO sales VALUES ({number}, 'd{number % 4}')")

    def order(self, told: str) -> int:
        """Tells the engine when to die; the engine."""
        engine = self.session.await_engine()
        self._order.write_text(told)
        return engine

    def await_death(self, engine: int) -> None:
        until(lambda: not is_alive(engine), "death of the engine", 60)
        assert not self._order.exists()

    def recover(self) -> None:
        """Another engine brings all views up to date."""
        self.session.run("REFRESH MATERIALIZED VIEWS")
        assert {row[2] for row in self.session.run("SHOW MATERIALIZED VIEWS")} == {"fresh"}
        for format in VIEWS:
            assert self.rows(format) == self.asked(format)

    def versions(self, format: str) -> list[int]:
        """The version of each publication: by the table's own history, or by the journal's."""
        match format:
            case "delta":
                history = "\n".join(" ".join(row) for row in self.session.run(f"DESCRIBE HISTORY {VIEWS[format]}"))
                return [int(each) for each in re.findall(r'{"headwater": {"version": (\d+)', history)]
            case "iceberg":
                told = self.session.run(f"SELECT summary['headwater.version'] FROM {VIEWS[format]}.snapshots")
                return [int(row[0]) for row in told]
        published = (each for each in self.home.events() if isinstance(each, Published))
        return [each.version for each in published if each.view == f"default.{VIEWS[format]}"]

    def unnamed(self, format: str) -> set[str]:
        """The data files of a view that its table does not name."""
        view, place = VIEWS[format], self.home.warehouse / VIEWS[format]
        paths = f"_metadata.file_path FROM {view}"
        if format == "iceberg":
            paths, place = f"file_path FROM {view}.files", self.home.folder / "lake/db/in_iceberg"
        named = {Path(path).name for [path] in self.session.run(f"SELECT DISTINCT {paths}")}
        return {each.name for each in place.rglob("*.parquet") if "_delta_log" not in each.parts} - named


@pytest.fixture(scope="module")
def shop(tmp_path_factory) -> Iterator[Shop]:
    home = Home(tmp_path_factory.mktemp("crashes"))
    python = home.folder / "python"
    command = shlex.join([sys.executable, str(Path(crashing.__file__))])
    order = shlex.quote(str(home.folder / "crash"))
    python.write_text(f'#!/bin/sh\nHEADWATER_CRASH={order} exec {command} "$@"\n')
    python.chmod(0o755)
    own = {"spark.headwater.python": str(python), "spark.headwater.check.interval": "2"}
    own["spark.sql.sources.parallelPartitionDiscovery.parallelism"] = "2"
    with home.session({**settings(home.folder), **own}) as session:
        session.run("CREATE NAMESPACE lake.db")
        session.run("CREATE TABLE sales (x INT, day STRING) USING parquet PARTITIONED BY (day)")
        session.run("INSERT INTO sales VALUES (1, 'd0'), (2, 'd1'), (3, 'd2'), (4, 'd3')")
        shop = Shop(home, session)
        for format in VIEWS:
            shop.define(format)
        yield shop


def test_each_step_has_a_test() -> None:
    cleaning = (BEFORE_CLEANING, AFTER_CLEANING)
    for format in VIEWS:
        swap = SWAP if format == "parquet" else ()
        assert crashing.steps(format) == sorted((*PUBLICATION, *swap, *cleaning))


@pytest.mark.parametrize("step", PUBLICATION)
@pytest.mark.parametrize("format", VIEWS)
def test_an_engine_dies_while_it_publishes(shop: Shop, format: str, step: str) -> None:
    shop.recover()
    before = shop.rows(format)
    engine = shop.order(f"{format} {step}")
    shop.write()
    shop.await_death(engine)
    assert before != shop.asked(format)
    assert shop.rows(format) == (shop.asked(format) if step == AFTER_COMMIT else before)
    shop.recover()
    assert set(Counter(shop.versions(format)).values()) == {1}


@pytest.mark.parametrize("step", PUBLICATION)
def test_an_engine_dies_while_it_adds_rows(shop: Shop, step: str) -> None:
    """The next engine adds none of them twice."""
    view = shop.appended()
    shop.recover()
    engine = shop.order(f"delta {step}")
    shop.session.run(f"INSERT INTO events VALUES ({next(numbers)}), (7)")
    shop.await_death(engine)
    shop.recover()
    told = "SELECT x + 1 AS y FROM events"
    differing = f"(TABLE {view} EXCEPT ALL {told}) UNION ALL ({told} EXCEPT ALL TABLE {view})"
    assert shop.session.run(f"SELECT count(*) FROM ({differing})") == [["0"]]


@pytest.mark.parametrize(("format", "step"), RESHAPING)
def test_an_engine_dies_while_it_publishes_other_columns(shop: Shop, format: str, step: str) -> None:
    shop.recover()
    before = shop.rows(format)
    engine = shop.order(f"{format} {step}")
    shop.columns[format] = f"count(*) AS n{next(numbers)}, {next(numbers)} AS m, sum(x) AS s"
    with contextlib.suppress(SparkSqlError):  # the engine that was to answer died
        shop.define(format)
    shop.await_death(engine)
    expected = {AFTER_SWAP: shop.asked(format), AFTER_COMMIT: shop.asked(format)}
    if (format, step) != ("parquet", AFTER_COMMIT):  # its table has still to take the view's name
        assert shop.rows(format) == expected.get(step, before)
    shop.recover()
    assert set(Counter(shop.versions(format)).values()) == {1}


@pytest.mark.parametrize("step", [BEFORE_CLEANING, AFTER_CLEANING])
@pytest.mark.parametrize("format", VIEWS)
def test_an_engine_dies_while_it_cleans_up(shop: Shop, format: str, step: str) -> None:
    shop.recover()
    engine = shop.order(f"{format} {step}")
    shop.write()
    shop.await_death(engine)
    seen = shop.rows(format)
    assert {row[-1] for row in seen} == {"d0", "d1", "d2", "d3"}
    shop.recover()


def test_nothing_is_left(shop: Shop) -> None:
    """What dead engines wrote and nobody published is deleted when its retention time is over."""
    for format in VIEWS:
        shop.recover()
        engine = shop.order(f"{format} {AFTER_FILES}")
        shop.write()
        shop.await_death(engine)
        assert shop.unnamed(format), "files that no table names"
    shop.recover()
    engine = shop.order(ALL_AT_ONCE)
    os.kill(engine, signal.SIGKILL)
    until(lambda: not is_alive(engine), "end of the engine")
    shop.recover()  # the next engine reads the order as it starts
    for format in VIEWS:
        until(lambda format=format: not shop.unnamed(format), f"end of what was left in {format}", 30)
    shop.recover()
