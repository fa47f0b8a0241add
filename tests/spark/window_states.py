"""Rows of a table in several states, and what a window makes of the rows between two of them."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence

from attrs import frozen
from pyspark.sql import DataFrame, Row, SparkSession

from headwater.algebra.derive.keys import derive_keys
from headwater.model.dependency import Through
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
DIRECTIONS = ["ASC", "DESC", "ASC NULLS LAST", "DESC NULLS FIRST"]
STATES = 4


def states(r: random.Random, order: Order) -> Iterator[str]:
    """Rows of a table in several states, as SQL. Between two states rows come, go, or change any of their values."""
    rows: list[list[str]] = []
    ids = itertools.count()
    for state in range(STATES):
        for _ in range(14 if state == 0 else r.randrange(3)):
            rows.append(_row(r, order, next(ids)))
        for _ in range(r.randrange(3) if state else 0):
            changed = rows.pop(r.randrange(len(rows)))
            if r.random() < 0.7:
                fresh = _row(r, order, next(ids))
                rows.append([one if r.random() < 0.5 else other for one, other in zip(changed, fresh, strict=True)])
        yield from (f"({state}, {', '.join(row)})" for row in rows)


def _row(r: random.Random, order: Order, id: int) -> list[str]:
    d = r.choice(["NULL", *order.values, *order.values])
    n, v = r.choice(["NULL", "1", "2", "3"]), r.choice(["NULL", "0.00", "1.50", "-7.25"])
    return [r.choice(["NULL", "'a'", "'a'", "'b'", "''"]), d, v, n, r.choice(["NULL", "'x'", "'y'"]), str(id)]


def table_of(session: SparkSession, r: random.Random, order: Order, name: str) -> None:
    """A table with rows of several states, which its column ``at`` tells apart. No two rows share their id."""
    columns = f"at INT, k STRING, d {order.type}, v DECIMAL(10, 2), n INT, s STRING, id INT"
    session.sql(f"CREATE TABLE {name} ({columns}) USING parquet")
    session.sql(f"INSERT INTO {name} VALUES {', '.join(states(r, order))}")


def through(session: SparkSession, query: str, table: str) -> Through | None:
    plan = Shim(session).describe(session, query).plan
    found = derive_keys(plan, (), [(each["name"], each["type"]) for each in plan["columns"]])
    return next(keys.through for source, keys in found.items() if source.endswith(table))


def changed(session: SparkSession, table: str, state: int, through: Through) -> DataFrame:
    """The keys of the rows in which two states differ."""
    one, other = (f"SELECT * EXCEPT (at) FROM {table} WHERE at = {each}" for each in (state - 1, state))
    rows = session.sql(f"({one} EXCEPT ALL {other}) UNION ALL ({other} EXCEPT ALL {one})")
    keys = [
        rows.selectExpr(*(f"{sql} AS `headwater key {n}`" for n, sql in enumerate(place))) for place in through.places
    ]
    found = keys[0]
    for each in keys[1:]:
        found = found.union(each)
    return found.distinct()


def bag(rows: Sequence[Row], columns: Sequence[str]) -> Counter[tuple[str, str]]:
    """Rows, each with its key."""
    return Counter((str([row[each] for each in columns]), str(row)) for row in rows)


def among(rows: Counter[tuple[str, str]], keys: set[str]) -> Counter[tuple[str, str]]:
    return Counter({each: count for each, count in rows.items() if each[0] in keys})
