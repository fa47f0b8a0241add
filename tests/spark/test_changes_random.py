"""Refreshes by keys and by changes of many shapes of queries, under random changes of their sources: each view equals
its query."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable

import pytest
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, database

from headwater.model.event import Published, Reworked, Started
from headwater.model.work import Mode

SALES = "id BIGINT, customer INT, day DATE, price DECIMAL(10, 2), weight DOUBLE, note STRING"
CUSTOMERS = "customer INT, region STRING, since TIMESTAMP"

SHAPES = {
    "grouped": "SELECT customer, count(*) AS n, sum(price) AS price, max(note) AS note FROM sales GROUP BY customer",
    "computed": "SELECT customer % 5 AS c, month(day) AS m, sum(price) AS s FROM sales "
    "GROUP BY customer % 5, month(day)",
    "filtered": "SELECT id, note, price * 2 AS price FROM sales WHERE price > 10",
    "joined": "SELECT region, count(*) AS n FROM sales JOIN customers USING (customer) GROUP BY region",
    "outer_joined": "SELECT s.id, s.customer, c.region FROM sales s LEFT JOIN customers c ON s.customer = c.customer",
    "full_joined": "SELECT coalesce(s.customer, c.customer) AS customer, count(s.id) AS n, max(region) AS region "
    "FROM sales s FULL JOIN customers c ON s.customer = c.customer GROUP BY coalesce(s.customer, c.customer)",
    "windowed": "SELECT id, customer, row_number() OVER (PARTITION BY customer ORDER BY day, id, note, price, weight) "
    "AS n FROM sales",
    "framed": "SELECT customer, day, note, sum(price) OVER w AS s, count(*) OVER w AS n FROM sales "
    "WINDOW w AS (PARTITION BY customer ORDER BY day RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW)",
    "framed_regions": "SELECT customer, region, day, m FROM (SELECT s.customer, c.region, s.day, max(s.price) OVER "
    "(PARTITION BY s.customer ORDER BY s.day DESC RANGE BETWEEN INTERVAL 2 MONTHS PRECEDING AND INTERVAL 1 MONTH "
    "PRECEDING) AS m FROM sales s JOIN customers c ON s.customer = c.customer) WHERE m > 1 OR m IS NULL",
    "beside": "SELECT customer, day, id, note, price, lag(price) OVER w AS l, lead(id, 2, 0) OVER w AS f FROM sales "
    "WINDOW w AS (PARTITION BY customer ORDER BY day DESC, id, note, price)",
    "beside_regions": "SELECT s.customer, c.region, s.day, s.id, s.note, s.price, sum(s.price) OVER (PARTITION BY "
    "s.customer ORDER BY s.day, s.id, s.note, s.price, c.region ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS p "
    "FROM sales s JOIN customers c ON s.customer = c.customer",
    "first": "SELECT customer, price, id FROM (SELECT *, row_number() OVER (PARTITION BY customer "
    "ORDER BY price DESC, id) AS place FROM sales) WHERE place <= 2",
    "first_ranks": "SELECT customer, price, day, note, r FROM (SELECT *, rank() OVER (PARTITION BY customer "
    "ORDER BY price DESC NULLS FIRST, day) AS r FROM sales) WHERE r < 4 AND note IS NOT NULL",
    "united": "SELECT customer, note FROM sales UNION ALL SELECT customer, region FROM customers",
    "distinct_rows": "SELECT DISTINCT customer, day FROM sales",
    "existing": "SELECT * FROM customers c WHERE EXISTS (SELECT 1 FROM sales s WHERE s.customer = c.customer)",
    "missing": "SELECT * FROM customers c WHERE NOT EXISTS (SELECT 1 FROM sales s WHERE s.customer = c.customer)",
    "having": "SELECT customer, count(*) AS n FROM sales GROUP BY customer HAVING count(*) > 3",
    "paired": "SELECT a.customer, a.id AS one, b.id AS other FROM sales a JOIN sales b "
    "ON a.customer = b.customer AND a.id < b.id",
    "common": "SELECT customer FROM sales INTERSECT SELECT customer FROM customers",
    "excepted": "SELECT customer FROM customers EXCEPT ALL SELECT customer FROM sales",
    "rolled": "SELECT customer, day, count(*) AS n FROM sales GROUP BY GROUPING SETS ((customer, day), (customer))",
    "exploded": "SELECT id, word FROM sales LATERAL VIEW explode(split(note, ' ')) AS word",
    "nested": "SELECT c.customer, (SELECT max(s.price) FROM sales s WHERE s.customer = c.customer) AS p "
    "FROM customers c",
    "since": "SELECT since, count(*) AS n FROM customers GROUP BY since",
    "all_rows": "SELECT count(*) AS n, sum(price) AS price FROM sales",
    "not_in": "SELECT id FROM sales WHERE customer NOT IN (SELECT customer FROM customers)",
}
PARTITIONED = {
    "daily": "SELECT day, customer, sum(price) AS price FROM sales GROUP BY day, customer",
    "by_region": "SELECT s.id, s.note, nullif(c.region, '') AS region FROM sales s JOIN customers c USING (customer)",
}
FREE = ("all_rows", "not_in", "joined")
"""No key is known of these if every table changed, or if `sales` did."""

TOTALLED = {
    **{name: SHAPES[name] for name in ("grouped", "computed", "joined", "distinct_rows")},
    **{name: SHAPES[name] for name in ("having", "rolled", "since", "all_rows")},
    "daily": PARTITIONED["daily"],
    "averaged": "SELECT customer, avg(price) AS p, avg(length(note)) AS l, count(note) AS n FROM sales "
    "GROUP BY customer",
    "filtered_sums": "SELECT day, sum(price) FILTER (WHERE note = 'a b') AS s, sum(id) AS ids FROM sales "
    "WHERE id % 2 = 1 GROUP BY day",
    "kept_side": "SELECT s.day, count(*) AS n, count(c.region) AS known, sum(s.price) AS price "
    "FROM sales s LEFT JOIN (SELECT DISTINCT customer, 'x' AS region FROM VALUES (1), (2) AS v(customer)) c "
    "ON s.customer = c.customer GROUP BY s.day",
    "by_word": "SELECT word, count(*) AS n FROM sales LATERAL VIEW explode(split(note, ' ')) AS word GROUP BY word",
    "ranked": "SELECT customer, n, rank() OVER (ORDER BY n DESC) AS place "
    "FROM (SELECT customer, count(*) AS n FROM sales GROUP BY customer)",
    "united_sums": "SELECT k, count(*) AS n "
    "FROM (SELECT customer AS k FROM sales UNION ALL SELECT customer FROM customers) GROUP BY k",
    "paired_sums": "SELECT a.customer, a.day, count(*) AS n, sum(b.price) AS p, max(b.note) AS note "
    "FROM sales a JOIN sales b ON a.customer = b.customer AND a.id <= b.id GROUP BY a.customer, a.day",
    "regions_twice": "WITH c AS (SELECT customer, region FROM customers WHERE region <> 'x') "
    "SELECT a.region, b.region AS other, count(*) AS n, sum(s.price) AS p FROM c a JOIN sales s "
    "ON a.customer = s.customer JOIN c b ON b.customer = s.id % 14 GROUP BY a.region, b.region",
    "united_twice": "SELECT k, count(*) AS n FROM (SELECT customer AS k FROM sales UNION ALL SELECT customer + 1 "
    "FROM sales UNION ALL SELECT customer FROM customers) GROUP BY k",
    "full_joined": SHAPES["full_joined"],
    "optional_sums": "SELECT c.region, count(s.id) AS n, sum(s.price) AS p FROM customers c LEFT JOIN sales s "
    "ON c.customer = s.customer GROUP BY c.region",
    "without_sales": "SELECT region, count(*) AS n FROM customers c LEFT ANTI JOIN sales s "
    "ON c.customer = s.customer GROUP BY region",
    "busy_regions": "SELECT c.region, max(n) AS most, sum(p) AS p, count(*) AS n FROM customers c JOIN "
    "(SELECT customer, count(*) AS n, sum(price) AS p FROM sales GROUP BY customer HAVING count(*) > 1) s "
    "ON c.customer = s.customer GROUP BY c.region",
    "regions_with_sales": "SELECT region, count(*) AS n FROM customers c WHERE EXISTS (SELECT 1 FROM sales s "
    "WHERE s.customer = c.customer AND s.price > 10) GROUP BY region",
    "dear_sales": "SELECT day, count(*) AS n, sum(price) AS p FROM sales s WHERE price > (SELECT avg(price) "
    "FROM sales o WHERE o.customer = s.customer) GROUP BY day",
    "sales_to_nobody": "SELECT day, count(*) AS n FROM sales WHERE customer NOT IN (SELECT customer FROM customers) "
    "GROUP BY day",
    "ends": "SELECT customer, min(day) AS first, max(price) AS most, min(note) AS note FROM sales GROUP BY customer",
    "decided": "SELECT customer, every(price > 10) AS e, some(note = 'a b') FILTER (WHERE id % 2 = 1) AS s, "
    "count_if(price > 10) AS c, bit_xor(id) AS x FROM sales GROUP BY customer",
    "distinct_values": "SELECT day, count(DISTINCT customer) AS c, count(DISTINCT weight) AS w, sum(price) AS p, "
    "sum(DISTINCT price) FILTER (WHERE id % 2 = 1) AS odd, count(DISTINCT customer, note) AS n, avg(price) AS a "
    "FROM sales GROUP BY day",
    "distinct_regions": "SELECT c.since, count(DISTINCT region, note) AS n, every(s.price > 1) AS e "
    "FROM sales s JOIN customers c USING (customer) GROUP BY ROLLUP (c.since, c.region)",
    "united_days": "SELECT customer AS k, day FROM sales UNION SELECT customer, CAST(since AS DATE) FROM customers "
    "UNION SELECT 3, DATE'2024-02-01'",
    "regions_of_pairs": "SELECT count(DISTINCT region) AS n, some(day > DATE'2024-02-01') AS late "
    "FROM (SELECT DISTINCT customer, day FROM sales) s JOIN customers c USING (customer)",
    "common": SHAPES["common"],
    "excepted_sets": "SELECT customer, region FROM customers EXCEPT (SELECT customer, note FROM sales "
    "INTERSECT (SELECT 3, 'merged' UNION SELECT * FROM VALUES (1, ''), (2, NULL)))",
    "all_distinct": "SELECT count(DISTINCT customer) AS c, sum(id) AS ids FROM sales",
    "above_average": "SELECT customer, sum(price) AS p FROM sales GROUP BY customer "
    "HAVING sum(price) > (SELECT avg(price) FROM sales)",
    "joined_sums": "SELECT c.region, c.since, sum(s.price) AS p, avg(s.price) AS a, count(*) AS n "
    "FROM sales s JOIN customers c ON s.customer = c.customer GROUP BY c.region, c.since",
}
ROWS = {
    **{name: SHAPES[name] for name in ("filtered", "outer_joined", "united", "exploded", "existing", "paired")},
    **{name: SHAPES[name] for name in ("missing", "excepted", "nested", "not_in")},
    "by_region": PARTITIONED["by_region"],
    "daily_notes": "SELECT upper(note) AS note, day FROM sales WHERE note IS NOT NULL",
    "weights": "SELECT weight, struct(price, note) AS both, customer % 3 AS c FROM sales",
    "both_kept": "SELECT s.note, c.region FROM sales s FULL JOIN customers c ON s.customer = c.customer",
    "beside_sums": "SELECT s.note, s.price, t.n, t.p FROM sales s JOIN (SELECT customer, count(*) AS n, "
    "sum(price) AS p FROM sales GROUP BY customer) t ON s.customer = t.customer",
    "dearest": "SELECT s.* FROM sales s WHERE price = (SELECT max(price) FROM sales o WHERE o.customer = s.customer)",
    "regions_alike": "WITH c AS (SELECT region, count(*) AS n FROM customers GROUP BY region) "
    "SELECT a.region, b.region AS other FROM c a JOIN c b ON a.n = b.n",
}
"""Without an aggregate above all others."""


class Writer:
    """Random statements about the two tables.

    Args:
        place: the namespace of the tables.
        compact: the statement that writes the rows of ``sales`` into other files.
    """

    def __init__(self, seed: int, place: str, compact: str) -> None:
        self._random, self._next, self._place, self._compact = random.Random(seed), 0, place, compact

    def sale(self) -> str:
        self._next += 1
        r = self._random
        customer = r.choice(["NULL", *map(str, range(12))])
        day = r.choice(["NULL", "DATE'2024-01-31'", "DATE'2024-02-01'", "DATE'2024-02-29'"])
        price = r.choice(["NULL", "0.00", "12.50", "99999999.99", f"{r.randrange(100)}.25"])
        weight = r.choice(["NULL", "0.0D", "-0.0D", "CAST('NaN' AS DOUBLE)", "1.5D"])
        note = r.choice(["NULL", "''", "'it''s'", "'a b'", "'ünï c'"])
        return f"({r.choice([self._next, 1])}, {customer}, {day}, {price}, {weight}, {note})"

    def customer(self) -> str:
        r = self._random
        since = r.choice(["NULL", "TIMESTAMP'2024-10-27 00:30:00Z'", "TIMESTAMP'2024-10-27 01:30:00Z'"])
        region = r.choice(["NULL", "''", "'n'", "'s'"])
        return f"({r.choice(['NULL', *map(str, range(14))])}, {region}, {since})"

    def sales(self, count: int) -> str:
        return ", ".join(self.sale() for _ in range(count))

    def customers(self, count: int) -> str:
        return ", ".join(self.customer() for _ in range(count))

    def statements(self) -> list[str]:
        """One to three statements."""
        return self._some(lambda k: self._random.choice(self._any(k)))

    def inserts(self) -> list[str]:
        """The same, of which no row goes."""
        return self._some(lambda k: self._random.choice(self._inserts(k)))

    def last(self) -> list[str]:
        """A statement about each table, so that every view follows one."""
        inserts = (f"INSERT INTO sales VALUES {self.sales(1)}", f"INSERT INTO customers VALUES {self.customers(1)}")
        return [self.placed(each) for each in inserts]

    def _some(self, one: Callable[[int], str]) -> list[str]:
        r = self._random
        return [self.placed(one(r.randrange(14))) for _ in range(r.choice([1, 1, 2, 3]))]

    def _inserts(self, k: int) -> list[str]:
        return [
            f"INSERT INTO sales VALUES {self.sales(self._random.randrange(1, 4))}",
            f"INSERT INTO customers VALUES {self.customers(1)}",
            self._compact,
            f"INSERT INTO sales SELECT * FROM sales WHERE customer = {k}",
        ]

    def _any(self, k: int) -> list[str]:
        r = self._random
        day = "DATE'2024-03-01'"  # Iceberg takes no text for a date
        return [
            *self._inserts(k),
            f"UPDATE sales SET customer = {r.choice([k, 'NULL'])} WHERE id % 7 = {k % 7}",
            f"UPDATE sales SET weight = -weight WHERE id % 5 = {k % 5}",
            f"UPDATE sales SET customer = price, price = customer WHERE customer = {k}",
            f"DELETE FROM sales WHERE id % 11 = {k % 11}",
            f"UPDATE sales SET day = {r.choice(['NULL', day])} WHERE id % 9 = {k % 9}",
            f"UPDATE customers SET region = {r.choice(['NULL', repr('n')])} WHERE customer = {k}",
            f"DELETE FROM customers WHERE customer = {k}",
            f"MERGE INTO sales t USING (SELECT {k} AS c) s ON t.customer = s.c "
            "WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET note = 'merged'",
        ]

    def placed(self, statement: str) -> str:
        """The statement with the tables' whole names."""
        return re.sub(r"(?<![.'])\b(sales|customers)\b", rf"{self._place}.\1", statement)


