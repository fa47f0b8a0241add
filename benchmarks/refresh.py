"""How long it takes to refresh five workloads over TPC-DS in full, by Headwater and by what a user would run instead.

Storages: ``local`` is this machine's disk; ``slow`` has the bandwidth for each core of the server of [Li23];
``object`` also takes 30 ms to open a file. Memory is a share of the data as generated, as in [Li23] §VI-A: 1.6 % at
scale 1 are 16 MB. One Spark application for each workload, storage and memory runs all methods by turns, each round in
another order, after rounds that do not count (see ``WARM``); what all of them made is compared. How fast the storage
is, is measured first.

    python -m benchmarks.refresh [--quick] [--scale 1] [--rounds 5] [--storages slow,object,local] [--memory 1.6]
        [--workloads profit,...] [--methods sequential,...] [--json FILE]

A cell that is in FILE already is not measured again; beside FILE lies a picture of it.
"""

from __future__ import annotations

import os
import shutil
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from benchmarks.parts import slow, tpcds
from benchmarks.parts.harness import Goal, Row, Worker, console, extension, grown, parser, ratio, scratch, spread
from benchmarks.parts.refreshing import METHODS
from benchmarks.parts.workload import WORKLOADS
from benchmarks.refresh_plot import draw

OPEN_MILLIS = {"slow": 0, "object": 30}
THREADS = ("2 threads", "4 threads")
WARM = 0.2
"""Rounds count from when the JVM compiles no longer than so large a share of the time that it takes of the processors.
In the first rounds that is more than a half, on two cores a third of what they last, and most for the method whose code
has run least."""
GENERATED = 2000
"""Stages of which Spark keeps the code that it generated. Of 100, its default, it keeps none where several methods
refresh 22 views by turns: each refresh compiles all of its code anew, which no method could help."""
CHANCE = 1.05
"""A storage is as slow as it is to be if files are written and read no faster than so many times its speed. What is
measured is slower, for Spark does more than write."""


@frozen
class Extent:
    """How much is measured.

    Attributes:
        scale: of TPC-DS.
        warm: the fewest and the most rounds that do not count. Headwater learns sizes and times in the first.
        views: the first views of each workload; ``None``: all.
    """

    scale: float
    rounds: int
    warm: tuple[int, int]
    storages: Sequence[str]
    workloads: Sequence[str]
    methods: Sequence[str]
    views: int | None = None


FULL = Extent(1, 5, (3, 12), ("slow", "object", "local"), WORKLOADS, METHODS)
QUICK = Extent(0.01, 1, (1, 1), ("slow",), ("inventory",), ("sequential", "4 threads", "headwater"))
SMOKE = Extent(0, 1, (0, 0), ("local",), ("inventory",), METHODS, views=2)


def _listed(text: str) -> list[str]:
    return text.split(",")


PARSER = parser(__doc__)
PARSER.add_argument("--scale", type=float, help="of TPC-DS; 1 unless quick")
PARSER.add_argument("--rounds", type=int, help="that count; 5 unless quick")
PARSER.add_argument("--storages", type=_listed, help="of slow, object and local")
PARSER.add_argument("--workloads", type=_listed, help=f"of {', '.join(WORKLOADS)}")
PARSER.add_argument("--methods", type=_listed, help=f"of {', '.join(METHODS)}")
PARSER.add_argument(
    "--memory", type=lambda text: [float(each) for each in text.split(",")], default=[1.6], help="per cent of the data"
)


def main() -> None:
    told = PARSER.parse_args()
    named = {each: getattr(told, each) for each in ("scale", "rounds", "storages", "workloads", "methods")}
    extent = evolve(
        told.size.of(FULL, QUICK, SMOKE), **{name: each for name, each in named.items() if each is not None}
    )
    asked = [
        {"workload": name, "storage": storage, "memory": share, "scale": extent.scale}
        for storage in extent.storages
        for share in told.memory
        for name in extent.workloads
    ]
    grown(
        told,
        asked,
        lambda key: measured(key["workload"], key["storage"], key["memory"], extent),
        _goals,
        lambda rows, path: draw(rows, path.with_suffix(".png")),
    )


def measured(name: str, storage: str, share: float, extent: Extent) -> Row:
    """One workload on one storage with one memory limit."""
    made = tpcds.tables(extent.scale)
    memory = round(tpcds.generated(extent.scale) * share / 100)
    with scratch() as place, scratch(_in_memory()) as volume:
        shutil.copytree(made, place / "tables", copy_function=_linked)
        scheme = "file" if storage == "local" else "slow"
        conf = {} if storage == "local" else slow.settings(open_millis=OPEN_MILLIS[storage])
        worker = Worker(place / "spark", conf | _settings(place, scheme, memory, volume), "benchmarks.parts.refreshing")
        try:
            speed = worker.call("speed", f"{scheme}:{place}/speed")
            _require(storage, speed)
            tables = f"{scheme}:{place}/tables"
            worker.call("prepare", name, tables, memory, str(volume), extent.methods, extent.views)
            found = _rounds(worker, f"{name} on {storage}, {share} %", extent)
        finally:
            worker.close()
    peak = max((each["volume"] + each["stored"] for each in found["runs"].get("headwater", [])), default=0)
    return found | {"limit": memory, "peak": peak, "speed": speed}


