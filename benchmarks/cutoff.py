"""What early cutoff costs a refresh: counting and hashing the rows in the pass that writes them.

Views of one query, one with ``headwater.cutoff`` on and one off, take turns at being refreshed in full. A wide
view that only copies its source is the worst case: nothing but reading and writing stands beside the hashes.
"""

from __future__ import annotations

from typing import Any

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

LINES = """CREATE TABLE lines USING parquet PARTITIONED BY (month) AS
SELECT id, id % 9973 AS part, id % 97 AS supplier, CAST(id % 50 AS DECIMAL(12, 2)) AS quantity,
    CAST(id % 100000 AS DECIMAL(12, 2)) / 7 AS price, rand(1) AS discount, concat('comment number ', id) AS comment,
    element_at(array('AIR', 'RAIL', 'SHIP', 'TRUCK'), CAST(id % 4 + 1 AS INT)) AS mode,
    add_months(DATE '1996-01-01', CAST(id % {months} AS INT)) AS month
FROM range({rows})"""
QUERIES = {
    "copied": "SELECT * FROM lines",
    "aggregated": "SELECT part, mode, sum(quantity) AS quantity, sum(price) AS price, count(*) AS n, month "
    "FROM lines GROUP BY part, mode, month",
}


PARSER = parser(__doc__)


def run(size: Size) -> dict[str, Any]:
    rows, months, warm, rounds = size.of((2_000_000, 12, 1, 25), (200_000, 12, 1, 2), (100, 1, 0, 1))
    with scratch() as place:
        worker = Worker(place / "spark", extension())
        worker.run(LINES.format(rows=rows, months=months))
        figures = {name: _measured(worker, name, query, warm, rounds) for name, query in QUERIES.items()}
        worker.close()
    goals = [
        Goal(
            f"a refresh with early cutoff, against one without, {name}",
            "<= +3 %",
            f"{each['ratio']['median'] - 1:+.1%} (rounds {each['ratio']['min'] - 1:+.1%} to "
            f"{each['ratio']['max'] - 1:+.1%})",
            each["ratio"]["median"] <= 1.03,
        )
        for name, each in figures.items()
    ]
    return {"rows": rows, **figures, "goals": goals}


def _measured(worker: Worker, name: str, query: str, warm: int, rounds: int) -> dict[str, Any]:
    for cutoff in ("on", "off"):
        worker.run(
            f"CREATE MATERIALIZED VIEW {name}_{cutoff} PARTITIONED BY (month) "
            f"TBLPROPERTIES ('headwater.cutoff' = '{cutoff}') AS {query}"
        )
    seconds: dict[str, list[float]] = {"on": [], "off": []}
    for each in range(warm + rounds):
        for cutoff in ("on", "off") if each % 2 else ("off", "on"):
            worker.run(f"REFRESH MATERIALIZED VIEW {name}_{cutoff} FULL")
            [last] = refreshes(worker.rows(f"SHOW REFRESHES FOR {name}_{cutoff} LIMIT 1"))
            if each >= warm:
                seconds[cutoff].append(last["seconds"])
        console.print(f"{name}: round {each + 1} of {warm + rounds}")
    return {"on": spread(seconds["on"]), "off": spread(seconds["off"]), "ratio": ratio(seconds["on"], seconds["off"])}


if __name__ == "__main__":
    main(run, PARSER)
