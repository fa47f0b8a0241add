"""A refresh of a large view by one key, beside a bare ``MERGE`` of the row, and beside a full refresh.

A Delta table has many rows, and its view as many, in files with ranges of keys. One row of the table is updated, and
the view is refreshed by the key of this row. The bare statement merges the row into a table with the rows of the view.
"""

from __future__ import annotations

from typing import Any

from benchmarks.parts import lakes
from benchmarks.parts.harness import Goal, Size, Worker, bar, console, main, parser, ratio, refreshed, scratch

MOST = 1.5
FILES = 16
ROWS = """CREATE TABLE lines USING delta AS SELECT /*+ REPARTITION_BY_RANGE({files}, id) */
id, sha1(string(id)) AS note, CAST(id % 50 AS DECIMAL(12, 2)) AS price FROM range({rows})"""
QUERY = "SELECT /*+ REPARTITION_BY_RANGE({files}, id) */ id, note, price * 2 AS double FROM lines"
VIEW = """CREATE MATERIALIZED VIEW v_{name} USING delta
TBLPROPERTIES ('headwater.method' = '{method}', 'headwater.settle' = '1 hour') AS {query}"""
METHODS = {"keys": "keys, full", "full": "full"}
MERGE = """MERGE INTO bare USING (SELECT {id} AS id, {turn} * 2 AS double) new ON bare.id = new.id
WHEN MATCHED THEN UPDATE SET double = new.double"""

PARSER = parser(__doc__)


def run(size: Size) -> dict[str, Any]:
    rows = size.of(10_000_000, 3_000_000, 1_000)
    warm, rounds = size.of((3, 9), (2, 5), (0, 1))
    with scratch() as place:
        worker = Worker(place / "spark", lakes.settings(place / "lake"))
        console.log(f"making {rows:,} rows and {len(METHODS)} views")
        query = QUERY.format(files=FILES)
        worker.run(ROWS.format(rows=rows, files=FILES), f"CREATE TABLE bare USING delta AS {query}")
        for name, method in METHODS.items():
            worker.run(VIEW.format(name=name, method=method, query=query), f"ALTER MATERIALIZED VIEW v_{name} SUSPEND")
        taken: dict[str, list[float]] = {each: [] for each in ("bare", *METHODS)}
        with bar(console, "rounds", warm + rounds) as step:
            for turn in range(1, warm + rounds + 1):
                _round(worker, turn, rows, taken)
                step()
        differing = [name for name in ("bare", *(f"v_{each}" for each in METHODS)) if not _is_right(worker, name)]
        worker.close()
    taken = {each: seconds[warm:] for each, seconds in taken.items()}
    return {"rows": rows, "seconds": taken, "goals": _goals(taken, differing)}


def _round(worker: Worker, turn: int, rows: int, taken: dict[str, list[float]]) -> None:
    """Updates one row, and follows it in each way, in another order each time."""
    row = turn * 7919 % rows
    worker.run(f"UPDATE lines SET price = {turn} WHERE id = {row}")
    sides = list(taken)
    shift = turn % len(sides)
    for side in (*sides[shift:], *sides[:shift]):
        bare = side == "bare"
        taken[side].append(worker.run(MERGE.format(id=row, turn=turn))[0] if bare else _refreshed(worker, side))


def _refreshed(worker: Worker, name: str) -> float:
    """Seconds of a refresh by the method of a view."""
    row = refreshed(worker, f"v_{name}")
    assert row["mode"] == name, row
    return row["seconds"]


def _is_right(worker: Worker, table: str) -> bool:
    query = QUERY.format(files=FILES)
    pairs = ((f"TABLE {table}", query), (query, f"TABLE {table}"))
    return not any(worker.rows(f"SELECT * FROM (({one}) EXCEPT ALL ({other})) LIMIT 1") for one, other in pairs)


def _goals(taken: dict[str, list[float]], differing: list[str]) -> list[Goal]:
    goals = []
    for other, most in (("bare", MOST), ("full", 1.05)):
        found = ratio(taken["keys"], taken[other])
        said = f"{found['median']:.2f} ({found['min']:.2f} to {found['max']:.2f})"
        name = "a MERGE of the row" if other == "bare" else "a full refresh"
        goals.append(Goal(f"one row by its key, beside {name}", f"{most} times", said, found["median"] <= most))
    told = ", ".join(differing) or "all"
    return [*goals, Goal("each table has the rows of the query", "all", told, not differing)]


if __name__ == "__main__":
    main(run, PARSER)
