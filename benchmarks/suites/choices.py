"""How good the choice of a method is: what ``auto`` takes beside the best method, over pairs of a view and a change.

Each view of ``parts/shapes.py`` has a copy for each method, and one under ``auto``. All are refreshed after each
change, alone and in another order each time. Two rounds of small changes come first, so that ``auto`` has a history.
Then each kind of change has its rounds. The first of them does not count, but with ``--quick`` there is only one.

The cost of a method is the median on record of its own copy, of the refreshes that took this method. The choice is what
the copy under ``auto`` took in the last round. Its cost is that of the chosen method's copy, so the noise of the copy
under ``auto`` does not count. Only where no other copy went that way, its own cost does. Costs are core-seconds, by
which the engine chooses. The goals are judged for seconds, too.
"""

from __future__ import annotations

import json
import statistics
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from benchmarks.parts import lakes
from benchmarks.parts.harness import (
    MANY_VIEWS,
    Row,
    Worker,
    bar,
    checksum,
    console,
    core_seconds,
    held,
    last_refresh,
    rotated,
)
from benchmarks.parts.results import Figure, Report, figure, none
from benchmarks.parts.shapes import CHANGES, SHAPES, Change, Shape, changing, tables

AUTO = "auto"
ASKED = {AUTO: "auto", "partition": "full", "full": "full", "keys": "keys, full", "incremental": "incremental, full"}
"""The copies of a view by the method that each is for, with their ``headwater.method``. A view without partitions has
none for ``partition``."""
SAID = {"partition": "by partition", "full": "in full", "keys": "by keys", "incremental": "by changes"}

NEAR, MOST, PAIRS = 1.10, 1.05, 90
"""A choice within ``NEAR`` of the best is good. So many per cent of the ``PAIRS`` shall be good; the sum of all is
within ``MOST``."""
FORGIVEN = 0.3
"""Core-seconds by which a choice may be worse without notice; reported only."""
UNITS = {"core_seconds": "core-seconds", "seconds": "seconds"}
"""The columns of ``SHOW REFRESHES`` by which costs are compared. The first one counts."""

FIRST = next(each for each in CHANGES if each.name == "thousandth")
"""The change of the rounds before all others."""
QUICK = (
    "copied",
    "enriched",
    "per_shop",
    "per_order",
    "distinct_count",
    "ranked",
    "best",
    "joined",
    "monthly_distinct",
)
QUICK_CHANGES = ("hundredth", "row", "month", "deleted", "updated")

Copy = tuple[Shape, str]


def options(parser: ArgumentParser) -> None:
    views, changes = ([each.name for each in some] for some in (SHAPES, CHANGES))
    parser.add_argument("--rows", type=int, help="of the largest table (30 million; 4 million with --quick)")
    parser.add_argument("--views", nargs="*", choices=views, help="which views (all; nine with --quick)")
    parser.add_argument("--changes", nargs="*", choices=changes, help="which changes (all; five with --quick)")


def pairs(asked: Namespace) -> Report:
    """Pairs of 25 views over Delta tables and eight kinds of changes."""
    rows = asked.rows or asked.size.of(30_000_000, 4_000_000, 2_000)
    history, rounds = asked.size.of(2, 2, 0), asked.size.of((False, True, True), (True,), (True,))
    every, kinds_of_all = [each.name for each in SHAPES], [each.name for each in CHANGES]
    views = _asked(asked.views, every, asked.size.of(every, QUICK, ["per_shop"]))
    kinds = _asked(asked.changes, kinds_of_all, asked.size.of(kinds_of_all, QUICK_CHANGES, ["row", "deleted"]))
    turns = [(FIRST, False)] * history
    turns += [(change, counts) for change in CHANGES if change.name in kinds for counts in rounds]
    with lakes.lake(MANY_VIEWS) as worker:
        console.log(f"making {rows:,} rows")
        worker.run(*tables(rows, asked.size.of(4, 2, 1)))
        copies = _created(worker, [each for each in SHAPES if each.name in views])
        found = _measured(worker, copies, turns, rows, asked.details)
        differing = _differing(worker, copies)
    judged_ = {unit: judged(found, unit) for unit in UNITS}
    untold = sum(each["untold"] for each in found)
    return Report(
        [
            *(each for unit, said in UNITS.items() for each in goals(judged_[unit], said)),
            *_by_change(found),
            none("views that differ from their queries", differing),
            figure("refreshes whose core-seconds Spark did not tell", untold, note=f"of {len(found)}"),
            _foretold(found),
        ],
        {"rows": rows, "pairs": judged_, "refreshes": found},
    )


