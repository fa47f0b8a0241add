"""Experiments of [Adler20] at a hundredth of its size or less, with the paper's figures beside.

The paper has 222 virtual machines, a key-value store, and TPC-H at scale 100. So its seconds and bytes tell the order
of queries and workloads, and its ratios can be compared. Its figures here are those that its text quotes.
"""

from __future__ import annotations

import itertools
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from benchmarks.parts import lakes, published, tpch
from benchmarks.parts.harness import (
    MANY_VIEWS,
    Row,
    Worker,
    bar,
    by_turns,
    console,
    held,
    other_ways,
    ratios,
    refreshed,
    same_rows,
    scratch,
)
from benchmarks.parts.results import Figure, Report, figure, none
from headwater.spark.tables.hidden import HIDDEN

BY_CHANGES = "incremental, full"


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--scale", type=float, help="of TPC-H in batches and state (1; 0.05 with --quick)")


# --- updates that move a key (Fig. 4.5.6)

ORDERS = """CREATE TABLE orders USING delta AS SELECT /*+ REPARTITION_BY_RANGE(16, id) */ id,
id % {status} AS status, pmod(hash(id), {clerk}) AS clerk, pmod(hash(id, 1), {custkey}) AS custkey,
CAST(id % 1000 AS DECIMAL(12, 2)) AS price FROM range({rows})"""
INSERT = """INSERT INTO orders SELECT id, id % {status}, pmod(hash(id), {clerk}), pmod(hash(id, 1), {custkey}),
CAST(id % 1000 AS DECIMAL(12, 2)) FROM range({first}, {first} + {count})"""
DELETE = "DELETE FROM orders WHERE id >= {first} AND id < {first} + {count}"
UPDATE = "UPDATE orders SET price = price + 1 WHERE id >= {first} AND id < {first} + {count}"
MOVE = """UPDATE orders SET status = (status + 1) % {status}, clerk = (clerk + 1) % {clerk},
custkey = (custkey + 1) % {custkey} WHERE id >= {first} AND id < {first} + {count}"""
PER_KEY = "SELECT {key}, count(*) AS n, sum(price) AS price FROM orders GROUP BY {key}"

BATCHES = {
    "inserts": ("", 0.0),
    "30 % deletes": (DELETE, 0.3),
    "30 % updates": (UPDATE, 0.3),
    "60 % updates": (UPDATE, 0.6),
    "10 % moves": (MOVE, 0.1),
    "30 % moves": (MOVE, 0.3),
    "60 % moves": (MOVE, 0.6),
}
"""What a batch has, beside inserts: a statement, and its share of the batch."""
MOVED = {"30 % moves": "30 % updates", "60 % moves": "60 % updates"}
MOST = 1.5
"""Times an update that does not move a key."""
SLOWER = {"10 % moves": "3.4 to 5.3", "60 % moves": "7.3 to 13"}
"""The paper's factors for moderate and slight aggregation. For a strong one, it has 1.3 at most."""


