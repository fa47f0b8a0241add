"""The page about queries of TPC-H and TPC-DS: of which tables a view would follow changes, how, and at what cost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

HEAD = """# The queries of TPC-H and TPC-DS

Each row is a query as a view in Delta over Delta tables. The second and the third column name the tables of which a
view follows changes by that method. The last column tells why it does not follow another table by changes.

This page is made by `python -m benchmarks.queries --table docs/queries.md`.
"""
COSTS = """Costs are core-seconds of refreshes by changes, and by keys, in times of a full refresh. Before each refresh,
{percent:g} % of `orders` and `lineitem` came and as much went, at scale {scale:g}. A dash stands where refreshes went
another way. The option `--costs` names the figures. `python -m benchmarks.incremental --parts {part:g} --json FILE`
writes them.
"""
TITLES = {"tpch": "TPC-H", "tpcds": "TPC-DS"}
_SOURCE = re.compile(r"  depends on (?:spark_catalog\.)?default\.(\w+)")
_OUT = re.compile(r"    by (changes|keys) is out: (.*) \[.*\]")
_FOLLOWED = re.compile(r"    can be followed by (changes|keys)")


def page(suites: Mapping[str, Mapping[str, Sequence[str]]], measured: Mapping[str, Any]) -> str:
    """The page.

    Args:
        suites: for each suite and query the lines of ``EXPLAIN CREATE MATERIALIZED VIEW``.
        measured: the figures of ``benchmarks.incremental`` for TPC-H.
    """
    lines = [HEAD]
    if measured:
        [part] = measured["found"]
        lines.append(COSTS.format(part=float(part), percent=100 * float(part), scale=measured["scale"]))
    for suite, queries in suites.items():
        lines += _section(suite, queries, measured if suite == "tpch" else {})
    return "\n".join(lines)


def _section(suite: str, queries: Mapping[str, Sequence[str]], measured: Mapping[str, Any]) -> Iterator[str]:
    rows = {name: _row(lines) for name, lines in queries.items()}
    counts = [sum(bool(row[method]) for row in rows.values()) for method in ("changes", "keys")]
    yield f"## {TITLES[suite]}"
    yield ""
    yield f"Of {len(rows)} queries, {counts[0]} can go by changes for some table, and {counts[1]} by keys."
    yield ""
    heads = ["query", "by changes", "by keys", "why not by changes"]
    heads += ["cost by changes, by keys"] if measured else []
    yield _line(heads)
    yield _line(["---"] * len(heads))
    for name, row in rows.items():
        cells = [name[1:].lstrip("0"), *(", ".join(row[method]) or "none" for method in ("changes", "keys"))]
        cells += [row["why"][0] if row["why"] else ""]
        yield _line([*cells, *([_cost(measured, name)] if measured else [])])
    yield ""


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cost(measured: Mapping[str, Any], query: str) -> str:
    """What refreshes by each method cost beside full ones; a dash where they went another way."""
    [found] = measured["found"].values()
    told = []
    for method in ("incremental", "keys"):
        own = found.get(query, {}).get(method)
        followed = own is not None and own["modes"] == [method]
        told.append(f"{own['ratio']['core_seconds']['median']:.2f}" if followed else "–")
    return ", ".join(told)


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