def _asked(told: Sequence[str] | None, every: Sequence[str], usual: Sequence[str]) -> Sequence[str]:
    """The names that an option lists: all if it lists none, and the usual ones without the option."""
    return usual if told is None else told or every


def _created(worker: Worker, shapes: Sequence[Shape]) -> list[Copy]:
    """Creates the copies, but for those of methods that the query does not allow.

    Another one is created first for each view, since the first refresh of a query takes longer.
    """
    copies, created = [], []
    for n, shape in enumerate(shapes):
        copies += rotated([(shape, each) for each in ASKED if shape.partitioned or each != "partition"], n)
    with bar("CREATE MATERIALIZED VIEW", len(copies)) as step:
        for copy in copies:
            using = f" USING delta{' PARTITIONED BY (month)' if copy[0].partitioned else ''}"
            if worker.call("succeeds", held(_name(copy), copy[0].query, ASKED[copy[1]], using)):
                created.append(copy)
                worker.run(f"ALTER MATERIALIZED VIEW {_name(copy)} SUSPEND")
            step()
    missing = [_name(each) for each in copies if each not in created and each[1] in (AUTO, "full")]
    assert not missing, f"not created: {missing}"
    return created


def _measured(
    worker: Worker, copies: Sequence[Copy], turns: Sequence[tuple[Change, bool]], rows: int, log: Path | None
) -> list[Row]:
    """A row for each refresh.

    Args:
        turns: the changes one after the other, each with whether its refreshes count.
        log: gets the rows after each change, for those who interrupt it.
    """
    found: list[Row] = []
    with bar("REFRESH", len(turns) * len(copies)) as step:
        for turn, (change, counts) in enumerate(turns, 1):
            console.log(f"{turn} of {len(turns)}: {change.said}{'' if counts else ' (does not count)'}")
            worker.run(*changing(change, rows, turn))
            for copy in rotated(copies, turn * 7):
                key = {"view": copy[0].name, "change": change.name, "counts": counts, "copy": copy[1]}
                found.append(key | _refreshed(worker, copy))
                step()
            if log:
                log.parent.mkdir(parents=True, exist_ok=True)
                log.write_text(json.dumps({"refreshes": found}))
    return found


def _refreshed(worker: Worker, copy: Copy) -> Row:
    """A refresh as it is on record. All other views are suspended, so it runs alone.

    Of a copy under ``auto`` also what the engine says of the methods before.
    """
    name = _name(copy)
    alter = f"ALTER MATERIALIZED VIEW {name}"
    forced = " FULL" if copy[0].partitioned and copy[1] == "full" else ""
    worker.run(f"{alter} RESUME")
    told = [row[0] for row in worker.rows(f"EXPLAIN REFRESH {name}")] if copy[1] == AUTO else []
    worker.run(f"REFRESH MATERIALIZED VIEW {name}{forced}", f"{alter} SUSPEND")
    row = last_refresh(worker, name)
    assert row["status"] in ("published", "unchanged"), f"{name} was not refreshed: {row}"
    said = [each.strip() for text in told for each in text.splitlines()]
    at = next((n for n, each in enumerate(said) if each.startswith("method:")), len(said))
    kept = {key: row[key] for key in ("mode", "foreseen", "foreseen_core_seconds", "seconds")}
    return kept | {"core_seconds": core_seconds(row), "untold": row["core_seconds"] is None, "told": said[at:]}


def judged(found: Sequence[Row], unit: str) -> list[Row]:
    """The pairs of a view and a change, each with its best method and the one that ``auto`` took.

    Args:
        unit: the column that tells the cost.
    """
    pairs: dict[tuple[str, str], list[Row]] = {}
    for each in found:
        if each["counts"]:
            pairs.setdefault((each["view"], each["change"]), []).append(each)
    return [{"view": view, "change": change} | _judged(some, unit) for (view, change), some in pairs.items()]


def _judged(found: Sequence[Row], unit: str) -> Row:
    """The methods of one pair: their costs, the best and the chosen one, and what each of these two cost."""
    own = [each for each in found if each["copy"] == AUTO]
    chosen, costs = own[-1]["mode"], {}
    for each in found:
        if each["mode"] == each["copy"] or each["copy"] == AUTO and each["mode"] == chosen:
            costs.setdefault((each["mode"], each["copy"]), []).append(each[unit])
    middle = {mode: statistics.median(each) for (mode, copy), each in costs.items() if copy != AUTO}
    middle.setdefault(chosen, statistics.median(costs[chosen, AUTO]))
    best = min(middle, key=middle.__getitem__)
    return {
        "costs": middle,
        "chosen": chosen,
        "best": best,
        "took": middle[chosen],
        "least": middle[best],
        "told": own[-1]["told"],
    }


