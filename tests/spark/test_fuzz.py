"""Views of random queries equal them after random changes, whichever method follows these.

``make fuzz QUERIES=500 SEED=7`` draws so many queries. A failure shows a script for spark-sql, as short as a search
makes it.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import uuid
from collections import Counter
from pathlib import Path

import pytest
from fuzz import Queries, Relation
from fuzz_changes import Changes
from fuzz_shrinking import REFRESH, Case, shrunk, subqueries
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, database

from headwater.model.event import Published, Started
from headwater.model.work import ASKED, Mode

MIXTURES = (
    ("delta", "delta"),
    ("vectors", "delta"),
    ("iceberg", "delta"),
    ("delta", "iceberg"),
    ("parquet", "parquet"),
)
"""The formats of tables, each with that of views over them."""
METHODS = [each.value for each in reversed(ASKED) if each is not Mode.FULL]
ROUNDS = 3
ZONE = "Europe/Berlin"
TOGETHER = 20
"""So many queries read the same tables."""
PARTS = 4


class Fuzz:
    """Views of random queries over three tables of their own."""

    def __init__(self, spark: SparkSession, seed: int, source: str, format: str) -> None:
        self._spark, self._seed, self._format = spark, seed, format
        self._random = random.Random(seed)
        self._changes = Changes(seed, source, database(spark))
        self._rounds: list[tuple[str, ...]] = []
        self.views: dict[str, tuple[str, str]] = {}
        """The statement that makes each, up to its query, and the query."""
        spark.conf.set("spark.sql.session.timeZone", ZONE)
        if "iceberg" in (source, format):
            spark.sql(f"CREATE NAMESPACE IF NOT EXISTS lake.{database(spark)}")
        self._made = self._changes.made()
        for statement in self._made:
            spark.sql(statement)

    def create(self, count: int) -> None:
        """Creates views of so many queries of which changes can be followed."""
        queries, found = Queries(self._seed), 0
        for _ in range(20 * count):
            query = queries.draw()
            made = [view for method in METHODS if (view := self._created(f"v{found}_{method}", method, query))]
            if made and self._random.random() < 0.3:
                queries.offer(self._random.choice(made), query.columns)
            found += bool(made)
            if found == count:
                return

    def follow(self) -> None:
        """Changes the tables, and compares each view with its query."""
        drawn = self._changes.some()
        for statement in (*drawn, REFRESH):
            self._spark.sql(statement)
        self._rounds.append(tuple(drawn))
        for name, (_, query) in self.views.items():
            try:
                assert_equals_query(self._spark, name, query)
            except AssertionError as error:
                told = shrunk(self._case(name), self._fails).script(name)
                raise AssertionError(f"{name} differs from its query after:\n{told}\n{error}") from error

    # --- inside

    def _created(self, name: str, method: str, query: Relation) -> str:
        """The name of a view that was made; empty if the query is none, or does not allow the method. Of some, Spark
        cannot compute the rows."""
        name = f"lake.{database(self._spark)}.{name}" if self._format == "iceberg" else name
        days = [column for column, type in query.columns if type == "DATE"]
        by = (
            f"PARTITIONED BY ({self._random.choice(days)}) "
            if len(query.columns) > 1 and days and self._random.random() < 0.3
            else ""
        )
        create = (
            f"CREATE MATERIALIZED VIEW {name} USING {self._format} {by}TBLPROPERTIES ('headwater.method' = '{{}}') AS "
        )
        try:
            self._spark.sql(f"EXPLAIN {create.format(method)}{query.sql}")
            self._spark.sql(query.sql).collect()
        except PySparkException:
            return ""
        self._spark.sql(f"{create.format(f'{method}, full')}{query.sql}")
        self.views[name] = create.format(f"{method}, full"), query.sql
        return name

    def _case(self, name: str) -> Case:
        """The statements that matter for a view."""
        create, query = self.views[name]
        own, made = database(self._spark), (*self._made, *self._read_by(query))
        setup = [f"SET spark.sql.session.timeZone = {ZONE}", f"CREATE DATABASE {own}", f"USE {own}"]
        setup += [f"CREATE NAMESPACE lake.{own}"] if any("lake." in each for each in (*made, create)) else []
        return Case(made, create, query, tuple(self._rounds), tuple(setup))

    def _read_by(self, query: str) -> list[str]:
        """The statements that make the views below a query."""
        read = [(told, own) for name, (told, own) in self.views.items() if f"FROM {name})" in query]
        return list(dict.fromkeys(each for told, own in read for each in (*self._read_by(own), f"{told}{own}")))

    def _fails(self, case: Case) -> bool:
        """Whether a view differs from its query after the statements of a case, in a database of their own."""
        own, session = database(self._spark), self._spark.newSession()
        other = f"f{uuid.uuid4().hex[:8]}"
        try:
            for each in (*case.setup, *case.statements()):
                session.sql(each.replace(own, other))
            view = re.search(r"MATERIALIZED VIEW (\S+)", case.create)[1].replace(own, other)
            assert_equals_query(session, view, case.query.replace(own, other))
        except PySparkException:
            return False
        except AssertionError:
            return True
        finally:
            dropped(session, other)
        return False


def dropped(spark: SparkSession, name: str) -> None:
    """Drops a database with everything in it."""
    spark.sql("USE spark_catalog.default")
    spark.sql(f"DROP DATABASE IF EXISTS spark_catalog.{name} CASCADE")
    lake = Path(spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:")) / "lake" / name
    shutil.rmtree(lake, ignore_errors=True)


def fuzzed(spark: SparkSession, seed: int, mixture: tuple[str, str], count: int) -> None:
    """So many queries over tables of one format, in a database of their own."""
    own = f"f{uuid.uuid4().hex[:8]}"
    spark.sql(f"CREATE DATABASE {own}")
    spark.sql(f"USE {own}")
    try:
        fuzz = Fuzz(spark, seed, *mixture)
        fuzz.create(count)
        for _ in range(ROUNDS):
            fuzz.follow()
        for view in reversed(fuzz.views):
            spark.sql(f"DROP MATERIALIZED VIEW {view}")
    finally:
        dropped(spark, own)


def modes(journal: Journal) -> Counter:
    events = [*journal.events()]
    begun = {each.version: each.work.mode for each in events if isinstance(each, Started)}
    return Counter(begun[each.version] for each in events if isinstance(each, Published))


@pytest.mark.thorough
@pytest.mark.timeout(3600)  # a failure takes long to shrink
def test_views_of_random_queries_equal_them(spark: SparkSession, journal: Journal) -> None:
    fuzzed(spark, 2, ("delta", "delta"), 2)
    found = modes(journal)
    assert found[Mode.KEYS] + found[Mode.CHANGES]


def test_a_failing_case_becomes_a_short_script() -> None:
    rounds = (("one", "wrong"), ("three",))
    case = Case(("made", "other"), "CREATE v AS ", "SELECT * FROM (SELECT k FROM (SELECT * FROM bad))", rounds)

    def fails(each: Case) -> bool:
        return {"made"} <= {*each.before} and "FROM bad" in each.query and "wrong" in sum(each.rounds, ())

    assert shrunk(case, fails).script("v").split(";\n") == [
        "made",
        "CREATE v AS SELECT * FROM bad",
        "wrong",
        REFRESH,
        "VERIFY MATERIALIZED VIEW v;",
    ]
    assert subqueries("SELECT max(x) FROM (SELECT 1)") == {"SELECT 1"}


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_views_of_many_random_queries_equal_them(spark: SparkSession, part: int) -> None:
    seed, count = int(os.environ.get("SEED", "0")), int(os.environ.get("QUERIES", "60")) // PARTS
    for start in range(0, count, TOGETHER):
        mixture = MIXTURES[(seed + part + start // TOGETHER) % len(MIXTURES)]
        fuzzed(spark, 1_000_000 * (seed + 1) + 10_000 * part + start, mixture, min(TOGETHER, count - start))
