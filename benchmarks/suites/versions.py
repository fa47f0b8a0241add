"""This tree beside another one: the same statements in a warm application of each, turn by turn.

``--base`` names the other tree, by a git reference or by a directory; without it, the last commit. A figure is the
ratio of this tree to the other one, round by round, of the seconds of a whole statement. Both have the packages of this
environment.
"""

from __future__ import annotations

import statistics
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks.parts.harness import Worker, by_turns, console, held, ratios, scratch
from benchmarks.parts.results import ROOT, Figure, Report, figure
from benchmarks.parts.trees import tree, worker_of
from benchmarks.suites.overhead import INSERT, TABLE, VIEW
from benchmarks.suites.refresh import ADDED, FIXED, LINES, MONTH, ROWS, VIEWS

MOST = 1.05
"""Times as long as the other tree; more is slower than before."""
Step = Callable[[Worker, int], float]
"""Does something in a worker in a turn, and gives its seconds."""


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--base", default="HEAD", help="the other tree: a git reference or a directory (HEAD)")


def overhead(asked: Namespace) -> Report:
    """A small ``INSERT`` into a file table with a view whose refreshes wait."""
    inserts = asked.size.of(10, 5, 1)

    def write(worker: Worker, turn: int) -> float:
        return statistics.median(worker.run(*[INSERT] * inserts))

    made = [TABLE, VIEW, "ALTER MATERIALIZED VIEW totals SUSPEND"]
    return _measured(asked, made, {"a small `INSERT`; a view reads the table": write})


def fixed(asked: Namespace) -> Report:
    """The refresh of one partition of a file view, after one row of it changed."""

    def one(worker: Worker, turn: int) -> float:
        worker.run(f"INSERT INTO lines VALUES (1, 1, 1, '{MONTH}')")
        return worker.run("REFRESH MATERIALIZED VIEW parts")[0]

    made = [LINES.format(rows=1_000), held("parts", FIXED, using=" PARTITIONED BY (month)")]
    return _measured(asked, made, {"one changed row in a view of one partition": one})


def row(asked: Namespace) -> Report:
    """A new row in a Delta table, by each method that follows changes."""

    def step(view: str) -> Step:
        def refresh(worker: Worker, turn: int) -> float:
            worker.run(f"INSERT INTO lines VALUES (-{turn + 1}, 7, 5.00)")
            return worker.run(f"REFRESH MATERIALIZED VIEW {view}")[0]

        return refresh

    made = [ROWS.format(rows=asked.size.of(1_000_000, 100_000, 100))]
    made += [held(f"v_{name}", query, f"{method}, full") for name, (method, query) in VIEWS.items()]
    return _measured(asked, made, {ADDED[name]: step(f"v_{name}") for name in VIEWS})


def _measured(asked: Namespace, made: Sequence[str], steps: Mapping[str, Step]) -> Report:
    """Each step by turns in both trees, after the statements that make its tables and views."""
    warm, rounds = asked.size.of((10, 15), (3, 5), (0, 1))
    details: dict[str, Any] = {}
    figures: list[Figure] = []
    with _both(asked.base) as workers:
        for name, worker in workers.items():
            console.log(f"{name}: making tables and views")
            worker.run(*made)
        for said, step in steps.items():
            taken = details[said] = by_turns(
                {name: lambda turn, each=each, step=step: step(each, turn) for name, each in workers.items()},
                warm,
                rounds,
            )
            note = " and ".join(f"{1000 * statistics.median(each):.0f} ms" for each in taken.values())
            figures.append(figure(said, ratios(taken["this"], taken["base"]), "times", most=MOST, note=note))
    return Report(figures, {"base": asked.base, "seconds": details})


@contextmanager
def _both(base: str) -> Iterator[dict[str, Worker]]:
    """A worker of this tree and one of the other."""
    with scratch() as place:
        other = tree(base, place / "tree")
        workers = {"this": worker_of(ROOT, place / "this"), "base": worker_of(other, place / "base")}
        yield workers
        for each in workers.values():
            each.close()


CASES = {"overhead": overhead, "fixed": fixed, "row": row}
