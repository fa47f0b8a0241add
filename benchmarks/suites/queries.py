"""Every query of TPC-H and TPC-DS as a view: rows change, the views follow, and each equals its query.

Each query has a view that goes by changes and one that goes by keys, where that is possible. Where neither is, it has
one that goes in full.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from benchmarks.parts import lakes, published, query_page, tpcds, tpch
from benchmarks.parts.harness import MANY_VIEWS, Worker, bar, console, held, refreshes, scratch
from benchmarks.parts.results import RESULTS, Report, Result, figure, none

METHODS = {"changes": "incremental", "keys": "keys"}
"""The methods by the ends of the views' names."""
SAID = {"incremental": "by changes", "keys": "by keys", "partition": "by partition", "full": "in full"}
LEAST = {"tpch": 22, "tpcds": 60}
"""Queries that should be views."""
COSTS = RESULTS / "methods-tpch.json"
"""The result that has the costs of the page."""

FACTS = {
    "store_sales": ("ss_ticket_number", "ss_store_sk", 12),
    "store_returns": ("sr_ticket_number", "sr_customer_sk", 1000),
    "catalog_sales": ("cs_order_number", "cs_sold_date_sk", 2_452_600),
    "catalog_returns": ("cr_order_number", "cr_call_center_sk", 6),
    "web_sales": ("ws_order_number", "ws_item_sk", 180),
    "web_returns": ("wr_order_number", "wr_reason_sk", 3),
    "inventory": ("inv_item_sk", "inv_quantity_on_hand", 1000),
}
"""The fact tables of TPC-DS, each with its key, a column by which queries group, and the highest value for it."""
DIMENSIONS = (
    "UPDATE item SET i_category = 'Music', i_brand_id = i_brand_id + 1 WHERE i_item_sk % 40 = {n}",
    "UPDATE customer SET c_current_addr_sk = c_current_addr_sk % 100 + 1 WHERE c_customer_sk % 50 = {n}",
    "UPDATE customer_address SET ca_state = 'TN' WHERE ca_address_sk % 30 = {n}",
)
OTHERS = (
    "UPDATE lineitem SET l_returnflag = 'R', l_shipmode = 'AIR' WHERE l_orderkey % 97 = {n}",
    "UPDATE orders SET o_custkey = o_custkey + 3, o_orderpriority = '1-URGENT' WHERE o_orderkey % 89 = {n}",
    "UPDATE customer SET c_mktsegment = 'BUILDING', c_acctbal = c_acctbal + 1000 WHERE c_custkey % 50 = {n}",
    "UPDATE partsupp SET ps_supplycost = ps_supplycost / 2 WHERE ps_partkey % 60 = {n}",
    "UPDATE part SET p_size = 15, p_type = 'PROMO BRASS' WHERE p_partkey % 60 = {n}",
)
"""Updates that move rows of TPC-H between groups."""


@frozen
class Followed:
    """How a view followed its sources.

    Attributes:
        modes: of its refreshes, with how often.
        differs: the rounds after which it was not equal to its query.
    """

    view: str
    modes: Counter[str]
    differs: list[int]


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--queries", nargs="*", help="some of the queries (all)")
    parser.add_argument("--scale", type=float, default=0.01, help="the scale factor (0.01)")
    parser.add_argument("--page", type=Path, help="a file for the page of the case explained, in Markdown")


def tpch_views(asked: Namespace) -> Report:
    """The 22 queries of TPC-H, for twenty rounds of new, removed and moved rows."""
    return _views("tpch", asked, asked.size.of(20, 2, 1))


def tpcds_views(asked: Namespace) -> Report:
    """The 99 queries of TPC-DS, for four rounds."""
    return _views("tpcds", asked, asked.size.of(4, 1, 1))


def explained(asked: Namespace) -> Report:
    """Asks how changes of each table would be followed, and writes the page about that."""
    found = {
        suite: _explained(suite, asked) for suite in asked.size.of(("tpch", "tpcds"), ("tpch", "tpcds"), ("tpch",))
    }
    rows = {suite: query_page.rows(texts) for suite, texts in found.items()}
    if asked.page:
        asked.page.write_text(query_page.page(rows, Result.read(COSTS).figures if COSTS.exists() else []))
    return Report(
        [
            figure(f"{query_page.TITLES[suite]}: queries that can go by {method} for some table", count)
            for suite, some in rows.items()
            for method, count in query_page.counts(some).items()
        ],
        found,
    )


def _views(suite: str, asked: Namespace, rounds: int) -> Report:
    views = _followed(suite, asked, rounds)
    queries = {each.view.partition("_")[0] for each in views}
    narrow = {each.view.partition("_")[0] for each in views if {"by changes", "by keys"} & each.modes.keys()}
    modes = sum((each.modes for each in views), Counter[str]())
    return Report(
        [
            none(
                f"views that differ from their query after one of {rounds} rounds", [v.view for v in views if v.differs]
            ),
            figure("queries that are views", len(queries), least=LEAST[suite]),
            figure("queries that were refreshed by changes or by keys", len(narrow)),
            *(figure(f"refreshes {mode}", count) for mode, count in sorted(modes.items())),
        ],
        {each.view: each.modes for each in views},
    )