def moves(asked: Namespace) -> Report:
    """Updates that move rows to other groups, beside updates that do not (Fig. 4.5.6).

    Views with a count and a sum have 5 groups, a group for 150 rows, and one for 10, as in the paper. A batch changes
    one percent of the rows. The paper does not say beside what its factors are; here they are beside inserts.
    """
    rows, count = asked.size.of((1_500_000, 15_000), (150_000, 1_500), (300, 10))
    warm, rounds = asked.size.of((1, 5), (1, 1), (0, 1))
    keys = {"status": 5, "clerk": max(2, rows // 150), "custkey": rows // 10}
    with lakes.lake() as worker:
        console.log(f"making {rows:,} rows and {len(keys)} views")
        worker.run(ORDERS.format(rows=rows, **keys))
        for key in keys:
            worker.run(held(f"by_{key}", PER_KEY.format(key=key), BY_CHANGES))
            worker.run(f"ALTER MATERIALIZED VIEW by_{key} SUSPEND")
        turns = itertools.count()

        def batch(kind: str) -> dict[str, Row]:
            statement, share = BATCHES[kind]
            turn, some = next(turns), round(share * count)
            worker.run(INSERT.format(first=rows + turn * count, count=count - some, **keys))
            if some:
                worker.run(statement.format(first=turn * count % rows, count=some, **keys))
            return {key: refreshed(worker, f"by_{key}") for key in keys}

        taken = by_turns({kind: lambda _, kind=kind: batch(kind) for kind in BATCHES}, warm, rounds)
        wrong = [key for key in keys if not same_rows(worker, f"SELECT * FROM by_{key}", PER_KEY.format(key=key))]
    figures = []
    for key, groups in keys.items():
        seconds = {kind: [each[key]["seconds"] for each in some] for kind, some in taken.items()}
        figures += _moved(f"{groups:,} groups of {rows:,} rows", seconds, strong=key == "status")
    every = [row for some in taken.values() for each in some for row in each.values()]
    figures += [other_ways(every, "incremental"), none("views that differ from their queries", wrong)]
    return Report(figures, {"rows": rows, "changes": count, "refreshes": taken})


def _moved(name: str, seconds: Mapping[str, Sequence[float]], strong: bool) -> list[Figure]:
    figures = [figure(name, seconds["inserts"], "s", column="inserts")]
    for kind in list(BATCHES)[1:]:
        paper = ("at most 1.3" if strong else SLOWER[kind]) if kind in SLOWER else ""
        beside = ratios(seconds[kind], seconds["inserts"])
        note = f"the paper: {paper}" if paper else ""
        figures.append(figure(name, beside, "times", column=f"{kind}, beside inserts", note=note))
    for kind, other in MOVED.items():
        beside = ratios(seconds[kind], seconds[other])
        figures.append(figure(name, beside, "times", column=f"{kind}, beside {other}", most=MOST))
    return figures


# --- batch sizes (Fig. 4.5.7) and the bytes of state (Fig. 4.5.10), of TPC-H

QUERIES = ("q03", "q04", "q06", "q07", "q10", "q14")
UPDATES = {"20M": 20e6, "50M": 50e6, "100M": 100e6, "200M": 200e6}
"""Updates in a batch of the paper, at scale 100."""
EACH = 10
"""Updates for an order that goes and one that comes, with four lines each."""
STALE = {"q03": 2, "q04": 2, "q06": 1, "q07": 3, "q10": 2, "q14": 1}
"""Seconds below which the paper's views stay with batches of 20M updates."""
PAPER_SCALE = 100
KEYS = 100_000_000
"""More than the keys of all orders at first: those of each batch are as far from others."""


def batches(asked: Namespace) -> Report:
    """How old a view becomes by the size of a batch, and the effort of small batches (Fig. 4.5.7).

    Batches have as many updates for the size of the tables as in the paper. Orders come as copies of others, and those
    that came with the last batch of this size go, each with its lines. The first batch of a size does not count. The
    effort is that of ten batches of the smallest size, beside one of the largest, which has as many updates.
    """
    scale = asked.scale or asked.size.of(1.0, 0.05, 0.01)
    rounds, queries = asked.size.of(5, 1, 1), asked.size.of(QUERIES, QUERIES, ("q06",))
    sizes = asked.size.of(UPDATES, UPDATES, {each: UPDATES[each] for each in ("20M", "200M")})
    taken: dict[str, dict[str, list[Row]]] = {query: {size: [] for size in sizes} for query in queries}
    with lakes.lake(MANY_VIEWS) as worker, scratch() as place:
        tpch.load(worker, scale, place, max(2, round(48 * scale)))
        texts = published.queries("tpch")
        created = _created(worker, {query: texts[query] for query in queries})
        [[orders]] = worker.rows("SELECT count(*) FROM orders")
        last: dict[str, int] = {}
        plan = [size for _ in range(rounds + 1) for size in sizes]
        with bar("REFRESH", len(plan) * len(created)) as step:
            for turn, size in enumerate(plan):
                some = min(orders, round(sizes[size] * scale / PAPER_SCALE / EACH))
                worker.run(*_batch(some, turn, last.get(size)))
                for query in created:
                    row = refreshed(worker, query)
                    taken[query][size] += [row] if size in last else []
                    step()
                last[size] = turn
        wrong = [query for query in created if not same_rows(worker, f"SELECT * FROM {query}", texts[query])]
    figures = [each for query in created for each in _fresh(query, taken[query])]
    every = [row for query in created for rows in taken[query].values() for row in rows]
    figures += [other_ways(every, "incremental"), none("views that differ from their queries", wrong)]
    return Report(figures, {"scale": scale, "refreshes": taken})


def _batch(orders: int, turn: int, before: int | None) -> list[str]:
    """The statements of a batch: so many orders come, and those of another turn go, with their lines."""
    statements = []
    for table, key in tpch.SORTED.items():
        keys, new = tpch.DENSITY * orders, KEYS * (turn + 1)
        copied = f"SELECT {key} + {new} AS {key}, * EXCEPT ({key}) FROM {table} WHERE {key} > 0 AND {key} <= {keys}"
        statements.append(f"INSERT INTO {table} {copied}")
        if before is not None:
            old = KEYS * (before + 1)
            statements.append(f"DELETE FROM {table} WHERE {key} > {old} AND {key} <= {old + keys}")
    return statements


def _fresh(query: str, taken: Mapping[str, Sequence[Row]]) -> list[Figure]:
    seconds = {size: [row["seconds"] for row in rows] for size, rows in taken.items()}
    modes = {size: {row["mode"] for row in rows} - {"incremental"} for size, rows in taken.items()}
    figures = []
    for size, some in seconds.items():
        notes = [*sorted(modes[size]), *([f"the paper: below {STALE[query]} s"] if size == "20M" else [])]
        figures.append(figure(query, some, "s", column=f"batches of {size} at scale 100", note=", ".join(notes)))
    effort = [
        UPDATES["200M"] / UPDATES["20M"] * few / many for few, many in zip(seconds["20M"], seconds["200M"], strict=True)
    ]
    return [*figures, figure(query, effort, "times", column="ten of 20M beside one of 200M")]


WORKLOADS = {"A": "inserts", "B": "30 % deletes", "C": "30 % updates"}
GIGABYTES: Mapping[str, Mapping[str, str]] = {
    **{query: {"A": "14 to 22", "B": "8 to 14", "C": "16 to 30"} for query in ("q03", "q04", "q10")},
    "q06": dict.fromkeys(WORKLOADS, "at most 0.35"),
    "q14": dict.fromkeys(WORKLOADS, "at most 2.02"),
}
"""The paper's state by query and workload, at scale 100, whose rows are about 100 GB: so percent of the rows."""
CHANGED = 0.05
"""Of the orders, those that a workload changes, comes and goes with."""
ADDED = ("o_totalprice", "l_extendedprice")


def state(asked: Namespace) -> Report:
    """The bytes that lie beside a view so that it can follow changes (Fig. 4.5.10).

    Each workload changes a part of the orders and their lines: (A) inserts, (B) with 30 % deletes, (C) with 30 %
    updates. After it, the view is refreshed by changes. The bytes are those of all files that lie there then.
    """
    scale = asked.scale or asked.size.of(1.0, 0.05, 0.01)
    queries = asked.size.of(QUERIES, QUERIES, ("q06",))
    found: dict[str, dict[str, Any]] = {}
    with lakes.lake(MANY_VIEWS) as worker, scratch() as place:
        tpch.load(worker, scale, place, max(2, round(48 * scale)))
        texts = published.queries("tpch")
        created = _created(worker, {query: texts[query] for query in queries})
        [[orders]] = worker.rows("SELECT count(*) FROM orders")
        rows: list[Row] = []
        with bar("REFRESH", len(WORKLOADS) * len(created)) as step:
            for turn, workload in enumerate(WORKLOADS):
                worker.run(*_workload(workload, orders, turn))
                for query in created:
                    rows.append(refreshed(worker, query))
                    found.setdefault(query, {})[workload] = _bytes(worker, query)
                    step()
        wrong = [query for query in created if not same_rows(worker, f"SELECT * FROM {query}", texts[query])]
    figures = []
    for query, each in found.items():
        for workload, said in WORKLOADS.items():
            beside, view = each[workload]["state"], each[workload]["view"]
            percent, paper = 100 * beside / (scale * 1e9), GIGABYTES.get(query, {}).get(workload)
            note = f"the paper: {paper}" if paper else ""
            figures += [
                figure(query, beside / 1e6, "MB", column=f"{said}, beside the view"),
                figure(query, beside / view, "times", column=f"{said}, in times of the view"),
                figure(query, percent, "%", column=f"{said}, in percent of the rows of TPC-H", note=note),
            ]
    figures += [other_ways(rows, "incremental"), none("views that differ from their queries", wrong)]
    return Report(figures, {"scale": scale, "bytes": found})


def _workload(workload: str, orders: int, turn: int) -> list[str]:
    """The statements of a workload: inserts, and for B and C less of them and as many deletes or updates."""
    every = max(10, round(CHANGED * orders))
    came = tpch.refreshing(orders, every / orders, turn)[::2]
    if workload == "A":
        return came
    some = tpch.refreshing(orders, 0.7 * every / orders, turn)[::2]
    keys = round(0.3 * every) * tpch.DENSITY
    reached = [f"{key} >= {turn * keys} AND {key} < {(turn + 1) * keys}" for key in tpch.SORTED.values()]
    changes = {
        "B": [f"DELETE FROM {table} WHERE {each}" for table, each in zip(tpch.SORTED, reached, strict=True)],
        "C": [
            f"UPDATE {table} SET {column} = {column} + 1 WHERE {each}"
            for table, column, each in zip(tpch.SORTED, ADDED, reached, strict=True)
        ],
    }
    return [*some, *changes[workload]]


def _bytes(worker: Worker, view: str) -> dict[str, int]:
    """The bytes of the view's newest files, and of those beside it."""
    detail = worker.call("first", f"DESCRIBE DETAIL {view}")
    place = Path(unquote(urlparse(detail["location"]).path)) / HIDDEN
    return {
        "view": detail["sizeInBytes"],
        "state": sum(each.stat().st_size for each in place.rglob("*") if each.is_file()),
    }


# --- of both


def _created(worker: Worker, texts: Mapping[str, str]) -> list[str]:
    """Creates a view of each query, but for those that cannot go by changes."""
    created = [query for query, text in texts.items() if worker.call("succeeds", held(query, text, BY_CHANGES))]
    for query in created:
        worker.run(f"ALTER MATERIALIZED VIEW {query} SUSPEND")
    return created


CASES = {"moves": moves, "batches": batches, "state": state}
