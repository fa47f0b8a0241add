"""What a refresh costs after one small change, beside the bare statement that a user would write instead.

A refresh counts from its start on record to its publication: the settling second and the statement that asks for it do
not count. The sides take turns in one application, with the same query, format and settings.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from benchmarks.parts import lakes
from benchmarks.parts.calls import by_name, of_runs, recorded, traced
from benchmarks.parts.harness import (
    Worker,
    application,
    by_turns,
    console,
    extension,
    held,
    last_refresh,
    longer,
    ratios,
    refreshed,
    refreshes,
    same_rows,
    scratch,
)
from benchmarks.parts.results import Figure, Report, figure, none

Taken = Mapping[str, list[float]]
MONTH = "2024-01"


# --- a partition of a file table

LINES = """CREATE TABLE lines USING parquet PARTITIONED BY (month) AS
SELECT id, id % 100 AS part, CAST(id % 50 AS DECIMAL(12, 2)) AS quantity, '2024-01' AS month FROM range({rows})"""
FIXED = "SELECT part, sum(quantity) AS quantity, count(*) AS n, month FROM lines GROUP BY part, month"
OVERWRITE = f"""INSERT OVERWRITE bare PARTITION (month = '{MONTH}')
SELECT part, quantity, n FROM ({FIXED}) WHERE month = '{MONTH}'"""


def fixed(asked: Namespace) -> Report:
    """The fixed cost: a change of one row, in a view of one partition, beside a bare ``INSERT OVERWRITE``.

    The application is warm. The calls of the engine are traced (some 60, which takes less than a millisecond): the
    details say where the time of a refresh goes.
    """
    rows = asked.size.of(1_000, 1_000, 10)
    warm, rounds = asked.size.of((40, 30), (10, 5), (1, 1))
    inference = {"spark.sql.sources.partitionColumnTypeInference.enabled": "false"}
    statement: list[float] = []
    with scratch() as place:
        file = place / "calls"
        worker = Worker(place / "spark", extension() | inference | traced(file))
        worker.run(LINES.format(rows=rows), held("parts", FIXED, using=" PARTITIONED BY (month)"))
        worker.run(f"CREATE TABLE bare USING parquet PARTITIONED BY (month) AS {FIXED}")

        def refresh(turn: int) -> float:
            statement.extend(worker.run("REFRESH MATERIALIZED VIEW parts"))
            return last_refresh(worker, "parts")["seconds"]

        taken = by_turns(
            {"bare": lambda _: worker.run(OVERWRITE)[0], "refresh": refresh},
            warm,
            rounds,
            lambda _: worker.run(f"INSERT INTO lines VALUES (1, 1, 1, '{MONTH}')"),
        )
        worker.close()
        calls = by_name(of_runs(recorded(file))[-rounds:])
    millis = {each["name"]: each["millis"] for each in calls}
    return Report(
        [
            _beside("one changed row in a view of one partition", "`INSERT OVERWRITE`", taken, 1.3),
            figure("the looks at its sources, within a refresh", millis.get("Observer.look", 0.0), "ms"),
            figure("the publication, within a refresh", millis.get("SparkWarehouse.publish", 0.0), "ms"),
            figure("`REFRESH MATERIALIZED VIEW` as a statement", _millis(statement[warm:]), "ms"),
        ],
        {"rows": rows, "seconds": taken, "calls": calls},
    )


# --- a month of many

MONTHLY = """CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS
SELECT l_month AS month, l_returnflag, l_linestatus, sum(l_quantity) AS quantity,
       sum(l_extendedprice * (1 - l_discount)) AS revenue, count(*) AS n
