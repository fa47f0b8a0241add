"""A query of changed rows reads only the part of other tables that may join them, and makes the same totals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.model.seen import ChangedRows
from headwater.spark.jvm.facts import Pin
from headwater.spark.jvm.shim import Shim
from headwater.spark.jvm.wire import encode
from headwater.spark.refreshing.changed_rows import PINS

JOINED = {
    "inner": "SELECT count(*) FROM orders JOIN lines ON o = l",
    "implicit": "SELECT count(*) FROM lines, orders, parts WHERE o = l AND part = p AND price > 0",
    "left": "SELECT count(x) FROM orders LEFT JOIN lines ON l = o AND price > 1",
    "semi": "SELECT count(*) FROM orders LEFT SEMI JOIN lines ON o = l",
    "anti": "SELECT count(*) FROM orders LEFT ANTI JOIN lines ON l = o",
    "right": "SELECT count(*) FROM lines RIGHT JOIN orders ON o = l",
    "renamed": "SELECT count(*) FROM (SELECT o AS q FROM orders WHERE day > 1) JOIN (SELECT l AS m FROM lines) "
    "ON q = m",
    "united": "SELECT count(*) FROM (SELECT o FROM orders UNION ALL SELECT l FROM lines) JOIN lines ON o = l",
    "of a subquery": "SELECT l, n, count(*) FROM orders JOIN (SELECT l, count(*) AS n FROM lines GROUP BY l) ON o = l "
    "GROUP BY l, n",
    "null safe": "SELECT count(*) FROM orders JOIN lines ON o <=> l",
    "above an outer join": "SELECT count(*) FROM orders LEFT JOIN lines ON day = x WHERE o = l",
    "below an outer join": "SELECT count(*), count(p) FROM orders JOIN lines ON day = x LEFT JOIN parts "
    "ON p = part AND o = l",
    "below an anti join": "SELECT count(*) FROM orders JOIN lines ON day = x LEFT ANTI JOIN parts "
    "ON p = part AND o = l",
    "below a right join": "SELECT count(*), count(p) FROM parts RIGHT JOIN (orders JOIN lines ON day = x) "
    "ON p = part AND o = l",
    "below a semi join": "SELECT count(*) FROM orders JOIN lines ON day = x LEFT SEMI JOIN parts ON p = part AND o = l",
    "a wider type": "SELECT count(*) FROM orders JOIN lines ON day = l",
    "a wider type on the other side": "SELECT count(*) FROM orders JOIN lines ON o = x",
    "renamed twice": "SELECT count(*) FROM (SELECT q AS r FROM (SELECT o AS q, day FROM orders)) JOIN lines ON r = l",
    "renamed in a union": "SELECT count(*) FROM (SELECT l AS u FROM lines UNION ALL SELECT o AS u FROM orders) "
    "JOIN (SELECT l FROM lines) ON u = l",
    "computed": "SELECT count(*) FROM (SELECT o + 1 AS q FROM orders) JOIN lines ON q = l",
    "at most": "SELECT count(*) FROM orders JOIN lines ON o >= l",
    "less": "SELECT count(x) FROM orders LEFT JOIN lines ON l < o",
    "at least": "SELECT count(*) FROM orders JOIN lines ON l >= o",
    "within": "SELECT count(*) FROM orders JOIN lines ON o BETWEEN l AND l + 20 AND l > day",
    "not within": "SELECT count(*) FROM orders LEFT ANTI JOIN lines ON o > l AND day <= l",
}
IN = r"l#\d+L? IN \(7,8\)"
READ = dict.fromkeys(JOINED, IN) | {
    "a wider type": r"l#\d+L? IN \(0,1,2\)",
    "a wider type on the other side": r"cast\(x#\d+ as bigint\) IN \(7,8\)|x#\d+ IN \(7,8\)",
    "at most": r"l#\d+L? <= 8",
    "less": r"l#\d+L? <= 8",
    "at least": r"l#\d+L? >= 7",
    "within": r"l#\d+L? >= 0",
    "not within": r"l#\d+L? <= 8",
}
"""The condition on the other table; 7 and 8 are the orders that changed, and 0 to 2 their days."""
FREE = (*("above an outer join", "below an outer join", "below an anti join", "below a right join"), "computed")
"""No condition is known for these: a column is computed, or a row may find no other one."""
UNCHANGED = re.compile("UNION ALL SELECT l FROM lines|SELECT l AS u FROM lines UNION ALL")
"""The rows of these inputs did not change."""


@pytest.fixture(scope="module")
def session(application: SparkSession) -> Iterator[SparkSession]:
    """A session that reads four changed rows in place of ``orders``: 7 and 8 came, 8 and NULL went."""
    session = application.newSession()
    session.sql("CREATE DATABASE narrowing")
    session.sql("USE narrowing")
    session.sql("CREATE TABLE orders USING delta AS SELECT id AS o, CAST(id % 3 AS INT) AS day FROM range(100)")
    session.sql(
        "CREATE TABLE lines USING delta AS SELECT id % 90 AS l, id % 7 AS part, id % 5 AS price, "
        "CAST(id % 2 AS INT) AS x FROM range(300)"
    )
    session.sql("INSERT INTO lines VALUES (NULL, 1, 1, 1)")
    session.sql("CREATE TABLE parts USING delta AS SELECT id AS p FROM range(7)")
    session.sql("CREATE VIEW came AS SELECT * FROM VALUES (7L, 2), (8L, 0) AS v(o, day)")
    session.sql("CREATE VIEW went AS SELECT * FROM VALUES (8L, 2), (NULL, 1) AS v(o, day)")
    shim = Shim(session)
    rows = ChangedRows(session.table("came"), session.table("went"))
    shim.stand_in("orders", rows, now=Pin("", live=True), before=Pin("", live=True))
    session.conf.set(PINS, encode({"narrowing.orders": Pin("", rows="orders")}))
    yield session
    shim.stand_out("orders")
    session.sql("DROP DATABASE spark_catalog.narrowing CASCADE")


def totals(session: SparkSession, kind: str) -> DataFrame:
    """The totals of the changed orders. No query reads them in two places."""
    [term] = Shim(session).totals(session.sql(JOINED[kind])).terms()
    return term


@pytest.mark.parametrize("kind", JOINED)
def test_other_tables_are_read_where_they_may_join(session: SparkSession, kind: str) -> None:
    plan = totals(session, kind)._jdf.queryExecution().optimizedPlan().toString()
    assert bool(re.search(READ[kind], plan)) is (kind not in FREE), plan


@pytest.mark.thorough
@pytest.mark.parametrize("kind", JOINED)
def test_the_totals_are_those_of_the_rows_that_came_and_of_those_that_went(session: SparkSession, kind: str) -> None:
    """The reference: both are queried one after the other, in place of the table."""
    made = Counter(tuple(row) for row in totals(session, kind).collect() if row.rows)
    apart: Counter = Counter()
    for weight, table in ((2, "came"), (-1, "went")):
        query = UNCHANGED.sub("", JOINED[kind].replace("orders", table))
        found = Shim(session).totals(session.sql(query)).rows().collect()
        apart.update((*row, weight) for row in found if row.rows)
    assert made == apart
