"""The proof at the end: every view equals its query over the sources, as a bag of rows.

The proof is made by a Spark without Headwater. It recomputes each view once, upstream first, in a
database of its own in which the view's name means the recomputed table and a source's name the
source. The queries run there as they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headwater.demo.figures import StatementRunner
from headwater.demo.narrator import Narrator
from headwater.demo.views import View

DATABASE = "recomputed"


def prove(
    session: StatementRunner, views: Sequence[View], sources: Iterable[str], narrator: Narrator
) -> dict[str, int]:
    """The number of rows of each view that differ from its query over the sources."""
    for statement in opening_statements(sources):
        session.run(statement)
    differences = {}
    for view in narrator.through("recompute every view from the sources and compare", views):
        session.run(recompute_statement(view))
        differences[view.name] = int(session.run(difference_statement(view))[0][0])
    return differences


def opening_statements(sources: Iterable[str]) -> list[str]:
    """The statements that make the database and turn the session to it."""
    return [
        f"CREATE DATABASE {DATABASE}",
        *(f"CREATE VIEW {DATABASE}.{source} AS SELECT * FROM default.{source}" for source in sources),
        f"USE {DATABASE}",
    ]


def recompute_statement(view: View) -> str:
    return f"CREATE TABLE {view.name} USING parquet AS {view.query}"


def difference_statement(view: View) -> str:
    """A query with one row: the number of rows, with their multiplicity, in only one of the two bags."""
    columns = f"* EXCEPT ({view.column}), {view.column}" if view.column else "*"
    return f"""SELECT coalesce(sum(abs(surplus)), 0) FROM (
        SELECT * EXCEPT (side), sum(side) AS surplus FROM (
            SELECT {columns}, 1 AS side FROM default.{view.name}
            UNION ALL
            SELECT {columns}, -1 AS side FROM {DATABASE}.{view.name})
        GROUP BY ALL HAVING surplus <> 0)"""
