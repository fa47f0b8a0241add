"""How late the epochs of a group are, beside its members without a group and beside strictly sequential maintenance."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from benchmarks.parts import lakes
from benchmarks.parts.group_side import SOURCE, VIEWS
from benchmarks.parts.harness import Row, Worker, bar, console, ratios, rotated, scratch
from benchmarks.parts.overload.commits import Commit, commits
from benchmarks.parts.overload.warehouse import appends
from benchmarks.parts.processes import driver_of, running_engine, used
from benchmarks.parts.results import Figure, figure
from headwater.model.event import EpochMade
from headwater.simulate.staleness import Meter
from headwater.store.sql_store import SqlStore

GROUP, APART, BARE = "group", "apart", "one by one"
SIDES = (GROUP, APART, BARE)


@frozen
class Arrived:
    """A version of the table, and when readers of the group could see it (ms)."""

    at: int
    version: int


def measured(rounds: int, seconds: float, load: float) -> tuple[list[Row], dict[str, float]]:
    """Plays rounds of appends with each side. ``load``: refreshes of all views, one by one, take this part of the time
    between two appends."""
    found: list[Row] = []
    with scratch() as home:
        stores = {side: home / f"{side.replace(' ', '-')}.db" for side in SIDES}
        workers = {side: _worker(home, side, stores[side]) for side in SIDES}
        console.log(f"making {VIEWS} views for each of {len(SIDES)} sides")
        for side, worker in workers.items():
            worker.call("make", side)
        passes = [workers[BARE].call("refresh_all", 0) for _ in range(3)]
        period = min(passes) / load
        console.log(f"all views one by one: {min(passes):.1f} s; an append every {period:.1f} s")
        first = dict.fromkeys(SIDES, 1)
        with bar("sides", rounds * len(SIDES)) as step:
            for turn in range(rounds):
                times = appends({SOURCE: period}, seconds, seed=turn)[SOURCE]
                for side in rotated(SIDES, turn):
                    found.append(
                        {"side": side} | _played(workers[side], side, stores[side], first[side], times, seconds)
                    )
                    first[side] += len(times)
                    console.log(_told(found[-1]))
                    step()
        for worker in workers.values():
            worker.close()
    return found, {"pass_seconds": min(passes), "period": period}


def figures(found: Sequence[Row]) -> list[Figure]:
    """What is compared, round by round."""
    rows = {side: [each for each in found if each["side"] == side] for side in SIDES}
    late, alone = ([statistics.median(each["slowest"]) for each in rows[side]] for side in (GROUP, APART))
    epochs = [statistics.median(each["epochs"]) for each in rows[GROUP]]
    of = {side: [each["stale"] for each in rows[side]] for side in (GROUP, BARE)}
    cores = {side: [each["cores"] for each in rows[side]] for side in (GROUP, APART)}
    return [
        figure("from a write to the slowest member, without a group", alone, "s"),
        figure("from a write to the slowest member, in a group", late, "s"),
        figure("from a write to the epoch that has it", epochs, "s"),
        figure("the epoch beside the slowest member without a group", ratios(epochs, alone), "times", most=1.25),
        figure("core-seconds beside those without a group", ratios(cores[GROUP], cores[APART]), "times", most=1.05),
        figure("mean staleness of the group", of[GROUP], "s"),
        figure("mean staleness, one view after the other", of[BARE], "s"),
        figure("the one beside the other", ratios(of[GROUP], of[BARE]), "times", most=0.6),
        figure("epochs beside writes", [len(each["states"]) / len(each["epochs"]) for each in rows[GROUP]], "times"),
    ]


def _worker(home: Path, side: str, store: Path) -> Worker:
    settings = lakes.settings(home / "lake", side != BARE) | {
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.driver.memory": "2g",
    }
    ours = {"spark.headwater.store": str(store)} if side != BARE else {}
    return Worker(home / side.replace(" ", "-"), {**settings, **ours}, "benchmarks.parts.group_side")


def _played(worker: Worker, side: str, store: Path, first: int, times: Sequence[float], seconds: float) -> Row:
    before = _cores(worker)
    told = worker.call("play", side, first, times, seconds)
    cores = _cores(worker) - before
    places = {name: Path(place) for name, place in worker.call("places").items()}
    written = {each.most["b"]: each.at for each in commits(places[SOURCE])}
    mine = {number: at for number, at in written.items() if number >= first}
    shown = {name: commits(place) for name, place in places.items() if name != SOURCE}
    states = _epochs(store) if side == GROUP else [Arrived(*each) for each in told["states"]]
    return {
        "cores": cores,
        "slowest": [_until(at, (_first(known, number) for known in shown.values())) for number, at in mine.items()],
        "epochs": [_until(at, [_seen(states, number)]) for number, at in mine.items()] if side != APART else [],
        "states": [each.version for each in states if told["began"] <= each.at],
        "stale": _stale(mine, states, told["began"], told["ended"]) if side != APART else None,
    }


def _cores(worker: Worker) -> float:
    """Seconds of processors that the application and its engine took so far."""
    engine = running_engine(worker.pid)
    return used(driver_of(worker.pid)) + (used(engine) if engine is not None else 0.0)


def _epochs(store: Path) -> list[Arrived]:
    """The epochs on record, each with the version of the table that it shows."""
    found, version = [], 0
    for event in (entry.event for entry in SqlStore(store).read()):
        if isinstance(event, EpochMade):
            for each in event.epoch.sources:  # where it differs from the one before
                version = each.as_of or version
            found.append(Arrived(event.at, version))
    return found


def _first(shown: Iterable[Commit], number: int) -> int:
    """When a view first had an append (ms)."""
    return min(each.at for each in shown if each.most.get("b_s", -1) >= number)


def _seen(states: Iterable[Arrived], number: int) -> int:
    return min(each.at for each in states if each.version >= number)


def _until(at: int, seen: Iterable[int]) -> float:
    return (max(seen) - at) / 1000


def _stale(written: Mapping[int, int], states: Sequence[Arrived], began: int, ended: int) -> float:
    """The mean staleness of what readers of the group see, in seconds."""
    meter = Meter(ended)
    for now in sorted({began, *written.values(), *(each.at for each in states if each.at >= began)}):
        if now > ended:
            break
        seen = max((each.version for each in states if each.at <= now), default=0)
        meter.tell(now, min((at for number, at in written.items() if number > seen and at <= now), default=None), None)
    meter.stop(ended)
    return meter.staleness.mean / 1000


def _told(row: Row) -> str:
    late = f"; the epoch after {statistics.median(row['epochs']):.1f} s" if row["epochs"] else ""
    stale = f"; mean staleness {row['stale']:.1f} s" if row["stale"] is not None else ""
    slowest = f"the slowest view after {statistics.median(row['slowest']):.1f} s"
    return f"{row['side']}: {row['cores']:.0f} core-seconds; {slowest}{late}{stale}"
