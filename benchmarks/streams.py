"""Streams of small batches into Delta and Iceberg tables: seconds of a batch without Headwater, with it, with a view.

A file arrives for each batch, and a batch appends its row to one of three partitions. The three kinds take turns, each
in an application of its own. The view may be a minute old: it should be refreshed as often as that needs, however many
batches there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.parts import lakes
from benchmarks.parts.harness import Goal, Size, Worker, bar, console, main, parser, ratio, scratch, spread

KINDS = ("bare", "extension", "view")
FORMATS = ("delta", "iceberg")
FRESHNESS, WITHIN = 60, 600
"""Seconds that a view may be old, and those within which a thousand batches should end."""
WARM = 10
"""Batches before the first that counts."""

PARSER = parser(__doc__)


def run(size: Size) -> dict[str, Any]:
    batches, rounds = size.of((50, 20), (50, 4), (2, 1))
    with scratch() as place:
        found = {format: _measured(place / format, format, batches, rounds) for format in FORMATS}
    goals = [goal for format, each in found.items() for goal in _goals(format, each)]
    return {"batches": batches * rounds, "found": found, "goals": goals}


def _measured(place: Path, format: str, batches: int, rounds: int) -> dict[str, Any]:
    """Of each kind, seconds of a batch in each round; and how often the view was refreshed in how many seconds."""
    workers = {kind: _worker(place / kind, headwater=kind != "bare") for kind in KINDS}
    homes = {kind: str(place / kind / f"arriving-{kind}") for kind in KINDS}
    for kind, worker in workers.items():
        worker.call("make", homes[kind], format, FRESHNESS if kind == "view" else None)
        worker.call("stream", homes[kind], min(batches, WARM))
    taken: dict[str, Any] = {kind: [] for kind in KINDS}
    with bar(console, format, rounds * len(KINDS)) as step:
        for turn in range(rounds):
            for kind in KINDS if turn % 2 else reversed(KINDS):
                taken[kind].append(workers[kind].call("stream", homes[kind], batches))
                step()
    taken |= workers["view"].call("refreshed", homes["view"])
    for worker in workers.values():
        worker.close()
    return taken


def _worker(home: Path, headwater: bool) -> Worker:
    return Worker(home, lakes.settings(home / "lake", headwater), "benchmarks.parts.streaming")


def _goals(format: str, found: Mapping[str, Any]) -> Sequence[Goal]:
    seconds = {kind: spread(found[kind]) for kind in KINDS}
    beside = {kind: ratio(found[kind], found["bare"]) for kind in ("extension", "view")}
    most = 2 + found["seconds"] / FRESHNESS * 2
    return [
        *(
            Goal(
                f"{format}: a thousand batches, {kind}",
                f"{WITHIN} s",
                f"{1000 * each['median']:.0f} s ({1000 * each['min']:.0f} to {1000 * each['max']:.0f})",
                1000 * each["median"] <= WITHIN,
            )
            for kind, each in seconds.items()
        ),
        *(
            Goal(
                f"{format}: a batch with {said} beside one without Headwater",
                "1.1 times",
                f"{beside[kind]['median']:.2f} ({beside[kind]['min']:.2f} to {beside[kind]['max']:.2f})",
                beside[kind]["median"] <= 1.1,
            )
            for kind, said in (("extension", "the extension"), ("view", "a view"))
        ),
        Goal(
            f"{format}: refreshes of a view that may be {FRESHNESS} s old, in {found['seconds']:.0f} s",
            f"at most {most:.0f}, and equal to its query",
            f"{found['refreshes']}, {'equal' if found['equal'] else 'not equal'}",
            found["refreshes"] <= most and found["equal"],
        ),
    ]


if __name__ == "__main__":
    main(run, PARSER)
