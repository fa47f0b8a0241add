"""Memory for rows that are read again: whole refreshes of workloads on slow storage, and the plans of runs."""

from __future__ import annotations

import os
import shutil
import statistics
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from attrs import asdict, evolve, frozen

from benchmarks.parts import slow, tpcds
from benchmarks.parts.generated import Setting
from benchmarks.parts.harness import MANY_VIEWS, Row, Worker, console, extension, grown, ratios, rotated, scratch
from benchmarks.parts.plans import BINDS, FEW, SETTINGS, SWEEP, planned, summary
from benchmarks.parts.refreshing import METHODS
from benchmarks.parts.results import Figure, Report, figure, none
from benchmarks.parts.workload import WORKLOADS

OPEN_MILLIS = {"slow": 0, "object": 30, "local": 0}
THREADS = ("2 threads", "4 threads")
WARM = 0.2
"""Rounds count from when the JVM compiles no longer than so large a share of the time that it takes of the processors.
In the first rounds that is more than a half, on two cores a third of what they last, and most for the method whose code
has run least."""
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


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--scale", type=float, help="of TPC-DS, for workloads; 1 unless quick")
    parser.add_argument("--rounds", type=int, help="that count, for workloads; 5 unless quick")
    parser.add_argument("--storages", nargs="*", choices=OPEN_MILLIS, help="for workloads (all)")
    parser.add_argument("--workloads", nargs="*", choices=WORKLOADS, help="for workloads (all)")
    parser.add_argument("--methods", nargs="*", choices=METHODS, help="for workloads (all)")
    parser.add_argument(
        "--memory",
        nargs="*",
        type=float,
        help="per cent of the data for workloads (1.6), the share for plans (0.016 to 0.3)",
    )
    parser.add_argument("--graphs", type=int, help="runs of each kind, for plans; 1000 unless quick")
    parser.add_argument("--nodes", nargs="*", type=int, help="for plans, only runs of these sizes")


# --- whole refreshes


def workloads(asked: Namespace) -> Report:
    """Five workloads over TPC-DS in full, by Headwater and by what a user would run instead.

    Storages: ``local`` is this machine's disk; ``slow`` has the bandwidth for each core of the server of [Li23];
    ``object`` also takes 30 ms to open a file. Memory is a share of the data as generated, as in [Li23] §VI-A: 1.6 % at
    scale 1 are 16 MB. One Spark application for each workload, storage and memory runs all methods by turns, each round
    in another order, after rounds that do not count; what all of them made is compared. How fast the storage is, is
    measured first. A cell that is in the details already is not measured again.
    """
    names = ("scale", "rounds", "storages", "workloads", "methods")
    named = {each: getattr(asked, each) for each in names if getattr(asked, each) is not None}
    extent = evolve(asked.size.of(FULL, QUICK, SMOKE), **named)
    keys = [
        {"workload": name, "storage": storage, "memory": share, "scale": extent.scale}
        for storage in extent.storages
        for share in asked.memory or [1.6]
        for name in extent.workloads
    ]
    return grown(asked, keys, lambda key: _cell(key["workload"], key["storage"], key["memory"], extent), _of_cells)


def _cell(name: str, storage: str, share: float, extent: Extent) -> Row:
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
        for method in rotated(methods, each):
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
    return (
        extension()
        | MANY_VIEWS
        | {
            "spark.sql.warehouse.dir": f"{scheme}:{place}/warehouse",
            "spark.headwater.store": f"{place}/store.db",
            "spark.headwater.check.interval": "1 hour",
            "spark.headwater.memory": str(memory),
            "spark.headwater.memory.path": str(volume),
            "spark.driver.memory": "4g",
        }
    )


def _in_memory() -> Path | None:
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK) else None


