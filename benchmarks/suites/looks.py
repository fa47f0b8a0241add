"""Finding one changed partition: how long a look takes, and how much it lists or reads."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.parts import lakes
from benchmarks.parts.harness import Worker, application, bar, console, extension, ratios
from benchmarks.parts.results import Figure, Report, figure

LOOKS = ("change", "everything")
GROWTH, MILLIS = 1.5, 300


def named(asked: Namespace) -> Report:
    """A file table of many partitions, after a statement that names the changed one, and after one that does not."""
    count, rounds = asked.size.of((10_000, 7), (500, 3), (5, 1))
    with application(extension) as worker:
        console.log(f"making a table of {count:,} partitions")
        worker.run(
            "CREATE TABLE wide (v INT, p INT) USING parquet PARTITIONED BY (p)",
            "SET hive.exec.max.dynamic.partitions=100000",
            f"INSERT INTO wide SELECT CAST(id AS INT), CAST(id AS INT) FROM range({count})",
        )
        taken: dict[str, list[Any]] = {"static": [], "dynamic": [], "named": [], "unnamed": []}
        for turn in range(rounds):
            taken["static"] += worker.run(f"INSERT INTO wide PARTITION (p = {turn}) VALUES (1)")
            taken["dynamic"] += worker.run(f"INSERT INTO wide VALUES (1, {turn})")
            taken["named"].append(worker.call("observe", "wide", [{"p": str(turn)}]))
            taken["unnamed"].append(worker.call("observe", "wide", None))
    name = f"a change in a file table of {count:,} partitions"
    return Report(
        [
            figure(f"{name}; the statement names the partition", _millis(taken["named"]), "ms"),
            figure("partitions listed then", [each["partitions"] for each in taken["named"]], most=1),
            figure(f"{name}; nothing names the partition", _millis(taken["unnamed"]), "ms"),
            figure("the `INSERT` that names it", taken["static"], "s"),
            figure("the `INSERT` that does not", taken["dynamic"], "s"),
        ],
        taken,
    )


def noticing(asked: Namespace) -> Report:
    """Tables of each format, of 1,000 and of 10,000 partitions with ten files each.

    The files exist in the log or the metadata only (file tables have real ones). Before each look a program without
    Headwater adds a file to one partition. Two kinds of looks at the two tables take turns. One knows the state on
    record: with a log, it reads the commits since then; of file tables, it lists the partition that a statement named.
    The other one looks at everything. Bytes are those of logs and metadata, as Hadoop's file systems count them.
    """
    counts = asked.size.of((1_000, 10_000), (100, 1_000), (2, 4))
    files, warm, rounds = asked.size.of((10, 2, 9), (10, 2, 5), (2, 0, 1))
    with lakes.lake(headwater=False, module="benchmarks.parts.looking") as worker:
        found = {name: _noticed(worker, name, counts, files, warm, rounds) for name in lakes.USING}
    return Report([each for name, taken in found.items() for each in _of_format(name, taken, counts)], found)


def _noticed(
    worker: Worker, format: str, counts: Sequence[int], files: int, warm: int, rounds: int
) -> dict[int, dict[str, Any]]:
    """By the number of partitions and the kind of look: seconds and bytes of each round."""
    for count in counts:
        console.log(f"{format}: making {count * files:,} files in {count:,} partitions")
        worker.call("make", format, count, files)
    taken = {count: {kind: {"seconds": [], "bytes": []} for kind in LOOKS} for count in counts}
    turns = [(count, kind) for count in counts for kind in LOOKS]
    with bar(format, warm + rounds) as step:
        for turn in range(warm + rounds):
            for count, kind in turns if turn % 2 else reversed(turns):
                found = worker.call("notice", format, count, turn, kind)
                for name, values in taken[count][kind].items():
                    values += [found[name]] if turn >= warm else []
            step()
    return taken


def _of_format(name: str, measured: Mapping[int, Mapping[str, Any]], counts: Sequence[int]) -> list[Figure]:
    few, many = (measured[count] for count in counts)
    is_lake = name != "files"
    growth = ratios(many["change"]["seconds"], few["change"]["seconds"])
    said, beside = f"{name}: one changed partition of {counts[1]:,}", f"beside one of {counts[0]:,}"
    return [
        figure(said, _of(many["change"], "seconds", 1000), "ms", most=MILLIS if is_lake else None),
        figure(f"{name}: the same, {beside}", growth, "times", most=GROWTH if is_lake else None),
        figure(f"{name}: the same, everything looked at", _of(many["everything"], "seconds", 1000), "ms"),
        *(figure(f"{name}: read for {kind}", _of(many[kind], "bytes", 0.001), "KB") for kind in LOOKS if is_lake),
    ]


def _of(measured: Mapping[str, list[float]], what: str, times: float) -> list[float]:
    return [times * each for each in measured[what]]


def _millis(found: Sequence[Mapping[str, Any]]) -> list[float]:
    return [1000 * each["seconds"] for each in found]


CASES = {"named": named, "noticing": noticing}
