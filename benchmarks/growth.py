"""The cost follows the change, not the table: the same number of changed rows, in tables of several scales.

TPC-H on Delta at several scale factors. At each, 10,000 rows of ``orders`` and ``lineitem`` come or go. Then views of
some queries are refreshed in full, by keys and by changes (``benchmarks.incremental``). The growth of a query is its
median at the largest scale, in times of that at the smallest one.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.incremental import METHODS_SAID, Refreshed, Taken, by_query, followed, measured
from benchmarks.parts.harness import Goal, Size, main, parser

ROWS = 10_000
LINES = 10
"""Rows that change for each order that comes and each that goes: two orders, with four lines each."""
QUERIES = ("q01", "q03", "q06", "q10", "q14", "q18")
MOST = 2.0
"""The growth of a query."""

PARSER = parser(__doc__)
PARSER.add_argument("--scales", nargs="*", type=float, help="scale factors of TPC-H (0.3 1 3)")
PARSER.add_argument("--queries", nargs="*", help="which queries (six)")


def run(size: Size) -> dict[str, Any]:
    told = PARSER.parse_args()
    scales = told.scales or size.of((0.3, 1.0, 3.0), (0.1, 0.3), (0.01, 0.02))
    rounds, rows = size.of(5, 2, 1), size.of(ROWS, ROWS, 100)
    queries = told.queries or size.of(QUERIES, QUERIES, QUERIES[:1])
    found, differing = {}, []
    for scale in scales:
        files = max(2, round(48 * scale))
        taken, wrong = measured(scale, files, queries, lambda orders: [rows / LINES / orders], rounds)
        found[str(scale)] = by_query(_only(taken))
        differing += [f"{'_'.join(view)} at {scale:g}" for view in wrong]
    goals = [_growth(list(found.values()), query, method) for query, method in _pairs(found[str(scales[0])])]
    goals += [_share(scale, each) for scale, each in found.items()]
    right = Goal("every view has the rows of its query", "all", ", ".join(differing) or "all", not differing)
    return {"rows": rows, "found": found, "goals": [*goals, right]}


def _only(taken: Taken) -> Mapping[tuple[str, str], Sequence[Refreshed]]:
    [views] = taken.values()
    return views


def _pairs(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The queries with each method that followed changes."""
    return [(query, method) for method in METHODS_SAID for query in followed(found, method, "seconds")]


def _growth(found: Sequence[Mapping[str, Any]], query: str, method: str) -> Goal:
    def times(of: str) -> float:
        first, last = (statistics.median(each[query][of]["seconds"]) for each in (found[0], found[-1]))
        return last / first

    own = times(method)
    seconds = ", ".join(f"{statistics.median(each[query][method]['seconds']):.1f} s" for each in found)
    return Goal(
        f"{query} {METHODS_SAID[method]}: its growth from the smallest to the largest scale",
        f"<= {MOST}",
        f"{own:.2f} ({seconds}); in full {times('full'):.2f}",
        own <= MOST,
    )


def _share(scale: str, found: Mapping[str, Any]) -> Goal:
    told = ", ".join(
        f"{query} {said} {each:.2f}"
        for method, said in METHODS_SAID.items()
        for query, each in followed(found, method, "seconds").items()
    )
    return Goal(f"scale {scale}: the times of a full refresh", "reported", told, True)


if __name__ == "__main__":
    main(run, PARSER)