def _linked(source: str, target: str) -> None:
    """Statements add files and change none, so that a link is as good as a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _of_cells(cells: Sequence[Row]) -> list[Figure]:
    """The seconds of each method, and what Headwater gains over others, round by round."""
    figures = []
    for cell in cells:
        name = f"{cell['workload']}, {cell['storage']}, {cell['memory']:g} % in memory"
        for method, runs in cell["runs"].items():
            figures.append(figure(name, [run["seconds"] for run in runs], "s", column=method))
    for storage in OPEN_MILLIS:
        some = [cell for cell in cells if cell["storage"] == storage and "headwater" in cell["runs"]]
        if some:
            figures += _on(storage, some)
    above = [f"{cell['workload']} on {cell['storage']}" for cell in cells if cell["peak"] > cell["limit"]]
    different = [f"{method} of {cell['workload']}" for cell in cells for method in cell["different"]]
    return [*figures, none("cells above their limit of memory", above), none("methods that make other rows", different)]


def _on(storage: str, cells: Sequence[Row]) -> list[Figure]:
    over = {method: [_gain(cell, method) for cell in cells] for method in METHODS if method in cells[0]["runs"]}
    threads = [over[method] for method in THREADS if method in over]
    fixed = [min(each) for each in zip(*threads, strict=True)]
    fastest = [min(each) for each in zip(*over.values(), strict=True)]
    local, name, figures = storage == "local", f"{storage}: how many times as long as with memory", []
    if sequential := over.get("sequential"):
        middle, least = (None, 0.98) if local else (1.4, None)
        figures.append(figure(name, sequential, "times", column="one view after the other", least=middle))
        figures.append(figure(name, min(sequential), "times", column="the same, the least", least=least))
    if fixed:
        goal = None if local else 1.2
        figures.append(figure(name, fixed, "times", column="the better of two and four threads", least=goal))
    return [*figures, figure(name, min(fastest), "times", column="the fastest of all, the least", least=0.98)]


def _gain(cell: Row, method: str) -> float:
    """How many times as long a method takes as Headwater, round by round, in the median."""
    seconds = {each: [run["seconds"] for run in runs] for each, runs in cell["runs"].items()}
    return statistics.median(ratios(seconds[method], seconds["headwater"]))


# --- plans


def plans(asked: Namespace) -> Report:
    """How good plans of a run are, and how soon they are made, on runs generated as in [Li23] (``parts/generated.py``).

    Every method plans the same runs. Its score is compared with what no plan can exceed: the gap is the part of that
    bound which it does not save. One core; the two methods for the order that take seconds plan some of the runs. A
    setting that is in the details already is not planned again.
    """
    settings, graphs = asked.size.of((SETTINGS, 1000), (FEW, 20), (FEW[-1:], 2))
    graphs = asked.graphs or graphs
    chosen = [
        each
        for each in settings
        if each.nodes in (asked.nodes or [each.nodes]) and each.memory in (asked.memory or [each.memory])
    ]
    keys = [asdict(setting) | {"graphs": graphs} for setting in chosen]
    with ProcessPoolExecutor(1) as pool:  # a process of its own, so that what this one prints does not disturb it

        def measure(key: Row) -> Row:
            setting = Setting(**{name: value for name, value in key.items() if name != "graphs"})
            found = summary(list(pool.map(partial(planned, setting, graphs), range(graphs))))
            shown = {name: round(each["gap"], 3) for name, each in found["methods"].items()}
            console.print(f"{setting.nodes} nodes, memory {setting.memory:.1%}: gaps {shown}")
            return found

        return grown(asked, keys, measure, _of_plans)


def _of_plans(rows: Sequence[Row]) -> list[Figure]:
    default = Setting()
    plain = [row for row in rows if all(row[name] == getattr(default, name) for name in SWEEP)]
    hundred = [row for row in plain if row["nodes"] == 100]
    few = [row for row in plain if row["nodes"] == 12]
    figures = [
        figure(f"the gap of {name}", [row["methods"][name]["gap"] for row in rows if name in row["methods"]])
        for name in rows[0]["methods"]
    ]
    gain = min(row["joint over alternating"]["least"] for row in rows)
    figures.append(figure("joint against alternating, the worst of all runs", gain, "times", least=1))
    if hundred:
        alternating = [row["methods"]["alternating"]["seconds"] for row in hundred]
        slowest = max(row["methods"]["joint"]["slowest"] for row in hundred)
        figures.append(figure("alternating, 100 nodes, mean", statistics.mean(alternating), "s", most=0.03))
        figures.append(figure("joint, 100 nodes, the slowest", slowest, "s", most=1))
    gains = [row["joint over alternating"]["mean"] for row in hundred if row["memory"] in BINDS]
    if gains:
        name = "joint against alternating, 100 nodes, where memory binds, mean"
        figures.append(figure(name, 100 * (statistics.mean(gains) - 1), "% better", least=10))
    if few:
        figures.append(figure("12 nodes, proven best", 100 * min(row["proven best"] for row in few), "%", least=100))
    return figures


CASES = {"workloads": workloads, "plans": plans}