def goals(pairs: Sequence[Row], unit: str) -> list[Figure]:
    """How good the choices are in one unit, and what others would have cost."""
    good = [each for each in pairs if each["took"] <= NEAR * each["least"]]
    noticed = [each for each in pairs if each not in good and each["took"] - each["least"] > FORGIVEN]
    took, least = (sum(each[key] for each in pairs) for key in ("took", "least"))
    worst = max(pairs, key=lambda each: each["took"] / each["least"])
    said = (
        f"{len(good)} of {len(pairs)}; worst {worst['took'] / worst['least']:.2f} times: {worst['view']}, "
        f"{worst['change']}, {SAID[worst['chosen']]} instead of {SAID[worst['best']]}"
    )
    near, best = f"pairs whose choice is within {NEAR - 1:.0%} of the best method", "the sum of all choices"
    return [
        figure(near, 100 * len(good) / len(pairs), "%", least=PAIRS, column=unit, note=said),
        figure(best, took / least, "times the best", most=MOST, column=unit, note=f"{took:.0f} and {least:.0f}"),
        figure(f"pairs more than {FORGIVEN} worse than that", len(noticed), column=unit),
        *(_fixed(method, pairs, least, unit) for method in SAID),
        *(
            _missed(*kind, pairs, unit)
            for kind in sorted({(each["chosen"], each["best"]) for each in pairs if each not in good})
        ),
    ]


def _fixed(method: str, pairs: Sequence[Row], least: float, unit: str) -> Figure:
    """What it would take to go one way wherever that is possible, and else as ``auto`` does."""
    took = sum(each["costs"].get(method, each["took"]) for each in pairs)
    note = f"possible in {sum(method in each['costs'] for each in pairs)}"
    return figure(
        f"the same if each refresh were {SAID[method]}", took / least, "times the best", column=unit, note=note
    )


def _missed(method: str, best: str, pairs: Sequence[Row], unit: str) -> Figure:
    """What one kind of choice cost beside what was the best."""
    some = [each for each in pairs if (each["chosen"], each["best"]) == (method, best)]
    far = sum(each["took"] > NEAR * each["least"] for each in some)
    lost = sum(each["took"] - each["least"] for each in some)
    note = f"in {len(some)} pairs, {far} of them by more than 10 %"
    return figure(f"lost {SAID[method]}, where {SAID[best]} was the best", lost, column=unit, note=note)


def _by_change(found: Sequence[Row]) -> list[Figure]:
    """Core-seconds of each method that follows changes, in times of a full refresh, by the kind of change."""
    figures, spent = [], dict[tuple[str, str, str], list[float]]()
    for row in found:
        if row["counts"] and row["mode"] == row["copy"]:
            spent.setdefault((row["copy"], row["change"], row["view"]), []).append(row["core_seconds"])
    middle = {key: statistics.median(each) for key, each in spent.items()}
    for change in CHANGES:
        for method in ("incremental", "keys"):
            shares = [
                own / middle["full", change.name, view]
                for (copy, kind, view), own in middle.items()
                if (copy, kind) == (method, change.name) and ("full", kind, view) in middle
            ]
            if shares:
                column = f"{SAID[method]}, in times of a full refresh"
                figures.append(figure(change.said, shares, "times", column=column, note=f"{len(shares)} views"))
    return figures


def _foretold(found: Sequence[Row]) -> Figure:
    """How often a refresh under ``auto`` went as ``EXPLAIN REFRESH`` had said before."""
    own = [each for each in found if each["copy"] == AUTO]
    right = sum(each["told"][:1] != [] and each["told"][0].startswith(f"method: {SAID[each['mode']]}") for each in own)
    said = "refreshes that took the method of `EXPLAIN REFRESH`"
    return figure(said, 100 * right / len(own), "%", least=99, note=f"{right} of {len(own)}")


def _differing(worker: Worker, copies: Sequence[Copy]) -> list[str]:
    """The copies whose rows are not those of their query."""
    wanted = {shape.name: checksum(worker, f"({shape.query})") for shape in dict(copies)}
    return [_name(each) for each in copies if checksum(worker, _name(each)) != wanted[each[0].name]]


def _name(copy: Copy) -> str:
    return f"{copy[0].name}_{copy[1]}"


CASES = {"pairs": pairs}
