"""Lake tables beside bare statements: a refresh of one partition of a view, and a user's ``MERGE``.

Refreshes: a view and a bare table of one query take turns, in one application, after each change of a row. The bare
statement is ``INSERT … REPLACE WHERE`` of Delta, and a dynamic overwrite of Iceberg. A refresh counts from its start on
record to its publication; the settling second and the statement that asks for it do not count. Its partition is small,
where fixed costs are everything, or has rows that take a second.

MERGE: three Spark processes with Delta take turns, idle but for the one that is measured: off (no extension), on
(extension, no view on the table) and held (a suspended view on it). Ratios are taken round by round against ``off``.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.parts import lakes
from benchmarks.parts.harness import Goal, Size, Worker, bar, console, main, parser, ratio, refreshes, scratch, spread

MONTH = "2024-01"
LINES = """CREATE TABLE {lines} USING {using} PARTITIONED BY (month) AS
SELECT id, id % {parts} AS part, CAST(id % 50 AS DECIMAL(12, 2)) AS quantity, concat('comment ', id) AS comment,
    if(id < {rows}, '2024-01', '2024-02') AS month FROM range(2 * {rows}) DISTRIBUTE BY month"""
QUERY = """SELECT part, sum(quantity) AS quantity, max(comment) AS comment, count(*) AS n, month
FROM {lines} GROUP BY part, month"""
HELD = "TBLPROPERTIES ('headwater.settle' = '1 hour')"
"""So that a refresh runs when the benchmark asks for it."""
BARE = {
    "delta": "INSERT INTO {bare} REPLACE WHERE month = '{month}' SELECT * FROM ({query}) WHERE month = '{month}'",
    "iceberg": "INSERT OVERWRITE {bare} SELECT * FROM ({query}) WHERE month = '{month}'",
}
DYNAMIC = "SET spark.sql.sources.partitionOverwriteMode = dynamic"
CHANGE = "INSERT INTO {lines} VALUES (1, 1, 1, 'changed', '{month}')"
REFRESH_GOAL, MERGE_GOAL = 1.2, 0.03

WRITES = """CREATE TABLE writes USING delta PARTITIONED BY (part) AS
SELECT id, id % 10 AS part, id % 50 AS amount FROM range({rows}) DISTRIBUTE BY part"""
TOTALS = "CREATE MATERIALIZED VIEW totals AS SELECT count(*) AS n, sum(amount) AS total FROM writes"
MERGE = """MERGE INTO writes USING (SELECT 10 * id AS id, 0 AS part, id AS amount FROM range({turn}, {turn} + 100)) new
ON writes.id = new.id AND writes.part = new.part
WHEN MATCHED THEN UPDATE SET amount = new.amount WHEN NOT MATCHED THEN INSERT *"""

PARSER = parser(__doc__)


def run(size: Size) -> dict[str, Any]:
    small, large = size.of((1_000, 2_000_000), (1_000, 200_000), (10, 20))
    refreshes = size.of({"warm": 20, "rounds": 25}, {"warm": 3, "rounds": 3}, {"warm": 0, "rounds": 1})
    merges = size.of(
        {"rows": 100_000, "rounds": 10, "each": 10, "warm": 15},
        {"rows": 10_000, "rounds": 2, "each": 3, "warm": 2},
        {"rows": 10, "rounds": 1, "each": 1, "warm": 1},
    )
    with scratch() as place:
        worker = Worker(place / "refresh", lakes.settings(place / "lake"))
        found = {
            name: {kind: _refreshes(worker, name, kind, rows, **refreshes) for kind, rows in sizes}
            for name in BARE
            for sizes in [(("small", small), ("large", large))]
        }
        worker.close()
        merged = _merges(place, **merges)
    goals = [_refreshed(name, kind, each) for name, kinds in found.items() for kind, each in kinds.items()]
    goals += [
        _overhead("a Delta MERGE with the extension and no view", merged["on"]),
        _overhead("a Delta MERGE with a view whose refreshes are held back", merged["held"]),
    ]
    return {"rows": {"small": small, "large": large}, "refresh": found, "merge": merged, "goals": goals}


def _refreshes(worker: Worker, format: str, kind: str, rows: int, warm: int, rounds: int) -> dict[str, Any]:
    database = f"{lakes.CATALOGS[format]}.refreshing"
    names = {each: f"{database}.{kind}_{each}" for each in ("lines", "view", "bare")}
    query = QUERY.format(**names)
    columns = f"USING {lakes.USING[format]} PARTITIONED BY (month)"
    console.log(f"{format}: 2 partitions of {rows:,} rows")
    worker.run(
        DYNAMIC,
        f"CREATE NAMESPACE IF NOT EXISTS {database}",
        LINES.format(using=lakes.USING[format], rows=rows, parts=max(1, rows // 10), **names),
        f"CREATE MATERIALIZED VIEW {names['view']} {columns} {HELD} AS {query}",
        f"CREATE TABLE {names['bare']} {columns} AS {query}",
    )
    overwrite = BARE[format].format(query=query, month=MONTH, **names)
    taken: dict[str, list[float]] = {"bare": [], "refresh": []}
    with bar(console, f"{format}, {kind}", warm + rounds) as step:
        for turn in range(warm + rounds):
            worker.run(CHANGE.format(month=MONTH, **names))
            for side in ("bare", "refresh") if turn % 2 else ("refresh", "bare"):
                seconds = worker.run(overwrite)[0] if side == "bare" else _refresh(worker, names["view"])
                taken[side] += [seconds] if turn >= warm else []
            step()
    worker.run(f"DROP MATERIALIZED VIEW {names['view']}")
    return {
        **{side: spread(each) for side, each in taken.items()},
        "ratio": ratio(taken["refresh"], taken["bare"]),
        "seconds": taken,
    }


def _refresh(worker: Worker, view: str) -> float:
    """Seconds of the refresh of the one partition that changed."""
    worker.run(f"REFRESH MATERIALIZED VIEW {view}")
    [row] = refreshes(worker.rows(f"SHOW REFRESHES FOR {view} LIMIT 1"))
    assert row["partition"] == f"month={MONTH}", f"not the refresh of the changed partition: {row}"
    return row["seconds"]


def _refreshed(name: str, kind: str, measured: Mapping[str, Any]) -> Goal:
    times = measured["ratio"]
    return Goal(
        f"a refresh of one {kind} partition of a view USING {name}, against a bare overwrite of it",
        f"<= {REFRESH_GOAL}x",
        f"{times['median']:.2f}x ({times['min']:.2f} to {times['max']:.2f}): {_millis(measured['refresh'])}, "
        f"bare {_millis(measured['bare'])}",
        times["median"] <= REFRESH_GOAL,
    )


def _merges(place: Path, rows: int, rounds: int, each: int, warm: int) -> dict[str, Any]:
    names = ("off", "on", "held")
    workers = {name: Worker(place / name, lakes.settings(place / name, headwater=name != "off")) for name in names}
    turns = dict.fromkeys(names, 0)

    def merge(name: str, times: int) -> list[float]:
        first, turns[name] = turns[name], turns[name] + times
        return workers[name].run(*(MERGE.format(turn=turn) for turn in range(first, first + times)))

    for name, worker in workers.items():
        worker.run(WRITES.format(rows=rows))
        merge(name, warm)
    workers["held"].run(TOTALS, "ALTER MATERIALIZED VIEW totals SUSPEND")
    medians: dict[str, list[float]] = {name: [] for name in names}
    with bar(console, "MERGE", rounds) as step:
        for turn in range(rounds):
            for name in names[turn % 3 :] + names[: turn % 3]:
                medians[name].append(statistics.median(merge(name, each)))
            step()
    for worker in workers.values():
        worker.close()
    return {"seconds": medians, **{name: ratio(medians[name], medians["off"]) for name in ("on", "held")}}


def _overhead(what: str, measured: Mapping[str, float]) -> Goal:
    over = measured["median"] - 1
    said = f"{over:+.1%} (rounds {measured['min'] - 1:+.1%} to {measured['max'] - 1:+.1%})"
    return Goal(what, f"<= {MERGE_GOAL:+.0%}", said, over <= MERGE_GOAL)


def _millis(measured: Mapping[str, float]) -> str:
    return f"{1000 * measured['median']:.0f} ms ({1000 * measured['min']:.0f} to {1000 * measured['max']:.0f})"


if __name__ == "__main__":
    main(run, PARSER)
