"""Shapes of queries for ``test_derive_recompute`` beside one for each rule: every operator in its awkward forms."""
# ruff: noqa: E501 (a query stays on one line where it can be read so)

from __future__ import annotations

from derive_cases import CHANGES, JAN, JAN_15, ORDERS, Case, _part, _whole

REPRESENTATIVE = [each for each in CHANGES if each.name not in ("appended", "dropped", "customersless")]
"""The changes that these queries see: without those that another one resembles, which saves a third of the time."""

DAY = {"orders": [_part(o_date=JAN_15)]}
BOTH = {"orders": [_part(o_date=JAN_15)], "lines": [_part(o_date=JAN_15)]}
LINES_WHOLE = _whole("lines")

LATERAL = [
    Case(
        "lateral count of a day",
        "SELECT o_date, o_id, n FROM orders, LATERAL (SELECT count(*) AS n FROM lines WHERE l_date = o_date)",
        "o_date",
        BOTH,
    ),
    Case(
        "lateral count, filtered by the outer row only",
        "SELECT o_amount AS a, o_id, n FROM orders, LATERAL (SELECT count(*) AS n FROM customers WHERE year(o_date) = o_amount)",
        "a",
        _whole("orders"),
    ),
    Case(
        "lateral subquery with rows",
        "SELECT o_date, o_id, l_price FROM orders JOIN LATERAL (SELECT l_price FROM lines WHERE l_date = o_date AND l_order = o_id)",
        "o_date",
        BOTH,
    ),
    Case(
        "lateral function",
        "SELECT o_date, o_id, x FROM orders, LATERAL explode(array(o_cust, o_amount)) AS t(x)",
        "o_date",
        DAY,
    ),
    Case(
        "lateral view outer",
        "SELECT o_date, o_id, x FROM orders LATERAL VIEW OUTER explode(filter(array(o_cust, o_amount), y -> y > 15)) AS x",
        "o_date",
        DAY,
    ),
    Case("stack", "SELECT o_date, x FROM orders LATERAL VIEW stack(2, o_id, o_cust) AS x", "o_date", DAY),
]

SUBQUERIES = [
    Case(
        "in, of several columns",
        "SELECT o_date, o_id FROM orders WHERE (o_date, o_id) IN (SELECT l_date, l_order FROM lines)",
        "o_date",
        BOTH,
    ),
    Case(
        "not in, of several columns",
        "SELECT o_date, o_id FROM orders WHERE (o_date, o_id) NOT IN (SELECT l_date, l_order FROM lines)",
        "o_date",
        LINES_WHOLE,
    ),
    Case(
        "in, beside another condition",
        "SELECT o_date, o_id FROM orders WHERE o_date IN (SELECT l_date FROM lines WHERE l_price > 5) OR o_amount > 45",
        "o_date",
        LINES_WHOLE,
    ),
    Case(
        "exists, beside another condition",
        "SELECT o_date, o_id FROM orders WHERE EXISTS (SELECT 1 FROM lines WHERE l_date = o_date) OR o_amount > 45",
        "o_date",
        BOTH,
    ),
    Case(
        "in, shown",
        "SELECT o_date, o_id, o_date IN (SELECT l_date FROM lines) AS known FROM orders",
        "o_date",
        LINES_WHOLE,
    ),
    Case(
        "in, of a grouped table",
        "SELECT o_date, o_id FROM orders WHERE o_date IN (SELECT l_date FROM lines GROUP BY l_date HAVING sum(l_price) > 5)",
        "o_date",
        BOTH,
    ),
    Case(
        "correlated count",
        "SELECT o_date, o_id, (SELECT count(*) FROM lines WHERE l_date = o_date) AS n FROM orders",
        "o_date",
        BOTH,
    ),
    Case(
        "correlated scalar in a condition",
        "SELECT o_date, o_id FROM orders WHERE o_amount > (SELECT sum(l_price) FROM lines WHERE l_date = o_date)",
        "o_date",
        BOTH,
    ),
    Case(
        "scalar equal to the key",
        "SELECT o_date, o_id FROM orders WHERE o_date = (SELECT max(l_date) FROM lines WHERE l_price < 8)",
        "o_date",
        LINES_WHOLE,
    ),
    Case(
        "scalar beside an aggregate",
        "SELECT o_date, sum(o_amount) + (SELECT count(*) FROM customers) AS s FROM orders GROUP BY o_date",
        "o_date",
        {"orders": [_part(o_date=JAN_15)], **_whole("customers")},
    ),
    Case(
        "scalar in having",
        "SELECT o_date, sum(o_amount) AS s FROM orders GROUP BY o_date HAVING sum(o_amount) > (SELECT sum(l_price) FROM lines)",
        "o_date",
        LINES_WHOLE,
    ),
    Case(
        "subquery in a subquery",
        "SELECT o_date, o_id FROM orders WHERE EXISTS (SELECT 1 FROM lines WHERE l_date = o_date AND l_price < (SELECT sum(c_id) FROM customers))",
        "o_date",
        {**BOTH, **_whole("customers")},
    ),
]

