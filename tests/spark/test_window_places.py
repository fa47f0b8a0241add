"""Windows by the places of rows: those next to changed ones, and partitions whose first rows changed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from window_states import DIRECTIONS, ORDERS, STATES, Order, among, bag, changed, table_of, through

from headwater.model.dependency import Foremost, Neighbours
from headwater.spark.jvm.shim import Shim

BESIDE = {
    "lag": ["lag(v) OVER ({w}) AS x", "lag(n, 2, id) OVER ({w}) AS y"],
    "lead": ["lead(v) OVER ({w}) AS x", "lead(s, 3, k) OVER ({w}) AS y"],
    "both": ["lag(v) OVER ({w}) AS x", "lead(v, 2) OVER ({w}) AS y", "lag(v, -1) OVER ({w}) AS z"],
    "sums": ["sum(v) OVER ({w} ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS x", "lag(n) OVER ({w}) AS y"],
    "around": ["max(n) OVER ({w} ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING) AS x"],
    "ahead": ["sum(CAST(v AS DOUBLE)) OVER ({w} ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING) AS x"],
    "apart": ["count(*) OVER ({w} ROWS BETWEEN 4 PRECEDING AND 2 PRECEDING) AS x"],
    "own": ["avg(v) OVER ({w} ROWS CURRENT ROW) AS x"],
}
SHAPES = {
    "plain": "SELECT k, d, id, n, {values} FROM {rows}",
    "filtered": "SELECT * FROM (SELECT k, d, id, {values} FROM {rows} WHERE n <> 1) WHERE x IS NOT NULL",
    "renamed": "WITH t AS (SELECT k AS part, d AS at, id AS one, {values} FROM {rows}) SELECT at, part, one, x FROM t",
    "joined above": "SELECT i.k, d, id, x, y.n FROM (SELECT k, d, id, {values} FROM {rows}) i "
    " LEFT JOIN (SELECT * FROM VALUES ('a', 1), ('a', 2), (NULL, 4) AS y(k, n)) y ON i.k = y.k",
}
FIRST = {
    "numbered": "row_number() OVER ({w}) AS x",
    "ranked": "rank() OVER ({w}) AS x",
    "with others": "row_number() OVER ({w}) AS x, dense_rank() OVER ({w}) AS y",
}


@pytest.fixture(scope="module")
def session(application: SparkSession) -> Iterator[SparkSession]:
    session = application.newSession()
    session.sql("CREATE DATABASE placed")
    session.sql("USE placed")
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    yield session
    session.sql("DROP DATABASE placed CASCADE")


def beside(r: random.Random) -> Iterator[tuple[str, bool]]:
    """Queries, and whether all rows have places of their own."""
    for total in (True, True, True, False):
        order = f"d {r.choice(DIRECTIONS)}" + (f", id {r.choice(('ASC', 'DESC'))}" if total else "")
        values = ", ".join(BESIDE[r.choice([*BESIDE])]).format(w=f"PARTITION BY k ORDER BY {order}")
        yield SHAPES[r.choice([*SHAPES])].format(values=values, rows="{rows}"), total


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["months", "clocks", "decimals"])
@pytest.mark.parametrize("seed", [pytest.param(n, marks=[] if n == 0 else pytest.mark.long) for n in range(12)])
def test_what_changed_rows_reach_beside_them_is_all_that_differs(session: SparkSession, kind: str, seed: int) -> None:
    r, table = random.Random(f"{kind} {seed}"), f"beside_{kind}_{seed}"
    table_of(session, r, ORDERS[kind], table)
    shim, reached, there = Shim(session), 0, 0
    for query, total in beside(r):
        after: Counter[tuple[str, str]] | None = None
        for state in range(STATES):
            text = query.format(rows=f"(SELECT * FROM {table} WHERE at = {state})")
            found = through(session, text, table)
            assert isinstance(found, Neighbours), text
            before, after = after, bag(session.sql(text).collect(), found.columns)
            if before is None:
                continue
            near = shim.neighbourhood(session.sql(text), changed(session, table, state, found))
            assert near is not None or not total, text
            if near is None:
                continue  # two rows have the same place
            own = {str([*row]) for row in near.keys.collect()}
            computed = bag(near.rows(session.sql(text)).collect(), found.columns)
            assert among(computed, own) == among(after, own), f"after state {state}: {text}"
            if total:
                differ = {key for key, _ in (before - after) + (after - before)}
                assert differ <= own, f"after state {state}: {text}"
                reached, there = reached + len(own), there + len({key for key, _ in after})
    assert reached < there, "some rows stay"


def first(r: random.Random) -> Iterator[str]:
    for values in FIRST.values():
        order = f"d {r.choice(DIRECTIONS)}, n {r.choice(DIRECTIONS)}"
        total = ", id" if "rank()" not in values or r.random() < 0.5 else ""
        most = r.choice(["x <= 2", "x < 2", "x = 1", "x <= 4 AND v >= 0"])
        inner = f"SELECT *, {values.format(w=f'PARTITION BY k ORDER BY {order}{total}')} FROM {{rows}}"
        yield f"SELECT k, d, n, id, v, x FROM ({inner}) WHERE {most}"


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["days", "decimals"])
@pytest.mark.parametrize("seed", [pytest.param(n, marks=[] if n == 0 else pytest.mark.long) for n in range(12)])
def test_partitions_whose_first_rows_changed_are_all_that_differ(session: SparkSession, kind: str, seed: int) -> None:
    r, table = random.Random(f"first {kind} {seed}"), f"first_{kind}_{seed}"
    table_of(session, r, _few(ORDERS[kind]), table)
    shim, reached, there = Shim(session), 0, 0
    for query in first(r):
        texts = [query.format(rows=f"(SELECT * FROM {table} WHERE at = {state})") for state in range(STATES)]
        for state, (was, text) in enumerate(zip(texts, texts[1:], strict=False), start=1):
            found = through(session, text, table)
            assert isinstance(found, Foremost), text
            old, rows = session.sql(was), changed(session, table, state, found)
            before, after = (bag(each.collect(), ("k",)) for each in (old, session.sql(text)))
            keys = shim.foremost(session.sql(text), rows, old.select(*found.columns), found.most)
            assert keys is not None
            own = {str([*row]) for row in keys.collect()}
            differ = {key for key, _ in (before - after) + (after - before)}
            assert differ <= own, f"after state {state}: {text}"
            assert own <= {str([row[0]]) for row in rows.collect()}
            reached, there = reached + len(own), there + len({row[0] for row in rows.collect()})
    assert seed or reached < there, "some changes reach nothing"  # by chance, those of another seed reach all


def _few(order: Order) -> Order:
    return Order(order.type, order.values[:4], order.offsets)