FROM lineitem GROUP BY l_month, l_returnflag, l_linestatus"""
ALL = "1999-01-01"
"""The day after the last one of TPC-H."""


def month(asked: Namespace) -> Report:
    """One month of a view over 84 months of TPC-H ``lineitem``, beside the whole view."""
    scale, rounds, until = asked.size.of((1.0, 5, ALL), (0.05, 2, ALL), (0.001, 1, "1993-07-01"))
    with scratch() as place, application(extension) as worker:
        console.log(f"making TPC-H lineitem at scale factor {scale}")
        command = [str(Path(sys.executable).with_name("tpchgen-cli")), "parquet", "--scale-factor", str(scale)]
        subprocess.run([*command, "--tables", "lineitem", "--output-dir", str(place)], check=True, capture_output=True)
        worker.run(
            "SET spark.sql.shuffle.partitions=8",
            "CREATE TABLE lineitem USING parquet PARTITIONED BY (l_month) AS "
            "SELECT *, CAST(trunc(l_shipdate, 'MM') AS DATE) AS l_month "
            f"FROM parquet.`{place}/lineitem.parquet` WHERE l_shipdate < DATE'{until}' DISTRIBUTE BY l_month",
            MONTHLY,
        )

        def part(turn: int) -> float:
            return _seconds(worker, f"monthly PARTITION (month = '199{turn + 3}-06-01') FULL")

        taken = by_turns({"full": lambda _: _seconds(worker, "monthly FULL"), "month": part}, 0, rounds)
        partitions = len(worker.rows("SHOW PARTITIONS monthly"))
    return Report(
        [
            figure(f"one month of {partitions}, TPC-H at scale {scale:g}", taken["month"], "s"),
            figure("a full refresh of these", taken["full"], "s"),
            figure("the month beside the full refresh", ratios(taken["month"], taken["full"]), "times", most=0.1),
        ],
        taken,
    )


def _seconds(worker: Worker, what: str) -> float:
    return refreshes(worker.rows(f"REFRESH MATERIALIZED VIEW {what}"))[0]["seconds"]


# --- a partition of a lake table

LAKE_LINES = """CREATE TABLE {lines} USING {using} PARTITIONED BY (month) AS
SELECT id, id % {parts} AS part, CAST(id % 50 AS DECIMAL(12, 2)) AS quantity, concat('comment ', id) AS comment,
    if(id < {rows}, '2024-01', '2024-02') AS month FROM range(2 * {rows}) DISTRIBUTE BY month"""
LAKE_QUERY = """SELECT part, sum(quantity) AS quantity, max(comment) AS comment, count(*) AS n, month
FROM {lines} GROUP BY part, month"""
REPLACE = {
    "delta": "INSERT INTO {bare} REPLACE WHERE month = '{month}' SELECT * FROM ({query}) WHERE month = '{month}'",
    "iceberg": "INSERT OVERWRITE {bare} SELECT * FROM ({query}) WHERE month = '{month}'",
}
SAID = {"delta": "`INSERT … REPLACE WHERE`", "iceberg": "dynamic overwrite"}


def partitions(asked: Namespace) -> Report:
    """One partition of a Delta and of an Iceberg view, small and large, beside a bare overwrite of it."""
    small, large = asked.size.of((1_000, 2_000_000), (1_000, 200_000), (10, 20))
    warm, rounds = asked.size.of((20, 25), (3, 3), (0, 1))
    figures, details = [], {}
    with lakes.lake() as worker:
        for format in REPLACE:
            for kind, rows in (("small", small), ("large", large)):
                taken = details[f"{format} {kind}"] = _of_lake(worker, format, kind, rows, warm, rounds)
                name = f"one {kind} partition of a view in {format.capitalize()}"
                figures.append(_beside(name, SAID[format], taken, 1.2))
    return Report(figures, details)


def _of_lake(worker: Worker, format: str, kind: str, rows: int, warm: int, rounds: int) -> Taken:
    console.log(f"{format}: 2 partitions of {rows:,} rows")
    database = f"{lakes.CATALOGS[format]}.refreshing"
    names = {each: f"{database}.{kind}_{each}" for each in ("lines", "view", "bare")}
    query = LAKE_QUERY.format(**names)
    columns = f" USING {lakes.USING[format]} PARTITIONED BY (month)"
    worker.run(
        "SET spark.sql.sources.partitionOverwriteMode = dynamic",
        f"CREATE NAMESPACE IF NOT EXISTS {database}",
        LAKE_LINES.format(using=lakes.USING[format], rows=rows, parts=max(1, rows // 10), **names),
        held(names["view"], query, using=columns),
        f"CREATE TABLE {names['bare']}{columns} AS {query}",
    )
    overwrite = REPLACE[format].format(query=query, month=MONTH, **names)

    def refresh(turn: int) -> float:
        worker.run(f"REFRESH MATERIALIZED VIEW {names['view']}")
        row = last_refresh(worker, names["view"])
        assert row["partition"] == f"month={MONTH}", f"not the refresh of the changed partition: {row}"
        return row["seconds"]

    taken = by_turns(
        {"bare": lambda _: worker.run(overwrite)[0], "refresh": refresh},
        warm,
        rounds,
        lambda _: worker.run(f"INSERT INTO {names['lines']} VALUES (1, 1, 1, 'changed', '{MONTH}')"),
    )
    worker.run(f"DROP MATERIALIZED VIEW {names['view']}")
    return taken


# --- a row by each method

ROWS = """CREATE TABLE lines USING delta AS
SELECT id, id % 1000 AS part, CAST(id % 50 AS DECIMAL(12, 2)) AS price FROM range({rows})"""
COPIED = "SELECT id, part, price * 2 AS double FROM lines WHERE price >= 0"
VIEWS = {
    "rows": ("incremental", COPIED),
    "totals": ("incremental", "SELECT part, sum(price) AS price, count(*) AS n FROM lines GROUP BY part"),
    "keys": ("keys", "SELECT part, max(price) AS price, count(DISTINCT id) AS n FROM lines GROUP BY part"),
}
ADDED = {
    "rows": "a new row; a view without an aggregate adds it",
    "totals": "a new row; sums and counts add it to totals",
    "keys": "a new row; `count(DISTINCT)` computes its group anew",
}
MERGE_ROW = """MERGE INTO bare USING (SELECT -{turn} AS id, 7 AS part, 10.00 AS double) new ON bare.id = new.id
WHEN MATCHED THEN UPDATE SET double = new.double WHEN NOT MATCHED THEN INSERT *"""


ZONES = ("UTC", "Europe/Berlin")
"""Where Delta's Spark classes verify more after a commit in zones other than UTC."""
BESIDE_MERGE = {"rows": 0.25, "totals": 0.4, "keys": 0.7}


