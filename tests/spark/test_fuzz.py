"""Views of random queries equal them after random changes, whichever method follows these.

``make fuzz QUERIES=500 SEED=7`` draws so many queries. A failure shows a script for spark-sql.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from fuzz import Changes, Queries
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query

from headwater.model.event import Mode, Published, Started

SOURCES = {
    "delta": "USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')",
    "vectors": "USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
}
METHODS = ("keys", "incremental")
ROUNDS = 3
TOGETHER = 20
"""So many queries read the same tables."""
PARTS = 4


class Fuzz:
    """Views of random queries over three tables of their own."""

    def __init__(self, spark: SparkSession, seed: int, source: str) -> None:
        self._spark, self._seed = spark, seed
        self._changes = Changes(seed, SOURCES[source])
        self.script: list[str] = []
        self.views: dict[str, str] = {}
        spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
        for statement in self._changes.made():
            self._run(statement)

    def create(self, count: int) -> None:
        """Creates views of so many queries of which changes can be followed."""
        queries, found = Queries(self._seed), 0
        for _ in range(20 * count):
            query = queries.draw()
            followed = [method for method in METHODS if self._allows(method, query)]
            for method in followed:
                name = f"v{found}_{method}"
                self._run(f"CREATE MATERIALIZED VIEW {name} USING delta {asking(f'{method}, full')} AS {query}")
                self.views[name] = query
            found += bool(followed)
            if found == count:
                return

    def follow(self) -> None:
        """Changes the tables, and compares each view with its query."""
        for statement in self._changes.some():
            self._run(statement)
        self._run("REFRESH MATERIALIZED VIEWS")
        for name, query in self.views.items():
            try:
                assert_equals_query(self._spark, name, query)
            except AssertionError as error:
                raise AssertionError(f"{name} differs from its query after:\n{self._script(name)}\n{error}") from error

    # --- inside

    def _run(self, statement: str) -> None:
        self.script.append(statement)
        self._spark.sql(statement)

    def _allows(self, method: str, query: str) -> bool:
        """Whether a query is one of a view, and allows a method. Of some, Spark cannot compute the rows."""
        try:
            self._spark.sql(f"EXPLAIN CREATE MATERIALIZED VIEW v USING delta {asking(method)} AS {query}")
            self._spark.sql(query).collect()
        except PySparkException:
            return False
        return True

    def _script(self, name: str) -> str:
        """The statements that matter for a view."""
        others = [each for each in self.views if each != name]
        kept = [each for each in self.script if not any(f"VIEW {other} " in each for other in others)]
        return "\n".join(f"{each};" for each in (*kept, f"VERIFY MATERIALIZED VIEW {name}"))


def asking(methods: str) -> str:
    return f"TBLPROPERTIES ('headwater.method' = '{methods}')"


def fuzzed(spark: SparkSession, seed: int, source: str, count: int) -> None:
    fuzz = Fuzz(spark, seed, source)
    fuzz.create(count)
    for _ in range(ROUNDS):
        fuzz.follow()
    for view in fuzz.views:
        spark.sql(f"DROP MATERIALIZED VIEW {view}")
    for table in ("r0", "r1", "r2"):
        spark.sql(f"DROP TABLE {table}")


def modes(journal: Journal) -> Counter:
    events = [*journal.events()]
    begun = {each.version: each.mode for each in events if isinstance(each, Started)}
    return Counter(begun[each.version] for each in events if isinstance(each, Published))


def test_views_of_random_queries_equal_them(spark: SparkSession, journal: Journal) -> None:
    fuzzed(spark, 1, "delta", 2)
    found = modes(journal)
    assert found[Mode.KEYS] + found[Mode.CHANGES]


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_views_of_many_random_queries_equal_them(spark: SparkSession, part: int) -> None:
    seed, count = int(os.environ.get("SEED", "0")), int(os.environ.get("QUERIES", "60")) // PARTS
    for start in range(0, count, TOGETHER):
        source = list(SOURCES)[(part + start // TOGETHER) % len(SOURCES)]
        fuzzed(spark, 1_000_000 * (seed + 1) + 10_000 * part + start, source, min(TOGETHER, count - start))
