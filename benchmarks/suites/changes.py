"""How the cost of a refresh follows the change: with more groups, and in window functions; and where its time goes.

A refresh counts from its start on record to its publication. Other views are suspended meanwhile, so it runs alone.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence

from benchmarks.parts import lakes, phases
from benchmarks.parts.calls import of_runs, recorded, traced
from benchmarks.parts.harness import (
    Row,
    Worker,
    by_turns,
    console,
    counted,
    held,
    other_ways,
    ratios,
    refreshed,
    same_rows,
    scratch,
)
from benchmarks.parts.results import Figure, Report, figure, none

FORMATS = ("delta", "iceberg")


def options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--formats", nargs="*", choices=FORMATS, default=FORMATS, help="those of groups and phases (both)"
    )


# --- groups

SALES = """CREATE TABLE {sales} USING {using} AS
SELECT id, id % {groups} AS customer, CAST(id % 50 AS DECIMAL(12, 2)) AS price FROM range({rows})"""
PER_CUSTOMER = """SELECT customer, count(*) AS n, sum(price) AS price, max(price) AS most
FROM {sales} GROUP BY customer"""
SECONDS, GROWTH = 0.8, 1.3
PRIME = 7919
"""So far apart are the groups of two rounds."""


def groups(asked: Namespace) -> Report:
    """One row comes to a large table, of which a view has a row for each of few groups, or of many.

    The view has a count, a sum and the greatest price of each customer, and is refreshed by changes. The tables have
    the same rows but for the number of customers.
    """
    counts = asked.size.of((1_000, 100_000, 3_000_000), (100, 10_000), (5, 20))
    rows, (warm, rounds) = asked.size.of(12_000_000, 100_000, 100), asked.size.of((3, 5), (1, 3), (0, 1))
    figures: list[Figure] = []
    details, wrong, every = {}, [], []
    with lakes.lake() as worker:
        for format in asked.formats:
            taken, differing = _of_groups(worker, format, counts, rows, warm, rounds)
            details[format] = taken
            wrong += differing
            every += [row for each in taken.values() for row in each]
            figures += _grown(format.capitalize(), taken)
    figures += [other_ways(every, "incremental"), none("views that differ from their queries", wrong)]
    return Report(figures, {"rows": rows, "refreshes": details})


def _of_groups(
    worker: Worker, format: str, counts: Sequence[int], rows: int, warm: int, rounds: int
) -> tuple[dict[int, list[Row]], list[str]]:
    """By the number of groups the refreshes that count; and the views that differ from their queries at the end."""
    console.log(f"{format}: making {len(counts)} tables of {rows:,} rows, and their views")
    using, database = lakes.USING[format], f"{lakes.CATALOGS[format]}.changing"
    worker.run(f"CREATE NAMESPACE IF NOT EXISTS {database}")
    sales = {count: f"{database}.sales_{count}" for count in counts}
    views = {count: f"{database}.customers_{count}" for count in counts}
    for count, table in sales.items():
        query = PER_CUSTOMER.format(sales=table)
        worker.run(
            SALES.format(sales=table, using=using, groups=count, rows=rows),
            held(views[count], query, "incremental, full", f" USING {using}"),
            f"ALTER MATERIALIZED VIEW {views[count]} SUSPEND",
        )

    def side(count: int) -> Callable[[int], Row]:
        def change(turn: int) -> Row:
            worker.run(f"INSERT INTO {sales[count]} VALUES (-{turn + 1}, {(turn + 1) * PRIME % count}, 60)")
            return counted(worker, views[count])

        return change

    taken = by_turns({str(count): side(count) for count in counts}, warm, rounds)
    wrong = [
        f"{view} ({format})"
        for count, view in views.items()
        if not same_rows(worker, f"SELECT * FROM {view}", PER_CUSTOMER.format(sales=sales[count]))
    ]
    worker.run(*(f"DROP MATERIALIZED VIEW {each}" for each in views.values()))
    worker.run(*(f"DROP TABLE {each}" for each in sales.values()))
    return {count: taken[str(count)] for count in counts}, wrong


def _grown(format: str, taken: Mapping[int, Sequence[Row]]) -> list[Figure]:
    """The seconds and jobs of each number of groups, and the growth from the least to the most."""
    seconds = {count: [row["seconds"] for row in rows] for count, rows in taken.items()}
    least, most = min(taken), max(taken)
    figures = []
    for count, rows in taken.items():
        name = f"one row, {count:,} groups"
        goal = SECONDS if count == most else None
        figures += [
            figure(name, seconds[count], "s", column=format, most=goal),
            figure(name, [row["jobs"] for row in rows], "Spark jobs", column=f"{format}, jobs"),
        ]
    growth = ratios(seconds[most], seconds[least])
    return [*figures, figure(f"{most:,} beside {least:,} groups", growth, "times", column=format, most=GROWTH)]


# --- windows

TICKS = """CREATE TABLE ticks USING delta AS SELECT /*+ REPARTITION_BY_RANGE({files}, day) */
CAST(id % {symbols} AS INT) AS symbol, date_add(DATE'2020-01-01', CAST(id div {symbols} AS INT)) AS day,
CAST(pmod(hash(id), 10000) / 100 AS DECIMAL(12, 2)) AS price FROM range({symbols} * {days})"""
TICK = """INSERT INTO ticks SELECT CAST(id AS INT), date_add(DATE'2020-01-01', {day}),
CAST(pmod(hash(id, {day}), 10000) / 100 AS DECIMAL(12, 2)) FROM range({symbols})"""
WINDOWS = {
    "sliding": "SELECT symbol, day, price, max(price) OVER (PARTITION BY symbol ORDER BY day "
    "RANGE BETWEEN INTERVAL 30 DAYS PRECEDING AND CURRENT ROW) AS highest FROM ticks",
    "running": "SELECT symbol, day, price, sum(price) OVER (PARTITION BY symbol ORDER BY day) AS total FROM ticks",
    "lag": "SELECT symbol, day, price, lag(price) OVER (PARTITION BY symbol ORDER BY day) AS before FROM ticks",
    "top": "SELECT symbol, day, price FROM (SELECT *, row_number() OVER (PARTITION BY symbol "
    "ORDER BY price DESC, day) AS place FROM ticks) WHERE place <= 3",
}
WINDOWS_SAID = {
    "sliding": "the highest price of 30 days, a sliding frame",
    "running": "a running sum",
    "lag": "the price before, `lag`",
    "top": "the three highest prices",
}
WINDOW_METHODS = {"keys": "keys, full", "full": "full"}
BESIDE_FULL = 0.1


def windows(asked: Namespace) -> Report:
    """A new last row comes to each partition of a window, beside a full refresh of the same view.

    The table has prices of symbols by the day, in files by the day, as they arrive. Each kind of window has a view that
    is refreshed by keys, and one that is refreshed in full.
    """
    symbols, days, files = asked.size.of((10_000, 1_000, 50), (100, 50, 5), (3, 5, 1))
    warm, rounds = asked.size.of((1, 5), (1, 2), (0, 1))
    views = [(window, method) for window in WINDOWS for method in WINDOW_METHODS]
    with lakes.lake() as worker:
        console.log(f"making {symbols * days:,} rows and {len(views)} views")
        worker.run(TICKS.format(files=files, symbols=symbols, days=days))
        for window, method in views:
            name = f"{window}_{method}"
            worker.run(held(name, WINDOWS[window], WINDOW_METHODS[method]), f"ALTER MATERIALIZED VIEW {name} SUSPEND")
        taken = by_turns(
            {
                f"{window}_{method}": lambda _, name=f"{window}_{method}": refreshed(worker, name)
                for window, method in views
            },
            warm,
            rounds,
            lambda turn: worker.run(TICK.format(day=days + turn, symbols=symbols)),
        )
        wrong = [
            f"{window}_{method}"
            for window, method in views
            if not same_rows(worker, f"SELECT * FROM {window}_{method}", WINDOWS[window])
        ]
    figures = []
    for window, said in WINDOWS_SAID.items():
        keys, full = ([row["seconds"] for row in taken[f"{window}_{each}"]] for each in WINDOW_METHODS)
        figures += [
            figure(said, ratios(keys, full), "times", column="by keys, beside full", most=BESIDE_FULL),
            figure(said, keys, "s", column="by keys"),
            figure(said, full, "s", column="in full"),
        ]
    by_keys = [row for window in WINDOWS for row in taken[f"{window}_keys"]]
    figures += [other_ways(by_keys, "keys"), none("views that differ from their queries", wrong)]
    return Report(figures, {"symbols": symbols, "days": days, "refreshes": taken})


# --- phases

PHASED = {
    "a row is added": ("incremental", "SELECT id, customer, price * 2 AS double FROM {sales} WHERE price >= 0"),
    "by changes": ("incremental", PER_CUSTOMER),
    "by keys": ("keys", "SELECT customer, count(DISTINCT id) AS n, max(price) AS most FROM {sales} GROUP BY customer"),
}


def phased(asked: Namespace) -> Report:
    """Where the time goes when one row comes: the milliseconds of each part of a refresh, by method.

    The application is warm. The table has 365 customers, and the calls of the engine are traced.
    """
    rows, (warm, rounds) = asked.size.of(1_000_000, 100_000, 100), asked.size.of((5, 9), (2, 3), (0, 1))
    figures: list[Figure] = []
    details = {}
    for format in asked.formats:
        taken = details[format] = _phases(format, rows, warm, rounds)
        figures += _phased(format.capitalize(), taken)
    return Report(figures, {"rows": rows, "millis": details})


def _phases(format: str, rows: int, warm: int, rounds: int) -> dict[str, list[dict[str, float]]]:
    """By method the milliseconds of each phase, for each round."""
    using, database = lakes.USING[format], f"{lakes.CATALOGS[format]}.phased"
    sales, views = f"{database}.sales", {way: f"{database}.v{n}" for n, way in enumerate(PHASED)}
    taken: list[tuple[str, float]] = []
    with scratch() as place, lakes.lake(traced(file := place / "calls")) as worker:
        console.log(f"{format}: making {rows:,} rows and {len(PHASED)} views")
        worker.run(f"CREATE NAMESPACE {database}", SALES.format(sales=sales, using=using, groups=365, rows=rows))
        for way, (method, query) in PHASED.items():
            made = held(views[way], query.format(sales=sales), f"{method}, full", f" USING {using}")
            worker.run(made, f"ALTER MATERIALIZED VIEW {views[way]} SUSPEND")

        def refresh(way: str) -> None:
            row = refreshed(worker, views[way])
            assert row["mode"] == PHASED[way][0], row
            taken.append((way, row["seconds"]))

        by_turns(
            {way: lambda _, way=way: refresh(way) for way in PHASED},
            warm,
            rounds,
            lambda turn: worker.run(f"INSERT INTO {sales} VALUES (-{turn + 1}, {turn % 365}, 60)"),
        )
        worker.close()
        runs = of_runs(recorded(file))[-len(taken) :]
    found = [(way, phases.of_run(calls, seconds)) for (way, seconds), calls in zip(taken, runs, strict=True)]
    return {way: [millis for mine, millis in found if mine == way][warm:] for way in PHASED}


def _phased(format: str, taken: Mapping[str, Sequence[Mapping[str, float]]]) -> list[Figure]:
    """The milliseconds of each phase and their sum, by method. A method has no figure of a phase that it lacks."""
    found = []
    for phase in (*phases.PHASES, phases.REST, "in all"):
        for way, turns in taken.items():
            millis = [round(sum(each.values()) if phase == "in all" else each[phase]) for each in turns]
            if any(millis):
                found.append(figure(phase, millis, "ms", column=f"{format}, {way}"))
    return found


CASES = {"groups": groups, "windows": windows, "phases": phased}
