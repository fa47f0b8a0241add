"""Changes of tables that a query reads in several places: the totals of all terms are the difference of the totals of
the two states.

Example: of ``t a JOIN t b`` there is a term with the changed rows in the place of ``a``, and one with them in that of
``b``.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from attrs import frozen
from pyspark.sql import DataFrame, SparkSession

from headwater.model.seen import ChangedRows
from headwater.spark.jvm.facts import Pin
from headwater.spark.jvm.query_totals import QueryTotals
from headwater.spark.jvm.shim import Shim
from headwater.spark.jvm.wire import encode
from headwater.spark.refreshing.changed_rows import PINS

Row = tuple[Any, ...]

TWICE = {
    "paired": "SELECT a.k, count(*) AS n, sum(b.x) AS x FROM t a JOIN t b ON a.k = b.k GROUP BY a.k",
    "ordered pairs": "SELECT a.s, count(*) FROM t a JOIN t b ON a.k = b.k AND a.x < b.x GROUP BY a.s",
    "thrice": "SELECT a.k, sum(c.x) FROM t a JOIN t b ON a.k = b.k JOIN t c ON b.x = c.x GROUP BY a.k",
    "crossed": "SELECT count(*), sum(a.x + b.x) FROM t a CROSS JOIN t b",
    "united": "SELECT k, count(*), sum(x) FROM (SELECT k, x FROM t UNION ALL SELECT x, k FROM t) GROUP BY k",
    "united and joined": "SELECT c.k, count(*) FROM (SELECT k FROM t UNION ALL SELECT x FROM u UNION ALL "
    "SELECT k FROM u) c JOIN t ON c.k = t.k GROUP BY c.k",
    "two of each": "SELECT a.s, d.s, sum(a.x) FROM t a, u b, t c, u d WHERE a.k = b.k AND c.k = d.k AND a.x = d.x "
    "GROUP BY a.s, d.s",
    "of a name": "WITH c AS (SELECT k AS q, x, s FROM t WHERE x > 0) SELECT a.q, b.s, count(*) FROM c a "
    "JOIN c b ON a.q = b.q JOIN (SELECT q FROM c) d ON d.q = b.x GROUP BY a.q, b.s",
    "of a view": "SELECT a.w, count(b.w) FROM both_tables a JOIN both_tables b ON a.w = b.z GROUP BY a.w",
    "kept sides": "SELECT a.s, count(v.z), sum(b.x) FROM t a JOIN t b ON a.k = b.k LEFT JOIN VALUES (1), (2) AS v(z) "
    "ON v.z = a.x GROUP BY a.s",
    "without an other": "SELECT DISTINCT a.k, b.x FROM t a JOIN t b ON a.k = b.x WHERE NOT EXISTS "
    "(SELECT 1 FROM VALUES (1) AS v(z) WHERE v.z = a.k)",
    "exploded": "SELECT word, count(*) FROM (SELECT explode(array(a.s, b.s)) AS word FROM t a JOIN t b "
    "ON a.k = b.k) GROUP BY word",
    "in sets": "SELECT a.k, b.s, count(*) FROM t a JOIN t b ON a.x = b.x GROUP BY CUBE (a.k, b.s)",
}
"""Queries that read tables in several places; each is linear in the rows of each place."""

KEYED = {
    "optional": "SELECT t.s, count(*), count(u.k), sum(u.x) FROM t LEFT JOIN u ON t.k = u.k GROUP BY t.s",
    "optional on a condition": "SELECT t.s, count(u.k) FROM t LEFT JOIN u ON t.k = u.k AND t.x < u.x GROUP BY t.s",
    "optional to the left": "SELECT u.s, count(t.k), sum(t.x) FROM t RIGHT JOIN u ON u.k = t.k GROUP BY u.s",
    "optional on both sides": "SELECT t.s, u.s, count(*), count(t.x) FROM t FULL JOIN u ON t.k = u.k GROUP BY t.s, u.s",
    "optional on a key of two": "SELECT t.s, count(u.k) FROM t LEFT JOIN u ON t.k = u.k AND t.x <=> u.x GROUP BY t.s",
    "there": "SELECT s, count(*), sum(x) FROM t LEFT SEMI JOIN u ON t.k = u.k AND t.x >= u.x GROUP BY s",
    "not there": "SELECT s, count(*), sum(x) FROM t LEFT ANTI JOIN u ON t.k = u.k GROUP BY s",
    "optional to itself": "SELECT a.s, count(b.k), sum(b.x) FROM t a LEFT JOIN t b ON a.k = b.x GROUP BY a.s",
    "optional twice": "SELECT t.s, count(a.k), count(b.x) FROM t LEFT JOIN u a ON t.k = a.k "
    "LEFT JOIN u b ON a.x = b.x GROUP BY t.s",
    "optional within": "SELECT t.s, count(v.k) FROM t LEFT JOIN (SELECT a.k, b.x FROM u a LEFT JOIN t b "
    "ON a.x = b.x) v ON t.k = v.k GROUP BY t.s",
    "optional and joined": "SELECT c.s, count(*), sum(u.x) FROM (SELECT k, s FROM t UNION ALL SELECT x, s FROM u) c "
    "LEFT JOIN u ON c.k = u.k JOIN t ON t.x = coalesce(u.x, 1) GROUP BY c.s",
    "optional groups": "SELECT t.s, count(n), sum(n) FROM t LEFT JOIN u ON t.k = u.k LEFT JOIN "
    "(SELECT k, count(*) AS n FROM VALUES (1), (1), (2) AS v(k) GROUP BY k) v ON v.k = u.x GROUP BY t.s",
    "optional union": "SELECT t.s, count(v.k), sum(v.x) FROM t LEFT JOIN (SELECT k, x FROM u UNION ALL "
    "SELECT x, k FROM t UNION ALL VALUES (1, 2)) v ON t.k = v.k GROUP BY t.s",
    "neither there": "SELECT s, count(*) FROM (SELECT s FROM t LEFT ANTI JOIN u ON t.k <=> u.k AND t.x = u.x UNION ALL "
    "SELECT s FROM u LEFT SEMI JOIN t ON t.k = u.x) GROUP BY s",
    "grouped twice": "SELECT n, m, count(*) FROM (SELECT k, count(*) AS n, max(s) AS m FROM t GROUP BY k) JOIN "
    "(SELECT k, sum(x) AS x FROM u GROUP BY ALL HAVING sum(x) > 2) USING (k) GROUP BY n, m",
    "grouped and optional": "SELECT t.s, count(n), sum(y) FROM t LEFT JOIN (SELECT k, x % 2 AS r, count(s) AS n, "
    "sum(x) AS y FROM u GROUP BY k, x % 2) v ON t.k = v.k AND v.r <= t.x GROUP BY t.s",
    "once": "SELECT a.k, count(*), sum(b.x) FROM (SELECT DISTINCT k, s FROM t) a JOIN (SELECT k, x FROM u UNION "
    "SELECT x, x FROM t) b ON a.k = b.k GROUP BY a.k",
    "in sets of all": "SELECT a.k, count(*) FROM (SELECT k, x FROM t EXCEPT ALL SELECT x, k FROM u) a JOIN "
    "(SELECT x FROM t INTERSECT SELECT k FROM u) b ON a.k = b.x GROUP BY a.k",
    "in sets by keys": "SELECT n, count(*) FROM (SELECT k, s, count(*) AS n FROM t GROUP BY CUBE (k, s)) JOIN u "
    "ON u.k = n GROUP BY n",
}
"""Queries in which rows of an operator depend on several rows of a table."""

WITHIN = {
    "exists": "SELECT s, count(*), sum(x) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.x <> t.x) "
    "GROUP BY s",
    "not exists": "SELECT s, count(*) FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k) AND EXISTS "
    "(SELECT 1 FROM t b WHERE b.x = t.x AND b.k < 3) GROUP BY s",
    "in or": "SELECT s, count(*) FROM t WHERE k IN (SELECT x FROM u WHERE x > 0) OR x = 1 GROUP BY s",
    "in groups": "SELECT s, count(*) FROM t WHERE k IN (SELECT k FROM u GROUP BY k HAVING sum(x) > 3) GROUP BY s",
    "not in": "SELECT s, count(*) FROM t WHERE k NOT IN (SELECT nullif(x, 4) FROM u WHERE k = 1) GROUP BY s",
    "not in a few": "SELECT s, count(*) FROM t WHERE k NOT IN (SELECT nullif(x, 4) FROM u WHERE k = 1 AND x > 1) "
    "GROUP BY s",
    "not in of a row": "SELECT s, count(*) FROM t WHERE k NOT IN (SELECT x FROM u WHERE u.k = t.x) GROUP BY s",
    "above the others": "SELECT s, sum(x) FROM t WHERE x > (SELECT avg(x) FROM u WHERE u.k = t.k) GROUP BY s",
    "counted": "SELECT s, sum(n) FROM (SELECT s, (SELECT count(*) FROM u WHERE u.k = t.k) AS n FROM t) GROUP BY s",
    "nested": "SELECT s, count(*) FROM t WHERE k IN (SELECT k FROM u WHERE x IN (SELECT x FROM t WHERE s = 'a') "
    "AND x >= (SELECT min(x) FROM t b WHERE b.k = u.k)) GROUP BY s",
    "of the others": "SELECT a.s, count(*) FROM t a JOIN u b ON a.k = b.k WHERE EXISTS (SELECT 1 FROM u c WHERE "
    "c.k = b.k AND c.x <> b.x) AND a.s NOT IN (SELECT s FROM t WHERE k = 3 AND s IS NOT NULL) GROUP BY a.s",
}
"""Queries with subqueries that Spark makes joins of."""

BAGS = {
    "paired rows": "SELECT a.k, b.x, a.s FROM t a JOIN t b ON a.k = b.k",
    "filtered rows": "SELECT k, x + 1 AS y FROM t WHERE x > 1 UNION ALL SELECT x, k FROM u",
    "optional rows": "SELECT t.s, u.x FROM t LEFT JOIN u ON t.k = u.k",
    "optional rows on both sides": "SELECT t.s, t.x, u.s AS z FROM t FULL JOIN u ON t.k = u.k AND t.x < u.x",
    "rows without an other": "SELECT * FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
    "rows not in": "SELECT k, s FROM t WHERE k NOT IN (SELECT nullif(x, 4) FROM u WHERE k = 1)",
    "rows in or": "SELECT s FROM t WHERE k IN (SELECT x FROM u WHERE x > 0) OR x = 1 ORDER BY s",
    "sums beside": "SELECT t.s, n, y FROM t JOIN (SELECT k, count(*) AS n, sum(x) AS y FROM u GROUP BY k) v USING (k)",
    "sums beside sums": "WITH c AS (SELECT k, s, sum(x) AS y FROM t GROUP BY k, s) SELECT a.k, b.s, a.y - b.y AS d "
    "FROM c a JOIN c b ON a.k = b.k AND a.s <> b.s",
    "the greatest of each": "SELECT t.* FROM t "
    "WHERE x = (SELECT max(b.x) FROM t b JOIN u ON b.k = u.x WHERE b.k = t.k)",
    "counted rows": "SELECT s, (SELECT count(*) FROM u WHERE u.k = t.k) AS n FROM t",
    "rows of sets": "SELECT k, x FROM t EXCEPT ALL SELECT x, k FROM u",
    "once beside": "SELECT a.k, b.s FROM (SELECT DISTINCT k, x FROM t) a JOIN u b ON a.k = b.k",
    "exploded rows": "SELECT t.k, word FROM t LEFT JOIN u ON t.k = u.x LATERAL VIEW explode(array(t.s, u.s)) AS word",
}
"""Queries without an aggregate above all others: their rows are a bag."""

SHAPES = TWICE | KEYED | WITHIN
QUICK = ("paired", "optional on both sides", "grouped twice", "exists")


@frozen
class World:
    """Two tables with two states each: the versions before and now, and the rows that came and went."""

    session: SparkSession
    before: dict[str, Pin]
    now: dict[str, Pin]
    changed: dict[str, ChangedRows]

    def totals(self, query: str, pins: dict[str, Pin]) -> QueryTotals:
        self.session.conf.set(PINS, encode({f"places.{name}": pin for name, pin in pins.items()}))
        try:
            return Shim(self.session).totals(self.session.sql(query))
        finally:
            self.session.conf.unset(PINS)

    def rows(self, query: str, pins: dict[str, Pin]) -> Counter[Row]:
        self.session.conf.set(PINS, encode({f"places.{name}": pin for name, pin in pins.items()}))
        try:
            return Counter(map(tuple, self.session.sql(query).collect()))
        finally:
            self.session.conf.unset(PINS)

    def changed_rows(self, query: str) -> Counter[Row]:
        """How often each row of a query comes or goes."""
        found: Counter[Row] = Counter()
        for each in self._terms(query, lambda shim, rows: shim.changed_rows(rows)):
            for row in each.collect():
                found[tuple(row[:-1])] += row[-1]
        return found

    def terms(self, query: str) -> list[DataFrame]:
        return self._terms(query, lambda shim, rows: shim.totals(rows).terms())

    def _terms(self, query: str, made: Callable[[Shim, DataFrame], list[DataFrame]]) -> list[DataFrame]:
        shim = Shim(self.session)
        for name, rows in self.changed.items():
            shim.stand_in(name, rows, self.now[name], self.before[name])
        pins = {f"places.{name}": Pin("", rows=name) for name in self.changed}
        self.session.conf.set(PINS, encode(pins))
        try:
            return made(shim, self.session.sql(query))
        finally:
            self.session.conf.unset(PINS)
            for name in self.changed:
                shim.stand_out(name)


@pytest.fixture(scope="module")
def session(application: SparkSession) -> Iterator[SparkSession]:
    session = application.newSession()
    session.conf.set("spark.headwater.internal", "true")
    session.sql("CREATE DATABASE places")
    session.sql("USE places")
    for name in ("t", "u"):
        session.sql(f"CREATE TABLE {name} (k INT, x INT, s STRING) USING delta")
    session.sql("CREATE VIEW both_tables AS SELECT t.k AS w, u.x AS z FROM t JOIN u ON t.k = u.k")
    yield session
    session.sql("DROP DATABASE spark_catalog.places CASCADE")


def drawn(r: random.Random, count: int) -> list[Row]:
    values = [None, *range(5)]
    return [(r.choice(values), r.choice(values), r.choice([None, "", "a", "b"])) for _ in range(count)]


def written(session: SparkSession, name: str, rows: Sequence[Row]) -> Pin:
    frame(session, rows).write.insertInto(name, overwrite=True)
    return Pin(str(session.sql(f"DESCRIBE HISTORY {name} LIMIT 1").collect()[0]["version"]))


def frame(session: SparkSession, rows: Sequence[Row]) -> DataFrame:
    values = ", ".join(f"({', '.join('NULL' if each is None else repr(each) for each in row)})" for row in rows)
    columns = "CAST(k AS INT) AS k, CAST(x AS INT) AS x, CAST(s AS STRING) AS s"
    return session.sql(
        f"SELECT {columns} FROM VALUES {values or '(0, 0, NULL)'} AS v(k, x, s) {'' if values else 'LIMIT 0'}"
    )


def world(session: SparkSession, seed: int) -> World:
    """Two tables, of which random rows come and go; sometimes of one table only."""
    r = random.Random(seed)
    before, now, changed = {}, {}, {}
    for name in ("t", "u") if seed % 4 else ("t",):
        old = drawn(r, r.choice([0, 6, 12]) if seed % 5 == 0 else 10)
        went = r.sample(old, min(len(old), r.choice([0, 1, 3]) if seed % 5 == 0 else 2))
        came = drawn(r, r.randrange(1, 4))
        rest = [*(Counter(old) - Counter(went)).elements(), *came]
        before[name], now[name] = written(session, name, old), written(session, name, rest)
        rows = ChangedRows(*(frame(session, each) if each else None for each in (came, went)))
        if came or went:
            changed[name] = Shim(session).few_rows([rows])[0] if seed % 3 else rows
    if "u" not in now:
        before["u"] = now["u"] = written(session, "u", drawn(r, 10))
    return World(session, before, now, changed)


def added(totals: DataFrame, sign: int = 0) -> Counter[Row]:
    """Each number of totals by the group's keys and its name, added up. With ``sign``, no row has a weight."""
    found: Counter[Row] = Counter()
    for row in totals.collect():
        values = row.asDict()
        weight = sign or (1 if values.pop("headwater weight") > 0 else -1)
        keys = tuple(value for name, value in values.items() if name.startswith("key"))
        for name, value in values.items():
            if not name.startswith("key"):
                found[keys + (name,)] += weight * (value or 0)
    return Counter({each: number for each, number in found.items() if number})


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "seed, shapes",
    [
        pytest.param(1, QUICK),
        pytest.param(2, tuple(TWICE), marks=pytest.mark.thorough),
        pytest.param(2, tuple(KEYED), marks=pytest.mark.thorough),
        pytest.param(2, tuple(WITHIN), marks=pytest.mark.thorough),
        *(pytest.param(seed, tuple(SHAPES), marks=pytest.mark.long) for seed in range(3, 15)),
    ],
)
def test_the_terms_of_all_places_are_the_difference_of_two_states(
    session: SparkSession, seed: int, shapes: Sequence[str]
) -> None:
    made = world(session, seed)
    for shape in shapes:
        query = SHAPES[shape]
        expected = added(made.totals(query, made.now).rows(), 1)
        expected.subtract(added(made.totals(query, made.before).rows(), 1))
        found: Counter[Row] = Counter()
        for each in made.terms(query):
            found.update(added(each))
        assert without_zeros(found) == without_zeros(expected), shape


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "seed, shapes",
    [
        pytest.param(1, ("optional rows on both sides", "sums beside")),
        pytest.param(2, tuple(BAGS), marks=pytest.mark.thorough),
        *(pytest.param(seed, tuple(BAGS), marks=pytest.mark.long) for seed in range(3, 15)),
    ],
)
def test_the_rows_of_all_places_are_the_difference_of_two_bags(
    session: SparkSession, seed: int, shapes: Sequence[str]
) -> None:
    made = world(session, seed)
    for shape in shapes:
        expected = made.rows(BAGS[shape], made.now)
        expected.subtract(made.rows(BAGS[shape], made.before))
        assert without_zeros(made.changed_rows(BAGS[shape])) == without_zeros(expected), shape


def without_zeros(numbers: Counter[Row]) -> dict[Row, int]:
    return {each: number for each, number in numbers.items() if number}


def test_a_place_without_changed_rows_has_no_term(session: SparkSession) -> None:
    made = world(session, 1)
    rows = frame(session, [(1, 1, "a")])
    for came, terms in ((ChangedRows(rows, rows), 0), (ChangedRows(rows, None), 2)):
        [few] = Shim(session).few_rows([came])
        assert len(World(session, made.before, made.now, {"t": few}).terms(TWICE["paired"])) == terms
