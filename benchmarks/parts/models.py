"""Five views over two Delta tables, and what the author of incremental models writes for each of them by hand.

dbt's adapter for Spark runs two statements for a model with ``incremental_strategy='merge'``. The first one makes a
temporary view of the model's query with its ``is_incremental()`` filter. The second one merges it by the
``unique_key``. Here are these two statements alone, without the start of dbt and its look at the catalog.

The author must know, and must keep true as the query changes:

- which column tells when a row was loaded, that every write sets it, and that each model carries its maximum along;
- which column is the unique key of the result, and that an aggregate needs all rows of a changed key, not the new ones;
- that rows which go are noticed by no filter, nor those that a change moves out of a condition or to another key.
"""

from __future__ import annotations

from attrs import frozen

SHOPS = 400
DAYS = 365
NEW = 10_000_000_000
"""Added to the identifiers of rows that come."""


@frozen
class Model:
    """A view, and how an incremental model computes it.

    Attributes:
        columns: of the view; the model has ``loaded`` beside them.
        query: with a place for the model's further column, and for its filter.
        key: the unique key of the result.
        grouped: the filter must take all rows of a changed key.
    """

    name: str
    columns: str
    query: str
    key: str
    grouped: bool = False

    @property
    def view(self) -> str:
        """The query of the view."""
        return self.query.format(more="", where="")

    def first(self) -> str:
        """The statement that makes the model's table, as a first run does."""
        return f"CREATE TABLE {self.name} USING delta AS {self._written('')}"

    def later(self) -> list[str]:
        """The statements of each later run."""
        newer = f"loaded > (SELECT max(loaded) FROM {self.name})"
        where = f"{self.key} IN (SELECT {self.key} FROM sales WHERE {newer})" if self.grouped else newer
        return [
            f"CREATE OR REPLACE TEMPORARY VIEW {self.name}__dbt_tmp AS {self._written(f'AND {where}')}",
            f"MERGE INTO {self.name} AS DBT_INTERNAL_DEST USING {self.name}__dbt_tmp AS DBT_INTERNAL_SOURCE"
            f" ON DBT_INTERNAL_SOURCE.{self.key} = DBT_INTERNAL_DEST.{self.key}"
            " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        ]

    def _written(self, where: str) -> str:
        newest = "max(loaded)" if "GROUP BY" in self.query else "loaded"
        return self.query.format(more=f", {newest} AS loaded", where=where)


MODELS = (
    Model(
        "large_sales",
        "id, customer, amount",
        "SELECT id, customer, amount{more} FROM sales WHERE amount >= 80 {where}",
        "id",
    ),
    Model(
        "sales_by_region",
        "id, region, amount",
        "SELECT s.id, c.region, s.amount{more} FROM sales s JOIN customers c ON s.customer = c.number"
        " WHERE s.amount < 20 {where}",
        "id",
    ),
    Model(
        "per_customer",
        "customer, amount, n",
        "SELECT customer, sum(amount) AS amount, count(*) AS n{more} FROM sales WHERE TRUE {where} GROUP BY customer",
        "customer",
        grouped=True,
    ),
    Model(
        "per_day",
        "day, shops, amount",
        "SELECT day, count(DISTINCT shop) AS shops, max(amount) AS amount{more} FROM sales WHERE TRUE {where}"
        " GROUP BY day",
        "day",
        grouped=True,
    ),
    Model(
        "newest",
        "customer, id, amount",
        "SELECT customer, id, amount{more} FROM (SELECT *, row_number() OVER (PARTITION BY customer ORDER BY id DESC)"
        " AS place FROM sales WHERE TRUE {where}) WHERE place = 1",
        "customer",
        grouped=True,
    ),
)

_ROW = "id, id % {customers} AS customer, id * 7 % {shops} AS shop, CAST(id * 13 % 97 AS DECIMAL(10, 2)) AS amount"


def tables(rows: int, place: str) -> list[str]:
    """The statements that make the tables; the rows are in the order of their days."""
    day = f"CAST(id * {DAYS} DIV {rows} AS INT) AS day"
    return [
        f"CREATE TABLE sales USING delta LOCATION '{place}/sales' AS SELECT /*+ REPARTITION_BY_RANGE(24, id) */"
        f" {_row(rows)}, {day}, 0 AS loaded FROM range({rows})",
        f"CREATE TABLE customers USING delta LOCATION '{place}/customers' AS"
        f" SELECT id AS number, substr('wxyz', 1 + CAST(id % 4 AS INT), 1) AS region FROM range({_customers(rows)})",
    ]


def coming(rows: int, turn: int) -> list[str]:
    """The statements by which 0.1 % of the rows come, all of a new day."""
    ids = f"(SELECT id + {turn * NEW} AS id FROM range({max(1, rows // 1000)}))"
    return [f"INSERT INTO sales SELECT {_row(rows)}, {DAYS + turn} AS day, {turn} AS loaded FROM {ids}"]


def changing(rows: int, turn: int) -> list[str]:
    """The statements by which as many come, change and go, the latter ones of two older days."""
    some = max(1, rows // 1000)
    first = turn * 31 * some % (rows // 2)
    updated, gone = (f"id >= {start} AND id < {start + some}" for start in (first, first + rows // 2))
    return [
        *coming(rows, turn),
        f"UPDATE sales SET amount = amount + 3, loaded = {turn} WHERE {updated}",
        f"DELETE FROM sales WHERE {gone}",
    ]


def _row(rows: int) -> str:
    return _ROW.format(customers=_customers(rows), shops=SHOPS)


def _customers(rows: int) -> int:
    return max(10, rows // 50)
