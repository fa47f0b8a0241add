"""The demo's views, read from `views.sql`."""

from __future__ import annotations

import re
from pathlib import Path

from attrs import frozen

SETTLE = "2 minutes"
"""Longer than a step of the demo, so that its writes are always drained together and counts repeat."""

VIEWS_FILE = Path(__file__).with_name("views.sql")

_CREATE = re.compile(
    r"CREATE MATERIALIZED VIEW (?P<name>\w+)(?: PARTITIONED BY \((?P<column>\w+)\))? AS\s+(?P<query>.+)", re.DOTALL
)


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


def read_views(file: Path = VIEWS_FILE) -> tuple[View, ...]:
    """The views in the order of the file, which is upstream first."""
    code = "\n".join(line for line in file.read_text().splitlines() if not line.startswith("--"))
    return tuple(_view(statement.strip()) for statement in code.split(";") if statement.strip())


def _view(statement: str) -> View:
    parts = _CREATE.fullmatch(statement)
    if parts is None:
        raise ValueError(f"not a statement of the form the demo uses: {statement}")
    return View(parts["name"], parts["column"], parts["query"])
