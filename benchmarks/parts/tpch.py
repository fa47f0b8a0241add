"""The tables of TPC-H, and changes of them like those of its refresh functions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.parts.harness import Worker, console

TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
SORTED = {"orders": "o_orderkey", "lineitem": "l_orderkey"}
"""The two large tables, with the columns by which rows are spread over files, as when they arrive in order."""

DENSITY = 4
"""Of so many keys in a row, one is that of an order: TPC-H uses the first 8 of 32."""


def generate(scale: float, place: Path) -> None:
    """The tables as Parquet files, by ``tpchgen-cli``."""
    command = [str(Path(sys.executable).with_name("tpchgen-cli")), "parquet", "--scale-factor", str(scale)]
    subprocess.run([*command, "--output-dir", str(place)], check=True, capture_output=True)


def load(worker: Worker, scale: float, place: Path, files: int) -> None:
    """Makes the tables and loads them into Delta."""
    console.log(f"making TPC-H at scale factor {scale:g}")
    generate(scale, place / "tpch")
    worker.run("SET spark.sql.shuffle.partitions = 4", *loading(place / "tpch", "delta", files))


def loading(place: Path, using: str, files: int) -> list[str]:
    """The statements that load the tables; the two large ones into so many files."""
    statements = []
    for table in TABLES:
        spread = f"/*+ REPARTITION_BY_RANGE({files}, {SORTED[table]}) */ " if table in SORTED else ""
        statements.append(
            f"CREATE TABLE {table} USING {using} AS SELECT {spread}* FROM parquet.`{place / table}.parquet`"
        )
    return statements


def refreshing(orders: int, part: float, turn: int) -> list[str]:
    """The statements of both refresh functions: of so many orders a part goes and as many come, with their lines.

    Orders go in the order of their keys. Those that come are copies of others under new keys.
    """
    keys = DENSITY * max(DENSITY, round(orders * part))
    # Those that go are in the first half of the keys, those that are copied in the second one.
    first = turn * keys % (DENSITY * orders // 2)
    other, new = first + DENSITY * orders // 2, 100_000_000 * (turn + 1)
    statements = []
    for table, key in SORTED.items():
        copied = f"SELECT {key} + {new} AS {key}, * EXCEPT ({key}) FROM {table}"
        statements += [
            f"INSERT INTO {table} {copied} WHERE {key} >= {other} AND {key} < {other + keys}",
            f"DELETE FROM {table} WHERE {key} >= {first} AND {key} < {first + keys}",
        ]
    return statements
