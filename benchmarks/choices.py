"""How good the choice of a method is: what ``auto`` takes beside the best method, over pairs of a view and a change.

Each view of ``shapes`` has a copy for each method, and one under ``auto``. All are refreshed after each change, alone
and in another order each time. Two rounds of small changes come first, so that ``auto`` has a history. Then each kind
of change has its rounds. The first of them does not count, but with ``--quick`` there is only one.

The cost of a method is the median on record of its own copy, of the refreshes that took this method. The choice is what
the copy under ``auto`` took in the last round. Its cost is that of the chosen method's copy, so the noise of the copy
under ``auto`` does not count. Only where no other copy went that way, its own cost does.

Costs are core-seconds, by which the engine chooses. The goals are told for seconds, too.

At the end each copy is compared with its query, by the number of rows and the sum of their hashes.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.choices_plot import draw
from benchmarks.parts import lakes
from benchmarks.parts.harness import (
    Goal,
    Row,
    Size,
    Worker,
    bar,
    console,
    core_seconds,
    main,
    parser,
    refreshes,
    scratch,
)
from benchmarks.parts.shapes import CHANGES, SHAPES, Change, Shape, changing, tables

AUTO = "auto"
ASKED = {AUTO: "auto", "partition": "full", "full": "full", "keys": "keys, full", "incremental": "incremental, full"}
"""The copies of a view by the method that each is for, with their ``headwater.method``. A view without partitions has
none for ``partition``."""
SAID = {"partition": "by partition", "full": "in full", "keys": "by keys", "incremental": "by changes"}

NEAR, MOST, PAIRS = 1.10, 1.05, 0.90
"""A choice within ``NEAR`` of the best is good. So many ``PAIRS`` shall be good; the sum of all is within ``MOST``."""
FORGIVEN = 0.3
"""Core-seconds by which a choice may be worse and nobody notices; reported only."""
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
SUM = "SELECT count(*), CAST(sum(CAST(xxhash64(*) AS DECIMAL(38, 0))) AS STRING) FROM {}"

SETTINGS = {"spark.sql.codegen.cache.maxEntries": "2000"}
"""As an application with many views has it (docs/settings.md)."""

Copy = tuple[Shape, str]

PARSER = parser(__doc__)
PARSER.add_argument("--rows", type=int, help="of the largest table (30 million; 4 million with --quick)")
PARSER.add_argument(
    "--views", nargs="*", choices=[each.name for each in SHAPES], help="which views (all; nine with --quick)"
)
PARSER.add_argument(
    "--changes", nargs="*", choices=[each.name for each in CHANGES], help="which changes (all; five with --quick)"
)


def run(size: Size) -> dict[str, Any]:
    told = PARSER.parse_args()
    rows = told.rows or size.of(30_000_000, 4_000_000, 2_000)
    history, rounds = size.of(2, 2, 0), size.of((False, True, True), (True,), (True,))
    every, kinds_of_all = [each.name for each in SHAPES], [each.name for each in CHANGES]
    views = _asked(told.views, every, size.of(every, QUICK, ["per_shop"]))
    kinds = _asked(told.changes, kinds_of_all, size.of(kinds_of_all, QUICK_CHANGES, ["row", "deleted"]))
    shapes = [each for each in SHAPES if each.name in views]
    turns = [(FIRST, False)] * history
    turns += [(change, counts) for change in CHANGES if change.name in kinds for counts in rounds]
    if told.json:
        told.json.parent.mkdir(parents=True, exist_ok=True)
    with scratch() as place:
        worker = Worker(place / "spark", lakes.settings(place / "lake") | SETTINGS)
        console.log(f"making {rows:,} rows")
        worker.run(*tables(rows, size.of(4, 2, 1)))
        copies = _created(worker, shapes)
        found = _measured(worker, copies, turns, rows, told.json and told.json.with_suffix(".jsonl"))
        differing = _differing(worker, copies)
        worker.close()
    pairs = {unit: judged(found, unit) for unit in UNITS}
    if told.json:
        draw(pairs["core_seconds"], told.json.with_suffix(".png"))
    untold = f"{sum(each['untold'] for each in found)} of {len(found)}"
    said = Goal("refreshes whose seconds stand for core-seconds, which Spark did not tell", "reported", untold, True)
    return {
        "rows": rows,
        "pairs": pairs,
        "refreshes": found,
        "goals": [*goals(pairs, differing), said, _foretold(found)],
    }


def _asked(told: Sequence[str] | None, every: Sequence[str], usual: Sequence[str]) -> Sequence[str]:
    """The names that an option lists: all if it lists none, and the usual ones without the option."""
    return usual if told is None else told or every


def _created(worker: Worker, shapes: Sequence[Shape]) -> list[Copy]:
    """Creates the copies, but for those of methods that the query does not allow."""
    copies = [copy for n, shape in enumerate(shapes) for copy in _copies(shape, n)]
    created = []
    with bar(console, "CREATE MATERIALIZED VIEW", len(copies)) as step:
        for shape, asked in copies:
            name = _name((shape, asked))
            properties = f"TBLPROPERTIES ('headwater.method' = '{ASKED[asked]}', 'headwater.settle' = '1 hour')"
            by = " PARTITIONED BY (month)" if shape.partitioned else ""
            create = f"CREATE MATERIALIZED VIEW {name} USING delta{by} {properties} AS {shape.query}"
            if worker.call("succeeds", create):
                created.append((shape, asked))
                worker.run(f"ALTER MATERIALIZED VIEW {name} SUSPEND")
            step()
    missing = [_name(each) for each in copies if each not in created and each[1] in (AUTO, "full")]
    assert not missing, f"not created: {missing}"
    return created


def _copies(shape: Shape, shift: int) -> list[Copy]:
    """Another one is created first for each view, since the first refresh of a query takes longer."""
    copies = [(shape, each) for each in ASKED if shape.partitioned or each != "partition"]
    shift %= len(copies)
    return [*copies[shift:], *copies[:shift]]


def _measured(
    worker: Worker, copies: Sequence[Copy], turns: Sequence[tuple[Change, bool]], rows: int, log: Path | None
) -> list[Row]:
    """A row for each refresh.

    Args:
        turns: the changes one after the other, each with whether its refreshes count.
        log: gets the rows after each change, for those who interrupt it.
    """
    found: list[Row] = []
    with bar(console, "REFRESH", len(turns) * len(copies)) as step:
        for turn, (change, counts) in enumerate(turns, 1):
            console.log(f"{turn} of {len(turns)}: {change.said}{'' if counts else ' (does not count)'}")
            worker.run(*changing(change, rows, turn))
            shift = turn * 7 % len(copies)
            for shape, asked in (*copies[shift:], *copies[:shift]):
                key = {"view": shape.name, "change": change.name, "counts": counts, "copy": asked}
                found.append(key | _refreshed(worker, (shape, asked)))
                step()
            if log:
                log.write_text("".join(f"{json.dumps(each)}\n" for each in found))
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
    row = refreshes(worker.rows(f"SHOW REFRESHES FOR {name} LIMIT 1"))[0]
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
    told = {"told": own[-1]["told"]}
    return {"costs": middle, "chosen": chosen, "best": best, "took": middle[chosen], "least": middle[best], **told}


def goals(pairs: Mapping[str, Sequence[Row]], differing: Sequence[str]) -> list[Goal]:
    """The goals for each unit, and for the rows of the views.

    Args:
        pairs: by the unit in which they were judged.
    """
    told = [goal for unit, said in UNITS.items() for goal in _goals(pairs[unit], said)]
    return [*told, Goal("every view has the rows of its query", "all", ", ".join(differing) or "all", not differing)]


def _goals(pairs: Sequence[Row], unit: str) -> list[Goal]:
    good = [each for each in pairs if each["took"] <= NEAR * each["least"]]
    noticed = [each for each in pairs if each not in good and each["took"] - each["least"] > FORGIVEN]
    took, least = (sum(each[key] for each in pairs) for key in ("took", "least"))
    worst = max(pairs, key=lambda each: each["took"] / each["least"])
    return [
        Goal(
            f"{unit}: pairs whose choice is within {NEAR - 1:.0%} of the best method",
            f">= {PAIRS:.0%}",
            f"{len(good) / len(pairs):.1%} ({len(good)} of {len(pairs)}); worst {_told(worst)}",
            len(good) >= PAIRS * len(pairs),
        ),
        Goal(
            f"{unit}: the sum of all choices, in times of the sum of the best",
            f"<= {MOST}",
            f"{took / least:.3f} ({took:.0f} and {least:.0f})",
            took <= MOST * least,
        ),
        Goal(f"{unit}: others more than {FORGIVEN} worse", "reported", f"{len(noticed)} of {len(pairs)}", True),
        *(_fixed(method, pairs, least, unit) for method in SAID),
        *(
            _missed(*kind, pairs, unit)
            for kind in sorted({(each["chosen"], each["best"]) for each in pairs if each not in good})
        ),
    ]


def _foretold(found: Sequence[Row]) -> Goal:
    """How often a refresh under ``auto`` went as ``EXPLAIN REFRESH`` had said before."""
    own = [each for each in found if each["copy"] == AUTO]
    right = sum(each["told"][:1] != [] and each["told"][0].startswith(f"method: {SAID[each['mode']]}") for each in own)
    return Goal(
        "refreshes that took the method of EXPLAIN REFRESH",
        ">= 99%",
        f"{right} of {len(own)}",
        right >= 0.99 * len(own),
    )


def _told(pair: Mapping[str, Any]) -> str:
    return (
        f"{pair['took'] / pair['least']:.2f} times: {pair['view']}, {pair['change']},"
        f" {SAID[pair['chosen']]} {pair['took']:.1f}, {SAID[pair['best']]} {pair['least']:.1f}"
    )


def _fixed(method: str, pairs: Sequence[Row], least: float, unit: str) -> Goal:
    """What it would take to go one way wherever that is possible, and else as ``auto`` does."""
    took = sum(each["costs"].get(method, each["took"]) for each in pairs)
    count = sum(method in each["costs"] for each in pairs)
    said = f"{unit}: {SAID[method]} wherever it is possible, in times of the sum of the best"
    return Goal(said, "reported", f"{took / least:.3f} (possible in {count} pairs)", True)


def _missed(method: str, best: str, pairs: Sequence[Row], unit: str) -> Goal:
    """What one kind of choice cost beside what was the best."""
    some = [each for each in pairs if (each["chosen"], each["best"]) == (method, best)]
    lost = sum(each["took"] - each["least"] for each in some)
    far = sum(each["took"] > NEAR * each["least"] for each in some)
    said = f"{unit}: {SAID[method]}, where {SAID[best]} was the best"
    return Goal(said, "reported", f"{len(some)} pairs, {far} of them by more than 10 %, {lost:.1f} lost", True)


def _name(copy: Copy) -> str:
    return f"{copy[0].name}_by_{copy[1]}"


def _differing(worker: Worker, copies: Sequence[Copy]) -> list[str]:
    """The copies whose rows are not those of their query."""
    wanted = {shape.name: worker.rows(SUM.format(f"({shape.query})")) for shape, _ in copies}
    return [_name(each) for each in copies if worker.rows(SUM.format(_name(each))) != wanted[each[0].name]]


if __name__ == "__main__":
    main(run, PARSER)