USING = {
    "delta": "USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')",
    "vectors": "USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
    "iceberg": "USING iceberg",
}


@pytest.fixture
def tables(spark: SparkSession, source: str, seed: int) -> Writer:
    """Two tables with rows, and a writer of them. Queries find those in Iceberg through ordinary views."""
    own = database(spark)
    writer = Writer(seed, own, "OPTIMIZE sales")
    if source == "iceberg":
        spark.sql(f"CREATE NAMESPACE lake.{own}")
        writer = Writer(seed, f"lake.{own}", f"CALL lake.system.rewrite_data_files(table => '{own}.sales')")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    for table, columns in (("sales", SALES), ("customers", CUSTOMERS)):
        spark.sql(writer.placed(f"CREATE TABLE {table} ({columns}) {USING[source]}"))
        if source == "iceberg":
            spark.sql(f"CREATE VIEW {table} AS SELECT * FROM lake.{own}.{table}")
    for _ in range(2):
        spark.sql(writer.placed(f"INSERT INTO sales VALUES {writer.sales(40)}"))
        spark.sql(writer.placed(f"INSERT INTO customers VALUES {writer.customers(6)}"))
    return writer


def followed(
    spark: SparkSession,
    method: str,
    format: str,
    views: dict[str, str],
    partitioned: dict[str, str],
    rounds: Iterable[Callable[[], list[str]]],
) -> str:
    """Makes views, and compares each with its query after random changes.

    Args:
        partitioned: the partition columns of some of them.
        rounds: the statements of each round.

    Returns:
        The namespace of the views.
    """
    asked = f"TBLPROPERTIES ('headwater.method' = '{method}, full')"
    place = database(spark)
    if format == "iceberg":
        place = f"lake.{place}"
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {place}")
    for name, query in views.items():
        by = f"PARTITIONED BY ({partitioned[name]})" if name in partitioned else ""
        spark.sql(f"CREATE MATERIALIZED VIEW {place}.{name} USING {format} {by} {asked} AS {query}")
    for drawn in rounds:
        done = drawn()
        for each in done:
            spark.sql(each)
        spark.sql("REFRESH MATERIALIZED VIEWS")
        for name, query in views.items():
            try:
                assert_equals_query(spark, f"{place}.{name}", query)
            except AssertionError as error:
                raise AssertionError(f"{name} after {done}") from error
    return place


