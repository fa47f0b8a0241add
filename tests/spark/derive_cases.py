"""Queries and changes for ``test_derive_recompute``: one query or more for each derivation rule."""
# ruff: noqa: E501 (a query stays on one line where it can be read so)

from __future__ import annotations

from attrs import field, frozen

from headwater.model.partition import WHOLE, Slice, Value

SCHEMAS: dict[str, tuple[str, list[str]]] = {
    "orders": ("o_id int, o_cust int, o_amount int, o_date date, o_region string", ["o_date", "o_region"]),
    "lines": ("l_order int, l_price int, l_date date", ["l_date"]),
    "customers": ("c_id int, c_name string, c_region string", ["c_region"]),
    "days": ("d_note string, d_text string, d_month timestamp", ["d_month"]),
    "gauges": ("g_id int, g_value double", ["g_value"]),
}
BASE: dict[str, list[tuple]] = {
    "orders": [
        (1, 1, 10, "2024-01-15", "EU"),
        (2, 2, 20, "2024-01-15", "EU"),
        (3, 3, 30, "2024-01-20", "US"),
        (4, 1, 40, "2024-02-10", "US"),
        (5, 2, 50, "2024-02-10", "EU"),
        (6, 3, 60, "2023-12-31", None),
    ],
    "lines": [(1, 5, "2024-01-15"), (1, 6, "2024-01-20"), (4, 7, "2024-02-10"), (6, 8, "2023-12-31"), (7, 1, None)],
    "customers": [(1, "ann", "EU"), (2, "bob", "US"), (3, "cem", "US"), (4, "dee", None)],
    "days": [("a", "x", "2024-01-01 00:00:00"), ("b", "y", "2024-02-10 00:00:00")],
    "gauges": [(1, 0.0), (2, 1.5)],
}


@frozen
class Change:
    """One partition of one table, and the rows it holds afterwards."""

    name: str
    table: str
    slice: Slice
    rows: list[tuple]


def _part(**values: Value) -> Slice:
    return Slice.of(values)


ORDERS = _part(o_date="2024-01-15", o_region="EU")
CHANGES = [
    Change("appended", "orders", ORDERS, [*BASE["orders"][:2], (8, 3, 80, "2024-01-15", "EU")]),
    Change("replaced", "orders", ORDERS, [(1, 2, 11, "2024-01-15", "EU")]),
    Change("emptied", "orders", ORDERS, []),
    Change("dropped", "orders", _part(o_date="2024-02-10", o_region="US"), []),
    Change("created", "orders", _part(o_date="2024-03-05", o_region="EU"), [(9, 1, 90, "2024-03-05", "EU")]),
    Change("nulled", "orders", _part(o_date="2023-12-31", o_region=None), [(6, 1, 61, "2023-12-31", None)]),
    Change("lines", "lines", _part(l_date="2024-01-15"), [(2, 9, "2024-01-15")]),
    Change("linesless", "lines", _part(l_date="2024-02-10"), []),
    Change("linesnull", "lines", _part(l_date=None), [(1, 1, None), (7, 1, None)]),
    Change("customers", "customers", _part(c_region="EU"), [(2, "bea", "EU")]),
    Change("customersless", "customers", _part(c_region="US"), []),
    Change("days", "days", _part(d_month="2024-01-01 00:00:00"), [("c", "z", "2024-01-01 00:00:00")]),
    Change("gauges", "gauges", _part(g_value="1.5"), [(3, 1.5)]),
    Change("negative", "gauges", _part(g_value="-0.0"), [(4, -0.0)]),
]
STATED = {"orders": "appended", "lines": "lines", "customers": "customers", "days": "days", "gauges": "gauges"}


@frozen
class Case:
    """``exact`` maps a source to the slices that its ``STATED`` change reaches; ``types`` are declared types."""

    name: str
    sql: str
    by: tuple[str, ...] = field(converter=lambda names: tuple(names.split()))
    exact: dict[str, list[Slice]] = field(factory=dict)
    reason: str = ""
    types: dict[str, str] = field(factory=dict)


