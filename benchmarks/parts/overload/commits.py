"""How stale views were, from the commits in the logs of their Delta tables. It costs the run nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

from headwater.simulate.staleness import Meter, Staleness


@frozen
class Commit:
    """One commit: when it was (ms), and the greatest value of each column in the files that it added."""

    at: int
    most: Mapping[str, int]


def commits(table: Path) -> list[Commit]:
    """The commits of a Delta table that added rows, in their order."""
    found = []
    for file in sorted((table / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in file.read_text().splitlines() if line.strip()]
        at = next(each["commitInfo"]["timestamp"] for each in actions if "commitInfo" in each)
        most: dict[str, int] = {}
        for added in (each["add"] for each in actions if "add" in each):
            for column, value in json.loads(added.get("stats") or "{}").get("maxValues", {}).items():
                most[column] = max(most.get(column, value), value)
        if most:
            found.append(Commit(at, most))
    return found


def staleness(appended: Mapping[str, Sequence[Commit]], refreshed: Sequence[Commit], begin: int, end: int) -> Staleness:
    """The staleness of a view between two times (ms).

    Args:
        appended: the commits of each source upstream; column ``b`` is the number of the append.
        refreshed: the commits of the view; column ``b_s`` is the newest append of the source ``s`` that it reflects.
    """
    meter = Meter(end)
    reflected = dict.fromkeys(appended, -1)
    times = {source: [(each.most["b"], each.at) for each in found] for source, found in appended.items()}
    moments = {each.at for found in appended.values() for each in found} | {each.at for each in refreshed} | {begin}
    news = sorted(refreshed, key=lambda each: each.at)
    for now in sorted(each for each in moments if each <= end):
        while news and news[0].at <= now:
            most = news.pop(0).most
            reflected = {source: max(known, most.get(f"b_{source}", known)) for source, known in reflected.items()}
        if now >= begin:
            lacking = [at for source, all_ in times.items() for b, at in all_ if b > reflected[source] and at <= now]
            meter.tell(now, min(lacking, default=None), None)
    meter.stop(end)
    return meter.staleness
