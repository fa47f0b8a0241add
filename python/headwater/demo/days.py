"""What the demo plays: its views, its sources, and the three days, as data.

Each day is one spark-sql process. A step that does not drain leaves its work to the next day: what was written is then
remembered by no process, only by the store. The sources start with the months from ``FIRST_MONTH`` on, to be done in
three minutes, and before ``NEXT_MONTH``, so that the rest can arrive later from the database ``landing``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from attrs import frozen

from headwater.model.error import HeadwaterError
from headwater.model.partition import WHOLE, Slice

FIRST_MONTH, NEXT_MONTH = "1995-01-01", "1998-07-01"
DIMENSIONS = ("customer", "nation", "part", "partsupp", "region", "supplier")
MONTHS = {"orders": "o_month", "lineitem": "l_month"}
SOURCES = (*MONTHS, *DIMENSIONS)
VIEWS_FILE = Path(__file__).with_name("views.sql")
SETTLE = "2 minutes"
"""Longer than a step of the demo, so that its writes are always drained together and counts repeat."""


@frozen
class View:
    """One statement of `views.sql`; ``column`` is its partition column, or None."""

    name: str
    column: str | None
    query: str

    def statement(self, using: str = "parquet") -> str:
        """The statement that creates it, of the format ``using``."""
        partitioned = f" PARTITIONED BY ({self.column})" if self.column else ""
        properties = f" TBLPROPERTIES ('headwater.settle' = '{SETTLE}')"
        return f"CREATE MATERIALIZED VIEW {self.name} USING {using}{partitioned}{properties} AS {self.query}"


_CREATE = re.compile(
    r"CREATE MATERIALIZED VIEW (?P<name>\w+)(?: PARTITIONED BY \((?P<column>\w+)\))? AS\s+(?P<query>.+)", re.DOTALL
)


def read_views(file: Path = VIEWS_FILE) -> tuple[View, ...]:
    """The views in the order of the file, which is upstream first."""
    code = "\n".join(line for line in file.read_text().splitlines() if not line.startswith("--"))
    return tuple(_view(statement.strip()) for statement in code.split(";") if statement.strip())


def _view(statement: str) -> View:
    parts = _CREATE.fullmatch(statement)
    if parts is None:
        raise ValueError(f"not a statement of the form the demo uses: {statement}")
    return View(**parts.groupdict())


def generate(scale: float, folder: Path) -> None:
    """Writes one Parquet file per TPC-H table of scale factor ``scale`` into ``folder``."""
    beside = Path(sys.executable).with_name("tpchgen-cli")
    generator = beside if beside.exists() else shutil.which("tpchgen-cli")
    if generator is None:
        raise HeadwaterError("the demo needs tpchgen-cli; run: pip install tpchgen-cli")
    options = ["--quiet", f"--scale-factor={scale:g}", f"--output-dir={folder}"]
    subprocess.run([generator, "parquet", *options], check=True)


def load_statements(folder: Path, using: str = "parquet") -> list[str]:
    """The statements that make the sources, of the format ``using``, from the files in ``folder``. Orders and their
    line items carry the month of the order."""
    landed = {table: f"SELECT * FROM parquet.`{folder / table}.parquet`" for table in DIMENSIONS}
    orders, lines = (f"parquet.`{folder / table}.parquet`" for table in MONTHS)
    landed["orders"] = f"SELECT *, trunc(o_orderdate, 'MONTH') AS o_month FROM {orders}"
    joined = "JOIN landing.orders ON o_orderkey = l_orderkey"
    landed["lineitem"] = f"SELECT lines.*, o_month AS l_month FROM {lines} AS lines {joined}"
    return [
        "CREATE DATABASE landing",
        *(f"CREATE VIEW landing.{table} AS {landed[table]}" for table in SOURCES),
        *(f"CREATE TABLE {table} USING {using} AS SELECT * FROM landing.{table}" for table in DIMENSIONS),
        *(
            f"""CREATE TABLE {table} USING {using} PARTITIONED BY ({month}) AS SELECT * FROM landing.{table}
                WHERE {month} >= DATE'{FIRST_MONTH}' AND {month} < DATE'{NEXT_MONTH}' DISTRIBUTE BY {month}"""
            for table, month in MONTHS.items()
        ),
    ]


@frozen
class Write:
    """One statement, and the slice of a source that it changes."""

    table: str
    changed: Slice
    statement: str


@frozen
class LifeStep:
    """Writes to the sources on a day; then (``drains``) all views take them in before life goes on."""

    day: str
    title: str
    writes: tuple[Write, ...]
    drains: bool = True


def arriving(month: str) -> tuple[Write, ...]:
    """A month of orders, and of their line items."""
    statement = "INSERT INTO {0} SELECT * FROM landing.{0} WHERE {1} = DATE'{2}'"
    return tuple(
        Write(table, Slice.of({column: month}), statement.format(table, column, month))
        for table, column in MONTHS.items()
    )


def credit_notes(month: str, which: str) -> Write:
    """Books the line items ``which`` of a month once more, with the opposite sign."""
    statement = f"""INSERT INTO lineitem BY NAME
        SELECT * EXCEPT (l_quantity, l_extendedprice),
               -l_quantity AS l_quantity, -l_extendedprice AS l_extendedprice
        FROM landing.lineitem WHERE l_month = DATE'{month}' AND {which}"""
    return Write("lineitem", Slice.of(l_month=month), statement)


def delivered_again(month: str, which: str) -> Write:
    statement = f"""INSERT OVERWRITE orders PARTITION (o_month = DATE'{month}')
        SELECT * EXCEPT (o_month) FROM landing.orders WHERE o_month = DATE'{month}' AND {which}"""
    return Write("orders", Slice.of(o_month=month), statement)


def nation_moves(nation: str, region_key: int) -> Write:
    statement = f"""INSERT OVERWRITE nation
        SELECT n_nationkey, n_name, if(n_name = '{nation}', {region_key}, n_regionkey), n_comment
        FROM landing.nation"""
    return Write("nation", WHOLE, statement)


LIFE = (
    LifeStep("1", "July 1998 arrives", arriving("1998-07-01")),
    LifeStep("1", "March 1996 is corrected", (credit_notes("1996-03-01", "l_linenumber = 6"),)),
    LifeStep("2", "May 1997 is overwritten", (delivered_again("1997-05-01", "o_orderpriority <> '5-LOW'"),)),
    LifeStep(
        "2, evening",
        "August arrives, July is corrected, nothing refreshed yet",
        (*arriving("1998-08-01"), credit_notes("1998-07-01", "l_linenumber = 7")),
        drains=False,
    ),
    LifeStep("3", "Nation changes: Egypt moves to Africa", (nation_moves("EGYPT", 0),)),
)
