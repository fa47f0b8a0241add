"""The fixed cost of a refresh: a change of one row, in a view of one partition.

A refresh and a bare ``INSERT OVERWRITE`` of the same partition take turns. Both run the same query in one application
that is warm, with the same settings and format. The calls of the engine are traced (some 60, which takes less than a
millisecond): the table shows where the time of a refresh goes. The settling second does not count.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.parts.calls import Call, recorded, traced
from benchmarks.parts.harness import (
    Goal,
    Size,
    Worker,
    console,
    extension,
    main,
    parser,
    ratio,
    refreshes,
    scratch,
    spread,
)

SETTINGS = {"spark.sql.sources.partitionColumnTypeInference.enabled": "false"}
LINES = """CREATE TABLE lines USING parquet PARTITIONED BY (month) AS
SELECT id, id % 100 AS part, CAST(id % 50 AS DECIMAL(12, 2)) AS quantity, '2024-01' AS month FROM range({rows})"""
QUERY = "SELECT part, sum(quantity) AS quantity, count(*) AS n, month FROM lines GROUP BY part, month"
VIEW = f"CREATE MATERIALIZED VIEW parts PARTITIONED BY (month) AS {QUERY}"
BARE = f"CREATE TABLE bare USING parquet PARTITIONED BY (month) AS {QUERY}"
CHANGE = "INSERT INTO lines VALUES (1, 1, 1, '2024-01')"
OVERWRITE = (
    "INSERT OVERWRITE bare PARTITION (month = '2024-01') "
    f"SELECT part, quantity, n FROM ({QUERY}) WHERE month = '2024-01'"
)
HOLD = "ALTER MATERIALIZED VIEW parts SET TBLPROPERTIES ('headwater.settle' = '1 hour')"
"""So that a refresh runs when the benchmark asks for it."""
GOAL = 1.3

PARSER = parser(__doc__)


def run(size: Size) -> dict[str, Any]:
    rows = size.of(1_000, 1_000, 10)
    warm, rounds = size.of((40, 30), (10, 5), (1, 1))
    with scratch() as place:
        figures = _measured(place / "spark", rows, warm, rounds)
    show(figures["calls"])
    times = figures["ratio"]
    goals = [
        Goal(
            "a refresh of one partition, against a bare INSERT OVERWRITE of it",
            f"<= {GOAL}x",
            f"{times['median']:.2f}x ({times['min']:.2f} to {times['max']:.2f}): {_millis(figures['refresh'])}, "
            f"bare {_millis(figures['bare'])}",
            times["median"] <= GOAL,
        ),
        Goal("REFRESH MATERIALIZED VIEW as a statement", "reported", _millis(figures["statement"]), True),
    ]
    return {"rows": rows, **figures, "goals": goals}


def show(calls: list[dict[str, Any]]) -> None:
    table = Table("call", "times", "ms", "of them in calls below", title="The engine's calls in one refresh, medians")
    for each in calls:
        table.add_row(each["name"], f"{each['times']:g}", f"{each['millis']:.1f}", f"{each['below']:.1f}")
    console.print(table)


def _measured(home: Path, rows: int, warm: int, rounds: int) -> dict[str, Any]:
    file = home / "calls"
    home.mkdir()
    worker = Worker(home, extension() | SETTINGS | traced(file))
    worker.run(LINES.format(rows=rows), VIEW, BARE, HOLD)
    bare, refresh, statement = [], [], []
    for turn in range(warm + rounds):
        worker.run(CHANGE)
        for side in ("bare", "refresh") if turn % 2 else ("refresh", "bare"):
            if side == "bare":
                bare += worker.run(OVERWRITE)
            else:
                statement += worker.run("REFRESH MATERIALIZED VIEW parts")
                [last] = refreshes(worker.rows("SHOW REFRESHES FOR parts LIMIT 1"))
                refresh.append(last["seconds"])
    worker.close()
    runs = _runs(recorded(file))[-rounds:]
    bare, refresh, statement = bare[warm:], refresh[warm:], statement[warm:]
    return {
        "bare": spread(bare),
        "refresh": spread(refresh),
        "statement": spread(statement),
        "ratio": ratio(refresh, bare),
        "calls": _summed(runs),
    }


def _runs(calls: list[Call]) -> list[list[Call]]:
    """The calls of each run: those in its steps, of which the last one publishes. Steps are in several threads."""
    runs: list[list[Call]] = [[]]
    steps = [each for each in calls if each.name == "Loop._carry_out"]
    for step in sorted(steps, key=lambda each: each.ended):
        runs[-1] += [each for each in calls if _holds(step, each)]
        if any(each.name == "SparkWarehouse.publish" for each in runs[-1]):
            runs.append([])
    return runs[:-1]


def _summed(runs: list[list[Call]]) -> list[dict[str, Any]]:
    """Medians over runs, by the name of a call: how often, its milliseconds, and those of calls inside it."""
    times, millis, below = defaultdict(list), defaultdict(list), defaultdict(list)
    for calls in runs:
        for name in {each.name for each in calls}:
            mine = [each for each in calls if each.name == name]
            times[name].append(len(mine))
            millis[name].append(1000 * sum(each.seconds for each in mine))
            below[name].append(1000 * sum(each.seconds for one in mine for each in _children(one, calls)))
    found = [
        {
            "name": name,
            "times": statistics.median(times[name]),
            "millis": statistics.median(millis[name]),
            "below": statistics.median(below[name]),
        }
        for name in times
    ]
    return sorted(found, key=lambda each: each["millis"], reverse=True)


def _children(parent: Call, calls: Iterable[Call]) -> list[Call]:
    """The outermost calls inside another one."""
    inside = [each for each in calls if each is not parent and _holds(parent, each)]
    return [each for each in inside if not any(_holds(other, each) for other in inside if other is not each)]


def _holds(outer: Call, inner: Call) -> bool:
    return outer.thread == inner.thread and outer.began <= inner.began and inner.ended <= outer.ended


def _millis(measured: dict[str, float]) -> str:
    return f"{1000 * measured['median']:.0f} ms ({1000 * measured['min']:.0f} to {1000 * measured['max']:.0f})"


if __name__ == "__main__":
    main(run, PARSER)
