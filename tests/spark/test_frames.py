"""Windows by their frames: the keys that changed rows reach, and the rows computed for them, against recomputation."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from attrs import frozen
from pyspark.sql import DataFrame, Row, SparkSession

from headwater.algebra.derive.keys import derive_keys
from headwater.model.dependency import Frames
from headwater.spark.jvm.shim import Shim


@frozen
class Order:
    """A type of ORDER BY: values that come close to each other, and offsets of its frames."""

    type: str
    values: Sequence[str]
    offsets: Sequence[str]


ORDERS = {
    "days": Order(
        "DATE",
        [f"DATE'2024-{each}'" for each in ("01-28", "01-31", "02-01", "02-02", "02-04", "02-29", "03-01", "03-31")],
        ["INTERVAL 1 DAY", "INTERVAL 3 DAYS", "INTERVAL 30 DAYS"],
    ),
    "days by number": Order("DATE", ["DATE'2024-02-28'", "DATE'2024-02-29'", "DATE'2024-03-02'"], ["0", "1", "2"]),
    "months": Order(
        "DATE",
        [f"DATE'2024-{each}'" for each in ("01-29", "01-30", "01-31", "02-01", "02-28", "02-29", "03-30", "03-31")],
        ["INTERVAL 1 MONTH", "INTERVAL 2 MONTHS", "INTERVAL 12 MONTHS"],
    ),
    "moments": Order(
        "TIMESTAMP",
        [
            f"TIMESTAMP'2024-10-27 {each}Z'"
            for each in ("00:10:00", "00:30:00", "00:59:59.999999", "01:00:00", "01:30:00")
        ],
        ["INTERVAL 0.000001 SECOND", "INTERVAL 1200 SECONDS", "INTERVAL 3600 SECONDS"],
    ),
    "clocks": Order(
        "TIMESTAMP_NTZ",
        [
            f"TIMESTAMP_NTZ'2024-{each}'"
            for each in ("01-31 02:00:00", "02-01 01:59:59", "02-01 02:00:00", "03-31 02:30:00")
        ],
        ["INTERVAL '0 01' DAY TO HOUR", "INTERVAL '1 00' DAY TO HOUR", "INTERVAL '31 12' DAY TO HOUR"],
    ),
    "numbers": Order("INT", ["-5", "0", "1", "2", "3", "2000000000", "-2000000000"], ["1", "2", "1000"]),
    "long numbers": Order("BIGINT", ["-5", "0", "1", "2", "9000000000000000000"], ["1", "3000000000"]),
    "small numbers": Order("TINYINT", ["-5", "0", "1", "2", "100"], ["1", "7"]),
    "decimals": Order(
        "DECIMAL(4, 2)", ["99.99", "99.00", "0.01", "0.00", "-0.50", "-99.99"], ["0.01", "0.5", "1", "99.98"]
    ),
}
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

DIRECTIONS = ["ASC", "DESC", "ASC NULLS LAST", "DESC NULLS FIRST"]
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
    "of both": "SELECT k, d, {values} FROM (SELECT * FROM {rows} UNION ALL SELECT at, k, d, v + 1, n, 'u' FROM {rows}) "
    "WINDOW w AS {spec}, z AS {other}",
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


STATES = 4


def states(r: random.Random, order: Order) -> Iterator[str]:
    """Rows of a table in several states, as SQL. Between two states rows come, go, or change any of their values."""
    rows: list[list[str]] = []
    for state in range(STATES):
        for _ in range(14 if state == 0 else r.randrange(3)):
            rows.append(_row(r, order))
        for _ in range(r.randrange(3) if state else 0):
            changed = rows.pop(r.randrange(len(rows)))
            if r.random() < 0.7:
                fresh = _row(r, order)
                rows.append([one if r.random() < 0.5 else other for one, other in zip(changed, fresh, strict=True)])
        yield from (f"({state}, {', '.join(row)})" for row in rows)


def _row(r: random.Random, order: Order) -> list[str]:
    d = r.choice(["NULL", *order.values, *order.values])
    n, v = r.choice(["NULL", "1", "2", "3"]), r.choice(["NULL", "0.00", "1.50", "-7.25"])
    return [r.choice(["NULL", "'a'", "'a'", "'b'", "''"]), d, v, n, r.choice(["NULL", "'x'", "'y'"])]


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


def framed(session: SparkSession, query: str, table: str) -> Frames | None:
    plan = Shim(session).describe(session, query).plan
    found = derive_keys(plan, (), [(each["name"], each["type"]) for each in plan["columns"]])
    return next(keys.frames for source, keys in found.items() if source.endswith(table))


def changed(session: SparkSession, table: str, state: int, frames: Frames) -> DataFrame:
    """The keys of the rows in which two states differ."""
    one, other = (f"SELECT * EXCEPT (at) FROM {table} WHERE at = {each}" for each in (state - 1, state))
    rows = session.sql(f"({one} EXCEPT ALL {other}) UNION ALL ({other} EXCEPT ALL {one})")
    keys = [
        rows.selectExpr(*(f"{sql} AS `headwater key {n}`" for n, sql in enumerate(place))) for place in frames.places
    ]
    found = keys[0]
    for each in keys[1:]:
        found = found.union(each)
    return found.distinct()


def bag(rows: Sequence[Row], frames: Frames) -> Counter[tuple[str, str]]:
    """Rows, each with its key."""
    return Counter((str([row[each] for each in frames.columns]), str(row)) for row in rows)


def among(rows: Counter[tuple[str, str]], keys: set[str]) -> Counter[tuple[str, str]]:
    return Counter({each: count for each, count in rows.items() if each[0] in keys})


def follows(session: SparkSession, name: str, query: str, table: str) -> tuple[int, int]:
    """Follows a query from each state to the next one. The answer is how many keys were reached, and how many there
    are."""
    reached = there = 0
    shim = Shim(session)
    after: Counter[tuple[str, str]] | None = None
    for state in range(STATES):
        text = query.format(rows=f"(SELECT * FROM {table} WHERE at = {state})")
        frames = framed(session, text, table)
        assert frames is not None, f"{name}: {text}"
        before, after = after, bag(session.sql(text).collect(), frames)
        if before is not None:
            keys = shim.framed_keys(session.sql(text), changed(session, table, state, frames))
            if keys is None:
                continue  # the frames of too many rows reach to the first or the last one
            own = {str([*row]) for row in keys.collect()}
            computed = bag(shim.framed(session.sql(text), keys).collect(), frames)
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
    session.sql(
        f"CREATE TABLE {table} (at INT, k STRING, d {order.type}, v DECIMAL(10, 2), n INT, s STRING) USING parquet"
    )
    session.sql(f"INSERT INTO {table} VALUES {', '.join(states(r, order))}")
    reached = there = 0
    for name, query in queries(r, order, 3):
        text = query.format(
            rows="{rows}", k="x.k" if name == "joined below" else "k", d="d", direction=r.choice(DIRECTIONS)
        )
        found = follows(session, f"{name} of {kind}, seed {seed}", text, table)
        reached, there = reached + found[0], there + found[1]
    assert reached < there or not there, "some rows stay"