JOINS = [
    Case(
        "left self-join",
        "SELECT a.o_date, a.o_id, b.o_id AS later FROM orders a LEFT JOIN orders b ON a.o_date = b.o_date AND a.o_id < b.o_id",
        "o_date",
        DAY,
    ),
    Case(
        "anti self-join: the last of each day",
        "SELECT a.o_date, a.o_id FROM orders a LEFT ANTI JOIN orders b ON a.o_date = b.o_date AND a.o_id < b.o_id",
        "o_date",
        DAY,
    ),
    Case(
        "anti self-join: the last of each customer",
        "SELECT a.o_date, a.o_id FROM orders a LEFT ANTI JOIN orders b ON a.o_cust = b.o_cust AND a.o_date < b.o_date",
        "o_date",
        _whole("orders"),
    ),
    Case(
        "full self-join of months",
        "SELECT coalesce(a.m, b.m) AS m, a.s, b.s AS prior FROM (SELECT date_trunc('MONTH', o_date) AS m, sum(o_amount) AS s FROM orders GROUP BY 1) a "
        "FULL JOIN (SELECT add_months(date_trunc('MONTH', o_date), 1) AS m, sum(o_amount) AS s FROM orders GROUP BY 1) b ON a.m = b.m",
        "m",
    ),
    Case(
        "left join using",
        "SELECT day, o_id, l_price FROM (SELECT *, o_date AS day FROM orders) LEFT JOIN (SELECT *, l_date AS day FROM lines) USING (day)",
        "day",
        {"orders": [_part(day=JAN_15)], "lines": [_part(day=JAN_15)]},
    ),
    Case(
        "right join using",
        "SELECT day, o_id, l_price FROM (SELECT *, o_date AS day FROM orders) RIGHT JOIN (SELECT *, l_date AS day FROM lines) USING (day)",
        "day",
        {"orders": [_part(day=JAN_15)], "lines": [_part(day=JAN_15)]},
    ),
    Case(
        "natural join",
        "SELECT day, o_id, l_price FROM (SELECT o_id, o_date AS day FROM orders) NATURAL JOIN (SELECT l_price, l_date AS day FROM lines)",
        "day",
        {"orders": [_part(day=JAN_15)], "lines": [_part(day=JAN_15)]},
    ),
    Case(
        "left join, coalesced",
        "SELECT coalesce(l_date, o_date) AS d, o_id, l_price FROM orders LEFT JOIN lines ON o_date = l_date AND o_id = l_order",
        "d",
    ),
    Case(
        "range join",
        "SELECT o_date, o_id, l_price FROM orders JOIN lines ON o_date BETWEEN l_date AND l_date + INTERVAL 30 DAY",
        "o_date",
        LINES_WHOLE,
    ),
    Case("cross join", "SELECT o_date, o_id, c_name FROM orders CROSS JOIN customers", "o_date", _whole("customers")),
    Case(
        "join to a constant day",
        "SELECT o_date, l_date AS l, o_id, l_price FROM orders JOIN lines ON l_date = DATE'2024-01-15'",
        "o_date l",
        {"lines": [_part(l=JAN_15)]},
    ),
    Case(
        "join with a table of values",
        "SELECT o_date, o_id, w FROM orders JOIN VALUES ('EU', 1), ('US', 2) AS t(r, w) ON o_region = r",
        "o_date",
        DAY,
    ),
    Case(
        "semi-join of a grouped table",
        "SELECT l_date AS d, l_price FROM lines LEFT SEMI JOIN (SELECT o_date, count(*) AS n FROM orders GROUP BY o_date) ON l_date = o_date AND l_price > n",
        "d",
        {"orders": [_part(d=JAN_15)], "lines": [_part(d=JAN_15)]},
    ),
    Case(
        "three outer joins",
        "SELECT o_date, o_id, l_price, c_name FROM orders LEFT JOIN lines ON o_date = l_date LEFT JOIN customers ON o_region = c_region AND l_order = c_id",
        "o_date",
        {**BOTH, **_whole("customers")},
    ),
    Case(
        "null-safe outer join",
        "SELECT o_region AS r, o_id, c_name FROM orders LEFT JOIN customers ON o_region <=> c_region",
        "r",
        {"orders": [_part(r="EU")], "customers": [_part(r="EU")]},
    ),
]

