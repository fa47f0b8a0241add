"""Groups of views: what a consistent read costs, whether views agree in it, and how late epochs are under load."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from benchmarks.parts import group_lag, lakes
from benchmarks.parts.harness import MANY_VIEWS, bar
from benchmarks.parts.results import Report, figure

COST = 10
"""At most so many ms more than a plain read."""
SLOW = "(SELECT sum(pmod(xxhash64(id), 7)) FROM range(0, 30000000, 1, 1)) >= 0"
"""A condition that holds, and takes a second, so that one view is behind the other."""
COUNT = "SELECT count(*) AS n FROM s"
BOTH = "SELECT q.n AS quick, s.n AS slow FROM quick q CROSS JOIN slow s"
PROPERTY = "TBLPROPERTIES ('headwater.group' = 'g')"


def options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--load", type=float, default=0.8, help="the part of the time that refreshes one by one take (0.8)"
    )


def reads(asked: Namespace) -> Report:
    """A query of two members, plain and consistent in turn, in groups of 2 and of 50 views."""
    sizes, warm, rounds = asked.size.of(((2, 50), 20, 100), ((2, 10), 5, 30), ((2,), 0, 1))
    figures, details, made = [], {}, 0
    with lakes.lake(MANY_VIEWS, module="benchmarks.parts.moments") as worker:
        worker.run("CREATE TABLE s (id INT) USING delta", "INSERT INTO s SELECT CAST(id AS INT) FROM range(1000)")
        with bar("views", max(sizes)) as step:
            for size in sizes:
                for number in range(made, size):
                    worker.run(f"CREATE MATERIALIZED VIEW v{number} USING delta {PROPERTY} AS {COUNT}")
                    step()
                made = size
                worker.run("REFRESH MATERIALIZED VIEW GROUP g")
                taken = worker.call("cost", "SELECT a.n, b.n FROM v0 a CROSS JOIN v1 b", warm, rounds)
                more = [1000 * (late - plain) for late, plain in zip(taken["consistent"], taken["latest"], strict=True)]
                said = f"a query of two of {size} members"
                figures += [
                    figure(f"{said}: plain", [1000 * each for each in taken["latest"]], "ms"),
                    figure(f"{said}: consistent, beside it", more, "ms more", most=COST),
                ]
                details[size] = taken
    return Report(figures, details)


def agreement(asked: Namespace) -> Report:
    """A program writes every 1.5 s, and a query compares two views of the table: plain and consistent in turn."""
    count = asked.size.of(2_000, 100, 2)
    with lakes.lake(module="benchmarks.parts.moments") as worker:
        worker.run(
            "CREATE TABLE s (id INT) USING delta",
            "INSERT INTO s VALUES (0)",
            f"CREATE MATERIALIZED VIEW quick USING delta {PROPERTY} AS {COUNT}",
            f"CREATE MATERIALIZED VIEW slow USING delta {PROPERTY} AS {COUNT} WHERE {SLOW}",
        )
        found = worker.call("agree", "INSERT INTO s VALUES ({number})", BOTH, count, 1.5)
    figures = []
    for way, pairs in found.items():
        differ = sum(quick != slow for quick, slow in pairs)
        goal = 0 if way == "consistent" else None
        figures += [
            figure(f"reads of two views, {way}", len(pairs)),
            figure(f"of these, views that disagree, {way}", differ, most=goal),
            figure(f"states of the table that were read, {way}", len({tuple(each) for each in pairs})),
        ]
    return Report(figures, found)


def load(asked: Namespace) -> Report:
    """Two writers, eight views in two groups, and three readers, while engines are killed. Views in each format."""
    reads = asked.size.of(3_400, 200, 3)
    figures, details = [], {}
    with bar("formats", len(lakes.USING)) as step:
        for name, using in lakes.USING.items():
            with lakes.lake(MANY_VIEWS, module="benchmarks.parts.group_load") as worker:
                place = f"{lakes.CATALOGS[name]}.load"
                worker.run(f"CREATE NAMESPACE {place}", f"USE {place}")
                worker.call("make", using, "delta" if name == "files" else using)
                found = worker.call("play", reads)
            apart = [each for each in found["found"] if len({*each}) != 1]
            states = {each[0] for each in found["found"]}
            figures += [
                figure(f"views in {name}: reads", len(found["found"])),
                figure(f"views in {name}: reads in which views disagree", len(apart), most=0),
                figure(f"views in {name}: numbers that were read", len(states)),
                figure(f"views in {name}: engines killed", found["kills"]),
                figure(f"views in {name}: reads that failed as an engine was killed", len(found["failed"]["reads"])),
            ]
            details[name] = {**found, "found": apart}
            step()
    return Report(figures, details)


def lag(asked: Namespace) -> Report:
    """Eight views of a table that a program appends to: in a group, without one, and refreshed one after the other.

    The last view takes eight times as long as the first one, and Headwater computes each in full. The third side is
    without Headwater: all views are refreshed for one state of the table, and then for the newest one. Each side has a
    Spark application of its own, and they take turns. The logs of the tables and the journal tell what readers see.
    """
    rounds, seconds = asked.size.of((5, 120.0), (2, 60.0), (1, 4.0))
    found, told = group_lag.measured(rounds, seconds, asked.load)
    return Report(group_lag.figures(found), {"seconds": seconds, **told, "found": found})


CASES = {"reads": reads, "agreement": agreement, "load": load, "lag": lag}