def _require(storage: str, speed: dict[str, float]) -> None:
    """Raises:
    RuntimeError: a slow storage is not as slow as it is to be.
    """
    if storage == "local":
        return
    for way, wanted in (("write", slow.WRITE), ("read", slow.READ)):
        if speed[way] > CHANCE * wanted:
            raise RuntimeError(f"{storage} storage: {way} {speed[way] / 1e6:.1f} MB/s instead of {wanted / 1e6:.1f}")


def _rounds(worker: Worker, title: str, extent: Extent) -> Row:
    methods = extent.methods
    plans = {"greedy", "li23"} & set(methods)
    if plans:
        worker.call("measure")
    warmed = _warm(worker, title, extent)
    planned = worker.call("measure") if plans else {}
    runs: dict[str, list[dict[str, Any]]] = {method: [] for method in methods}
    for each in range(extent.rounds):
        worker.call("change")
        at = each % len(methods)
        for method in [*methods[at:], *methods[:at]]:
            runs[method].append(worker.call("refresh", method))
            console.print(f"{title}: {method} {runs[method][-1]['seconds']:.1f} s")
    sums = {method: worker.call("sums", method) for method in methods}
    different = [method for method in methods if sums[method] != sums[methods[0]]]
    return {"runs": runs, "different": different, "planned": planned, "warmed": warmed}


def _warm(worker: Worker, title: str, extent: Extent) -> int:
    """Rounds until the JVM is warm. Methods that differ in threads only run the same code, and take turns from round to
    round; each of them has run once then."""
    methods, (least, most) = extent.methods, extent.warm
    alike = [method for method in methods if method in ("sequential", *THREADS)]
    for each in range(most):
        worker.call("change")
        compiling = []
        for method in [*alike[each % (len(alike) or 1) :][:1], *(other for other in methods if other not in alike)]:
            took = worker.call("refresh", method)
            compiling.append(took["compiling"] / took["processor"])
            console.print(f"{title}: {method} {took['seconds']:.1f} s, {compiling[-1]:.0%} compiling (warming up)")
        if each + 1 >= least and max(compiling) <= WARM:
            return each + 1
    return most


def _settings(place: Path, scheme: str, memory: int, volume: Path) -> dict[str, str]:
    return extension() | {
        "spark.sql.warehouse.dir": f"{scheme}:{place}/warehouse",
        "spark.headwater.store": f"{place}/store.db",
        "spark.headwater.check.interval": "1 hour",
        "spark.headwater.memory": str(memory),
        "spark.headwater.memory.path": str(volume),
        "spark.driver.memory": "4g",
        "spark.sql.codegen.cache.maxEntries": str(GENERATED),
    }


def _goals(cells: Sequence[Row]) -> list[Goal]:
    found = [Goal("all methods make the same", "yes", _differing(cells), all(not cell["different"] for cell in cells))]
    above = [cell for cell in cells if cell["peak"] > cell["limit"]]
    found.append(Goal("memory is never above its limit", "0 cells", f"{len(above)} of {len(cells)}", not above))
    for storage in ("slow", "object", "local"):
        some = [cell for cell in cells if cell["storage"] == storage and "headwater" in cell["runs"]]
        if some:
            found += _goals_on(storage, some)
    return found


def _goals_on(storage: str, cells: Sequence[Row]) -> list[Goal]:
    over = {method: [_gain(cell, method) for cell in cells] for method in METHODS if method in cells[0]["runs"]}
    fixed = [min(each) for each in zip(*(over[method] for method in THREADS if method in over), strict=True)]
    fastest = [min(each) for each in zip(*over.values(), strict=True)]
    found = [_goal(f"{storage}: over the fastest of all, in each", 0.98, min, fastest)]
    sequential = over.get("sequential", [])
    if storage == "local":
        return [_goal("local: over sequential, in each", 0.98, min, sequential), *found]
    return [
        _goal(f"{storage}: over sequential, in the median", 1.4, statistics.median, sequential),
        _goal(f"{storage}: over the better of the fixed threads, in the median", 1.2, statistics.median, fixed),
        *found,
    ]


def _goal(text: str, least: float, of: Callable[[Sequence[float]], float], gains: Sequence[float]) -> Goal:
    return Goal(text, f">= {least}", _said(gains), bool(gains) and of(gains) >= least)


def _gain(cell: Row, method: str) -> float:
    """How many times as long a method takes as Headwater, round by round, in the median."""
    seconds = {each: [run["seconds"] for run in runs] for each, runs in cell["runs"].items()}
    return ratio(seconds[method], seconds["headwater"])["median"]


def _said(gains: Sequence[float]) -> str:
    if not gains:
        return "not measured"
    found = spread(gains)
    return f"{found['median']:.2f} ({found['min']:.2f} to {found['max']:.2f})"


def _differing(cells: Sequence[Row]) -> str:
    found = sorted({f"{method} of {cell['workload']}" for cell in cells for method in cell["different"]})
    return ", ".join(found) or "yes"


def _in_memory() -> Path | None:
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK) else None


def _linked(source: str, target: str) -> None:
    """Statements add files and change none, so that a link is as good as a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


if __name__ == "__main__":
    main()