GROUPS = [
    Case(
        "grouping sets with the empty set",
        "SELECT o_date, count(*) AS n FROM orders GROUP BY GROUPING SETS ((o_date), ())",
        "o_date",
        _whole("orders"),
        "GROUPING SETS",
    ),
    Case(
        "cube and its grouping",
        "SELECT grouping_id() AS g, o_date, o_region, sum(o_amount) AS s FROM orders GROUP BY CUBE (o_date, o_region)",
        "g",
        _whole("orders"),
    ),
    Case(
        "group by all",
        "SELECT o_date, upper(o_region) AS r, sum(o_amount) AS s FROM orders GROUP BY ALL",
        "o_date r",
        {"orders": [_part(o_date=JAN_15, r="EU")]},
    ),
    Case(
        "aggregate with filter",
        "SELECT o_date, sum(o_amount) FILTER (WHERE o_region = 'EU') AS s, count(DISTINCT o_cust) AS n FROM orders GROUP BY o_date",
        "o_date",
        DAY,
    ),
    Case("distinct doubles", "SELECT DISTINCT g_value AS v, g_id FROM gauges", "v", _whole("gauges"), "a DOUBLE"),
    Case(
        "distinct texts of doubles",
        "SELECT DISTINCT CAST(g_value AS STRING) AS v, g_id FROM gauges",
        "v",
        _whole("gauges"),
    ),
    Case(
        "group by a collated key",
        "SELECT lower(max(o_region)) AS r, count(*) AS n FROM orders GROUP BY o_region COLLATE UTF8_LCASE",
        "r",
        _whole("orders"),
    ),
    Case(
        "unpivot",
        "SELECT * FROM (SELECT o_date, o_cust, o_amount FROM orders) UNPIVOT (v FOR k IN (o_cust, o_amount))",
        "o_date",
        DAY,
    ),
    Case(
        "unpivot by the name",
        "SELECT * FROM (SELECT o_date, o_cust, o_amount FROM orders) UNPIVOT (v FOR k IN (o_cust, o_amount))",
        "k",
        _whole("orders"),
    ),
]

SETS = [
    Case(
        "intersect all",
        "SELECT o_date AS d FROM orders INTERSECT ALL SELECT l_date FROM lines",
        "d",
        {"orders": [_part(d=JAN_15)], "lines": [_part(d=JAN_15)]},
    ),
    Case(
        "except",
        "SELECT o_date AS d, o_id FROM orders EXCEPT SELECT l_date, l_order FROM lines",
        "d",
        {"orders": [_part(d=JAN_15)], "lines": [_part(d=JAN_15)]},
    ),
    Case(
        "except itself, of another day",
        "SELECT o_date AS d FROM orders EXCEPT SELECT o_date + INTERVAL 5 DAY FROM orders",
        "d",
        {"orders": [_part(d=JAN_15), _part(d="2024-01-20")]},
    ),
    Case(
        "union of shared and other columns",
        "SELECT d, max(n) AS n FROM (SELECT o_date AS d, o_id AS n FROM orders UNION SELECT l_date, l_order FROM lines) GROUP BY d",
        "d",
        {"orders": [_part(d=JAN_15)], "lines": [_part(d=JAN_15)]},
    ),
]

WINDOWS = [
    Case(
        "window over groups",
        "SELECT date_trunc('MONTH', o_date) AS m, sum(sum(o_amount)) OVER (ORDER BY date_trunc('MONTH', o_date)) AS s FROM orders GROUP BY 1",
        "m",
        _whole("orders"),
    ),
    Case(
        "window by a range of days",
        "SELECT o_id, o_date, sum(o_amount) OVER (PARTITION BY o_region ORDER BY o_date RANGE BETWEEN INTERVAL 30 DAY PRECEDING AND CURRENT ROW) AS s FROM orders",
        "o_date",
        _whole("orders"),
    ),
    Case(
        "named window",
        "SELECT o_id, o_date, lag(o_id) OVER w AS prior, row_number() OVER w AS n FROM orders WINDOW w AS (PARTITION BY o_date, o_cust ORDER BY o_id)",
        "o_date",
        DAY,
    ),
    Case(
        "window shares of a joined table",
        "SELECT o_date, o_id, l_price / sum(l_price) OVER (PARTITION BY o_date) AS share FROM orders JOIN lines ON o_date = l_date",
        "o_date",
        BOTH,
    ),
]