def row(asked: Namespace) -> Report:
    """A new row in a Delta table, by each method that follows changes, beside a bare ``MERGE`` of the row.

    The bare statement merges the row into a table that holds what the view without an aggregate does. Each zone has an
    application of its own, whose session and JVM are in it.
    """
    rows = asked.size.of(5_000_000, 1_000_000, 100)
    warm, rounds = asked.size.of((5, 15), (2, 3), (0, 1))
    taken = {zone: _in_zone(zone, rows, warm, rounds) for zone in ZONES}
    figures = [
        _beside(f"{ADDED[name]}, in {zone}", "`MERGE`", taken[zone], BESIDE_MERGE[name], name)
        for zone in ZONES
        for name in VIEWS
    ]
    return Report(figures, {"rows": rows, "seconds": taken})


def _in_zone(zone: str, rows: int, warm: int, rounds: int) -> Taken:
    with lakes.lake(lakes.zoned(zone)) as worker:
        console.log(f"{zone}: making {rows:,} rows and {len(VIEWS)} views")
        worker.run(ROWS.format(rows=rows), f"CREATE TABLE bare USING delta AS {COPIED}")
        for name, (method, query) in VIEWS.items():
            worker.run(held(f"v_{name}", query, f"{method}, full"), f"ALTER MATERIALIZED VIEW v_{name} SUSPEND")
        return by_turns(
            {
                "bare": lambda turn: worker.run(MERGE_ROW.format(turn=turn + 1))[0],
                **{name: lambda _, name=name: _by(worker, f"v_{name}", VIEWS[name][0]) for name in VIEWS},
            },
            warm,
            rounds,
            lambda turn: worker.run(f"INSERT INTO lines VALUES (-{turn + 1}, 7, 5.00)"),
        )


FILES = 16
KEYED_ROWS = """CREATE TABLE lines USING delta AS SELECT /*+ REPARTITION_BY_RANGE({files}, id) */
id, sha1(string(id)) AS note, CAST(id % 50 AS DECIMAL(12, 2)) AS price FROM range({rows})"""
KEYED = f"SELECT /*+ REPARTITION_BY_RANGE({FILES}, id) */ id, note, price * 2 AS double FROM lines"
MERGE_KEY = """MERGE INTO bare USING (SELECT {id} AS id, {turn} * 2 AS double) new ON bare.id = new.id
WHEN MATCHED THEN UPDATE SET double = new.double"""


