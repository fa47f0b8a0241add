"""Views of different shape over three Delta tables, and eight kinds of change of the two larger ones.

``events`` has a partition for each of its months, and ``orders`` a tenth of its rows and no partition. Identifiers grow
with time, as those of rows that arrive do. So a range of them is in a month, and in few files.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

MONTHS = 24
SHOPS = 400
NEW = 100_000_000_000
"""Added to the identifiers of rows that come."""


@frozen
class Shape:
    """A view.

    Attributes:
        query: without an order, and without sums of floating point, so two runs give the same rows.
        partitioned: whether the view has a partition for each month.
    """

    name: str
    query: str
    partitioned: bool = False


@frozen
class Change:
    """A kind of change.

    Attributes:
        said: what comes, goes or changes.
        part: of the rows of a table that the change writes; 0: a row.
    """

    name: str
    said: str
    part: float


CHANGES = (
    Change("hundredth", "1 % come, in all months", 0.01),
    Change("row", "a row comes", 0),
    Change("tenth", "10 % come, in all months", 0.1),
    Change("moved", "0.1 % get other keys, in a month", 0.001),
    Change("month", "1 % come, in a month", 0.01),
    Change("deleted", "0.1 % go, in all months", 0.001),
    Change("thousandth", "0.1 % come, in all months", 0.001),
    Change("updated", "a column of 0.1 % changes, in a month", 0.001),
)
"""In an order in which large changes come before small ones, and after them."""

SHAPES = (
    Shape("filtered", "SELECT id, customer, amount FROM events WHERE amount = 7 AND kind = 'b'"),
    Shape("copied", "SELECT id, shop, amount * 2 AS amount FROM events WHERE amount >= 40"),
    Shape("enriched", "SELECT o.id, o.price, c.region FROM orders o JOIN customers c ON o.customer = c.id"),
    Shape("both", "SELECT id, amount FROM events WHERE shop = 3 UNION ALL SELECT id, price FROM orders"),
    Shape("one_total", "SELECT sum(amount) AS amount, count(*) AS n FROM events WHERE kind <> 'c'"),
    Shape("per_shop", "SELECT shop, sum(amount) AS amount, avg(amount) AS mean FROM events GROUP BY shop"),
    Shape("per_customer", "SELECT customer, sum(amount) AS amount, count(*) AS n FROM events GROUP BY customer"),
    Shape("per_order", "SELECT customer, status, sum(price) AS price FROM orders GROUP BY customer, status"),
    Shape(
        "per_region",
        "SELECT c.region, o.status, sum(o.price) AS price, count(*) AS n FROM orders o JOIN customers c"
        " ON o.customer = c.id GROUP BY c.region, o.status",
    ),
    Shape("extremes", "SELECT shop, min(amount) AS least, max(id) AS newest FROM events GROUP BY shop"),
    Shape("kinds", "SELECT DISTINCT shop, kind FROM events"),
    Shape("distinct_count", "SELECT shop, count(DISTINCT customer) AS customers FROM events GROUP BY shop"),
    Shape("distinct_few", "SELECT customer, count(DISTINCT status) AS states FROM orders GROUP BY customer"),
    Shape("middle", "SELECT shop, percentile(amount, 0.5) AS middle FROM events GROUP BY shop"),
    Shape("ranked", "SELECT id, customer, rank() OVER (PARTITION BY customer ORDER BY price, id) AS place FROM orders"),
    Shape(
        "newest",
        "SELECT id, shop, amount FROM (SELECT *, row_number() OVER (PARTITION BY shop ORDER BY id DESC) AS n"
        " FROM events) WHERE n <= 3",
    ),
    Shape(
        "large_groups", "SELECT customer, sum(price) AS price FROM orders GROUP BY customer HAVING sum(price) > 1800"
    ),
    Shape("best", "SELECT shop, sum(amount) AS amount FROM events GROUP BY shop ORDER BY amount DESC, shop LIMIT 10"),
    Shape(
        "beside",
        "SELECT c.id, c.region, count(o.id) AS orders FROM customers c LEFT JOIN orders o ON o.customer = c.id"
        " GROUP BY c.id, c.region",
    ),
    Shape(
        "idle", "SELECT id, region FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)"
    ),
    Shape(
        "joined",
        "SELECT e.shop, c.region, sum(e.amount) AS amount FROM events e JOIN customers c ON e.customer = c.id"
        " GROUP BY e.shop, c.region",
    ),
    Shape(
        "three",
        "SELECT c.region, o.status, sum(e.amount) AS amount, sum(o.price) AS price FROM events e"
        " JOIN orders o ON e.id = o.id JOIN customers c ON o.customer = c.id GROUP BY c.region, o.status",
    ),
    Shape("monthly", "SELECT shop, sum(amount) AS amount, month FROM events GROUP BY shop, month", True),
    Shape("monthly_copy", "SELECT id, shop, amount, month FROM events WHERE amount >= 40", True),
    Shape(
        "monthly_distinct",
        "SELECT shop, count(DISTINCT customer) AS customers, month FROM events GROUP BY shop, month",
        True,
    ),
)

_FIELDS = {
    "events": "id % {customers} AS customer, id * 7 % {shops} AS shop, CAST(id * 13 % 97 AS DECIMAL(10, 2)) AS amount,"
    " substr('abcdef', 1 + CAST(id % 6 AS INT), 1) AS kind",
    "orders": "id * 3 % {customers} AS customer, CAST(id * 11 % 301 AS DECIMAL(10, 2)) AS price,"
    " substr('nps', 1 + CAST(id % 3 AS INT), 1) AS status",
}
_KEYS = {"events": ("shop", str(SHOPS)), "orders": ("customer", "{customers}")}
_VALUES = {"events": "amount", "orders": "price"}


def tables(rows: int, files: int) -> list[str]:
    """The statements that make the tables.

    Args:
        rows: of ``events``.
        files: of each month of it.
    """
    month = f"CAST(id * {MONTHS} DIV {rows} AS INT) AS month"
    return [
        "CREATE TABLE events USING delta PARTITIONED BY (month) AS SELECT /*+ REPARTITION_BY_RANGE"
        f"({MONTHS * files}, id) */ id, {_filled('events', rows)}, {month} FROM range({rows})",
        f"CREATE TABLE orders USING delta AS SELECT /*+ REPARTITION_BY_RANGE({4 * files}, id) */"
        f" id, {_filled('orders', rows)} FROM range({max(1, rows // 10)})",
        "CREATE TABLE customers USING delta AS SELECT id, substr('wxyz', 1 + CAST(id % 4 AS INT), 1) AS region"
        f" FROM range({_customers(rows) * 11 // 10})",
    ]


def changing(change: Change, rows: int, turn: int) -> list[str]:
    """The statements that change ``events`` and ``orders``; of each turn they write other rows."""
    return [each for table in _FIELDS for each in _changing(change, table, rows, turn)]


def _changing(change: Change, table: str, rows: int, turn: int) -> Sequence[str]:
    there = rows if table == "events" else max(1, rows // 10)
    some = max(1, round(there * change.part))
    first = turn * 7919 * some % max(1, there - some)
    each, (key, values) = max(2, there // some), _KEYS[table]
    which = f"id >= {first} AND id < {first + some}"
    match change.name:
        case "row" | "month":
            return [_insert(table, rows, turn, f"range({some})", f", {MONTHS - 1} AS month")]
        case "moved":
            moved = f"({key} + 1) % {values.format(customers=_customers(rows))}"
            return [f"UPDATE {table} SET {key} = {moved} WHERE {which}"]
        case "updated":
            return [f"UPDATE {table} SET {_VALUES[table]} = {_VALUES[table]} + 1 WHERE {which}"]
        case "deleted":
            return [f"DELETE FROM {table} WHERE id % {each} = {turn % each}"]
    return [_insert(table, rows, turn, f"range({some})", f", CAST(id % {MONTHS} AS INT) AS month")]


def _insert(table: str, rows: int, turn: int, source: str, month: str) -> str:
    ids = f"(SELECT id + {turn * NEW} AS id FROM {source})"
    return f"INSERT INTO {table} SELECT id, {_filled(table, rows)}{month if table == 'events' else ''} FROM {ids}"


def _filled(table: str, rows: int) -> str:
    return _FIELDS[table].format(customers=_customers(rows), shops=SHOPS)


def _customers(rows: int) -> int:
    return max(10, rows // 100)
