"""Windows by their frames: the keys that changed rows reach, and the rows computed for them, against recomputation."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from window_states import DIRECTIONS, ORDERS, STATES, Order, among, bag, changed, table_of, through

from headwater.model.dependency import Frames
from headwater.spark.jvm.shim import Shim

ENDS = [
    ("{a} PRECEDING", "CURRENT ROW"),
    ("{a} PRECEDING", "{b} FOLLOWING"),
    ("CURRENT ROW", "{a} FOLLOWING"),
    ("{b} PRECEDING", "{a} PRECEDING"),
    ("{a} FOLLOWING", "{b} FOLLOWING"),
    ("CURRENT ROW", "CURRENT ROW"),
    ("UNBOUNDED PRECEDING", "CURRENT ROW"),
    ("UNBOUNDED PRECEDING", "{a} PRECEDING"),
    ("{b} PRECEDING", "UNBOUNDED FOLLOWING"),
]
"""Of two offsets, of which the second one is no smaller. A frame need not have its own row."""

SHAPES = {
    "plain": "SELECT k, d, v, {values} FROM {rows} WINDOW w AS {spec}, z AS {other}",
    "filtered": "SELECT * FROM (SELECT k, d, {values} FROM {rows} WHERE n <> 1 WINDOW w AS {spec}, z AS {other}) "
    "WHERE c > 1",
    "renamed": "WITH t AS (SELECT k AS part, d AS at, s, {values} FROM {rows} WINDOW w AS {spec}, z AS {other}) "
    "SELECT at, upper(s) AS s, part, c, m, t FROM t",
    "joined below": "SELECT x.k, x.d, x.n, s, {values} FROM {rows} x JOIN (SELECT * FROM VALUES ('a', 1), ('a', 2), "
    "('b', 3), (NULL, 4) AS y(k, q)) y ON x.k = y.k WINDOW w AS {spec}, z AS {other}",
    "joined above": "SELECT i.k, i.d, c, m, t, y.n FROM (SELECT k, d, {values} FROM {rows} WINDOW w AS {spec}, "
    "z AS {other}) i LEFT JOIN (SELECT * FROM VALUES ('a', 1), ('a', 2), (NULL, 4) AS y(k, n)) y ON i.k = y.k",
    "of groups": "SELECT k, d, sum(sum(v)) OVER w AS t, count(*) OVER z AS c, max(max(n)) OVER w AS m FROM {rows} "
    "GROUP BY k, d WINDOW w AS {spec}, z AS {other}",
    "of both": "SELECT k, d, {values} FROM (SELECT * FROM {rows} UNION ALL SELECT at, k, d, v + 1, n, 'u', -1 "
    "FROM {rows}) WINDOW w AS {spec}, z AS {other}",
}
VALUES = (
    "count(*) OVER w AS c, max(named_struct('n', n, 's', s)) OVER w AS m, sum(v) OVER z AS t, avg(n) OVER w AS a, "
    "min(s) OVER z AS l"
)


@pytest.fixture(scope="module")
def session(application: SparkSession) -> Iterator[SparkSession]:
    session = application.newSession()
    session.sql("CREATE DATABASE framed")
    session.sql("USE framed")
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    yield session
    session.sql("DROP DATABASE framed CASCADE")


def queries(r: random.Random, order: Order, count: int) -> Iterator[tuple[str, str]]:
    for _ in range(count):
        specs = [_spec(r, order) for _ in range(2)]
        name = r.choice([*SHAPES])
        yield name, SHAPES[name].format(values=VALUES, spec=specs[0], other=r.choice(specs), rows="{rows}")


def _spec(r: random.Random, order: Order) -> str:
    least, greatest = r.choice(ENDS)
    n = sorted(r.randrange(len(order.offsets)) for _ in range(2))
    least, greatest = (each.format(a=order.offsets[n[0]], b=order.offsets[n[1]]) for each in (least, greatest))
    return f"(PARTITION BY {{k}} ORDER BY {{d}} {{direction}} RANGE BETWEEN {least} AND {greatest})"


def follows(session: SparkSession, name: str, query: str, table: str) -> tuple[int, int]:
    """Follows a query from each state to the next one. The answer is how many keys were reached, and how many there
    are."""
    reached = there = 0
    shim = Shim(session)
    after: Counter[tuple[str, str]] | None = None
    for state in range(STATES):
        text = query.format(rows=f"(SELECT * FROM {table} WHERE at = {state})")
        frames = through(session, text, table)
        assert isinstance(frames, Frames), f"{name}: {text}"
        before, after = after, bag(session.sql(text).collect(), frames.columns)
        if before is not None:
            keys = shim.framed_keys(session.sql(text), changed(session, table, state, frames))
            if keys is None:
                continue  # the frames of too many rows reach to the first or the last one
            own = {str([*row]) for row in keys.collect()}
            computed = bag(shim.framed(session.sql(text), keys).collect(), frames.columns)
            differ = {key for key, _ in (before - after) + (after - before)}
            assert differ <= own, f"{name} after state {state}: {text}"
            assert among(computed, own) == among(after, own), f"{name} after state {state}: {text}"
            reached, there = reached + len(own), there + len({key for key, _ in after})
    return reached, there


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [*ORDERS])
@pytest.mark.parametrize("seed", [pytest.param(n, marks=[] if n == 0 else pytest.mark.long) for n in range(8)])
def test_what_changed_rows_reach_through_frames_is_all_that_differs(
    session: SparkSession, kind: str, seed: int
) -> None:
    order, r, table = ORDERS[kind], random.Random(f"{kind} {seed}"), f"{kind.replace(' ', '_')}_{seed}"
    table_of(session, r, order, table)
    reached = there = 0
    for name, query in queries(r, order, 3):
        text = query.format(
            rows="{rows}", k="x.k" if name == "joined below" else "k", d="d", direction=r.choice(DIRECTIONS)
        )
        found = follows(session, f"{name} of {kind}, seed {seed}", text, table)
        reached, there = reached + found[0], there + found[1]
    assert reached < there or not there, "some rows stay"