def went(journal: Journal, place: str, mode: Mode) -> tuple[set[str], set[str]]:
    """The views of a namespace that had refreshes of a mode, and those of which one computed whole partitions."""
    events = [*journal.events()]
    begun = {each.version: each for each in events if isinstance(each, Started) and f"{place}." in each.view}
    ended = [each for each in events if isinstance(each, Published) and each.version in begun]
    ended = [each for each in ended if begun[each.version].work.mode is mode]
    reworked = {each.version for each in events if isinstance(each, Reworked)}
    return {_name(each) for each in ended}, {_name(each) for each in ended if each.version in reworked}


def _name(event: Published) -> str:
    return event.view.rpartition(".")[2]


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "format, source, seed", [("delta", "vectors", 1), ("iceberg", "delta", 2), ("parquet", "iceberg", 5)]
)
def test_every_view_by_keys_equals_its_query(
    spark: SparkSession, journal: Journal, tables: Writer, format: str
) -> None:
    partitioned = {"daily": "day", "by_region": "region"}
    place = followed(
        spark, "keys", format, SHAPES | PARTITIONED, partitioned, [*[tables.statements] * ROUNDS, tables.last]
    )
    by_keys, instead = went(journal, place, Mode.KEYS)
    assert by_keys >= SHAPES.keys() - set(FREE) and not instead


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "format, source, seed", [("iceberg", "delta", 3), ("parquet", "vectors", 4), ("delta", "iceberg", 6)]
)
def test_every_view_by_changes_equals_its_query(
    spark: SparkSession, journal: Journal, tables: Writer, format: str
) -> None:
    place = followed(
        spark, "incremental", format, TOTALLED, {"daily": "day"}, [*[tables.statements] * ROUNDS, tables.last]
    )
    by_changes, instead = went(journal, place, Mode.CHANGES)
    assert by_changes == TOTALLED.keys() and not instead


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize(
    "format, source, seed", [("delta", "vectors", 7), ("iceberg", "delta", 8), ("parquet", "iceberg", 9)]
)
def test_every_view_without_an_aggregate_equals_its_query(
    spark: SparkSession, journal: Journal, tables: Writer, format: str, half: int
) -> None:
    views = dict([*ROWS.items()][half::2])
    partitioned = {"by_region": "region", "daily_notes": "day"}
    rounds = [tables.inserts, *[tables.statements] * 3, tables.last]
    place = followed(spark, "incremental", format, views, partitioned, rounds)
    followed_rows, instead = went(journal, place, Mode.CHANGES)
    assert followed_rows == views.keys() and not instead


ROUNDS = 5
