"""The sources: TPC-H data from tpchgen-cli, loaded into tables of the demo's format.

Everything generated (orders from 1992 to August 1998) is visible in the database ``landing``. The
tables start with the months from ``FIRST_MONTH`` on, to be done in three minutes, and before
``NEXT_MONTH``, so that the rest can arrive later.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from headwater.model.error import HeadwaterError

FIRST_MONTH = "1995-01-01"
NEXT_MONTH = "1998-07-01"

DIMENSIONS = ("customer", "nation", "part", "partsupp", "region", "supplier")
MONTHS = {"orders": "o_month", "lineitem": "l_month"}
SOURCES = (*MONTHS, *DIMENSIONS)


def generate(scale: float, folder: Path) -> None:
    """Writes one Parquet file per TPC-H table of scale factor ``scale`` into ``folder``."""
    options = ["--quiet", f"--scale-factor={scale:g}", f"--output-dir={folder}"]
    subprocess.run([_generator(), "parquet", *options], check=True)


def load_statements(folder: Path, using: str = "parquet") -> list[str]:
    """The statements that make the sources, of the format ``using``, from the files in ``folder``."""
    return [
        "CREATE DATABASE landing",
        *(f"CREATE VIEW landing.{table} AS {_landed(table, folder)}" for table in SOURCES),
        *(f"CREATE TABLE {table} USING {using} AS SELECT * FROM landing.{table}" for table in DIMENSIONS),
        *(
            f"""CREATE TABLE {table} USING {using} PARTITIONED BY ({month}) AS
                SELECT * FROM landing.{table}
                WHERE {month} >= DATE'{FIRST_MONTH}' AND {month} < DATE'{NEXT_MONTH}'
                DISTRIBUTE BY {month}"""
            for table, month in MONTHS.items()
        ),
    ]


def _landed(table: str, folder: Path) -> str:
    """The query over a generated file; orders and their line items carry the month of the order."""
    file = f"parquet.`{folder / table}.parquet`"
    if table == "orders":
        return f"SELECT *, trunc(o_orderdate, 'MONTH') AS o_month FROM {file}"
    if table == "lineitem":
        return f"""SELECT lines.*, o_month AS l_month
            FROM {file} AS lines JOIN landing.orders ON o_orderkey = l_orderkey"""
    return f"SELECT * FROM {file}"


def _generator() -> str:
    """tpchgen-cli beside this Python, or on the path."""
    beside = Path(sys.executable).with_name("tpchgen-cli")
    found = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
    if found is None:
        raise HeadwaterError("the demo needs tpchgen-cli; run: pip install tpchgen-cli")
    return found