def key(asked: Namespace) -> Report:
    """One updated row of a large Delta table, which a view copies in files with ranges of keys.

    A refresh by the key of the row stands beside a bare ``MERGE`` of the row, and beside a full refresh.
    """
    rows = asked.size.of(10_000_000, 3_000_000, 1_000)
    warm, rounds = asked.size.of((3, 9), (2, 5), (0, 1))
    methods = {"keys": "keys, full", "full": "full"}

    def changed(turn: int) -> int:
        return (turn + 1) * 7919 % rows

    with lakes.lake() as worker:
        console.log(f"making {rows:,} rows and {len(methods)} views")
        worker.run(KEYED_ROWS.format(rows=rows, files=FILES), f"CREATE TABLE bare USING delta AS {KEYED}")
        for name, method in methods.items():
            worker.run(held(f"v_{name}", KEYED, method), f"ALTER MATERIALIZED VIEW v_{name} SUSPEND")
        taken = by_turns(
            {
                "bare": lambda turn: worker.run(MERGE_KEY.format(id=changed(turn), turn=turn + 1))[0],
                **{name: lambda _, name=name: _by(worker, f"v_{name}", name) for name in methods},
            },
            warm,
            rounds,
            lambda turn: worker.run(f"UPDATE lines SET price = {turn + 1} WHERE id = {changed(turn)}"),
        )
        tables = ("bare", "v_keys", "v_full")
        wrong = [each for each in tables if not same_rows(worker, f"SELECT * FROM {each}", KEYED)]
    return Report(
        [
            _beside(f"an updated row of {rows:,}, by its key", "`MERGE`", taken, 1.5, "keys"),
            figure("the same, beside a full refresh", ratios(taken["keys"], taken["full"]), "times", most=1.05),
            none("tables that differ from the query", wrong),
        ],
        {"rows": rows, "seconds": taken},
    )


def _by(worker: Worker, view: str, method: str) -> float:
    """Seconds of a refresh, which must go by a method."""
    found = refreshed(worker, view)
    assert found["mode"] == method, found
    return found["seconds"]


# --- early cutoff

CUTOFF_LINES = """CREATE TABLE lines USING parquet PARTITIONED BY (month) AS
SELECT id, id % 9973 AS part, id % 97 AS supplier, CAST(id % 50 AS DECIMAL(12, 2)) AS quantity,
    CAST(id % 100000 AS DECIMAL(12, 2)) / 7 AS price, rand(1) AS discount, concat('comment number ', id) AS comment,
    element_at(array('AIR', 'RAIL', 'SHIP', 'TRUCK'), CAST(id % 4 + 1 AS INT)) AS mode,
    add_months(DATE '1996-01-01', CAST(id % {months} AS INT)) AS month
FROM range({rows})"""
CUTOFF = {
    "copies": "SELECT * FROM lines",
    "aggregates": "SELECT part, mode, sum(quantity) AS quantity, sum(price) AS price, count(*) AS n, month "
    "FROM lines GROUP BY part, mode, month",
}


def cutoff(asked: Namespace) -> Report:
    """The comparison of rows for early cutoff: counting and hashing them in the pass that writes them.

    Views of one query, one with ``headwater.cutoff`` on and one off, take turns at being refreshed in full. A wide view
    that only copies its source is the worst case: nothing but reading and writing stands beside the hashes.
    """
    rows, months, warm, rounds = asked.size.of((2_000_000, 12, 1, 25), (200_000, 12, 1, 2), (100, 1, 0, 1))
    figures, details = [], {}
    with application(extension) as worker:
        worker.run(CUTOFF_LINES.format(rows=rows, months=months))
        for name, query in CUTOFF.items():
            for side in ("on", "off"):
                properties = f"PARTITIONED BY (month) TBLPROPERTIES ('headwater.cutoff' = '{side}')"
                worker.run(f"CREATE MATERIALIZED VIEW {name}_{side} {properties} AS {query}")
            sides = {side: lambda _, view=f"{name}_{side}": _seconds(worker, f"{view} FULL") for side in ("on", "off")}
            taken = details[name] = by_turns(sides, warm, rounds)
            over = longer(taken["on"], taken["off"])
            figures.append(
                figure(f"the comparison of rows for early cutoff; the query {name} rows", over, "% longer", most=3)
            )
    return Report(figures, {"rows": rows, "seconds": details})


def _beside(name: str, statement: str, taken: Taken, most: float, side: str = "refresh") -> Figure:
    """A refresh in times of the bare statement, and the milliseconds of both."""
    said = " and ".join(f"{1000 * statistics.median(taken[each]):.0f} ms" for each in (side, "bare"))
    beside = ratios(taken[side], taken["bare"])
    return figure(f"{name}, beside a bare {statement}", beside, "times", most=most, note=said)


def _millis(seconds: list[float]) -> list[float]:
    return [1000 * each for each in seconds]


CASES = {"fixed": fixed, "month": month, "partitions": partitions, "row": row, "key": key, "cutoff": cutoff}