@contextmanager
def _loaded(suite: str, scale: float) -> Iterator[Worker]:
    """A session with the tables of a suite."""
    with lakes.lake(MANY_VIEWS) as worker, scratch() as place:
        worker.run("SET spark.sql.shuffle.partitions = 2", *_loading(suite, scale, place))
        yield worker


def _some(suite: str, asked: Namespace) -> dict[str, str]:
    some = asked.queries or asked.size.of(None, None, ("q01", "q13", "q18"))
    every = published.queries(suite)
    if unknown := [each for each in some or () if each not in every]:
        raise SystemExit(f"{suite} has no query {', '.join(unknown)}; its queries are {', '.join(every)}")
    return {name: text for name, text in every.items() if not some or name in some}


def _explained(suite: str, asked: Namespace) -> dict[str, list[str]]:
    """For each query the lines of ``EXPLAIN CREATE MATERIALIZED VIEW``."""
    with _loaded(suite, asked.scale) as worker:
        return {
            name: [line for [line] in worker.rows(f"EXPLAIN CREATE MATERIALIZED VIEW v USING delta AS {text}")]
            for name, text in _some(suite, asked).items()
        }


def _followed(suite: str, asked: Namespace, rounds: int) -> list[Followed]:
    queries = _some(suite, asked)
    with _loaded(suite, asked.scale) as worker:
        types = {name: worker.rows(f"DESCRIBE QUERY {text}") for name, text in queries.items()}
        views: list[tuple[str, str]] = []
        with bar(f"{suite}: CREATE MATERIALIZED VIEW", len(queries)) as step:
            for name, text in queries.items():
                views += _created(worker, name, text)
                step()
        differs: dict[str, list[int]] = {view: [] for view, _ in views}
        with bar(f"{suite}: rounds", rounds * len(views)) as step:
            for turn in range(rounds):
                console.log(f"{suite}: round {turn + 1} of {rounds}, {len(views)} views")
                worker.run(*_changes(suite, worker, turn))
                worker.run("REFRESH MATERIALIZED VIEWS")
                for view, name in views:
                    if not _equal(worker, view, queries[name], types[name]):
                        console.log(f"{view} of {suite} differs after round {turn}")
                        differs[view].append(turn)
                    step()
        return [Followed(view, _modes(worker, view), differs[view]) for view, _ in views]


def _loading(suite: str, scale: float, place: Path) -> list[str]:
    if suite == "tpch":
        tpch.generate(scale, place / "tpch")
        return tpch.loading(place / "tpch", "delta", 4)
    files = sorted(each for each in tpcds.tables(scale).iterdir() if each.is_dir())
    return [f"CREATE TABLE {each.name} USING delta AS SELECT * FROM parquet.`{each}`" for each in files]


def _created(worker: Worker, name: str, text: str) -> list[tuple[str, str]]:
    """Creates the views of a query, and returns each with the query's name."""
    allowed = {
        f"{name}_{end}": f"{method}, full"
        for end, method in METHODS.items()
        if worker.call("succeeds", f"EXPLAIN {held('v', text, method)}")
    }
    methods = allowed or {f"{name}_full": "full"}
    worker.run(*(held(view, text, method, settle="1 day") for view, method in methods.items()))
    return [(view, name) for view in methods]


def _changes(suite: str, worker: Worker, turn: int) -> list[str]:
    if suite == "tpch":
        [[orders]] = worker.rows("SELECT count(*) FROM orders")
        return [*tpch.refreshing(orders, 0.01, turn), OTHERS[turn % len(OTHERS)].format(n=turn)]
    statements = []
    for table, (key, column, most) in FACTS.items():
        moved = 100_000_000 * (turn + 1)
        copied = key if table == "inventory" else f"{key} + {moved} AS {key}"
        statements += [
            f"INSERT INTO {table} BY NAME SELECT {copied}, * EXCEPT ({key}) FROM {table} "
            f"WHERE pmod(hash({key}), 60) = {3 * turn}",
            f"DELETE FROM {table} WHERE pmod(hash({key}), 60) = {3 * turn + 1}",
            f"UPDATE {table} SET {column} = {column} % {most} + 1 WHERE pmod(hash({key}), 60) = {3 * turn + 2}",
        ]
    return [*statements, DIMENSIONS[turn % len(DIMENSIONS)].format(n=turn)]


def _equal(worker: Worker, name: str, text: str, columns: Sequence[Sequence[str]]) -> bool:
    """Whether a view has the rows of its query, each as often. Floating point is compared to six digits."""
    told = [f"round({column}, 6)" if type in ("double", "float") else column for column, type, *_ in columns]
    listed = ", ".join(f"{each} AS c{n}" for n, each in enumerate(told))
    both = f"SELECT {listed}, 1 AS side FROM {name} UNION ALL SELECT {listed}, -1 AS side FROM ({text})"
    names = ", ".join(f"c{n}" for n in range(len(told)))
    return not worker.rows(f"SELECT 1 FROM ({both}) GROUP BY {names} HAVING sum(side) <> 0 LIMIT 1")


def _modes(worker: Worker, view: str) -> Counter[str]:
    runs = refreshes(worker.rows(f"SHOW REFRESHES FOR {view} LIMIT 100"))
    return Counter(SAID[row["mode"]] for row in runs if row["status"] == "published")


CASES = {"tpch": tpch_views, "tpcds": tpcds_views, "explained": explained}
