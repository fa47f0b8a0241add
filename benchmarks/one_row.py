"""The fixed part: a refresh after one new row, by each method that follows changes, beside a bare ``MERGE`` of the row.

A Delta table of many rows gets one row. Three views of it are refreshed in turn, each by its own method: one without an
aggregate, to which the row is added; one whose totals it changes; one whose group is computed anew. The bare statement
merges the same row into a table that holds what the first view does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.parts import lakes
from benchmarks.parts.harness import Goal, Size, Worker, bar, console, main, parser, ratio, refreshed, scratch

MOST = 1.5
ROWS = """CREATE TABLE lines USING delta AS
SELECT id, id % 1000 AS part, CAST(id % 50 AS DECIMAL(12, 2)) AS price FROM range({rows})"""
COPIED = "SELECT id, part, price * 2 AS double FROM lines WHERE price >= 0"
VIEWS = {
    "rows": ("incremental", COPIED),
    "totals": ("incremental", "SELECT part, sum(price) AS price, count(*) AS n FROM lines GROUP BY part"),
    "keys": ("keys", "SELECT part, max(price) AS price, count(DISTINCT id) AS n FROM lines GROUP BY part"),
}
SAID = {"rows": "a new row that is added", "totals": "a new row in totals", "keys": "a new row by its key"}
VIEW = """CREATE MATERIALIZED VIEW v_{name} USING delta
TBLPROPERTIES ('headwater.method' = '{method}, full', 'headwater.settle' = '1 hour') AS {query}"""
MERGE = """MERGE INTO bare USING (SELECT -{turn} AS id, 7 AS part, 10.00 AS double) new ON bare.id = new.id
WHEN MATCHED THEN UPDATE SET double = new.double WHEN NOT MATCHED THEN INSERT *"""

PARSER = parser(__doc__)


def run(size: Size) -> dict[str, Any]:
    rows = size.of(5_000_000, 1_000_000, 100)
    warm, rounds = size.of((5, 15), (3, 7), (0, 1))
    with scratch() as place:
        worker = Worker(place / "spark", lakes.settings(place / "lake"))
        console.log(f"making {rows:,} rows and {len(VIEWS)} views")
        worker.run(ROWS.format(rows=rows), f"CREATE TABLE bare USING delta AS {COPIED}")
        for name, (method, query) in VIEWS.items():
            worker.run(VIEW.format(name=name, method=method, query=query), f"ALTER MATERIALIZED VIEW v_{name} SUSPEND")
        taken = _measured(worker, warm, rounds)
        worker.close()
    return {"rows": rows, "seconds": taken, "goals": [_goal(name, taken) for name in VIEWS]}


def _measured(worker: Worker, warm: int, rounds: int) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {each: [] for each in ("bare", *VIEWS)}
    sides = list(taken)
    with bar(console, "rounds", warm + rounds) as step:
        for turn in range(1, warm + rounds + 1):
            worker.run(f"INSERT INTO lines VALUES (-{turn}, 7, 5.00)")
            shift = turn % len(sides)
            for side in (*sides[shift:], *sides[:shift]):
                seconds = worker.run(MERGE.format(turn=turn))[0] if side == "bare" else _refreshed(worker, side)
                taken[side] += [seconds] if turn > warm else []
            step()
    return taken


def _refreshed(worker: Worker, name: str) -> float:
    """Seconds of a refresh by the method of a view."""
    row = refreshed(worker, f"v_{name}")
    assert row["mode"] == VIEWS[name][0], row
    return row["seconds"]


def _goal(name: str, taken: Mapping[str, Sequence[float]]) -> Goal:
    found = ratio(taken[name], taken["bare"])
    return Goal(
        f"{SAID[name]}, beside a MERGE of it",
        f"{MOST} times",
        f"{found['median']:.2f} ({found['min']:.2f} to {found['max']:.2f})",
        found["median"] <= MOST,
    )


if __name__ == "__main__":
    main(run, PARSER)