def _whole(*sources: str) -> dict[str, list[Slice]]:
    return {each: [WHOLE] for each in sources}


JAN = "2024-01-01 00:00:00"
JAN_15 = "2024-01-15"
CASES = [
    Case("identity", "SELECT * FROM orders", "o_date o_region", {"orders": [ORDERS]}),
    Case("fewer columns", "SELECT o_id, o_date AS day FROM orders", "day", {"orders": [_part(day=JAN_15)]}),
    Case(
        "truncation",
        "SELECT date_trunc('MONTH', o_date) AS m, o_region AS r, sum(o_amount) FROM orders GROUP BY 1, 2",
        "m r",
        {"orders": [_part(m=JAN, r="EU")]},
    ),
    Case(
        "two expressions",
        "SELECT year(o_date) AS y, upper(concat(o_region, '-', month(o_date))) AS k, o_id FROM orders",
        "y k",
        {"orders": [_part(y="2024", k="EU-1")]},
    ),
    Case(
        "case expression",
        "SELECT o_id, CASE WHEN o_region = 'EU' THEN 'in' WHEN o_region = 'US' THEN '' ELSE 'out' END AS k FROM orders",
        "k",
        {"orders": [_part(k="in")]},
    ),
    Case(
        "cast",
        "SELECT o_id, CAST(o_date AS string) AS s, o_date + INTERVAL 1 DAY AS next FROM orders",
        "s next",
        {"orders": [_part(s=JAN_15, next="2024-01-16")]},
    ),
    Case(
        "column over column",
        "SELECT concat(y, '!') AS k, n FROM (SELECT year(o_date) AS y, count(*) AS n FROM orders GROUP BY 1)",
        "k",
        {"orders": [_part(k="2024!")]},
    ),
    Case(
        "row column",
        "SELECT o_id, o_cust FROM orders",
        "o_cust",
        _whole("orders"),
        "not from a partition column of orders",
    ),
    Case(
        "aggregate column",
        "SELECT o_date, max(o_region) AS r FROM orders GROUP BY o_date",
        "o_date r",
        {"orders": [_part(o_date=JAN_15)]},
        "`r` comes from `max(o_region)`, an aggregate, not from a partition column of orders",
    ),
    Case(
        "not grouped by",
        "SELECT o_cust, sum(o_amount) AS a, count(DISTINCT o_date) AS n FROM orders GROUP BY o_cust",
        "o_cust",
        _whole("orders"),
    ),
    Case("global aggregate", "SELECT 'all' AS k, sum(o_amount) FROM orders", "k", {"orders": [_part(k="all")]}),
    Case(
        "having",
        "SELECT o_date, sum(o_amount) AS s FROM orders GROUP BY o_date HAVING sum(o_amount) > 25",
        "o_date",
        {"orders": [_part(o_date=JAN_15)]},
    ),
    Case(
        "rollup",
        "SELECT o_date, o_region, sum(o_amount) FROM orders GROUP BY ROLLUP(o_date, o_region)",
        "o_date o_region",
        _whole("orders"),
        "GROUPING SETS",
    ),
    Case(
        "grouping sets that share a key",
        "SELECT o_date, o_region, o_cust, sum(o_amount) FROM orders "
        "GROUP BY o_date, GROUPING SETS ((o_region), (o_cust))",
        "o_date",
    ),
    Case("distinct", "SELECT DISTINCT o_date AS d FROM orders", "d", {"orders": [_part(d=JAN_15)]}),
    Case(
        "filter to a constant", "SELECT o_id, o_cust AS c FROM orders WHERE o_cust = 2", "c", {"orders": [_part(c="2")]}
    ),
    Case("ordinary views", "SELECT m, sum(o_amount) FROM monthly GROUP BY m", "m", {"orders": [_part(m=JAN)]}),
    Case(
        "window by the key",
        "SELECT o_id, o_date, rank() OVER (PARTITION BY o_date ORDER BY o_amount) AS k FROM orders",
        "o_date",
        {"orders": [_part(o_date=JAN_15)]},
    ),
    Case(
        "window by an expression",
        "SELECT o_id, date_trunc('MONTH', o_date) AS m, o_date AS d, "
        "sum(o_amount) OVER (PARTITION BY date_trunc('MONTH', o_date)) AS k FROM orders",
        "m d",
        {"orders": [_part(m=JAN)]},
        "a window function above it is not partitioned by it",
    ),
    Case(
        "window not by the key",
        "SELECT o_id, o_date, sum(o_amount) OVER (PARTITION BY o_cust ORDER BY o_id) AS k FROM orders",
        "o_date",
        _whole("orders"),
    ),
    Case(
        "two windows",
        "SELECT o_id, o_date, o_region, count(*) OVER (PARTITION BY o_date) AS a, "
        "count(*) OVER (PARTITION BY o_date, o_region) AS b FROM orders",
        "o_date o_region",
        {"orders": [_part(o_date=JAN_15)]},
    ),
    Case(
        "latest row of a day",
        "SELECT * FROM (SELECT o_id, o_date, row_number() OVER (PARTITION BY o_date ORDER BY o_id DESC) AS n "
        "FROM orders) WHERE n = 1",
        "o_date",
        {"orders": [_part(o_date=JAN_15)]},
    ),
    Case(
        "inner join",
        "SELECT o_date AS d, o_region AS r, sum(l_price) FROM orders JOIN lines ON o_id = l_order AND o_date = l_date GROUP BY 1, 2",
        "d r",
        {"orders": [_part(d=JAN_15, r="EU")], "lines": [_part(d=JAN_15)]},
        "which no equality ties to a partition column of lines",
    ),
    Case(
        "inner join, the other column shown",
        "SELECT l_date AS d, o_id, l_price FROM orders JOIN lines ON o_date = l_date",
        "d",
        {"orders": [_part(d=JAN_15)], "lines": [_part(d=JAN_15)]},
    ),
    Case(
        "join on an expression",
        "SELECT d_month AS m, o_id, d_note FROM orders JOIN days ON date_trunc('MONTH', o_date) = d_month",
        "m",
        {"orders": [_part(m=JAN)], "days": [_part(m=JAN)]},
    ),
    Case(
        "join on an expression, shown",
        "SELECT date_trunc('MONTH', o_date) AS m, o_date AS d, d_note, o_id FROM orders JOIN days "
        "ON date_trunc('MONTH', o_date) = d_month",
        "m d",
        {"orders": [_part(m=JAN, d=JAN_15)], "days": [_part(m=JAN)]},
    ),
    Case(
        "join through a cast",
        "SELECT o_date AS d, d_note, o_id FROM orders JOIN days ON o_date = d_month",
        "d",
        {"orders": [_part(d=JAN_15)], "days": [WHOLE]},
    ),
    Case(
        "comma join and filter, null-safe",
        "SELECT l_date AS d, o_id, l_price FROM orders, lines WHERE o_date <=> l_date AND o_amount > 5",
        "d",
        {"orders": [_part(d=JAN_15)], "lines": [_part(d=JAN_15)]},
    ),
    Case(
        "equality chain",
        "SELECT c.o_date AS d, a.o_id, b.l_price FROM orders a JOIN lines b ON a.o_date = b.l_date "
        "JOIN orders c ON c.o_date = b.l_date",
        "d",
        {"orders": [_part(d=JAN_15)], "lines": [_part(d=JAN_15)]},
    ),
    Case(
        "join without a tie",
        "SELECT o_date, c_name FROM orders JOIN customers ON o_cust = c_id",
        "o_date",
        {"orders": [_part(o_date=JAN_15)], "customers": [WHOLE]},
    ),
    Case(
        "self-join of different days",
        "SELECT a.o_date AS d, a.o_id, b.o_id AS prior FROM orders a JOIN orders b ON a.o_date = b.o_date + INTERVAL 5 DAY",
        "d",
        {"orders": [_part(d=JAN_15), _part(d="2024-01-20")]},
    ),
    Case(
        "left join by the preserved key",
        "SELECT o_date AS d, o_region AS r, o_id, l_price FROM orders LEFT JOIN lines ON o_date = l_date AND o_id = l_order",
        "d r",
        {"orders": [_part(d=JAN_15, r="EU")], "lines": [_part(d=JAN_15)]},
    ),
    Case(
        "left join by the nullable key",
        "SELECT l_date AS d, o_id, l_price FROM orders LEFT JOIN lines ON o_date = l_date AND o_id = l_order",
        "d",
        _whole("orders", "lines"),
        "which is NULL where the LEFT OUTER JOIN finds no match",
    ),
    Case(
        "left join filtered",
        "SELECT o_date AS d, o_id, l_price FROM orders LEFT JOIN lines ON o_id = l_order WHERE o_date = l_date",
        "d",
        {"orders": [_part(d=JAN_15)]},
    ),
    Case(
        "right join",
        "SELECT l_date AS d, o_date AS e, o_id, l_price FROM orders RIGHT JOIN lines ON o_date = l_date",
        "d e",
        {"orders": [_part(d=JAN_15)], "lines": [_part(d=JAN_15)]},
    ),
    Case(
        "full join",
        "SELECT o_date AS d, l_date AS e, o_id, l_price FROM orders FULL JOIN lines ON o_date = l_date",
        "d e",
        _whole("orders", "lines"),
    ),
    Case(
        "full join using",
        "SELECT day, a.o_id, b.l_price FROM (SELECT *, o_date AS day FROM orders) a "
        "FULL JOIN (SELECT *, l_date AS day FROM lines) b USING (day)",
        "day",
        {"orders": [_part(day=JAN_15)], "lines": [_part(day=JAN_15)]},
    ),
    Case(
        "left semi join",
        "SELECT o_date, o_id FROM orders LEFT SEMI JOIN lines ON o_date = l_date",
        "o_date",
        {"orders": [_part(o_date=JAN_15)], "lines": [_part(o_date=JAN_15)]},
    ),
    Case(
        "left anti join",
        "SELECT o_date, o_id FROM orders LEFT ANTI JOIN lines ON o_date = l_date AND o_id = l_order",
        "o_date",
        {"orders": [_part(o_date=JAN_15)], "lines": [_part(o_date=JAN_15)]},
    ),
    Case(
        "anti join without a tie",
        "SELECT o_date, o_id FROM orders LEFT ANTI JOIN lines ON o_id = l_order",
        "o_date",
        {"orders": [_part(o_date=JAN_15)], "lines": [WHOLE]},
    ),
    Case(
        "union",
        "SELECT o_date AS d, o_amount AS a FROM orders UNION ALL SELECT l_date, l_price FROM lines",
        "d",
        {"orders": [_part(d=JAN_15)], "lines": [_part(d=JAN_15)]},
    ),
    Case(
        "union with constants",
        "SELECT 'o' AS kind, o_date AS d, o_id AS i FROM orders UNION SELECT 'p', o_date + INTERVAL 1 DAY, o_id FROM orders",
        "kind d",
        {"orders": [_part(kind="o", d=JAN_15), _part(kind="p", d="2024-01-16")]},
    ),
    Case(
        "union, one branch free",
        "SELECT o_date AS d, o_amount AS a FROM orders UNION ALL SELECT max(l_date), 1 FROM lines",
        "d",
        {"orders": [_part(d=JAN_15)], "lines": [WHOLE]},
    ),
    Case(
        "intersect",
        "SELECT o_date AS d FROM orders INTERSECT SELECT l_date FROM lines",
        "d",
        {"orders": [_part(d=JAN_15)], "lines": [_part(d=JAN_15)]},
    ),
    Case(
        "except all",
        "SELECT o_date AS d, o_id FROM orders EXCEPT ALL SELECT l_date, l_order FROM lines",
        "d",
        {"orders": [_part(d=JAN_15)], "lines": [_part(d=JAN_15)]},
    ),
    Case(
        "cte read twice",
        "WITH m AS (SELECT date_trunc('MONTH', o_date) AS month, sum(o_amount) AS s FROM orders GROUP BY 1) "
        "SELECT a.month, a.s, b.s AS prior FROM m a LEFT JOIN m b ON a.month = add_months(b.month, 1)",
        "month",
    ),
    Case(
        "cte joined to its table",
        "WITH t AS (SELECT o_date AS d, sum(o_amount) AS s FROM orders GROUP BY o_date) "
        "SELECT o.o_date, o_id, o_amount / s AS share FROM orders o JOIN t ON o.o_date = t.d",
        "o_date",
        {"orders": [_part(o_date=JAN_15)]},
    ),
    Case(
        "limit",
        "SELECT o_date, o_id FROM orders ORDER BY o_amount, o_id LIMIT 3",
        "o_date",
        _whole("orders"),
        "LIMIT above it",
    ),
    Case(
        "exists",
        "SELECT o_date, o_id FROM orders WHERE EXISTS (SELECT 1 FROM lines WHERE l_date = o_date AND l_price > 5)",
        "o_date",
        {"orders": [_part(o_date=JAN_15)], "lines": [_part(o_date=JAN_15)]},
    ),
    Case(
        "not exists",
        "SELECT o_date, o_id FROM orders WHERE NOT EXISTS (SELECT 1 FROM lines WHERE l_date = o_date AND l_order = o_id)",
        "o_date",
        {"orders": [_part(o_date=JAN_15)], "lines": [_part(o_date=JAN_15)]},
    ),
    Case(
        "exists without a tie",
        "SELECT o_date, o_id FROM orders WHERE EXISTS (SELECT 1 FROM lines WHERE l_order = o_id)",
        "o_date",
        {"orders": [_part(o_date=JAN_15)], "lines": [WHOLE]},
        "a subquery on lines decides",
    ),
    Case(
        "in",
        "SELECT o_date, o_id FROM orders WHERE o_date IN (SELECT l_date FROM lines)",
        "o_date",
        {"orders": [_part(o_date=JAN_15)], "lines": [_part(o_date=JAN_15)]},
    ),
    Case(
        "not in",
        "SELECT o_date, o_id FROM orders WHERE o_date NOT IN (SELECT l_date FROM lines WHERE l_order < 7)",
        "o_date",
        {"orders": [_part(o_date=JAN_15)], "lines": [WHOLE]},
    ),
    Case(
        "scalar subquery",
        "SELECT o_date, o_id, o_amount / (SELECT max(o_amount) FROM orders) AS share FROM orders",
        "o_date",
        _whole("orders"),
    ),
    Case(
        "correlated scalar subquery",
        "SELECT o_date, o_id, (SELECT sum(l_price) FROM lines WHERE l_date = o_date) AS lines FROM orders",
        "o_date",
        {"orders": [_part(o_date=JAN_15)], "lines": [_part(o_date=JAN_15)]},
    ),
    Case(
        "lateral join",
        "SELECT o_date, o_id, p FROM orders LEFT JOIN LATERAL (SELECT sum(l_price) AS p FROM lines WHERE l_date = o_date)",
        "o_date",
        {"orders": [_part(o_date=JAN_15)], "lines": [_part(o_date=JAN_15)]},
    ),
    Case(
        "lateral view",
        "SELECT o_date, o_id, x FROM orders LATERAL VIEW explode(array(o_cust, o_amount)) AS x",
        "o_date",
        {"orders": [_part(o_date=JAN_15)]},
    ),
    Case(
        "lateral view, generated key",
        "SELECT o_date, o_id, x FROM orders LATERAL VIEW explode(array(o_cust, o_amount)) AS x",
        "o_date x",
        {"orders": [_part(o_date=JAN_15)]},
        "a generated row",
    ),
    Case(
        "pivot",
        "SELECT * FROM (SELECT o_date, o_region, o_amount FROM orders) PIVOT (sum(o_amount) FOR o_region IN ('EU', 'US'))",
        "o_date",
        {"orders": [_part(o_date=JAN_15)]},
    ),
    Case(
        "floating point",
        "SELECT g_value AS v, count(*) AS n FROM gauges GROUP BY g_value",
        "v",
        _whole("gauges"),
        "a DOUBLE",
    ),
    Case(
        "hints and sorts",
        "SELECT /*+ BROADCAST(lines), REPARTITION(2) */ l_date AS d, o_id FROM orders JOIN lines ON o_date = l_date ORDER BY o_id",
        "d",
        {"orders": [_part(d=JAN_15)], "lines": [_part(d=JAN_15)]},
    ),
    Case(
        "join of grouped tables",
        "SELECT a.d, a.s, b.p FROM (SELECT o_date AS d, sum(o_amount) AS s FROM orders GROUP BY o_date) a "
        "JOIN (SELECT l_date AS d, sum(l_price) AS p FROM lines GROUP BY l_date) b ON a.d = b.d",
        "d",
        {"orders": [_part(d=JAN_15)], "lines": [_part(d=JAN_15)]},
    ),
    Case(
        "between on a window column",
        "SELECT o_date, n FROM (SELECT o_date, count(*) OVER (PARTITION BY o_date) AS n FROM orders) "
        "WHERE n * 2 BETWEEN 3 AND 9 AND year(o_date) BETWEEN 2023 AND 2025",
        "o_date",
        {"orders": [_part(o_date=JAN_15)]},
    ),
    Case(
        "subquery in a join condition",
        "SELECT o_date AS d, o_id, l_price FROM orders JOIN lines ON o_date = l_date "
        "AND o_amount > (SELECT max(c_id) FROM customers)",
        "d",
        {"orders": [_part(d=JAN_15)], "lines": [_part(d=JAN_15)], "customers": [WHOLE]},
    ),
    Case(
        "outer join of a window, under a union",
        "SELECT d, n FROM (SELECT o_date AS d, rank() OVER (PARTITION BY o_date, o_region ORDER BY o_id) AS n FROM orders) "
        "LEFT JOIN lines ON d = l_date UNION ALL SELECT o_date, -1 FROM orders WHERE o_region = 'US'",
        "d",
        {"orders": [_part(d=JAN_15)], "lines": [_part(d=JAN_15)]},
    ),
    Case(
        "declared as DATE, queried as TIMESTAMP",
        "SELECT date_trunc('MONTH', o_date) AS m, sum(o_amount) AS s FROM orders GROUP BY 1",
        "m",
        {"orders": [_part(m="2024-01-01")]},
        types={"m": "DATE"},
    ),
    Case(
        "declared as TIMESTAMP, queried as DATE",
        "SELECT o_date AS d, o_id FROM orders",
        "d",
        {"orders": [_part(d="2024-01-15 00:00:00")]},
        types={"d": "TIMESTAMP"},
    ),
    Case(
        "declared as another DECIMAL",
        "SELECT CAST(month(o_date) / 4 AS DECIMAL(10, 4)) AS q, o_id FROM orders",
        "q",
        {"orders": [_part(q="0.3")]},
        types={"q": "DECIMAL(5,1)"},
    ),
    Case(
        "declared as STRING, queried as INT",
        "SELECT month(o_date) AS m, o_id FROM orders",
        "m",
        {"orders": [_part(m="1")]},
        types={"m": "STRING"},
    ),
    Case(
        "declared as VARCHAR",
        "SELECT o_region AS r, o_id FROM orders",
        "r",
        {"orders": [_part(r="EU")]},
        types={"r": "VARCHAR(5)"},
    ),
    Case(
        "declared as CHAR",
        "SELECT o_region AS r, o_id FROM orders",
        "r",
        _whole("orders"),
        "`r` is a CHAR(3), whose equal values may be spelled differently",
        types={"r": "CHAR(3)"},
    ),
    Case(
        "declared as DOUBLE, queried as INT",
        "SELECT year(o_date) AS y, o_id FROM orders",
        "y",
        _whole("orders"),
        "`y` is a DOUBLE",
        types={"y": "DOUBLE"},
    ),
    Case(
        "an empty string is null",
        "SELECT o_id, CASE o_region WHEN 'EU' THEN '' WHEN 'US' THEN '__HIVE_DEFAULT_PARTITION__' END AS k FROM orders",
        "k",
        {"orders": [_part(k=None)]},
    ),
]
