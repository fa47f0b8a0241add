"""Noticing one changed partition: seconds and bytes read for each format, of 1,000 and of 10,000 partitions.

A partition has ten files, which exist in the log or the metadata only (file tables have real ones). Before each look a
program without Headwater adds a file to one partition. Two kinds of looks at the two tables take turns. One knows the
state on record: with a log, it reads the commits since then; of file tables, it lists the partition that a statement
named. The other one looks at everything. Bytes are those of logs and metadata, as Hadoop's file systems count them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.parts import lakes
from benchmarks.parts.harness import Goal, Size, Worker, bar, console, main, parser, ratio, scratch, spread

LOOKS = ("change", "everything")
GROWTH, SECONDS = 1.5, 0.3

PARSER = parser(__doc__)


def run(size: Size) -> dict[str, Any]:
    counts = size.of((1_000, 10_000), (100, 1_000), (2, 4))
    files, warm, rounds = size.of((10, 2, 9), (10, 2, 5), (2, 0, 1))
    with scratch() as place:
        worker = Worker(place / "spark", lakes.settings(place / "lake", headwater=False), "benchmarks.parts.looking")
        found = {name: _measured(worker, name, counts, files, warm, rounds) for name in lakes.USING}
        worker.close()
    goals = [goal for name, each in found.items() for goal in _goals(name, each, counts)]
    return {"files": files, "looks": found, "goals": goals}


def _measured(
    worker: Worker, format: str, counts: Sequence[int], files: int, warm: int, rounds: int
) -> dict[int, dict[str, Any]]:
    """By the number of partitions and the kind of look: seconds and bytes of each round."""
    for count in counts:
        console.log(f"{format}: making {count * files:,} files in {count:,} partitions")
        worker.call("make", format, count, files)
    taken = {count: {kind: {"seconds": [], "bytes": []} for kind in LOOKS} for count in counts}
    turns = [(count, kind) for count in counts for kind in LOOKS]
    with bar(console, format, warm + rounds) as step:
        for turn in range(warm + rounds):
            for count, kind in turns if turn % 2 else reversed(turns):
                found = worker.call("notice", format, count, turn, kind)
                for name, values in taken[count][kind].items():
                    values += [found[name]] if turn >= warm else []
            step()
    return taken


def _goals(name: str, measured: Mapping[int, Mapping[str, Any]], counts: Sequence[int]) -> list[Goal]:
    few, many = (measured[count] for count in counts)
    seconds = spread(many["change"]["seconds"])["median"]
    growth = ratio(many["change"]["seconds"], few["change"]["seconds"])
    is_lake = name != "files"
    return [
        Goal(
            f"{name}: noticing one changed partition of {counts[1]:,}",
            f"< {SECONDS} s" if is_lake else "reported",
            f"{_told(many['change'])}; everything: {_told(many['everything'])}",
            not is_lake or seconds < SECONDS,
        ),
        Goal(
            f"{name}: that beside one changed partition of {counts[0]:,}",
            f"<= {GROWTH}x" if is_lake else "reported",
            f"{growth['median']:.2f}x (rounds {growth['min']:.2f} to {growth['max']:.2f})",
            not is_lake or growth["median"] <= GROWTH,
        ),
    ]


def _told(measured: Mapping[str, list[float]]) -> str:
    seconds, read = spread(measured["seconds"]), spread(measured["bytes"])["median"]
    how = f"{read / 1000:,.0f} KB read" if read else "a listing"
    return f"{1000 * seconds['median']:.0f} ms ({1000 * seconds['min']:.0f} to {1000 * seconds['max']:.0f}), {how}"


if __name__ == "__main__":
    main(run, PARSER)
