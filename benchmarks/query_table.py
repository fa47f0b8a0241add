"""The page about the queries of TPC-H and TPC-DS: of which tables a view would follow changes, and how."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

HEAD = """# The queries of TPC-H and TPC-DS

Each row is a query as a view in Delta over Delta tables. The second and the third column name the tables of which a
view follows changes by that method. The last column tells why it does not follow another table by changes.

This page is made by `python -m benchmarks.queries --table docs/queries.md`.
"""
TITLES = {"tpch": "TPC-H", "tpcds": "TPC-DS"}
_SOURCE = re.compile(r"  depends on (?:spark_catalog\.)?default\.(\w+)")
_OUT = re.compile(r"    by (changes|keys) is out: (.*)")
_FOLLOWED = re.compile(r"    can be followed by (changes|keys)")


def page(suites: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    """The page.

    Args:
        suites: for each suite and query the lines of ``EXPLAIN CREATE MATERIALIZED VIEW``.
    """
    return "\n".join([HEAD, *(line for suite, queries in suites.items() for line in _section(suite, queries))])


def _section(suite: str, queries: Mapping[str, Sequence[str]]) -> Iterator[str]:
    rows = {name: _row(lines) for name, lines in queries.items()}
    counts = [sum(bool(row[method]) for row in rows.values()) for method in ("changes", "keys")]
    yield f"## {TITLES[suite]}"
    yield ""
    yield f"Of {len(rows)} queries, {counts[0]} can go by changes for some table, and {counts[1]} by keys."
    yield ""
    yield "| query | by changes | by keys | why not by changes |"
    yield "|---|---|---|---|"
    for name, row in rows.items():
        followed = (", ".join(row[method]) or "none" for method in ("changes", "keys"))
        yield f"| {name[1:].lstrip('0')} | {' | '.join(followed)} | {row['why'][0] if row['why'] else ''} |"
    yield ""


def _row(lines: Sequence[str]) -> dict[str, list[str]]:
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
