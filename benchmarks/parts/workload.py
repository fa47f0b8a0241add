"""What refreshes are measured on: views over TPC-DS, one for each select-project-join unit ([Li23] §VI-A)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import sqlglot
from attrs import frozen
from sqlglot import exp

FOLDER = Path(__file__).parent / "workloads"
WORKLOADS = ("profit", "sales", "returns", "customers", "inventory")
BASE = "tpcds"
"""The database of the tables that are not views."""
STATEMENT = re.compile(r"CREATE MATERIALIZED VIEW (?P<name>\w+) AS\n(?P<query>.*?);", re.DOTALL)


@frozen
class View:
    """A view of a workload, and which other ones it reads."""

    name: str
    query: str
    reads: tuple[str, ...]

    def statement(self, **properties: str) -> str:
        """The statement that creates it, with these properties of Headwater's."""
        told = ", ".join(f"'headwater.{name}' = '{value}'" for name, value in properties.items())
        return f"CREATE MATERIALIZED VIEW {self.name} {f'TBLPROPERTIES ({told}) ' if told else ''}AS {self.query}"


def workload(name: str) -> tuple[View, ...]:
    """Its views, in the topological order in which they are written down."""
    found: list[View] = []
    for each in STATEMENT.finditer((FOLDER / f"{name}.sql").read_text()):
        known = {view.name for view in found}
        tables = sqlglot.parse_one(each["query"], dialect="spark").find_all(exp.Table)
        reads = {table.name for table in tables if not table.db} & known
        found.append(View(each["name"], each["query"], tuple(view.name for view in found if view.name in reads)))
    return tuple(found)


def sources(views: Sequence[View]) -> tuple[str, ...]:
    """The base tables that views read."""
    tables = (table for view in views for table in sqlglot.parse_one(view.query, dialect="spark").find_all(exp.Table))
    return tuple(sorted({table.name for table in tables if table.db == BASE}))