TABLES = [
    Case(
        "cte in a subquery",
        "WITH t AS (SELECT l_date FROM lines WHERE l_price > 5) SELECT o_date, o_id FROM orders WHERE o_date IN (SELECT * FROM t) AND EXISTS (SELECT 1 FROM t WHERE l_date = o_date)",
        "o_date",
        BOTH,
    ),
    Case(
        "recursive numbers",
        "WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r WHERE n < 2) SELECT date_add(o_date, n) AS d, o_id FROM orders CROSS JOIN r",
        "d",
        _whole("orders"),
    ),
    Case(
        "recursive days",
        "WITH RECURSIVE r(d, i) AS (SELECT o_date, 0 FROM orders UNION ALL SELECT date_add(d, 1), i + 1 FROM r WHERE i < 2) SELECT d, i FROM r",
        "d",
        _whole("orders"),
        "a recursive query",
    ),
    Case(
        "pipes",
        "FROM orders |> WHERE o_amount > 5 |> JOIN lines ON o_date = l_date |> AGGREGATE sum(l_price) AS s GROUP BY o_date |> WHERE s > 0",
        "o_date",
        BOTH,
    ),
    Case("rows of numbers", "SELECT o_date, o_id + id AS x FROM orders CROSS JOIN range(2)", "o_date", DAY),
]

EXPRESSIONS = [
    Case(
        "higher-order functions",
        "SELECT array_join(transform(array(o_region, 'x'), y -> lower(y)), '-') AS k, o_id FROM orders",
        "k",
    ),
    Case(
        "a lambda that names the outer column",
        "SELECT transform(array(1, 2), y -> y + year(o_date))[0] AS k, o_date, o_id FROM orders",
        "k o_date",
    ),
    Case("named arguments", "SELECT mask(o_region, upperChar => 'A') AS k, o_id FROM orders", "k"),
    Case(
        "fields of structures",
        "SELECT s.d, s.r, o_id FROM (SELECT named_struct('d', o_date, 'r', o_region) AS s, o_id FROM orders)",
        "d r",
    ),
    Case(
        "arithmetic with intervals",
        "SELECT timestampadd(MONTH, 1, o_date) AS next, datediff(o_date, DATE'2024-01-01') AS n, o_id FROM orders",
        "next n",
    ),
    Case(
        "another time zone",
        "SELECT to_date(from_utc_timestamp(o_date, 'America/New_York')) AS d, o_id FROM orders",
        "d",
        {"orders": [_part(d="2024-01-14")]},
    ),
    Case(
        "a column by its alias beside it",
        "SELECT year(o_date) AS y, concat(y, '-x') AS k, o_id FROM orders",
        "k",
        {"orders": [_part(k="2024-x")]},
    ),
    Case("collated key", "SELECT o_region COLLATE UTF8_LCASE AS k, o_id FROM orders", "k", _whole("orders")),
    Case("try_cast of a text", "SELECT try_cast(o_region AS INT) AS k, o_id FROM orders", "k"),
    Case(
        "a cast that fails on other partitions",
        "SELECT CAST(CASE WHEN o_region = 'EU' THEN '7' ELSE '8' END AS INT) AS k, o_id FROM orders WHERE o_region IS NOT NULL",
        "k",
        {"orders": [_part(k="7")]},
    ),
    Case(
        "strings with quotes and backslashes",
        r"""SELECT CASE o_region WHEN 'EU' THEN 'it\'s' ELSE 'a\\b' END AS k, "it's" AS j, o_id FROM orders""",
        "k j",
        {"orders": [_part(k="it's", j="it's")]},
    ),
    Case(
        "all columns but one",
        "SELECT * EXCEPT (o_cust) FROM orders ORDER BY o_id",
        "o_date o_region",
        {"orders": [ORDERS]},
    ),
    Case(
        "months of a month",
        "SELECT trunc(date_trunc('MONTH', o_date), 'YEAR') AS y, date_trunc('MONTH', o_date) AS m, o_id FROM orders",
        "y m",
        {"orders": [_part(y="2024-01-01", m=JAN)]},
    ),
]

SHAPES = [*LATERAL, *SUBQUERIES, *JOINS, *GROUPS, *SETS, *WINDOWS, *TABLES, *EXPRESSIONS]
