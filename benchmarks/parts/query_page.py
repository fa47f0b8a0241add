"""The page about queries of TPC-H and TPC-DS: of which tables a view would follow changes, how, and at what cost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.parts.results import Figure

HEAD = """# The queries of TPC-H and TPC-DS

Each row is a query as a view in Delta over Delta tables. The second and the third column name the tables of which a
view follows changes by that method. The last column tells why it does not follow another table by changes.

This page is made by `python -m benchmarks queries explained --page docs/queries.md`.
"""
COSTS = """Costs are core-seconds of refreshes by changes, and by the method that `auto` took, in times of a full
refresh. Before each refresh, {percent} of `orders` and `lineitem` came and as much went, at scale 1. A dash stands
where refreshes went another way. `python -m benchmarks methods tpch` measures them.
"""
PART = "0.1 %"
"""Of the rows, the part whose costs are shown."""
TITLES = {"tpch": "TPC-H", "tpcds": "TPC-DS"}
_SOURCE = re.compile(r"  depends on (?:spark_catalog\.)?default\.(\w+)")
_OUT = re.compile(r"    by (changes|keys) is out: (.*) \[.*\]")
_FOLLOWED = re.compile(r"    can be followed by (changes|keys)")

Row = Mapping[str, Sequence[str]]
"""Of one query, the tables that each method follows, and the reasons against changes."""


def page(suites: Mapping[str, Mapping[str, Row]], measured: Sequence[Figure]) -> str:
    """The page.

    Args:
        suites: the row of each query of each suite.
        measured: the figures of the case ``tpch`` of ``methods``.
    """
    lines = [HEAD, COSTS.format(percent=PART)] if measured else [HEAD]
    for suite, queries in suites.items():
        lines += _section(suite, queries, measured if suite == "tpch" else [])
    return "\n".join(lines)


def rows(queries: Mapping[str, Sequence[str]]) -> dict[str, Row]:
    """The row of each query, by the lines of its ``EXPLAIN CREATE MATERIALIZED VIEW``."""
    return {name: _row(lines) for name, lines in queries.items()}


def counts(queries: Mapping[str, Row]) -> dict[str, int]:
    """The number of queries that can go by a method for some table."""
    return {method: sum(bool(row[method]) for row in queries.values()) for method in ("changes", "keys")}


def _section(suite: str, queries: Mapping[str, Row], measured: Sequence[Figure]) -> Iterator[str]:
    by = counts(queries)
    yield f"## {TITLES[suite]}"
    yield ""
    yield f"Of {len(queries)} queries, {by['changes']} can go by changes for some table, and {by['keys']} by keys."
    yield f"Changes of every table can be followed in {sum(not row['why'] for row in queries.values())} of them."
    yield ""
    heads = ["query", "by changes", "by keys", "why not by changes"]
    heads += ["cost by changes, `auto`"] if measured else []
    yield _line(heads)
    yield _line(["---"] * len(heads))
    for name, row in queries.items():
        cells = [name[1:].lstrip("0"), *(", ".join(row[method]) or "none" for method in ("changes", "keys"))]
        cells += [row["why"][0] if row["why"] else ""]
        yield _line([*cells, *([_cost(measured, name)] if measured else [])])
    yield ""


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cost(measured: Sequence[Figure], query: str) -> str:
    """What refreshes by changes and with ``auto`` cost beside full ones; a dash where they went another way."""
    found = {each.column: f"{each.median:.2f}" for each in measured if each.name == query}
    return ", ".join(found.get(f"{said}, {PART}, core-seconds", "–") for said in ("by changes", "auto"))


def _row(lines: Sequence[str]) -> Row:
    row: dict[str, list[str]] = {"changes": [], "keys": [], "why": []}
    source = ""
    for line in lines:
        if found := _SOURCE.match(line):
            source = found[1]
        elif found := _FOLLOWED.match(line):
            row[found[1]].append(source)
        elif (found := _OUT.match(line)) and found[1] == "changes":
            row["why"].append(_plain(found[2]))
    return {name: list(dict.fromkeys(each)) for name, each in row.items()}


def _plain(reason: str) -> str:
    return reason.replace("|", "\\|")
