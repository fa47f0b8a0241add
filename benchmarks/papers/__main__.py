"""The experiments of [Xu23] and made-up warehouses, on a virtual clock.

    python -m benchmarks.papers rollup [--seeds 20] [--plot FILE] [--json]
    python -m benchmarks.papers generated [--views 100] [--hours 24] [--tracks 8]

They play the engine's own core. `--help` lists the experiments.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import attrs
import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.papers.experiments import EXPERIMENTS
from benchmarks.papers.goals import report
from benchmarks.papers.streams import report as staleness
from benchmarks.papers.streams.figures import mean
from benchmarks.papers.trial import play, plays, summary
from benchmarks.papers.workload import Workload, generated
from headwater.cli.whatif import asked_for, played, policy_options, show
from headwater.simulate.replay import Override

COLUMNS = ("setting", "method", "updates", "paper", "optimal", "more", "at most", "converged", "slowest s")
HOLDING = ("setting", "method", "cost s", "late", "optimal", "more", "at most", "converged", "slowest s")

METHODS = """`eager` is Headwater, and `held` is Headwater with a promised freshness. `lazy` and `group` are other
exact methods; `literal` and `ratio` follow the paper's rules word for word. Means are over the seeds."""


def _short(about: str) -> str:
    section, _, _ = about.partition(":")
    if section.startswith("§"):
        return f"The paper's experiment of {section}."
    return "Waiting within promises, and its cost."


@click.group()
def main() -> None:
    """Plays experiments on a virtual clock, with the engine's own core.

    `generated` plays made-up warehouses under several policies. The others are experiments by several methods:
    four of the paper, and one of holding changes.
    """


@main.command("generated", short_help="Made-up warehouses, under several policies.")
@click.option("--views", type=click.IntRange(1), default=Workload().views, show_default=True, help="How many views.")
@click.option(
    "--hours", type=click.FloatRange(0, min_open=True), default=Workload().hours, show_default=True, help="How long."
)
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="How many random warehouses.")
@policy_options
def made_up(
    views: int, hours: float, seeds: int, policies: tuple[str, ...], tracks: int, plot: Path | None, as_json: bool
) -> None:
    """Plays made-up warehouses under several policies: views in levels, over daily tables.

    The tables grow. Late corrections and backfills change their past. `naive` shows the refreshes of a warehouse
    that refreshes on every change.
    """
    others, workload = asked_for(policies), Workload(views=views, hours=hours)
    found = [generated(workload, Random(seed)) for seed in range(seeds)]
    rows = played(found, found, [Override("default"), *others], tracks)
    about = {"simulation": "generated", "workload": attrs.asdict(workload)}
    show(about, "Generated warehouses", found, tracks, rows, as_json, plot)


@main.command("staleness", short_help="The figures of [Golab11]: lateness by utilization.")
@click.option("--figure", "names", multiple=True, help="Only this figure, 4 to 11; may be repeated.")
@click.option("--quick", is_flag=True, help="End within a minute; figures are rough.")
@click.option(
    "--seeds", type=click.IntRange(1), default=1, show_default=True, help="How many random runs of each point."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Also draw the figures into this PNG.")
def of_streams(names: tuple[str, ...], quick: bool, seeds: int, as_json: bool, plot: Path | None) -> None:
    """Plays warehouses of streams under rules of order and of tracks.

    Figures are the relative lateness: the weighted staleness beside that without contention.
    """
    figures = staleness.chosen(names)
    events = staleness.QUICK if quick else staleness.FULL
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("figures", total=staleness.points(figures))
        found = staleness.report(figures, events, seeds, lambda: progress.advance(task))
    if plot is not None:
        staleness.draw(figures, found["rows"], plot)
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    console = Console()
    for figure in figures:
        table = Table(
            "algorithm", *(f"{each:.0%}" for each in figure.utilizations), title=f"{figure.name}: {figure.title}"
        )
        mine = [row for row in found["rows"] if row["figure"] == figure.name]
        for name in dict.fromkeys(row["algorithm"] for row in mine):
            values = [mean(row) for row in mine if row["algorithm"] == name]
            table.add_row(name, *("-" if each is None else f"{each:.2f}" for each in values))
        console.print(table)
    _judged(console, found["goals"])


def _experiment(name: str) -> click.Command:
    """The command that plays one of the paper's experiments."""
    about = " ".join((EXPERIMENTS[name][0].__doc__ or "").split())

    @click.command(name, help=f"{about}\n\n{METHODS}", short_help=_short(about))
    @click.option(
        "--seeds", type=click.IntRange(1), default=20, show_default=True, help="How many random trials of each."
    )
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    @click.option(
        "--plot", type=click.Path(path_type=Path, dir_okay=False), help="Also draw the updates into this PNG."
    )
    def command(seeds: int, as_json: bool, plot: Path | None) -> None:
        _play(name, seeds, as_json, plot)

    return command


for command in map(_experiment, EXPERIMENTS):
    main.add_command(command)


def _play(experiment: str, seeds: int, as_json: bool, plot: Path | None) -> None:
    found = report(experiment, _rows(experiment, seeds), seeds)
    if plot is not None:
        from benchmarks.papers.plot import draw  # not at the top: matplotlib takes a second to import

        draw(found, plot)
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    console = Console()
    console.print(found["about"] + "\n", markup=False, highlight=False)
    console.print(_table(experiment, found["rows"], seeds))
    _judged(console, found["goals"])


def _judged(console: Console, goals: list[dict[str, Any]]) -> None:
    for goal in goals:
        met = "met   " if goal["met"] else "MISSED"
        console.print(f"{met} {goal['goal']}: {goal['measured']} (goal: {goal['target']})", highlight=False)


def _rows(experiment: str, seeds: int) -> list[dict[str, Any]]:
    rows = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        todo = plays(experiment)
        task = progress.add_task(experiment, total=len(todo) * seeds)
        for setting, method in todo:
            progress.update(task, description=f"{experiment}, {setting}: {method}")
            rows.append(
                summary(setting, method, play(experiment, setting, method, seeds, lambda: progress.advance(task)))
            )
    return rows


def _table(experiment: str, rows: list[dict[str, Any]], seeds: int) -> Table:
    holding = experiment == "holding"
    table = Table(*(HOLDING if holding else COLUMNS), title=f"{seeds} seeds")
    for column in table.columns[2:]:
        column.justify = "right"
    before = None
    for row in rows:
        if before not in (None, row["setting"]):
            table.add_section()
        unneeded, converged = row["unneeded"], row["converged_seeds"]
        table.add_row(
            "" if before == row["setting"] else row["setting"],
            row["method"],
            f"{row['processed']['mean']:.1f}",
            str(row["missed"] if holding else row["paper"].get(row["method"], "")),
            f"{row['optimal']['mean']:.1f}",
            f"{unneeded['mean']:.1f}",
            str(unneeded["most"]),
            "always" if converged == seeds else f"{converged} of {seeds}",
            f"{row['slowest_seconds']:.0f}",
        )
        before = row["setting"]
    return table


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.papers")
